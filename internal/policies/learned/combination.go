package learned

import (
	"fmt"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

var blindOracleLRUEntry = policies.Entry{
	Name:    "blindoracle-lru",
	Look:    policies.Look{Color: policies.Cyan, Mark: policies.Circle},
	Memory:  policies.Memory{PerObject: 65, PerSlot: 56},
	Aliases: []string{"bo-lru"},
	Summary: "simulates fpb and lru and follows one of them, until it has twice as many misses as the other",
	Source: "Wei, Better and simpler learning-augmented online caching, APPROX 2020, section 4; switching as in " +
		"OptiSys-ZJU/Cache-Coliseum, or with gamma as in chledowski/ml_caching_with_guarantees",
	Units: policies.UnitsObjects,
	Params: []policies.Param{
		{Name: "bound", Default: 2.0, Min: 1, Max: 1e6, Doc: "switch when the followed policy has this many times the " +
			"misses of the other"},
		{Name: "gamma", Default: 0.0, Min: 0, Max: 100, Doc: "above 0 (at least 0.0001): switch instead when they pass a " +
			"number that starts at 1 and grows by this share at each switch"},
		lazyParam,
	},
	Type: (*combination)(nil),
	Check: func(v policies.Values) error {
		if gamma := v.Float("gamma"); gamma > 0 && gamma < minGamma {
			return fmt.Errorf("gamma=%v: want 0 or at least %v, since smaller steps of the bound would be "+
				"too many", gamma, minGamma)
		}
		return nil
	},
	Metrics: []metric.Metric{switches},
	Guarantee: func(v policies.Values, capacity int) policies.Guarantee {
		if v.Float("bound") != 2 || v.Float("gamma") != 0 {
			return policies.Guarantee{}
		}
		return policies.Guarantee{Consistency: "2", Robustness: policies.CompetitiveRatio("2k", 2*float64(capacity))}
	},
	New: newBlindOracleLRU,
}

// minGamma limits the steps in which the bound grows over a whole trace to about 20/minGamma.
const minGamma = 1e-4

func newBlindOracleLRU(c policies.Config) (policies.Policy, error) {
	var s switching = &fixedBound{times: c.Params.Float("bound")}
	if gamma := c.Params.Float("gamma"); gamma > 0 {
		s = newGrowingBound(gamma)
	}
	return newCombination(c, s, fpbAlone, named("lru"))
}

var robustFTPEntry = policies.Entry{
	Name:    "robust-ftp",
	Look:    policies.Look{Color: policies.Orange, Mark: policies.Triangle},
	Memory:  policies.Memory{PerObject: 57, PerSlot: 32},
	Summary: "simulates marker and fpb and follows one of them at random, the one with fewer misses more probably",
	Source: "Antoniadis, Coester, Elias, Polak and Simon, Online metric algorithms with untrusted predictions, ICML " +
		"2020, section 3 (RobustFtP)",
	Units:   policies.UnitsObjects,
	Random:  true,
	Params:  []policies.Param{epsilonParam, lazyParam},
	Type:    (*combination)(nil),
	Metrics: []metric.Metric{switches},
	New: func(c policies.Config) (policies.Policy, error) {
		return newCombination(c, newWeights(c), named("marker"), fpbAlone)
	},
}

var markerOrLRUEntry = policies.Entry{
	Name:    "marker-or-lru",
	Look:    policies.Look{Color: policies.Olive, Mark: policies.Cross},
	Memory:  policies.Memory{PerObject: 49, PerSlot: 45},
	Summary: "simulates marker and lru and follows one of them at random, the one with fewer misses more probably",
	Source: "Blum and Burch, On-line learning and the metrical task system problem, COLT 1997; Rnd(Marker,LRU) of " +
		"adampolak/mts-with-predictions",
	Units:   policies.UnitsObjects,
	Random:  true,
	Params:  []policies.Param{epsilonParam, lazyParam},
	Metrics: []metric.Metric{switches},
	New: func(c policies.Config) (policies.Policy, error) {
		return newCombination(c, newWeights(c), named("marker"), named("lru"))
	},
}

var epsilonParam = policies.Param{
	Name: "epsilon", Default: 0.5, Min: 0.001, Max: 1.999, Doc: "a miss of a policy multiplies its weight by 1-epsilon/2",
}

// A maker makes one of the policies of a combination.
type maker func(policies.Config) (policies.Policy, error)

func fpbAlone(c policies.Config) (policies.Policy, error) { return newFPB(c), nil }

// named makes a policy of the registry with default parameters.
func named(name string) maker {
	return func(c policies.Config) (policies.Policy, error) {
		spec, err := policies.Registry.Parse(name)
		if err != nil {
			return nil, err
		}
		c.Params = spec.Params
		return spec.Entry.New(c)
	}
}

// combination simulates two policies, and a lazy cache follows one of them at a time.
type combination struct {
	policies.ByPredictions
	predictor predict.Predictor // nil if neither policy asks one
	policies  [2]*simulated
	switching switching
	followed  int
	cache     lazy
	switches  int
	pos       int // of the last request
}

// switching decides which of two simulated policies is followed.
type switching interface {
	// follow returns which policy to follow after a request, given the one followed before and which of them missed.
	follow(was int, missed [2]bool) int
}

func newCombination(c policies.Config, s switching, makers ...maker) (policies.Policy, error) {
	p := &combination{predictor: c.Predictor, switching: s,
		cache: newLazy(c.Objects, 2, c.Params.Text(lazyParam.Name) == byLoad)}
	for i, m := range makers {
		sub, err := newSimulated(c, m)
		if err != nil {
			return nil, err
		}
		p.policies[i] = sub
	}
	return p, nil
}

func (p *combination) Hit(r policies.Request) {
	p.serve(r)
	p.observe(r)
}

func (p *combination) Miss(r policies.Request) { p.serve(r) }

// Victim takes an object that the followed policy does not hold. If a shrinking cache holds no such object, that policy
// gives one up first.
func (p *combination) Victim(r policies.Request) policies.Object {
	for p.cache.surplus[p.followed].size() == 0 {
		p.cache.targetEvicts(p.followed, p.policies[p.followed].giveUp(r.Pos))
	}
	return p.cache.evict(p.followed, r.Pos)
}

func (p *combination) Insert(r policies.Request) {
	p.cache.insert(r.Object)
	p.observe(r)
}

func (p *combination) Resize(capacity int64) {
	for i, s := range p.policies {
		s.resize(capacity, p.pos, func(victim policies.Object) { p.cache.targetEvicts(i, victim) })
	}
}

func (p *combination) Grow(objects int) {
	p.cache.grow(objects)
	for _, s := range p.policies {
		s.grow(objects)
	}
}

func (p *combination) Remove(o policies.Object) { p.cache.remove(o) }

// switches is a metric of policies that follow one of several.
var switches = metric.Metric{Name: "switches", Unit: metric.Count,
	Doc: "switches from one simulated policy to another"}

func (p *combination) Counters() []policies.Counter {
	return []policies.Counter{policies.Count(switches, float64(p.switches))}
}

func (p *combination) serve(r policies.Request) {
	p.pos = r.Pos
	var missed [2]bool
	for i, s := range p.policies {
		victim, evicted, hit := s.serve(r)
		missed[i] = !hit
		if evicted {
			p.cache.targetEvicts(i, victim)
		}
		p.cache.targetLoads(i, r.Object)
	}
	p.cache.request(r.Object, r.Pos)
	if r.Reason != policies.Demand {
		return
	}
	next := p.switching.follow(p.followed, missed)
	if next != p.followed {
		p.followed = next
		p.switches++
	}
}

func (p *combination) observe(r policies.Request) {
	if p.predictor != nil && r.Reason == policies.Demand {
		p.predictor.Observe(r.Object, r.Pos)
	}
}

// fixedBound switches to the other policy as soon as the followed one has `times` as many misses. Ties go to the first
// policy.
type fixedBound struct {
	times  float64
	misses [2]int
}

func (b *fixedBound) follow(was int, missed [2]bool) int {
	count(&b.misses, missed)
	if !missed[was] {
		return was // its share of the misses has not grown
	}
	fewest := 0
	if b.misses[1] < b.misses[0] {
		fewest = 1
	}
	if float64(b.misses[was]) >= b.times*float64(b.misses[fewest]) {
		return fewest
	}
	return was
}

// growingBound switches to the other policy when the misses of the followed one exceed a bound, which then grows.
type growingBound struct {
	bound, growth float64
	misses        [2]int
}

func newGrowingBound(gamma float64) *growingBound { return &growingBound{bound: 1, growth: 1 + gamma} }

func (b *growingBound) follow(was int, missed [2]bool) int {
	count(&b.misses, missed)
	for float64(b.misses[was]) > b.bound { // the other one may exceed it, too
		was = 1 - was
		b.bound *= b.growth
	}
	return was
}

func count(misses *[2]int, missed [2]bool) {
	for i, m := range missed {
		if m {
			misses[i]++
		}
	}
}

// weights is the multiplicative-weights algorithm of Blum and Burch. Each policy has a weight, multiplied by beta at
// each of its misses, and is followed with probability proportional to it. When the probability of the followed policy
// falls from p to q, it is left with probability 1-q/p, so that switches are as rare as those probabilities permit.
type weights struct {
	beta  float64
	share [2]float64 // the weights, normalised to a sum of 1
	bits  *rand.Rand
	begun bool
}

func newWeights(c policies.Config) *weights {
	return &weights{beta: 1 - float64(c.Params.Float("epsilon")/2), share: [2]float64{0.5, 0.5},
		bits: rand.New(rand.NewPCG(c.Seed, 1))}
}

func (w *weights) follow(was int, missed [2]bool) int {
	if !w.begun {
		w.begun = true
		was = w.bits.IntN(2)
	}
	if missed[0] == missed[1] {
		return was
	}
	next := w.share
	for i := range next {
		if missed[i] {
			next[i] *= w.beta
		}
	}
	sum := next[0] + next[1]
	next[0], next[1] = next[0]/sum, next[1]/sum
	before := w.share[was]
	w.share = next
	if next[was] < before && w.bits.Float64() < (before-next[was])/before {
		return 1 - was
	}
	return was
}
