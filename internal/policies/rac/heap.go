package rac

// topicHeap finds the topic of least key; ties go to the least time.
type topicHeap struct {
	ranks []rank  // a binary heap, the least on top
	slots []int32 // per topic: its index in ranks, -1 if it is absent
}

type rank struct {
	key   float64
	time  uint32
	topic topicID
}

func (a rank) before(b rank) bool { return a.key < b.key || a.key == b.key && a.time < b.time }

// set puts a topic into the heap, or moves it to the place of its new key.
func (h *topicHeap) set(r rank) {
	for int(r.topic) >= len(h.slots) {
		h.slots = append(h.slots, -1)
	}
	i := int(h.slots[r.topic])
	if i < 0 {
		i = len(h.ranks)
		h.ranks = append(h.ranks, r)
	}
	h.place(i, r)
}

// has reports whether a topic is in the heap.
func (h *topicHeap) has(s topicID) bool { return int(s) < len(h.slots) && h.slots[s] >= 0 }

// remove takes a topic from the heap, if it is there.
func (h *topicHeap) remove(s topicID) {
	if !h.has(s) {
		return
	}
	i, last := int(h.slots[s]), len(h.ranks)-1
	r := h.ranks[last]
	h.ranks = h.ranks[:last]
	h.slots[s] = -1
	if i < last {
		h.place(i, r)
	}
}

// place puts r in its place, starting from the free slot i.
func (h *topicHeap) place(i int, r rank) {
	for i > 0 && r.before(h.ranks[(i-1)/2]) {
		h.put(i, h.ranks[(i-1)/2])
		i = (i - 1) / 2
	}
	for {
		least := 2*i + 1
		if least >= len(h.ranks) {
			break
		}
		if right := least + 1; right < len(h.ranks) && h.ranks[right].before(h.ranks[least]) {
			least = right
		}
		if !h.ranks[least].before(r) {
			break
		}
		h.put(i, h.ranks[least])
		i = least
	}
	h.put(i, r)
}

func (h *topicHeap) put(i int, r rank) {
	h.ranks[i] = r
	h.slots[r.topic] = int32(i)
}
