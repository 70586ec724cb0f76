package policies

// slots keeps the resident objects, each with what a policy knows of it, in one dense array, so that a random one is
// found in constant time. The order is arbitrary.
// Memory: 4 bytes per object, and 4 plus the size of T per resident object.
type slots[T any] struct {
	objects []Object
	infos   []T
	at      []uint32 // per object: its slot + 1, 0 where it is absent
	hole    uint32   // slot + 1 of the object that was removed last, kept for the next that is added; 0 for none
}

func newSlots[T any](objects int) slots[T] { return slots[T]{at: make([]uint32, objects)} }

func (s *slots[T]) has(o Object) bool { return s.at[o] != 0 }

// info returns what is known of o, which must be present. The pointer is valid until the next change.
func (s *slots[T]) info(o Object) *T { return &s.infos[s.at[o]-1] }

// dense returns what is known of every present object, by slot. The slice is valid until the next change.
func (s *slots[T]) dense() []T {
	s.fillHole()
	return s.infos
}

// add puts o, which must be absent, into a slot.
func (s *slots[T]) add(o Object, info T) {
	if slot := s.hole; slot != 0 {
		s.hole = 0
		s.objects[slot-1], s.infos[slot-1] = o, info
		s.at[o] = slot
		return
	}
	s.objects = append(s.objects, o)
	s.infos = append(s.infos, info)
	s.at[o] = uint32(len(s.objects))
}

// remove takes o, which must be present, out.
func (s *slots[T]) remove(o Object) {
	s.fillHole()
	s.empty(s.at[o] - 1)
}

// empty takes the object in a slot out and returns it. There must be no hole, as after a call of dense.
func (s *slots[T]) empty(slot uint32) Object {
	o := s.objects[slot]
	s.hole = slot + 1
	s.at[o] = 0
	return o
}

// fillHole moves the last object into the hole.
func (s *slots[T]) fillHole() {
	if s.hole == 0 {
		return
	}
	slot, last := s.hole-1, uint32(len(s.objects)-1)
	s.hole = 0
	if slot != last {
		moved := s.objects[last]
		s.objects[slot], s.infos[slot] = moved, s.infos[last]
		s.at[moved] = slot + 1
	}
	s.objects, s.infos = s.objects[:last], s.infos[:last]
}
