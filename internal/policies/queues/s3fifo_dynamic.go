package queues

import (
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var s3fifoDynamicEntry = policies.Entry{
	Name:    "s3fifo-d",
	Look:    policies.Look{Color: policies.Green, Mark: policies.Spark},
	Memory:  policies.Memory{PerObject: 19, PerSlot: 0},
	Aliases: []string{"s3fifod", "s3-fifo-d"},
	Summary: "s3fifo whose small queue grows or shrinks with the requests to what it and the main queue have just " +
		"evicted",
	Source: "Yang, Zhang, Qiu, Yue and Rashmi, FIFO queues are all you need for cache eviction, SOSP 2023, section " +
		"6.2.2, as in libCacheSim (S3FIFOd)",
	Params: []policies.Param{
		{Name: "small", Default: 0.1, Min: 0, Max: 1, Doc: "share of the capacity that the small queue begins with"},
		{Name: "move", Default: 1, Min: 0, Max: 63, Doc: "requests in the small queue, after the first, that move an " +
			"object to the main queue"},
		{Name: "bits", Default: 2, Min: 1, Max: 6, Doc: "width of an object's counter of requests in the main queue"},
		{Name: "watched", Default: 0.1, Min: 0, Max: 16, Doc: "capacity of each list of what was evicted last, as a share " +
			"of the cache's"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newS3FIFODynamic(c), nil },
}

// The queues of resident objects and of those remembered. What the small queue has evicted is in the ghost and, for a
// while, among the watched.
const (
	s3dGhost = iota
	s3dSmall
	s3dMain
	s3dMainWatched
	s3dQueues
)

type s3fifoDynamic struct {
	queues  dense.Segments
	watched dense.Segments // one list: what the small queue has evicted last
	freq    []uint8        // per resident object: requests since it entered its queue
	dense.Late

	smallHits, mainHits int32 // requests to what is watched, of which each adjustment forgets a fifth
	returning           bool  // the missed object was in the ghost queue
	capacity            int64
	first               int64 // what the small queue begins with
	share, watch        float64
	top, move           uint8
	room                int64 // batch path: objects that still fit
}

func newS3FIFODynamic(c policies.Config) *s3fifoDynamic {
	p := &s3fifoDynamic{
		queues:  dense.NewSegments(c.Objects, c.Unit, make([]int64, s3dQueues)...),
		watched: dense.NewSegments(c.Objects, c.Unit, 0),
		freq:    make([]uint8, c.Objects),
		share:   c.Params.Float("small"),
		watch:   c.Params.Float("watched"),
		top:     uint8(1<<c.Params.Int("bits") - 1),
		move:    uint8(c.Params.Int("move")),
		room:    c.Capacity,
	}
	p.limit(c.Capacity, 0)
	return p
}

// limit sets the limits for a capacity, with a small queue that is larger by some than at first.
func (p *s3fifoDynamic) limit(capacity, more int64) {
	p.capacity = capacity
	p.first = max(1, dense.Multiple(capacity, p.share))
	small := min(max(1, p.first+more), max(1, capacity-1))
	limit := p.queues.Limit
	limit[s3dSmall], limit[s3dMain] = small, capacity-small
	limit[s3dGhost] = max(0, capacity-p.first+small-p.first)
	limit[s3dMainWatched] = dense.Multiple(capacity, p.watch)
	p.watched.Limit[0] = limit[s3dMainWatched]
}

func (p *s3fifoDynamic) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	more := float64(p.queues.Limit[s3dSmall]-p.first) / float64(p.capacity)
	p.limit(capacity, int64(more*float64(capacity)))
	p.queues.Trim(s3dGhost)
	p.queues.Trim(s3dMainWatched)
	p.watched.Trim(0)
}

func (p *s3fifoDynamic) Grow(objects int) {
	p.queues.Grow(objects)
	p.watched.Grow(objects)
	p.freq = dense.Grown(p.freq, objects)
}

// adapt moves the border between the queues once more than 100 requests, of which older ones count less, were to what
// is watched, if they were to one kind more than twice as often. It needs evictions from the main queue to compare.
func (p *s3fifoDynamic) adapt() {
	enough := p.smallHits+p.mainHits > 100
	if p.queues.Used[s3dMainWatched] == 0 {
		p.smallHits, p.mainHits = 0, 0
		return
	}
	if !enough {
		return
	}
	limit := p.queues.Limit
	step, least := max(1, min(limit[s3dSmall], limit[s3dMain])/1000), max(1, p.capacity/100)
	switch {
	case p.smallHits > p.mainHits*2 && limit[s3dMain] > least:
	case p.mainHits > p.smallHits*2 && limit[s3dSmall] > least:
		step = -step
	default:
		step = 0
	}
	limit[s3dSmall] += step
	limit[s3dGhost] += step
	limit[s3dMain] -= step
	p.smallHits = int32(float64(p.smallHits) * 0.8)
	p.mainHits = int32(float64(p.mainHits) * 0.8)
}

func (p *s3fifoDynamic) Hit(r policies.Request) {
	if r.Reason == policies.Demand {
		p.adapt()
	}
	top := p.top
	if p.queues.In(s3dSmall, r.Object) {
		top = max(p.move, 1)
	}
	p.freq[r.Object] = min(p.freq[r.Object]+1, top)
}

// Miss takes the object off the lists of what was evicted, and counts from which queue that was.
func (p *s3fifoDynamic) Miss(r policies.Request) {
	o, learns := r.Object, r.Reason == policies.Demand
	if learns {
		p.adapt()
	}
	p.returning = learns && p.queues.In(s3dGhost, o)
	if learns && p.watched.Has(o) {
		p.smallHits++
	}
	if learns && p.queues.In(s3dMainWatched, o) {
		p.mainHits++
	}
	if p.watched.Has(o) {
		p.watched.Take(o)
	}
	if p.queues.Has(o) {
		p.queues.Take(o)
	}
}

// Admit refuses an object that is larger than the small queue.
func (p *s3fifoDynamic) Admit(r policies.Request) bool {
	return p.queues.Charged == nil || r.Size <= p.queues.Limit[s3dSmall]
}

// Victim takes objects from the small queue while it has any. What that promotes may overfill the main queue, which
// then evicts, so that one miss may evict several objects.
func (p *s3fifoDynamic) Victim(policies.Request) policies.Object {
	for len(p.Late) == 0 {
		p.evict()
	}
	return p.Next()
}

func (p *s3fifoDynamic) evict() {
	q := &p.queues
	o, ok := q.Pop(s3dSmall)
	switch {
	case !ok:
		p.evictMain(true)
	case p.freq[o] < p.move:
		q.Remember(s3dGhost, o)
		p.watched.Charged.Set(o, q.Charged.Of(o))
		p.watched.Remember(0, o)
		p.Late = append(p.Late, o)
	default:
		p.freq[o] = 0
		for q.Put(s3dMain, o); q.Used[s3dMain] > q.Limit[s3dMain]; {
			p.evictMain(true)
		}
	}
}

// evictMain evicts an object from the main queue, which must not be empty.
func (p *s3fifoDynamic) evictMain(watch bool) {
	q := &p.queues
	for {
		o, _ := q.List.Back(s3dMain)
		if p.freq[o] > 0 {
			p.freq[o]--
			q.Renew(o)
			continue
		}
		q.Take(o)
		if watch {
			q.Remember(s3dMainWatched, o)
		}
		p.Late = append(p.Late, o)
		return
	}
}

// Insert puts an object that returns from the ghost into the main queue, which makes room for it of its own, also where
// the cache has some; what it evicts then is not watched.
func (p *s3fifoDynamic) Insert(r policies.Request) {
	q := &p.queues
	p.freq[r.Object] = 0
	if !p.returning {
		q.Load(s3dSmall, r.Object, r.Size)
		return
	}
	for q.Used[s3dMain]+r.Size > q.Limit[s3dMain] && !q.List.Empty(s3dMain) {
		p.evictMain(false)
	}
	q.Load(s3dMain, r.Object, r.Size)
}

func (p *s3fifoDynamic) Remove(o policies.Object) {
	if !p.Strike(o) {
		p.queues.Take(o)
	}
}

// Resized implements SizeFollower.
func (p *s3fifoDynamic) Resized(o policies.Object, size int64) {
	if !slices.Contains(p.Late, o) {
		p.queues.Resized(o, size)
	}
}

func (p *s3fifoDynamic) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if late := len(p.Late); late > 0 {
			p.Late = p.Late[:0]
			evictions += late
			p.room += int64(late)
		}
		r := policies.Request{Object: o, Size: 1}
		if p.queues.In(s3dSmall, o) || p.queues.In(s3dMain, o) {
			hits++
			p.Hit(r)
			continue
		}
		p.Miss(r)
		if p.room > 0 {
			p.room--
		} else {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
