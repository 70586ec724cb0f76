package storage

import (
	"math"
	"slices"
)

// fifoCache is a small cache for tests: so many objects, first in first out, with proposals of the next objects.
type fifoCache struct {
	reads    Reads
	capacity int
	ahead    int   // objects that are proposed after each request
	backlog  int   // objects that More proposes, one after another; 0: none
	objects  int   // there are no further ones
	bytes    int64 // of prefetched object 0
	step     int64 // how much others are larger: no two transfers end at the same time
	inside   []uint32
	last     uint32
}

func newFIFOCache(r Reads, capacity, ahead, backlog, objects int) *fifoCache {
	return &fifoCache{reads: r, capacity: capacity, ahead: ahead, backlog: backlog, objects: objects, bytes: 1000}
}

// size returns the bytes of a prefetched object.
func (c *fifoCache) size(o uint32) int64 { return c.bytes + c.step*int64(o*o*o%10007) }

func (c *fifoCache) ask(request int) bool {
	c.last = c.reads.Objects[request]
	return slices.Contains(c.inside, c.last)
}

func (c *fifoCache) load(o uint32) {
	if c.capacity == 0 || slices.Contains(c.inside, o) {
		return
	}
	if len(c.inside) == c.capacity {
		c.inside = c.inside[1:]
	}
	c.inside = append(c.inside, o)
}

func (c *fifoCache) proposals() (all []uint32) {
	for i := 1; i <= c.ahead; i++ {
		if o := c.last + uint32(i); int(o) < c.objects && !slices.Contains(c.inside, o) {
			all = append(all, o)
		}
	}
	return all
}

func (c *fifoCache) more(n int) (all []uint32) {
	for ; n > 0 && c.backlog > 0; n-- {
		c.backlog--
		if o := uint32(c.backlog % c.objects); !slices.Contains(c.inside, o) {
			all = append(all, o)
		}
	}
	return all
}

// naive is the model without any cleverness: lists that are searched, and one step from event to event.
type naive struct {
	Config
	Reads
	cache     *fifoCache
	now       float64 // seconds
	transfers []*transfer
	queue     []*transfer
	active    []*activeRead
	due       []dueRead
	done      map[int]float64 // per read
	counts    Counts
	busy      float64
}

type transfer struct {
	object   uint32
	left     float64
	bytes    int64
	sends    float64 // when the store answers
	prefetch bool
	waiting  []wait
}

type wait struct {
	request int
	read    *activeRead
}

type activeRead struct {
	read, left int
	ready      float64
}

type dueRead struct {
	at   float64
	read int
}

func (n *naive) jobOf(read int) int32 {
	if n.Job == nil {
		return 0
	}
	return n.Job[read]
}

func (n *naive) nextOf(read int) int {
	for r := read + 1; r < len(n.Starts); r++ {
		if n.jobOf(r) == n.jobOf(read) {
			return r
		}
	}
	return -1
}

func (n *naive) run() {
	n.done = map[int]float64{}
	begun := map[int32]bool{}
	for read := range n.Starts {
		if j := n.jobOf(read); !n.Closed || !begun[j] {
			begun[j] = true
			n.due = append(n.due, dueRead{n.Times[read].Seconds(), read})
		}
	}
	for len(n.done) < len(n.Starts) {
		n.step()
	}
}

// rate returns the transfers that are being sent.
func (n *naive) sending() (of []*transfer) {
	for _, prefetch := range []bool{false, true} {
		for _, t := range n.transfers {
			if t.prefetch == prefetch && t.sends <= n.now {
				of = append(of, t)
			}
		}
		if of != nil {
			return of
		}
	}
	return nil
}

