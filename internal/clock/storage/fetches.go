package storage

import (
	"slices"

	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// fetch is an object on its way.
type fetch struct {
	object     uint32
	bytes      int64
	stage      stage
	prefetch   bool // no request waits for it
	waiters    []waiter
	timer      event.Timer
	send       func() // ends the delay
	prev, next int32  // in the queue
}

// stage is how far a fetch has come.
type stage uint8

const (
	unusedSlot stage = iota
	waiting          // in the queue of prefetches
	delayed          // the store has not answered
	sending          // its bytes are being sent
)

// waiter is a request that waits for a fetch.
type waiter struct {
	request int
	slot    int32 // of its read
}

// none is the end of a list.
const none int32 = -1

// demand makes a request wait for an object, and fetches the object unless it is on its way.
func (m *model) demand(request int, object uint32, bytes int64, slot int32) {
	at := m.fetchOf(object)
	switch {
	case at == none:
		at = m.newFetch(object, bytes)
		m.start(at)
	case m.fetches[at].stage == waiting:
		m.queue.remove(m.fetches, at)
		m.start(at)
	default:
		if m.counts.Delayed++; m.fetches[at].prefetch {
			m.promote(at)
		}
	}
	f := &m.fetches[at]
	f.prefetch = false
	f.waiters = append(f.waiters, waiter{request, slot})
}

// promote turns an outstanding prefetch, which a request now waits for, into an ordinary fetch.
func (m *model) promote(at int32) {
	m.counts.Late++
	m.out--
	if m.fetches[at].stage == sending {
		// Earlier there is nothing to promote: the delay of the store is the same for both.
		m.link.Promote(at)
	}
}

// enqueueAll queues what the cache proposes.
func (m *model) enqueueAll() {
	for _, f := range m.proposals {
		bytes := f.Size
		switch {
		case !m.Unit:
		case int(f.Object) < len(m.ObjectSizes):
			bytes = m.ObjectSizes[f.Object]
		default:
			bytes = m.largest
		}
		m.enqueue(f.Object, bytes)
	}
}

// enqueue queues a prefetch, unless its object is on its way.
func (m *model) enqueue(object uint32, bytes int64) {
	if m.fetchOf(object) != none {
		return
	}
	if m.queue.length >= m.Queue+m.Prefetches-m.out { // those that can be started at once need no place
		m.counts.Cancelled++
		if !m.DropOldest || m.queue.length == 0 {
			m.cache.Cancelled(object)
			return
		}
		m.drop(m.queue.first)
	}
	at := m.newFetch(object, bytes)
	f := &m.fetches[at]
	f.prefetch, f.stage = true, waiting
	m.queue.push(m.fetches, at)
}

// drop gives up a prefetch that waits in the queue.
func (m *model) drop(at int32) {
	m.queue.remove(m.fetches, at)
	object := m.fetches[at].object
	m.release(at)
	m.cache.Cancelled(object)
}

// prefetch starts as many prefetches as may be outstanding.
func (m *model) prefetch() {
	for m.out < m.Prefetches {
		if m.queue.length == 0 && !m.backlog(m.Prefetches-m.out) {
			return
		}
		at := m.queue.first
		m.queue.remove(m.fetches, at)
		m.out++
		m.start(at)
	}
}

// backlog queues what the cache would prefetch now that nothing else is to be prefetched. It reports whether there is
// anything.
func (m *model) backlog(n int) bool {
	m.proposals = m.cache.More(n, m.proposals[:0])
	m.enqueueAll()
	return m.queue.length > 0
}

// start requests an object from the store.
func (m *model) start(at int32) {
	f := &m.fetches[at]
	f.stage = delayed
	f.timer = m.loop.After(m.Delay, f.send)
}

// send starts the transfer of an object over the link.
func (m *model) send(at int32) {
	f := &m.fetches[at]
	f.stage, f.timer = sending, event.Timer{}
	m.link.Begin(at, f.bytes, f.priority())
}

func (f *fetch) priority() event.Priority {
	if f.prefetch {
		return event.Background
	}
	return event.Urgent
}

// arrived loads an object into the cache and serves the requests that wait for it.
func (m *model) arrived(at int32) {
	// A copy: the slot is free from here on, and what the cache does now may fill it.
	f := m.fetches[at]
	m.release(at)
	m.counts.Fetched += f.bytes
	if f.prefetch {
		m.counts.Prefetched += f.bytes
		m.note(f.object, f.bytes)
		m.out--
		r := m.request(f.object, f.bytes)
		r.Pos, r.Reason = max(0, m.pos-1), requests.Prefetch
		m.cache.Arrive(r)
		m.prefetch()
		return
	}
	m.fetches[at].waiters, m.arriving = m.arriving[:0], f.waiters
	for i, w := range f.waiters {
		r := m.demanded(w.request)
		if i == 0 {
			m.cache.Arrive(r)
		} else {
			m.cache.Waited(r)
		}
		m.pos++
	}
	for _, w := range f.waiters {
		m.came(w.slot)
	}
}

// note records that an object was prefetched.
func (m *model) note(object uint32, bytes int64) {
	for int(object) >= len(m.unused) {
		m.unused = append(m.unused, 0)
	}
	m.unused[object] = bytes
}

// abandon removes the waiters of a job, whose reads are still open, and cancels the fetches that nothing else waits
// for.
func (m *model) abandon(job int32) {
	for at := range m.fetches {
		f := &m.fetches[at]
		if f.stage == unusedSlot || f.prefetch {
			continue
		}
		f.waiters = slices.DeleteFunc(f.waiters, func(w waiter) bool { return m.jobOf(m.open[w.slot].read) == job })
		if len(f.waiters) > 0 {
			continue
		}
		if f.stage == sending {
			m.link.Cancel(int32(at), event.Urgent)
		} else {
			m.loop.Cancel(f.timer)
		}
		object := f.object
		m.release(int32(at))
		m.cache.Cancelled(object)
	}
}

// fetchOf returns the fetch of an object; none if it is not on its way.
func (m *model) fetchOf(object uint32) int32 {
	if int(object) >= len(m.fetching) {
		return none
	}
	return m.fetching[object] - 1
}

func (m *model) newFetch(object uint32, bytes int64) int32 {
	for int(object) >= len(m.fetching) {
		m.fetching = append(m.fetching, 0)
	}
	at := int32(len(m.fetches))
	if n := len(m.freeFetch); n > 0 {
		at = m.freeFetch[n-1]
		m.freeFetch = m.freeFetch[:n-1]
	} else {
		m.fetches = append(m.fetches, fetch{send: func() { m.send(at) }})
	}
	f := &m.fetches[at]
	f.object, f.bytes, f.prefetch, f.waiters = object, bytes, false, f.waiters[:0]
	m.fetching[object] = at + 1
	return at
}

func (m *model) release(at int32) {
	m.fetching[m.fetches[at].object] = 0
	m.fetches[at].stage = unusedSlot
	m.freeFetch = append(m.freeFetch, at)
}

// list is a queue of fetches that also removes from the middle.
type list struct {
	first, last int32
	length      int
}

var emptyList = list{none, none, 0}

func (l *list) push(fetches []fetch, at int32) {
	f := &fetches[at]
	f.prev, f.next = l.last, none
	if l.last == none {
		l.first = at
	} else {
		fetches[l.last].next = at
	}
	l.last = at
	l.length++
}

func (l *list) remove(fetches []fetch, at int32) {
	f := &fetches[at]
	if f.prev == none {
		l.first = f.next
	} else {
		fetches[f.prev].next = f.next
	}
	if f.next == none {
		l.last = f.prev
	} else {
		fetches[f.next].prev = f.prev
	}
	l.length--
}
