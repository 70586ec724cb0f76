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

// The queues. The ghost comes first: an object above it is resident.
const (
	s3Ghost = iota
	s3Small
	s3Main
)

type s3fifo struct {
	segments
	freq      []uint8 // per resident object: requests since it entered its queue, at most top
	top       uint8
	move      uint8
	capacity  int64
	returning bool // the object now missed was in the ghost queue
}

func newS3FIFO(c Config) (Policy, error) {
	bits, move := c.Params.Int("bits"), c.Params.Int("move")
	top := 1<<bits - 1
	if move > top {
		return nil, fmt.Errorf("s3fifo: move=%d is never reached, as bits=%d counts to %d", move, bits, top)
	}
	small := max(1, multiple(c.Capacity, c.Params.Float("small")))
	ghost := multiple(c.Capacity, c.Params.Float("ghost"))
	return &s3fifo{
		segments: newSegments(c, ghost, small, c.Capacity-small),
		freq:     make([]uint8, c.Objects),
		top:      uint8(top),
		move:     uint8(move),
		capacity: c.Capacity,
	}, nil
}

func (p *s3fifo) Hit(r Request) { p.hit(r.Object) }

func (p *s3fifo) Miss(r Request) { p.miss(r.Object) }

// Admit refuses an object that would take the whole small queue, as all others would leave it at once.
func (p *s3fifo) Admit(r Request) bool { return p.charged == nil || r.Size < p.limit[s3Small] }

func (p *s3fifo) Victim(Request) Object { return p.evict() }

func (p *s3fifo) Insert(r Request) {
	p.freq[r.Object] = 0
	p.load(p.target(), r)
}

func (p *s3fifo) Remove(o Object) { p.take(o) }

func (p *s3fifo) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.segment[o] > s3Ghost+1 {
			hits++
			p.hit(o)
			continue
		}
		p.miss(o)
		if p.used[s3Small]+p.used[s3Main] == p.capacity {
			p.evict()
			evictions++
		}
		p.freq[o] = 0
		p.put(p.target(), o)
	}
	return hits, evictions
}

func (p *s3fifo) hit(o Object) { p.freq[o] = min(p.freq[o]+1, p.top) }

func (p *s3fifo) miss(o Object) {
	p.returning = p.in(s3Ghost, o)
	if p.returning {
		p.take(o)
	}
}

// target returns the queue for the object now missed. While the cache fills, the small queue grows over its limit.
func (p *s3fifo) target() int {
	if p.returning {
		return s3Main
	}
	return s3Small
}

// evict takes the victim from the main queue where that is over its limit, otherwise from the small one. Objects that the small
// queue hands on meanwhile may take the main queue over its limit.
func (p *s3fifo) evict() Object {
	if p.used[s3Main] > p.limit[s3Main] {
		return p.evictMain()
	}
	for {
		o, ok := p.pop(s3Small)
		if !ok {
			return p.evictMain()
		}
		if p.freq[o] < p.move {
			p.remember(s3Ghost, o)
			return o
		}
		p.freq[o] = 0
		p.put(s3Main, o)
	}
}

func (p *s3fifo) evictMain() Object {
	for {
		o, _ := p.list.Back(s3Main)
		if p.freq[o] == 0 {
			p.take(o)
			return o
		}
		p.freq[o]--
		p.renew(o)
	}
}
