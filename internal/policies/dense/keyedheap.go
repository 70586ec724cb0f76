package dense

// KeyedHeap finds the object, or whatever else is numbered like objects, of lowest priority. Ties go to the smallest
// key. All operations take logarithmic time. Memory: 4 bytes per object and 24 per object in the heap.
type KeyedHeap struct {
	at      []uint32 // per object: 1 + its place among the entries; 0 if it is absent
	entries []keyedEntry
}

type keyedEntry struct {
	priority float64
	key      uint64
	object   Object
}

func (a keyedEntry) before(b keyedEntry) bool {
	return a.priority < b.priority || a.priority == b.priority && a.key < b.key
}

// NewKeyedHeap returns an empty heap over n objects.
func NewKeyedHeap(n int) KeyedHeap { return KeyedHeap{at: make([]uint32, n)} }

// Grow makes room for objects up to n-1.
func (h *KeyedHeap) Grow(n int) { h.at = Grown(h.at, n) }

// Set puts o into the heap, or gives it another priority if it is there. It makes room for o.
func (h *KeyedHeap) Set(o Object, priority float64, key uint64) {
	if int(o) >= len(h.at) {
		h.Grow(int(o) + 1)
	}
	if h.at[o] == 0 {
		h.entries = append(h.entries, keyedEntry{})
		h.at[o] = uint32(len(h.entries))
	}
	h.place(int(h.at[o])-1, keyedEntry{priority, key, o})
}

func (h *KeyedHeap) Has(o Object) bool { return int(o) < len(h.at) && h.at[o] != 0 }
func (h *KeyedHeap) Len() int          { return len(h.entries) }

// Least returns the object of lowest priority. The heap must not be empty.
func (h *KeyedHeap) Least() (o Object, priority float64) {
	return h.entries[0].object, h.entries[0].priority
}

// Remove takes o out of the heap, if it is there.
func (h *KeyedHeap) Remove(o Object) {
	if !h.Has(o) {
		return
	}
	i, last := int(h.at[o])-1, len(h.entries)-1
	e := h.entries[last]
	h.entries = h.entries[:last]
	h.at[o] = 0
	if i < last {
		h.place(i, e)
	}
}

// Clear takes all objects out of the heap.
func (h *KeyedHeap) Clear() {
	for _, e := range h.entries {
		h.at[e.object] = 0
	}
	h.entries = h.entries[:0]
}

// place writes e to slot i, whose entry it replaces, and moves it up or down to where it belongs.
func (h *KeyedHeap) place(i int, e keyedEntry) {
	for i > 0 && e.before(h.entries[(i-1)/2]) {
		h.put(i, h.entries[(i-1)/2])
		i = (i - 1) / 2
	}
	for {
		child := 2*i + 1
		if child >= len(h.entries) {
			break
		}
		if child+1 < len(h.entries) && h.entries[child+1].before(h.entries[child]) {
			child++
		}
		if !h.entries[child].before(e) {
			break
		}
		h.put(i, h.entries[child])
		i = child
	}
	h.put(i, e)
}

func (h *KeyedHeap) put(i int, e keyedEntry) {
	h.entries[i] = e
	h.at[e.object] = uint32(i) + 1
}