// step goes to the next event and handles one.
func (n *naive) step() {
	sending := n.sending()
	next := math.Inf(1)
	for _, t := range n.transfers {
		if t.sends > n.now {
			next = min(next, t.sends)
		}
	}
	for _, t := range sending {
		next = min(next, n.now+t.left*float64(len(sending))/n.Bandwidth)
	}
	for _, a := range n.active {
		if a.left == 0 {
			next = min(next, max(n.now, a.ready))
		}
	}
	for _, d := range n.due {
		next = min(next, max(n.now, d.at))
	}
	for _, t := range sending {
		t.left -= (next - n.now) * n.Bandwidth / float64(len(sending))
	}
	if sending != nil {
		n.busy += next - n.now
	}
	n.now = next
	for i, t := range n.transfers {
		if t.sends <= n.now && t.left <= 1e-6 && slices.Contains(sending, t) {
			n.transfers = slices.Delete(n.transfers, i, i+1)
			n.arrive(t)
			return
		}
	}
	for i, a := range n.active {
		if a.left == 0 && a.ready <= n.now {
			n.active = slices.Delete(n.active, i, i+1)
			n.end(a)
			return
		}
	}
	for i, d := range n.due {
		if d.at <= n.now {
			n.due = slices.Delete(n.due, i, i+1)
			n.issue(d.read)
			return
		}
	}
}

func (n *naive) find(o uint32) (t *transfer, queued bool) {
	for _, t := range n.transfers {
		if t.object == o {
			return t, false
		}
	}
	for _, t := range n.queue {
		if t.object == o {
			return t, true
		}
	}
	return nil, false
}

func (n *naive) outstanding() (out int) {
	for _, t := range n.transfers {
		if t.prefetch {
			out++
		}
	}
	return out
}

func (n *naive) start(t *transfer) {
	t.sends = n.now + n.Delay.Seconds()
	n.transfers = append(n.transfers, t)
}

func (n *naive) issue(read int) {
	to := len(n.Objects)
	if read+1 < len(n.Starts) {
		to = n.Starts[read+1]
	}
	a := &activeRead{read: read, ready: n.now}
	n.active = append(n.active, a)
	for request := n.Starts[read]; request < to; request++ {
		if n.cache.ask(request) {
			a.ready = n.now + n.Local.Seconds()
		} else {
			n.demand(request, a)
		}
		for _, o := range n.cache.proposals() {
			n.propose(o)
		}
	}
	n.fill()
}

func (n *naive) demand(request int, a *activeRead) {
	o := n.Objects[request]
	t, queued := n.find(o)
	switch {
	case t == nil:
		t = &transfer{object: o, left: float64(n.Size(request)), bytes: n.Size(request)}
		n.start(t)
	case queued:
		n.queue = slices.DeleteFunc(n.queue, func(q *transfer) bool { return q == t })
		n.start(t)
	default:
		n.counts.Delayed++
		if t.prefetch {
			n.counts.Late++
		}
	}
	t.prefetch = false
	t.waiting = append(t.waiting, wait{request, a})
	a.left++
}

func (n *naive) propose(o uint32) {
	if t, _ := n.find(o); t != nil {
		return
	}
	if len(n.queue) >= n.Queue+n.Prefetches-n.outstanding() {
		n.counts.Cancelled++
		if !n.DropOldest || len(n.queue) == 0 {
			return
		}
		n.queue = n.queue[1:]
	}
	n.queue = append(n.queue, &transfer{object: o, left: float64(n.cache.size(o)), bytes: n.cache.size(o), prefetch: true})
}

func (n *naive) fill() {
	for n.outstanding() < n.Prefetches {
		if len(n.queue) == 0 {
			for _, o := range n.cache.more(n.Prefetches - n.outstanding()) {
				n.propose(o)
			}
		}
		if len(n.queue) == 0 {
			return
		}
		t := n.queue[0]
		n.queue = n.queue[1:]
		n.start(t)
	}
}

func (n *naive) arrive(t *transfer) {
	n.counts.Fetched += t.bytes
	n.cache.load(t.object)
	if t.prefetch {
		n.counts.Prefetched += t.bytes
		n.fill()
	}
	for _, w := range t.waiting {
		w.read.left--
	}
}

func (n *naive) end(a *activeRead) {
	n.done[a.read] = n.now
	if next := n.nextOf(a.read); n.Closed && next >= 0 {
		n.due = append(n.due, dueRead{n.now + max(0, (n.Times[next]-n.Times[a.read]).Seconds()), next})
	}
}
