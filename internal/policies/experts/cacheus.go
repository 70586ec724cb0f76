package experts

import (
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var cacheusEntry = policies.Entry{
	Name:    "cacheus",
	Look:    policies.Look{Color: policies.Vermilion, Mark: policies.Plus},
	Memory:  policies.Memory{PerObject: 28, PerSlot: 0},
	Summary: "evicts by a scan-resistant LRU or a churn-resistant LFU, at random with weights whose learning rate adapts",
	Source:  "Rodriguez et al., Learning cache replacement with CACHEUS, FAST 2021",
	Params: []policies.Param{
		{Name: "history", Default: 0.5, Doc: "bound on the evicted objects remembered for each of the two, as a multiple " +
			"of the capacity"},
	},
	Random: true,
	New:    func(c policies.Config) (policies.Policy, error) { return newCacheus(c), nil },
}

// cacheus follows the paper and the authors' program (sylab/cacheus). SR-LRU splits the cache: see srLRU. CR-LFU evicts
// the least frequent object; ties go to the one requested last.
type cacheus struct {
	experts
	srLRU
	rate        learningRate
	frequencies dense.Frequencies[struct{}] // of resident objects
	requests    uint32                      // of the object being loaded, before its eviction; 0 if it was not remembered
}

func newCacheus(c policies.Config) *cacheus {
	p := &cacheus{
		experts:     newExperts(c.Seed),
		srLRU:       newSRLRU(c),
		frequencies: dense.NewFrequencies[struct{}](c.Objects, c.Requests),
	}
	if c.Unit {
		p.rate.start(c.Capacity)
	}
	return p
}

func (p *cacheus) Hit(r policies.Request) {
	p.rate.request(p.rng)
	p.rate.hits++
	p.frequencies.Touch(r.Object)
	p.srLRU.Hit(r)
}

// Miss blames the expert that evicted the object.
func (p *cacheus) Miss(r policies.Request) {
	x := p.miss(r)
	p.requests = x.requests
	if r.Reason != policies.Demand {
		return
	}
	p.rate.request(p.rng)
	switch x.list {
	case cacheusByLRU:
		p.regret(recency, p.rate.now)
	case cacheusByLFU:
		p.regret(frequency, p.rate.now)
	}
}

// Victim asks both experts. If they agree, neither can be blamed, and the object is not remembered.
func (p *cacheus) Victim(policies.Request) policies.Object {
	if !p.rate.started() {
		// With sizes, how many objects the cache holds is known only once it is full.
		p.rate.start(p.resident)
	}
	oldest := p.oldest()
	rarest := p.frequencies.NewestLeast()
	switch {
	case oldest == rarest:
		p.Remove(oldest)
		return oldest
	case p.choose() == recency:
		p.evict(oldest, cacheusByLRU)
		return oldest
	default:
		p.evict(rarest, cacheusByLFU)
		return rarest
	}
}

// evict remembers o among the victims of one expert.
func (p *cacheus) evict(o policies.Object, to cacheusList) {
	requests := p.frequencies.Frequency(o)
	p.frequencies.Remove(o)
	p.srLRU.evict(o, requests, to)
}

// Resize keeps the share of R.
func (p *cacheus) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	p.srLRU.Resize(capacity)
	if p.charge == nil {
		p.rate.rewindow(capacity)
	}
}

func (p *cacheus) Grow(objects int) {
	p.srLRU.Grow(objects)
	p.frequencies.Grow(objects)
}

// Insert restores the requests that a returning object had.
func (p *cacheus) Insert(r policies.Request) {
	p.frequencies.Add(r.Object, max(p.requests, 1))
	p.srLRU.Insert(r)
}

func (p *cacheus) Remove(o policies.Object) {
	p.frequencies.Remove(o)
	p.srLRU.Remove(o)
}

func (p *cacheus) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		r := policies.Request{Object: o, Size: 1}
		if p.objects[o].list <= cacheusSR {
			hits++
			p.Hit(r)
			continue
		}
		p.Miss(r)
		if p.resident == p.capacity {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}

// learningRate climbs towards the rate with the best hit ratio. After every window of as many requests as the cache
// holds objects, it continues in the direction that helped or turns if that did not. It starts again after ten windows
// that got worse or had no hits.
type learningRate struct {
	now, before float64 // in this window and in the one before
	first       float64
	window      int64 // requests; 0 while unknown
	left        int64 // requests until the window ends
	hits        int64 // in this window
	lastRatio   float64
	worse, idle int
}

const (
	lowestRate  = 0.001
	highestRate = 1
	patience    = 10 // windows
)

func (l *learningRate) start(window int64) {
	l.window = max(window, 1)
	l.left = l.window
	l.now = math.Sqrt(2 * math.Ln2 / float64(l.window))
	l.first = min(max(l.now, lowestRate), highestRate)
}

// rewindow changes the length of the windows. The current one ends when the longer of the two would.
func (l *learningRate) rewindow(window int64) {
	l.left += window - l.window
	l.left = max(l.left, 1)
	l.window = window
}

func (l *learningRate) started() bool { return l.window > 0 }

// request counts a request before it is served, and ends the window if it is the last one.
func (l *learningRate) request(rng *rand.Rand) {
	if l.left--; l.left == 0 {
		l.left = l.window
		l.adapt(rng)
	}
}

// adapt ends a window. Ratios and rates are compared to three decimals, as in the authors' program.
func (l *learningRate) adapt(rng *rand.Rand) {
	ratio := thousandths(float64(l.hits) / float64(l.window))
	gain := thousandths(ratio - l.lastRatio)
	change := thousandths(l.now) - thousandths(l.before)
	next := l.now
	switch {
	case gain*change > 0:
		next = min(l.now+math.Abs(l.now*change), highestRate)
		l.worse, l.idle = 0, 0
	case gain*change < 0:
		next = max(l.now-math.Abs(l.now*change), lowestRate)
		l.worse, l.idle = 0, 0
	case gain < 0 || ratio == 0 && gain == 0:
		next = l.stuck(gain, rng)
	}
	l.before, l.now = l.now, next
	l.lastRatio, l.hits = ratio, 0
}

// stuck returns the next rate after a window in which the rate stayed the same and the hit ratio fell or was 0.
func (l *learningRate) stuck(gain float64, rng *rand.Rand) float64 {
	l.idle++
	if gain < 0 {
		l.worse++
	}
	switch {
	case l.idle >= patience:
		l.idle = 0
		return l.first
	case gain == 0:
		return l.now
	case l.worse >= patience:
		l.worse = 0
		return l.first
	case l.now >= highestRate:
		return 0.9
	case l.now <= lowestRate:
		return 0.005
	case rng.Uint64()&1 == 0:
		return min(l.now*1.25, highestRate)
	}
	return max(l.now*0.75, lowestRate)
}

func thousandths(x float64) float64 { return math.Round(x*1000) / 1000 }
