package dense

// FarthestHeap orders objects by when they are due, the latest on top. Each entry holds a position in its upper half
// and an object in its lower half. An entry becomes stale when its object is due at another position. It stays and
// sinks as time passes, until half of all entries are stale. The caller keeps the positions and must not give an object
// the same position twice: due is indexed by object, 0 for objects that are in no heap.
type FarthestHeap struct {
	Entries []uint64
	live    int // entries that are not stale
}

// Push files o under the position at which it is due. The caller has given up an older entry of o before.
func (h *FarthestHeap) Push(o Object, due []uint32) {
	h.live++
	if len(h.Entries) > 2*h.live+64 {
		h.prune(due)
	}
	h.Entries = append(h.Entries, 0)
	siftUp(h.Entries, uint64(due[o])<<32|uint64(o))
}

// GiveUp says that one entry goes stale: the caller is about to change the due position of its object.
func (h *FarthestHeap) GiveUp() { h.live-- }

func current(entry uint64, due []uint32) bool { return due[uint32(entry)] == uint32(entry>>32) }

// Top returns the object that is due last; ties go to the highest number.
func (h *FarthestHeap) Top(due []uint32) (o Object, ok bool) {
	for len(h.Entries) > 0 {
		top := h.Entries[0]
		if current(top, due) {
			return uint32(top), true
		}
		last := len(h.Entries) - 1
		moved := h.Entries[last]
		if h.Entries = h.Entries[:last]; last > 0 {
			siftDown(h.Entries, 0, moved)
		}
	}
	return 0, false
}

// prune drops the stale entries.
func (h *FarthestHeap) prune(due []uint32) {
	kept := h.Entries[:0]
	for _, e := range h.Entries {
		if current(e, due) {
			kept = append(kept, e)
		}
	}
	h.Entries = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		siftDown(kept, i, kept[i])
	}
}

// siftUp places e in the heap, whose last slot is free.
func siftUp(heap []uint64, e uint64) {
	i := len(heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if heap[parent] >= e {
			break
		}
		heap[i] = heap[parent]
		i = parent
	}
	heap[i] = e
}

// siftDown places e in the heap, starting from the free slot i.
func siftDown(heap []uint64, i int, e uint64) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			break
		}
		if child+1 < len(heap) && heap[child+1] > heap[child] {
			child++
		}
		if heap[child] <= e {
			break
		}
		heap[i] = heap[child]
		i = child
	}
	heap[i] = e
}
