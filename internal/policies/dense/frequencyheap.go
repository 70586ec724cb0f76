package dense

// FrequencyHeap finds the object of the lowest frequency, ties going to the smallest key. A request need not touch the
// heap: the frequency of its entry there is a lower bound, corrected when it comes to the top. A request takes constant
// time, the least object and a removal logarithmic time in the objects that are present. Memory: 8 bytes per object and
// 16 per object that is present.
type FrequencyHeap struct {
	objects []countedObject
	entries []frequencyEntry // 4-ary heap, the least on top
}

type countedObject struct {
	frequency uint32 // 0 if it is absent
	place     uint32 // of its entry
}

type frequencyEntry struct {
	key       uint64
	frequency uint32 // at most the object's
	object    Object
}

func (a frequencyEntry) before(b frequencyEntry) bool {
	return a.frequency < b.frequency || a.frequency == b.frequency && a.key < b.key
}

// NewFrequencyHeap returns an empty heap over n objects.
func NewFrequencyHeap(n int) *FrequencyHeap { return &FrequencyHeap{objects: make([]countedObject, n)} }

// Grow makes room for objects up to n-1.
func (h *FrequencyHeap) Grow(n int)                { h.objects = Grown(h.objects, n) }
func (h *FrequencyHeap) Has(o Object) bool         { return h.objects[o].frequency != 0 }
func (h *FrequencyHeap) Frequency(o Object) uint32 { return h.objects[o].frequency }

// Touch counts a request to o, which must be present.
func (h *FrequencyHeap) Touch(o Object) { h.objects[o].frequency++ }

// Add puts o, which must be absent, into the heap with the given frequency, at least 1, and its key.
func (h *FrequencyHeap) Add(o Object, frequency uint32, key uint64) {
	h.objects[o].frequency = frequency
	h.entries = append(h.entries, frequencyEntry{})
	h.siftUp(len(h.entries)-1, frequencyEntry{key: key, frequency: frequency, object: o})
}

// Least returns the object of the lowest frequency. The heap must not be empty.
func (h *FrequencyHeap) Least() Object {
	for {
		top := h.entries[0]
		known := h.objects[top.object].frequency
		if top.frequency == known {
			return top.object
		}
		top.frequency = known
		h.siftDown(0, top)
	}
}

// Remove removes o, which must be present.
func (h *FrequencyHeap) Remove(o Object) {
	place, last := int(h.objects[o].place), len(h.entries)-1
	h.objects[o].frequency = 0
	e := h.entries[last]
	h.entries = h.entries[:last]
	if place == last {
		return
	}
	if place > 0 && e.before(h.entries[(place-1)/4]) {
		h.siftUp(place, e)
	} else {
		h.siftDown(place, e)
	}
}

func (h *FrequencyHeap) put(place int, e frequencyEntry) {
	h.entries[place] = e
	h.objects[e.object].place = uint32(place)
}

// siftUp places e, starting from slot i.
func (h *FrequencyHeap) siftUp(i int, e frequencyEntry) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(h.entries[parent]) {
			break
		}
		h.put(i, h.entries[parent])
		i = parent
	}
	h.put(i, e)
}

// siftDown places e, starting from slot i.
func (h *FrequencyHeap) siftDown(i int, e frequencyEntry) {
	for {
		first := 4*i + 1
		if first >= len(h.entries) {
			break
		}
		least := first
		for child := first + 1; child < min(first+4, len(h.entries)); child++ {
			if h.entries[child].before(h.entries[least]) {
				least = child
			}
		}
		if !h.entries[least].before(e) {
			break
		}
		h.put(i, h.entries[least])
		i = least
	}
	h.put(i, e)
}
