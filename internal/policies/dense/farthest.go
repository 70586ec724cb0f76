package dense

// FarthestHeap orders objects by when they are due, the latest on top. Each entry holds a position in its upper half
// and an object in its lower one. An entry whose object is due at another position by now stays: it sinks as time
// passes, until half of all entries are such. The positions are kept by the caller, who must not give an object the
// same position twice: due per object, 0 for those that are in no heap.
type FarthestHeap struct {
	Entries []uint64
	live    int // entries that stand for an object
}

// Push files o under the position at which it is due. An older entry of o has been given up before.
func (h *FarthestHeap) Push(o Object, due []uint32) {
	h.live++
	if len(h.Entries) > 2*h.live+64 {
		h.prune(due)
	}
	h.Entries = append(h.Entries, 0)
	siftUp(h.Entries, uint64(due[o])<<32|uint64(o))
}

// GiveUp says that an entry no longer stands for its object, whose due is about to change.
func (h *FarthestHeap) GiveUp() { h.live-- }

func current(entry uint64, due []uint32) bool { return due[uint32(entry)] == uint32(entry>>32) }

// Top returns the object that is due last, of equals that with the highest number.
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

// prune drops the entries that no longer stand for an object.
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
