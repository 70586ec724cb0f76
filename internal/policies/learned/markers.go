package learned

import (
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var fpbMarkingEntry = policies.Entry{
	Name:    "fpb-marking",
	Look:    policies.Look{Color: policies.Green, Mark: policies.Plus},
	Memory:  policies.Memory{PerObject: 28, PerSlot: 19},
	Aliases: []string{"follow-pred-marking"},
	Summary: "marks requested objects and evicts, of the unmarked ones, the one predicted to be requested last",
	Source: "FollowPredMarking of adampolak/mts-with-predictions (Antoniadis, Coester, Elias, Polak and Simon, ICML " +
		"2020)",
	Units: policies.UnitsObjects,
	Type:  (*marking)(nil),
	New:   func(c policies.Config) (policies.Policy, error) { return newFPBMarking(c), nil },
}

func newFPBMarking(c policies.Config) *marking {
	m := newMarking(c)
	m.choose = func(_ policies.Object, pos int) policies.Object { return m.unmarked.latest(pos) }
	return m
}

var optMarkingEntry = policies.Entry{
	Name:   "opt-marking",
	Look:   policies.Look{Dashes: []float64{10, 3}},
	Memory: policies.Memory{PerObject: 24, PerSlot: 19},
	Summary: "marks requested objects and evicts the unmarked one whose next request is farthest away: the best of " +
		"all marking policies",
	Source: "OPTMarking of adampolak/mts-with-predictions (Antoniadis, Coester, Elias, Polak and Simon, ICML 2020)",
	Kind:   policies.Offline,
	Units:  policies.UnitsObjects,
	New:    newOPTMarking,
}

func newOPTMarking(c policies.Config) (policies.Policy, error) {
	oracle, err := predict.Registry.Parse("oracle")
	if err != nil {
		return nil, err
	}
	if c.Predictor, err = oracle.Entry.New(predict.Config{Count: c.Objects, NextUse: c.NextUse}); err != nil {
		return nil, err
	}
	m := newFPBMarking(c)
	m.grown = c.Predictor.(policies.Grower).Grow // the cache grows the predictors that it knows, and not this one
	return m, nil
}

var lMarkerEntry = policies.Entry{
	Name:   "lmarker",
	Look:   policies.Look{Color: policies.Indigo, Mark: policies.Box},
	Memory: policies.Memory{PerObject: 28, PerSlot: 19},
	Summary: "marker that evicts by predictions for objects that are new in the phase, and at random for those that it " +
		"evicted itself",
	Source: "Rohatgi, Near-optimal bounds for online caching with machine learned advice, SODA 2020, section 3",
	Units:  policies.UnitsObjects,
	Random: true,
	Type:   (*marking)(nil),
	New:    func(c policies.Config) (policies.Policy, error) { return newLMarker(c), nil },
}

func newLMarker(c policies.Config) *marking {
	m := newMarking(c)
	m.choose = func(o policies.Object, pos int) policies.Object {
		if m.stale(o) {
			return m.random()
		}
		return m.unmarked.latest(pos)
	}
	return m
}

var predictiveMarkerEntry = policies.Entry{
	Name:    "predictive-marker",
	Look:    policies.Look{Color: policies.Orange, Mark: policies.Box},
	Memory:  policies.Memory{PerObject: 36, PerSlot: 24},
	Aliases: []string{"pred-marker", "l-and-v"},
	Summary: "marker that follows chains of evictions: the first H_k evictions of a chain are by predictions, further " +
		"ones at random",
	Source: "Lykouris and Vassilvitskii, Competitive caching with machine learned advice, ICML 2018, section 4; chains " +
		"as in chledowski/ml_caching_with_guarantees",
	Units:  policies.UnitsObjects,
	Random: true,
	Type:   (*marking)(nil),
	Guarantee: func(_ policies.Values, capacity int) policies.Guarantee {
		robustness := policies.CompetitiveRatio("4H_k", 4*policies.Harmonic(int64(capacity)))
		return policies.Guarantee{Consistency: "2", Robustness: robustness}
	},
	New: func(c policies.Config) (policies.Policy, error) { return newPredictiveMarker(c), nil },
}

// chains are the chains of evictions of one phase. A clean request opens a chain with its victim. When the last victim
// of a chain is requested again, the object evicted for it becomes the last victim.
type chains struct {
	phase  uint32
	length []int    // per chain
	of     []uint32 // per object: the chain whose last victim it is
	since  []uint32 // per object: 1 + the phase in which `of` was set
}

func newPredictiveMarker(c policies.Config) *marking {
	m := newMarking(c)
	limit := policies.Harmonic(c.Capacity)
	m.resized = func(capacity int64) { limit = policies.Harmonic(capacity) }
	ch := &chains{of: make([]uint32, c.Objects), since: make([]uint32, c.Objects)}
	m.choose = func(o policies.Object, pos int) policies.Object {
		ch.enter(m.phase)
		chain, length := ch.extend(o)
		var v policies.Object
		if float64(length) <= limit {
			v = m.unmarked.latest(pos)
		} else {
			v = m.random()
		}
		ch.note(v, chain)
		return v
	}
	m.grown = func(objects int) {
		ch.of, ch.since = dense.Grown(ch.of, objects), dense.Grown(ch.since, objects)
	}
	return m
}

// enter forgets the chains of earlier phases.
func (c *chains) enter(phase uint32) {
	if c.phase != phase {
		c.phase, c.length = phase, c.length[:0]
	}
}

// note makes v the last victim of a chain.
func (c *chains) note(v policies.Object, chain uint32) { c.of[v], c.since[v] = chain, c.phase+1 }

// extend adds the eviction for a request to o to the chain that evicted o, or to a new one.
func (c *chains) extend(o policies.Object) (chain uint32, length int) {
	if c.since[o] == c.phase+1 {
		chain = c.of[o]
	} else {
		chain = uint32(len(c.length))
		c.length = append(c.length, 0)
	}
	c.length[chain]++
	return chain, c.length[chain]
}
