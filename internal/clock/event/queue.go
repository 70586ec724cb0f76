package event

import "cmp"

// entry is an element of a queue.
type entry[K cmp.Ordered] struct {
	key  K
	seq  uint64 // entries with equal keys come in this order
	slot int32  // the caller's number for it, with which it can be removed
}

func (e entry[K]) before(o entry[K]) bool {
	return e.key < o.key || e.key == o.key && e.seq < o.seq
}

// queue is a heap with four children per node, which is flatter than the usual two. Its elements have small numbers,
// with which they can be removed.
type queue[K cmp.Ordered] struct {
	entries []entry[K]
	at      []int32 // per slot: the index of its entry
}

const children = 4

func (q *queue[K]) push(e entry[K]) {
	for int(e.slot) >= len(q.at) {
		q.at = append(q.at, 0)
	}
	q.entries = append(q.entries, e)
	q.up(int32(len(q.entries) - 1))
}

// pop removes and returns the first entry.
func (q *queue[K]) pop() entry[K] {
	first := q.entries[0]
	q.removeAt(0)
	return first
}

// remove removes the entry of a slot, and returns it.
func (q *queue[K]) remove(slot int32) entry[K] {
	at := q.at[slot]
	e := q.entries[at]
	q.removeAt(at)
	return e
}

func (q *queue[K]) removeAt(at int32) {
	end := int32(len(q.entries) - 1)
	last := q.entries[end]
	q.entries = q.entries[:end]
	if at == end {
		return
	}
	q.put(at, last)
	// The last entry comes from any branch of the heap, so it may belong below or above the gap.
	q.down(at)
	q.up(q.at[last.slot])
}

func (q *queue[K]) put(at int32, e entry[K]) {
	q.entries[at] = e
	q.at[e.slot] = at
}

func (q *queue[K]) up(at int32) {
	e := q.entries[at]
	for at > 0 {
		parent := (at - 1) / children
		if !e.before(q.entries[parent]) {
			break
		}
		q.put(at, q.entries[parent])
		at = parent
	}
	q.put(at, e)
}

func (q *queue[K]) down(at int32) {
	e := q.entries[at]
	for {
		first := at*children + 1
		if int(first) >= len(q.entries) {
			break
		}
		least := first
		for c := first + 1; c < first+children && int(c) < len(q.entries); c++ {
			if q.entries[c].before(q.entries[least]) {
				least = c
			}
		}
		if !q.entries[least].before(e) {
			break
		}
		q.put(at, q.entries[least])
		at = least
	}
	q.put(at, e)
}
