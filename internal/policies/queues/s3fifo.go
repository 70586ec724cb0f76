package queues

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var s3fifoEntry = policies.Entry{
	Name:    "s3fifo",
	Look:    policies.Look{Color: policies.Green, Mark: policies.Triangle},
	Memory:  policies.Memory{PerObject: 15, PerSlot: 21},
	Aliases: []string{"s3-fifo"},
	Summary: "three FIFO queues: a small one that new objects must pass, a main one with second chances, and a ghost of " +
		"what the small one evicted",
	Source: "Yang, Zhang, Qiu, Yue and Rashmi, FIFO queues are all you need for cache eviction, SOSP 2023, algorithm 1",
	Params: []policies.Param{
		{Name: "small", Default: 0.1, Min: 0, Max: 1, Doc: "share of the capacity for the small queue"},
		{Name: "ghost", Default: 0.9, Min: 0, Max: 16, Doc: "capacity of the ghost queue as a share of the cache's"},
		{Name: "move", Default: 2, Min: 0, Max: 63, Doc: "requests in the small queue, after the first, that move an " +
			"object to the main queue"},
		{Name: "bits", Default: 2, Min: 1, Max: 6, Doc: "width of an object's counter of requests"},
		{Name: "rule", Default: "current", Choices: []string{"current", "2024", "caffeine"},
			Doc: "current, the authors' program of today: victims come from the main queue while it is over its share; until " +
				"the first eviction, new objects also enter it once the small one has its share; 2024, their program of that " +
				"year: new objects enter the small queue only; caffeine: victims come from the small queue while that has its " +
				"share, and from the main one also when a promotion overfills it"},
	},
	New: func(c policies.Config) (policies.Policy, error) {
		p, err := newS3FIFO(c, "s3fifo", c.Params.Text("rule") == "current")
		if err == nil && c.Params.Text("rule") == "caffeine" {
			return &s3fifoSmallFirst{queues: p}, nil
		}
		return p, err
	},
}

// The queues. The ghost comes first: an object above it is resident.
const (
	s3Ghost = iota
	s3Small
	s3Main
)

type s3fifo struct {
	dense.Segments
	freq      []uint8 // per resident object: requests since it entered its queue, at most top
	top       uint8
	move      uint8
	returning bool // the missed object was in the ghost queue
	filling   bool // until the first eviction, if not 2024: what the small queue has no room for enters the main one

	batch  s3Batch
	config policies.Config
}

func newS3FIFO(c policies.Config, name string, filling bool) (*s3fifo, error) {
	bits, move := c.Params.Int("bits"), c.Params.Int("move")
	top := 1<<bits - 1
	if move > top {
		return nil, fmt.Errorf("%s: bits=%d counts up to %d, which never reaches move=%d; lower move or raise bits",
			name, bits, top, move)
	}
	return &s3fifo{
		Segments: dense.NewSegments(c.Objects, c.Unit, s3Limits(c, c.Capacity)...),
		freq:     make([]uint8, c.Objects),
		top:      uint8(top),
		move:     uint8(move),
		filling:  filling,
		config:   c,
	}, nil
}

func s3Limits(c policies.Config, capacity int64) []int64 {
	small := max(1, dense.Multiple(capacity, c.Params.Float("small")))
	return []int64{dense.Multiple(capacity, c.Params.Float("ghost")), small, capacity - small}
}

func (p *s3fifo) Resize(capacity int64) {
	copy(p.Limit, s3Limits(p.config, capacity))
	p.Trim(s3Ghost)
}

func (p *s3fifo) Grow(objects int) {
	p.Segments.Grow(objects)
	p.freq = dense.Grown(p.freq, objects)
}

func (p *s3fifo) Hit(r policies.Request) { p.freq[r.Object] = min(p.freq[r.Object]+1, p.top) }

func (p *s3fifo) Miss(r policies.Request) {
	remembered := p.In(s3Ghost, r.Object)
	if remembered {
		// Taken off now, before the ghost of this load's own victim can push it out.
		p.Take(r.Object)
	}
	p.returning = remembered && r.Reason == policies.Demand
}

// Admit refuses an object that would take the whole small queue: it would push all others there out at once.
func (p *s3fifo) Admit(r policies.Request) bool { return p.Charged == nil || r.Size < p.Limit[s3Small] }

// Victim takes an object from the main queue if that is over its limit, otherwise from the small one. Objects that it
// promotes meanwhile may take the main queue over its limit.
func (p *s3fifo) Victim(policies.Request) policies.Object {
	p.filling = false
	if p.Used[s3Main] > p.Limit[s3Main] {
		return p.evictMain()
	}
	for {
		o, ok := p.Pop(s3Small)
		if !ok {
			return p.evictMain()
		}
		if p.freq[o] < p.move {
			p.Remember(s3Ghost, o)
			return o
		}
		// The counter starts again (algorithm 1): the main queue grants turns for requests made there only.
		p.freq[o] = 0
		p.Put(s3Main, o)
	}
}

