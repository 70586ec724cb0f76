package dense

// LazyHeap finds the object of lowest priority if the priority of an object only grows while it is resident. A hit need
// not touch the heap: the entry of an object in the heap is a lower bound, corrected when it comes to the top. A hit
// takes constant time, an eviction logarithmic time in the resident objects. Ties go to the object requested longest
// ago, or with ByLoad to the one loaded longest ago. Memory: 16 bytes per object and 16 per resident object.
type LazyHeap struct {
	states  []heapState
	entries []heapEntry // 4-ary heap, the least on top
	hole    bool        // entries[0] was removed; the next object to be added goes there
	ByLoad  bool
	clock   uint32 // calls of Add and Raise so far
	Live    int    // resident objects

	// removed holds, per object, the clock of its last removal out of order: older entries are void. nil before the
	// first.
	removed []uint32
}

type heapState struct {
	priority float64
	stamp    uint32 // clock of the last request, or with ByLoad of the load
	requests uint32 // since the object was loaded; 0 if it is absent
}

type heapEntry struct {
	priority float64
	stamp    uint32
	object   Object
}

func (a heapEntry) before(b heapEntry) bool {
	return a.priority < b.priority || a.priority == b.priority && a.stamp < b.stamp
}

// NewLazyHeap returns an empty heap over n objects.
func NewLazyHeap(n int) LazyHeap { return LazyHeap{states: make([]heapState, n)} }

// Grow makes room for objects up to n-1.
func (h *LazyHeap) Grow(n int) {
	h.states = Grown(h.states, n)
	if h.removed != nil {
		h.removed = Grown(h.removed, n)
	}
}

func (h *LazyHeap) Has(o Object) bool { return h.states[o].requests != 0 }

// Add puts o, which must be absent, into the heap.
func (h *LazyHeap) Add(o Object, priority float64) {
	h.clock++
	h.Live++
	h.states[o] = heapState{priority: priority, stamp: h.clock, requests: 1}
	h.push(o)
}

// PutBack puts o, the last result of PopLeast, back as it was, or as later calls of Raise have left it.
func (h *LazyHeap) PutBack(o Object) {
	h.Live++
	h.states[o].requests++
	h.push(o)
}

// push enters the state of o.
func (h *LazyHeap) push(o Object) {
	e := heapEntry{priority: h.states[o].priority, stamp: h.states[o].stamp, object: o}
	if h.hole {
		h.hole = false
		h.siftDown(0, e)
		return
	}
	h.entries = append(h.entries, e)
	h.siftUp(len(h.entries)-1, e)
}

// Requests returns how often o, which must be present, has been requested since its load.
func (h *LazyHeap) Requests(o Object) uint32 { return h.states[o].requests }

// Priority returns the current priority of o, which must be present.
func (h *LazyHeap) Priority(o Object) float64 { return h.states[o].priority }

// Raise counts a request to o, which must be present, and sets its priority, which must not fall.
func (h *LazyHeap) Raise(o Object, priority float64) {
	h.clock++
	s := &h.states[o]
	s.requests++
	s.priority = priority
	if !h.ByLoad {
		s.stamp = h.clock
	}
}

// Reset gives o, which must be present, another priority, which may fall. It is the last of those with that priority,
// as if it had been requested now; with ByLoad, as if it had been loaded now.
func (h *LazyHeap) Reset(o Object, priority float64) {
	requests := h.states[o].requests
	h.Remove(o)
	h.Add(o, priority)
	h.states[o].requests = requests
}

// PopLeast removes the object of lowest priority from the heap, which must not be empty.
func (h *LazyHeap) PopLeast() (o Object, priority float64) {
	o, priority = h.Least()
	h.states[o].requests = 0
	h.Live--
	h.hole = true
	return o, priority
}

// Least returns the object of lowest priority in the heap, which must not be empty.
func (h *LazyHeap) Least() (o Object, priority float64) {
	h.fillHole()
	for {
		top := h.entries[0]
		s := h.states[top.object]
		switch {
		case h.void(top):
			h.hole = true
			h.fillHole()
		case top.priority != s.priority || top.stamp != s.stamp:
			h.siftDown(0, heapEntry{priority: s.priority, stamp: s.stamp, object: top.object})
		default:
			return top.object, top.priority
		}
	}
}

// Remove removes o, which must be present, from the heap. Its entry becomes void and stays until it comes to the top or
// until half of all entries are void.
func (h *LazyHeap) Remove(o Object) {
	if h.removed == nil {
		h.removed = make([]uint32, len(h.states))
	}
	h.removed[o] = h.clock
	h.states[o].requests = 0
	h.Live--
	if len(h.entries) > 2*h.Live+16 {
		h.compact()
	}
}

func (h *LazyHeap) void(e heapEntry) bool {
	return h.removed != nil && (h.states[e.object].requests == 0 || e.stamp <= h.removed[e.object])
}

// compact drops the void entries.
func (h *LazyHeap) compact() {
	h.fillHole()
	kept := h.entries[:0]
	for _, e := range h.entries {
		if !h.void(e) {
			kept = append(kept, e)
		}
	}
	h.entries = kept
	for i := (len(kept) - 2) / 4; i >= 0 && len(kept) > 1; i-- {
		h.siftDown(i, kept[i])
	}
}

// fillHole moves the last entry to the top.
func (h *LazyHeap) fillHole() {
	if !h.hole {
		return
	}
	h.hole = false
	last := len(h.entries) - 1
	e := h.entries[last]
	h.entries = h.entries[:last]
	if last > 0 {
		h.siftDown(0, e)
	}
}

// siftUp places e, starting from slot i.
func (h *LazyHeap) siftUp(i int, e heapEntry) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(h.entries[parent]) {
			break
		}
		h.entries[i] = h.entries[parent]
		i = parent
	}
	h.entries[i] = e
}

// siftDown places e, starting from slot i.
func (h *LazyHeap) siftDown(i int, e heapEntry) {
	entries := h.entries
	for {
		first := 4*i + 1
		if first >= len(entries) {
			break
		}
		least := first
		for child := first + 1; child < min(first+4, len(entries)); child++ {
			if entries[child].before(entries[least]) {
				least = child
			}
		}
		if !entries[least].before(e) {
			break
		}
		entries[i] = entries[least]
		i = least
	}
	entries[i] = e
}
