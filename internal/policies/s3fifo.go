package policies

import "fmt"

var s3fifoEntry = Entry{
	Name:    "s3fifo",
	Aliases: []string{"s3-fifo"},
	Summary: "three FIFO queues: a small one that new objects must pass, a main one with second chances, and a ghost of what the small one evicted",
	Source:  "Yang, Zhang, Qiu, Yue and Rashmi, FIFO queues are all you need for cache eviction, SOSP 2023, algorithm 1",
	Params: []Param{
		{Name: "small", Default: 0.1, Min: 0, Max: 1, Doc: "share of the capacity for the small queue"},
		{Name: "ghost", Default: 0.9, Min: 0, Max: 16, Doc: "capacity of the ghost queue as a share of the cache's"},
		{Name: "move", Default: 2, Min: 0, Max: 63, Doc: "requests in the small queue, after the first, that move an object to the main queue"},
		{Name: "bits", Default: 2, Min: 1, Max: 6, Doc: "width of an object's counter of requests"},
	},
	New: newS3FIFO,
}

// The state of an object: its place in the two low bits, and above them how often it was requested since it got there.
const (
	s3Absent  = 0
	s3Ghost   = 1
	s3Small   = 2
	s3Main    = 3
	s3Place   = 3
	s3Request = 4 // one request
)

// s3fifo has a batch path over the same queues.
type s3fifo struct {
	state              []uint8
	top                uint8 // a state below it can count one more request
	move               uint8
	sizes              objectSizes
	small, main, ghost sizedQueue
	capacity           int64
	returning          bool // the object now missed was in the ghost queue
}

func newS3FIFO(c Config) (Policy, error) {
	top := 1<<c.Params.Int("bits") - 1
	if move := c.Params.Int("move"); move > top {
		return nil, fmt.Errorf("s3fifo: move=%d is never reached, as bits=%d counts to %d", move, c.Params.Int("bits"), top)
	}
	sizes := newObjectSizes(c)
	small := max(1, int64(float64(c.Capacity)*c.Params.Float("small")))
	ghost := int64(float64(c.Capacity) * c.Params.Float("ghost"))
	return &s3fifo{
		state:    make([]uint8, c.Objects),
		top:      uint8(top * s3Request),
		move:     uint8(c.Params.Int("move")),
		sizes:    sizes,
		small:    newSizedQueue(c.Objects, sizes, small),
		main:     newSizedQueue(c.Objects, sizes, c.Capacity-small),
		ghost:    newSizedQueue(c.Objects, sizes, ghost),
		capacity: c.Capacity,
	}, nil
}

func (p *s3fifo) Hit(r Request) { p.hit(r.Object) }

func (p *s3fifo) Miss(r Request) { p.miss(r.Object) }

// Admit refuses an object that would take the whole small queue, as all others would leave it at once.
func (p *s3fifo) Admit(r Request) bool { return p.sizes == nil || r.Size < p.small.limit }

func (p *s3fifo) Victim(Request) Object { return p.evict() }

func (p *s3fifo) Insert(r Request) {
	p.sizes.set(r)
	p.insert(r.Object)
}

func (p *s3fifo) Remove(o Object) {
	if p.state[o]&s3Place == s3Small {
		p.small.remove(o)
	} else {
		p.main.remove(o)
	}
	p.state[o] = s3Absent
}

func (p *s3fifo) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.state[o] >= s3Small {
			hits++
			p.hit(o)
			continue
		}
		p.miss(o)
		if p.small.used+p.main.used == p.capacity {
			p.evict()
			evictions++
		}
		p.insert(o)
	}
	return hits, evictions
}

func (p *s3fifo) hit(o Object) {
	if p.state[o] < p.top {
		p.state[o] += s3Request
	}
}

func (p *s3fifo) miss(o Object) {
	p.returning = p.state[o] == s3Ghost
	if p.returning {
		p.ghost.remove(o)
		p.state[o] = s3Absent
	}
}

// insert puts o into the small queue, or into the main one if it returns. While the cache fills, the small queue grows over its limit.
func (p *s3fifo) insert(o Object) {
	if p.returning {
		p.main.push(o)
		p.state[o] = s3Main
		return
	}
	p.small.push(o)
	p.state[o] = s3Small
}

// evict takes the victim from the main queue where that is over its limit, otherwise from the small one. Objects that the small
// queue hands on meanwhile may take the main queue over its limit.
func (p *s3fifo) evict() Object {
	if p.main.used > p.main.limit {
		return p.evictMain()
	}
	for p.small.live > 0 {
		o := p.small.pop()
		if p.state[o]/s3Request < p.move {
			p.remember(o)
			return o
		}
		p.main.push(o)
		p.state[o] = s3Main
	}
	return p.evictMain()
}

func (p *s3fifo) evictMain() Object {
	for {
		o := p.main.pop()
		if p.state[o] < s3Request {
			p.state[o] = s3Absent
			return o
		}
		p.state[o] -= s3Request
		p.main.push(o)
	}
}

// remember puts o into the ghost queue.
func (p *s3fifo) remember(o Object) {
	p.state[o] = s3Absent
	size := p.sizes.of(o)
	if size > p.ghost.limit {
		return
	}
	for p.ghost.used+size > p.ghost.limit {
		p.state[p.ghost.pop()] = s3Absent
	}
	p.ghost.push(o)
	p.state[o] = s3Ghost
}
