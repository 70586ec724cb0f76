package oracle

// DepthStack measures the depth of objects in the stack of an LRU cache. Objects may come, go and change their weights.
// The depth of an object is its weight plus the weights of all objects requested after it. LRU hits at every capacity
// of at least this depth (Mattson et al., Evaluation techniques for storage hierarchies, IBM Systems Journal 1970).
// LRUStack and LRUByteStack do the same for whole traces, faster; this one needs memory only for the objects in it,
// about 70 bytes each, which suits samples of a trace.
//
// Objects hold slots in the order of their last request, and a Fenwick tree sums the weights of slots. Time per
// request: the logarithm of the objects held, amortised.
type DepthStack struct {
	slotOf  map[uint32]int32
	objects []uint32 // per slot
	weights []int64  // per slot; 0: the slot is free
	sums    fenwick  // of weights
	bottom  int      // no slot below is taken
	total   int64
}

// leastSlots is the initial number of slots of a stack.
const leastSlots = 64

func NewDepthStack() *DepthStack {
	s := &DepthStack{slotOf: map[uint32]int32{}}
	s.makeRoom(leastSlots)
	return s
}

func (s *DepthStack) Len() int      { return len(s.slotOf) }
func (s *DepthStack) Weight() int64 { return s.total }

// Request moves o to the top, gives it a weight above 0, and returns its previous depth; seen is false if o was not in
// the stack.
func (s *DepthStack) Request(o uint32, weight int64) (depth int64, seen bool) {
	slot, seen := s.slotOf[o]
	if seen {
		depth = s.total - s.sums.sum(int(slot))
		s.release(int(slot))
	}
	// After the release: compaction then removes the old slot of o, which is about to get a new one.
	if len(s.objects) == cap(s.objects) {
		s.compact()
	}
	top := len(s.objects)
	s.slotOf[o] = int32(top)
	s.objects = append(s.objects, o)
	s.weights = append(s.weights, weight)
	s.sums.add(top, weight)
	s.total += weight
	return depth, seen
}

// Bottom returns the object that was not requested for the longest time, and its weight. The stack must not be empty.
func (s *DepthStack) Bottom() (o uint32, weight int64) {
	for s.weights[s.bottom] == 0 {
		s.bottom++
	}
	return s.objects[s.bottom], s.weights[s.bottom]
}

// Remove removes o, if it is there.
func (s *DepthStack) Remove(o uint32) {
	if slot, ok := s.slotOf[o]; ok {
		s.release(int(slot))
		delete(s.slotOf, o)
	}
}

// Filter removes every object for which keep is false.
func (s *DepthStack) Filter(keep func(o uint32) bool) {
	for slot, o := range s.objects {
		if s.weights[slot] > 0 && !keep(o) {
			s.Remove(o)
		}
	}
}

func (s *DepthStack) release(slot int) {
	s.sums.add(slot, -s.weights[slot])
	s.total -= s.weights[slot]
	s.weights[slot] = 0
}

// compact moves the objects together, into twice as much room as they need.
func (s *DepthStack) compact() {
	objects, weights := s.objects, s.weights
	s.makeRoom(max(leastSlots, 2*s.Len()))
	for slot, o := range objects {
		if weights[slot] > 0 {
			top := len(s.objects)
			s.slotOf[o] = int32(top)
			s.objects = append(s.objects, o)
			s.weights = append(s.weights, weights[slot])
			s.sums.add(top, weights[slot])
		}
	}
}

// makeRoom starts over with n free slots.
func (s *DepthStack) makeRoom(n int) {
	s.objects, s.weights, s.sums, s.bottom = make([]uint32, 0, n), make([]int64, 0, n), make(fenwick, n), 0
}