// Insert puts a new object into the small queue, which may exceed its limit while the cache fills unless rule=current,
// and an object that returns from the ghost into the main queue.
func (p *s3fifo) Insert(r policies.Request) {
	p.freq[r.Object] = 0
	if p.returning || p.filling && p.Used[s3Small] >= p.Limit[s3Small] {
		p.Load(s3Main, r.Object, r.Size)
	} else {
		p.Load(s3Small, r.Object, r.Size)
	}
}

func (p *s3fifo) Remove(o policies.Object) { p.Take(o) }

func (p *s3fifo) ServeUnit(objects []policies.Object, resident []bool, room int64, changed []policies.Object) (int64,
	[]policies.Object) {
	for _, o := range objects {
		r := policies.Request{Object: o, Size: 1}
		if resident[o] {
			p.Hit(r)
			continue
		}
		p.Miss(r)
		if room > 0 {
			room--
		} else {
			victim := p.Victim(r)
			resident[victim] = false
			changed = append(changed, victim)
		}
		p.Insert(r)
		resident[o] = true
		changed = append(changed, o)
	}
	return room, changed
}

func (p *s3fifo) evictMain() policies.Object {
	for {
		o, _ := p.List.Back(s3Main)
		if p.freq[o] == 0 {
			p.Take(o)
			return o
		}
		p.freq[o]--
		p.Renew(o)
	}
}

// s3Batch is the batch path. Its queues are rings; only the ghost needs a log, since objects return from its middle.
type s3Batch struct {
	state       []uint8 // per object: its queue and, above it, its frequency
	small, main dense.Ring
	ghost       dense.LogQueue
	free        int // objects that still fit
	fillSmall   int // while some do, a small queue of this length or more sends new objects to the main queue
	mainLimit   int
	ghostLimit  int
	top, move   uint8 // states
}

// The queue in an object's state.
const (
	s3InGhost = 1
	s3InSmall = 2
	s3InMain  = 3
	s3Request = 4 // one more request
)

func newS3Batch(c policies.Config, p *s3fifo) s3Batch {
	fillSmall := math.MaxInt
	if p.filling {
		fillSmall = int(p.Limit[s3Small])
	}
	return s3Batch{
		state: make([]uint8, c.Objects),
		small: dense.NewRing(c.Room()),
		main:  dense.NewRing(c.Room()),
		ghost: dense.NewLogQueue(c.Objects),

		free:       int(c.Capacity),
		fillSmall:  fillSmall,
		mainLimit:  int(p.Limit[s3Main]),
		ghostLimit: int(p.Limit[s3Ghost]),
		top:        p.top * s3Request,
		move:       p.move*s3Request + s3InSmall,
	}
}

func (p *s3fifo) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	b := &p.batch
	if b.state == nil {
		*b = newS3Batch(p.config, p)
	}
	state, top := b.state, b.top
	for _, o := range objects {
		s := state[o]
		if s >= s3InSmall {
			hits++
			// The number of a queue is below s3Request, so s < top just while the counter is below its maximum.
			if s < top {
				state[o] = s + s3Request
			}
			continue
		}
		if b.free == 0 {
			evictions++
		}
		b.load(o)
	}
	return hits, evictions
}

// load loads o, and reports whether that is in the small queue.
func (b *s3Batch) load(o policies.Object) (small bool) {
	toMain := b.state[o] == s3InGhost
	if toMain {
		b.ghost.Remove(o)
	}
	if b.free > 0 {
		b.free--
		toMain = toMain || b.small.Len() >= b.fillSmall
	} else {
		b.evict()
	}
	if toMain {
		b.main.Push(o)
		b.state[o] = s3InMain
	} else {
		b.small.Push(o)
		b.state[o] = s3InSmall
	}
	return !toMain
}

func (b *s3Batch) evict() {
	if b.main.Len() > b.mainLimit {
		b.evictMain()
		return
	}
	for b.small.Len() > 0 {
		o := b.small.Pop()
		if b.state[o] < b.move {
			b.remember(o)
			return
		}
		b.main.Push(o)
		b.state[o] = s3InMain
	}
	b.evictMain()
}

func (b *s3Batch) evictMain() {
	for {
		o := b.main.Pop()
		if b.state[o] < s3InMain+s3Request {
			b.state[o] = 0
			return
		}
		b.state[o] -= s3Request
		b.main.Push(o)
	}
}

func (b *s3Batch) remember(o policies.Object) {
	b.state[o] = 0
	if b.ghostLimit == 0 {
		return
	}
	if b.ghost.Live == b.ghostLimit {
		b.state[b.ghost.Pop()] = 0
	}
	b.ghost.Push(o)
	b.state[o] = s3InGhost
}
