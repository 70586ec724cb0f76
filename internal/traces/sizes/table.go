package sizes

import "hash/maphash"

// Bounds on a Table's memory, beside the trace itself.
const (
	Share = 0.05    // of the memory budget
	Most  = 4 << 30 // bytes

	slotBytes  = 16
	firstSlots = 1 << 10
)

// Table remembers how large each object was when a log last stated its size. Objects are known by 64-bit hashes of
// their keys, with a new seed each time. Once the table is full, further objects are not remembered.
type Table struct {
	seed  maphash.Seed
	slots []sized // a power of two
	used  int
	most  int // slots
}

// sized is an entry of the hash table, with open addressing. The hash is 0 if it is empty.
type sized struct {
	hash uint64
	size int64
}

// NewTable returns an empty table that may grow to a number of bytes.
func NewTable(most int64) *Table {
	return &Table{maphash.MakeSeed(), make([]sized, firstSlots), 0, int(most / slotBytes)}
}

// find returns the slot of a key, or the empty one where it belongs, and its hash.
func (s *Table) find(key []byte) (*sized, uint64) {
	hash := max(maphash.Bytes(s.seed, key), 1)
	mask := uint64(len(s.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if slot := &s.slots[i]; slot.hash == hash || slot.hash == 0 {
			return slot, hash
		}
	}
}

// Of returns the size of an object; false if it is unknown.
func (s *Table) Of(key []byte) (int64, bool) {
	slot, _ := s.find(key)
	return slot.size, slot.hash != 0
}

// Set remembers the size of an object.
func (s *Table) Set(key []byte, size int64) {
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
	*slot = sized{hash, size}
	s.used++
}

func (s *Table) grow() {
	old := s.slots
	s.slots = make([]sized, 2*len(old))
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
