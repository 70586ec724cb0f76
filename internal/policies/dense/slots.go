package dense

// Slots keeps the resident objects, each with what a policy knows about it, in one dense array, so that a random one is
// found in constant time. The order is arbitrary. Memory: 4 bytes per object, and 4 plus the size of T per resident
// object.
type Slots[T any] struct {
	Objects []Object
	Infos   []T
	At      []uint32 // per object: its slot + 1, 0 if it is absent
	hole    uint32   // slot + 1 of the object removed last, kept for the next one added; 0 for none
}

// NewSlots returns empty slots for the objects 0..objects-1.
func NewSlots[T any](objects int) Slots[T] { return Slots[T]{At: make([]uint32, objects)} }
func (s *Slots[T]) Has(o Object) bool      { return s.At[o] != 0 }

// Info returns what is known about o, which must be present. The pointer is valid until the next change.
func (s *Slots[T]) Info(o Object) *T { return &s.Infos[s.At[o]-1] }

// Dense returns what is known about every present object, by slot. The slice is valid until the next change.
func (s *Slots[T]) Dense() []T {
	s.fillHole()
	return s.Infos
}

// Len returns how many objects are present.
func (s *Slots[T]) Len() int {
	if s.hole != 0 {
		return len(s.Objects) - 1
	}
	return len(s.Objects)
}

// Add puts o, which must be absent, into a slot.
func (s *Slots[T]) Add(o Object, info T) {
	if slot := s.hole; slot != 0 {
		s.hole = 0
		s.Objects[slot-1], s.Infos[slot-1] = o, info
		s.At[o] = slot
		return
	}
	s.Objects = append(s.Objects, o)
	s.Infos = append(s.Infos, info)
	s.At[o] = uint32(len(s.Objects))
}

// Remove removes o, which must be present.
func (s *Slots[T]) Remove(o Object) {
	s.fillHole()
	s.Empty(s.At[o] - 1)
}

// Empty removes the object in a slot and returns it. There must be no hole, which holds right after a call of Dense.
func (s *Slots[T]) Empty(slot uint32) Object {
	o := s.Objects[slot]
	s.hole = slot + 1
	s.At[o] = 0
	return o
}

// fillHole moves the last object into the hole.
func (s *Slots[T]) fillHole() {
	if s.hole == 0 {
		return
	}
	slot, last := s.hole-1, uint32(len(s.Objects)-1)
	s.hole = 0
	if slot != last {
		moved := s.Objects[last]
		s.Objects[slot], s.Infos[slot] = moved, s.Infos[last]
		s.At[moved] = slot + 1
	}
	s.Objects, s.Infos = s.Objects[:last], s.Infos[:last]
}

// Grow makes room for objects up to n-1.
func (s *Slots[T]) Grow(n int) { s.At = Grown(s.At, n) }
