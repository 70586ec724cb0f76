package adaptive

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var lruKEntry = policies.Entry{
	Name:    "lru-k",
	Look:    policies.Look{Color: policies.Green, Mark: policies.Box},
	Memory:  policies.Memory{PerObject: 33, PerSlot: 16},
	Aliases: []string{"lruk", "lru-2"},
	Summary: "evicts the object whose k-th last request is longest ago",
	Source:  "O'Neil, O'Neil, Weikum, The LRU-K page replacement algorithm for database disk buffering, SIGMOD 1993",
	Params: []policies.Param{
		{Name: "k", Default: 2, Min: 1, Max: 64, Doc: "how many requests back"},
		{Name: "crp", Default: 0, Max: 1 << 31, Doc: "correlated reference period: requests this soon after another count " +
			"as the same request"},
		{Name: "history", Default: 1.0, Doc: "bound on evicted objects whose requests are remembered, as a multiple of the " +
			"capacity"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newLRUK(c), nil },
}

// lruK follows Figure 2.1 of the paper. Time is the number of requests so far, from 1.
type lruK struct {
	k       int
	crp     uint32
	now     uint32
	history []uint32 // HIST of the paper: k per object, the last request first; 0 is before the trace
	last    []uint32 // LAST of the paper; nil if crp is 0, when it equals HIST(1)
	// eligible holds resident objects by HIST(k). Objects with fewer than k requests have 0 there; among those the one
	// requested longest ago comes first: the subsidiary policy is LRU.
	eligible dense.LazyHeap
	lists    dense.Lists
	where    []lruKPlace
	charge   dense.Charges
	ghosts   int64 // total size of the ghosts
	limit    int64
	bound    float64 // limit on the ghosts, as a multiple of the capacity
	free     int64   // objects that still fit, batch path only
	// returning is the last ghost that was requested; if its place is lruKReturning, it has not been loaded yet.
	returning policies.Object
}

type lruKPlace uint8

const (
	lruKAbsent    lruKPlace = iota
	lruKEligible            // resident, in the heap
	lruKRecent              // resident and requested within the correlated reference period
	lruKGhost               // evicted, requests remembered
	lruKUnasked             // resident, in the heap, and loaded without a request
	lruKReturning           // being loaded, requests remembered
)

const (
	lruKRecents = iota // the lists: recent objects, last requested in front
	lruKGhosts         // remembered objects, last evicted in front
)

func newLRUK(c policies.Config) *lruK {
	p := &lruK{
		k:        c.Params.Int("k"),
		crp:      uint32(c.Params.Int("crp")),
		eligible: dense.NewLazyHeap(c.Objects),
		lists:    dense.NewLists(c.Objects, 2),
		where:    make([]lruKPlace, c.Objects),
		charge:   dense.NewCharges(c.Objects, c.Unit),
		limit:    dense.Multiple(c.Capacity, c.Params.Float("history")),
		bound:    c.Params.Float("history"),
		free:     c.Capacity,
	}
	p.history = make([]uint32, p.k*c.Objects)
	if p.crp > 0 {
		p.last = make([]uint32, c.Objects)
	}
	return p
}

func (p *lruK) of(o policies.Object) []uint32    { return p.history[int(o)*p.k:][:p.k] }
func (p *lruK) oldest(o policies.Object) float64 { return float64(p.history[int(o)*p.k+p.k-1]) }

func (p *lruK) Hit(r policies.Request) {
	o := r.Object
	p.now++
	if p.where[o] == lruKUnasked {
		p.ask(o)
		return
	}
	if p.crp == 0 {
		p.shift(o, 0)
		p.eligible.Raise(o, p.oldest(o))
		return
	}
	if last := p.last[o]; p.now-last > p.crp {
		p.shift(o, last-p.of(o)[0])
	}
	p.last[o] = p.now
	if p.where[o] == lruKRecent {
		p.lists.Unlink(o)
	} else {
		p.eligible.Remove(o)
		p.where[o] = lruKRecent
	}
	p.lists.PushFront(lruKRecents, o)
}

// ask counts the first request to o, which was loaded without one. Until now the time of the load stood in for it.
func (p *lruK) ask(o policies.Object) {
	p.of(o)[0] = p.now
	if p.crp == 0 {
		p.where[o] = lruKEligible
		p.eligible.Raise(o, p.oldest(o))
		return
	}
	p.last[o] = p.now
	p.eligible.Remove(o)
	p.where[o] = lruKRecent
	p.lists.PushFront(lruKRecents, o)
}

// shift enters a request to o into its history. The earlier ones move up by the length of the preceding burst of
// correlated requests, as if the burst had taken no time.
func (p *lruK) shift(o policies.Object, burst uint32) {
	h := p.of(o)
	for i := p.k - 1; i > 0; i-- {
		// 0 says that there was no such request; a burst must not turn it into one.
		if h[i] = h[i-1]; h[i] != 0 {
			h[i] += burst
		}
	}
	h[0] = p.now
}

// Miss takes a ghost from the others, before the victim of its own load can take its place.
func (p *lruK) Miss(r policies.Request) {
	if r.Reason == policies.Demand {
		p.now++
	}
	if p.where[p.returning] == lruKReturning { // it was not loaded after all
		p.where[p.returning] = lruKAbsent
		clear(p.of(p.returning))
	}
	if o := r.Object; p.where[o] == lruKGhost {
		p.leaveGhosts(o)
		p.where[o], p.returning = lruKReturning, o
	}
}

func (p *lruK) Victim(policies.Request) policies.Object {
	p.release()
	var o policies.Object
	if p.eligible.Live > 0 {
		o, _ = p.eligible.PopLeast()
	} else { // all are within their correlated reference period
		o = p.lists.PopBack(lruKRecents)
	}
	p.where[o] = lruKGhost
	p.lists.PushFront(lruKGhosts, o)
	p.ghosts += p.charge.Of(o)
	p.trim()
	return o
}

// trim forgets the requests of the objects evicted longest ago until the rest are within the bound.
func (p *lruK) trim() {
	for p.ghosts > p.limit {
		old, _ := p.lists.Back(lruKGhosts)
		p.leaveGhosts(old)
		clear(p.of(old))
	}
}

func (p *lruK) Resize(capacity int64) {
	p.limit = dense.Multiple(capacity, p.bound)
	p.trim()
}

// Resized implements SizeFollower. Only the sizes of ghosts are summed up.
func (p *lruK) Resized(o policies.Object, size int64) { p.charge.Set(o, size) }

func (p *lruK) Grow(objects int) {
	p.eligible.Grow(objects)
	p.lists.Grow(objects)
	p.where = dense.Grown(p.where, objects)
	p.charge.Grow(objects)
	p.history = dense.Grown(p.history, p.k*objects)
	if p.crp > 0 {
		p.last = dense.Grown(p.last, objects)
	}
}

// release makes objects eligible once their correlated reference period is over.
func (p *lruK) release() {
	for {
		o, ok := p.lists.Back(lruKRecents)
		if !ok || p.now-p.last[o] <= p.crp {
			return
		}
		p.lists.Unlink(o)
		p.where[o] = lruKEligible
		p.eligible.Add(o, p.oldest(o))
	}
}

func (p *lruK) leaveGhosts(o policies.Object) {
	p.lists.Unlink(o)
	p.where[o] = lruKAbsent
	p.ghosts -= p.charge.Of(o)
}

func (p *lruK) Insert(r policies.Request) {
	o := r.Object
	p.charge.Set(o, r.Size)
	p.shift(o, 0)
	if r.Reason != policies.Demand {
		p.where[o] = lruKUnasked
		p.eligible.Add(o, p.oldest(o))
		return
	}
	if p.crp > 0 {
		p.last[o] = p.now
		p.where[o] = lruKRecent
		p.lists.PushFront(lruKRecents, o)
		return
	}
	p.where[o] = lruKEligible
	p.eligible.Add(o, p.oldest(o))
}

func (p *lruK) Remove(o policies.Object) {
	if p.where[o] == lruKRecent {
		p.lists.Unlink(o)
	} else {
		p.eligible.Remove(o)
	}
	p.where[o] = lruKAbsent
	clear(p.of(o))
}

func (p *lruK) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		r := policies.Request{Object: o, Size: 1}
		if at := p.where[o]; at == lruKEligible || at == lruKRecent {
			hits++
			p.Hit(r)
			continue
		}
		p.Miss(r)
		if p.free > 0 {
			p.free--
		} else {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
