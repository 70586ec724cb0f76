package weblogs

import "hash/maphash"

// Bounds of what sizes remembers, beside the trace itself.
const (
	sizesShare = 0.05
	mostSizes  = 4 << 30 // bytes
	sizeBytes  = 16      // of an entry
	firstSizes = 1 << 10 // entries
)

// sizes remembers how large each object was when it was last sent, for responses without a body. Objects are known by
// 64-bit hashes of their keys, with a new seed each time. Once the table is full, further objects are not remembered.
type sizes struct {
	seed  maphash.Seed
	slots []sizeSlot // a power of two
	used  int
	most  int // slots
}

// sizeSlot is an entry of the hash table, with open addressing. The hash is 0 if it is empty.
type sizeSlot struct {
	hash uint64
	size int64
}

// newSizes returns an empty table that may grow to a number of bytes.
func newSizes(most int64) *sizes {
	return &sizes{maphash.MakeSeed(), make([]sizeSlot, firstSizes), 0, int(most / sizeBytes)}
}

// find returns the slot of a key, or the empty one where it belongs, and its hash.
func (s *sizes) find(key []byte) (*sizeSlot, uint64) {
	hash := max(maphash.Bytes(s.seed, key), 1)
	mask := uint64(len(s.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if slot := &s.slots[i]; slot.hash == hash || slot.hash == 0 {
			return slot, hash
		}
	}
}

// of returns the size of an object; false if it is unknown.
func (s *sizes) of(key []byte) (int64, bool) {
	slot, _ := s.find(key)
	return slot.size, slot.hash != 0
}

// set remembers the size of an object.
func (s *sizes) set(key []byte, size int64) {
	slot, hash := s.find(key)
	if slot.hash != 0 {
		slot.size = size
		return
	}
	if s.used >= len(s.slots)/4*3 {
		if 2*len(s.slots) > s.most {
			return
		}
		s.grow()
		slot, _ = s.find(key)
	}
	*slot = sizeSlot{hash, size}
	s.used++
}

func (s *sizes) grow() {
	old := s.slots
	s.slots = make([]sizeSlot, 2*len(old))
	mask := uint64(len(s.slots) - 1)
	for _, entry := range old {
		if entry.hash == 0 {
			continue
		}
		i := entry.hash & mask
		for s.slots[i].hash != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = entry
	}
}
