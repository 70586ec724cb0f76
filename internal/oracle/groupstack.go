package oracle

import "github.com/cachesim/cachesim/internal/base/memory"

// GroupStack is LRUStack for caches that serve groups of requests, such as prompts: the objects of a group are looked
// up before any of them is loaded. Its distances are those at the beginning of the group. An object appears once in a
// group. Time and memory are as for LRUStack.
type GroupStack struct {
	slots ranks
	next  []uint32 // per object: its slot + 1, or 0 while it has none
	seen  int

	before, at []uint32 // reused
}

// NewGroupStack returns the stack for a trace of objects below numObjects.
func NewGroupStack(numObjects int) *GroupStack {
	return &GroupStack{slots: newRanks(2 * numObjects), next: memory.Column[uint32](numObjects)}
}

// Seen returns the number of distinct objects so far.
func (s *GroupStack) Seen() int { return s.seen }

// FirstStays serves a group whose first object is evicted last. In all groups each object must follow the same one, so
// that no object is deeper in the stack than those behind it, and new objects are last. It returns the distances of the
// others, valid until the next call.
func (s *GroupStack) FirstStays(group []uint32) (distances []uint32) {
	s.makeRoom(len(group))
	top := uint32(s.slots.end + len(group))
	old := s.before[:len(group)]
	for i, o := range group {
		old[i], s.next[o] = s.next[o], top-uint32(i)
	}
	s.slots.occupy(len(group), s.seen)
	// When an object is measured, those before it have moved to other places above it, and those behind it are still
	// below. So it is as at the beginning of the group.
	return s.measure(old)
}

// LastStays serves a group as if its objects were requested one after another. It returns two lists of distances:
// before the group, those of its first objects, up to the first without one; and those of all but new objects at their
// own requests. Both are valid until the next call.
func (s *GroupStack) LastStays(group []uint32) (before, at []uint32) {
	s.makeRoom(len(group))
	before = s.before[:0]
	for _, o := range group {
		slot := s.next[o]
		if slot == 0 {
			break
		}
		before = append(before, uint32(s.seen-1)-s.slots.below(slot-1))
	}
	old := s.at[:len(group)]
	moveUp(s.next, group, old, s.slots.end)
	s.slots.occupy(len(group), s.seen)
	return before, s.measure(old)
}

// makeRoom makes room for the slots and the distances of a group of n objects.
func (s *GroupStack) makeRoom(n int) {
	if s.slots.room() < n {
		s.slots.compact(s.next, s.seen)
	}
	if len(s.before) < n {
		s.before, s.at = make([]uint32, 2*n), make([]uint32, 2*n)
	}
}

// measure frees the old slots of a group, given plus 1, after its new slots were occupied. It returns the distances of
// the objects with an old slot, in the same memory.
func (s *GroupStack) measure(old []uint32) (distances []uint32) {
	known := 0
	for i, slot := range old {
		if i%stackBatch == 0 {
			s.slots.clean(stackBatch)
		}
		if slot == 0 {
			s.seen++
			continue
		}
		old[known] = uint32(s.seen-1) - s.slots.free(slot-1)
		known++
	}
	return old[:known]
}
