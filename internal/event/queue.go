package event

import "time"

// entry is a scheduled event in the queue.
type entry struct {
	when time.Duration
	seq  uint64 // events with equal times run in this order
	slot int32  // of its timer
}

func (e entry) before(o entry) bool {
	return e.when < o.when || e.when == o.when && e.seq < o.seq
}

// queue is a heap with four children per node, which is flatter than the usual two. Timers know their index, so that
// they can be cancelled.
type queue struct {
	entries []entry
}

const children = 4

func (q *queue) push(e entry, timers []timer) {
	q.entries = append(q.entries, e)
	q.up(int32(len(q.entries)-1), timers)
}

// remove removes the entry at index at.
func (q *queue) remove(at int32, timers []timer) {
	end := int32(len(q.entries) - 1)
	last := q.entries[end]
	q.entries = q.entries[:end]
	if at == end {
		return
	}
	q.put(at, last, timers)
	q.down(at, timers)
	q.up(timers[last.slot].at, timers)
}

func (q *queue) put(at int32, e entry, timers []timer) {
	q.entries[at] = e
	timers[e.slot].at = at
}

func (q *queue) up(at int32, timers []timer) {
	e := q.entries[at]
	for at > 0 {
		parent := (at - 1) / children
		if !e.before(q.entries[parent]) {
			break
		}
		q.put(at, q.entries[parent], timers)
		at = parent
	}
	q.put(at, e, timers)
}

func (q *queue) down(at int32, timers []timer) {
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
		q.put(at, q.entries[least], timers)
		at = least
	}
	q.put(at, e, timers)
}
