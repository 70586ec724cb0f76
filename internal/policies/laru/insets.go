package laru

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/background"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

// inSets is LARU in the sets of a set-associative cache: algorithm 1 runs in each set independently, with one worker
// and one predictor for all. The order of recency is the order of slabs.LRU.
type inSets struct {
	*background.Sets
	each    []phases // per set
	marks   []uint32 // per object: the phase of its set in which a prediction evicted it last; nil with bitsets
	figures figures
}

func newInSets(c policies.SetsConfig) (policies.SetsPolicy, error) {
	s, err := read(c.Params, c.Geometry.Ways)
	if err != nil {
		return nil, err
	}
	p := &inSets{each: make([]phases, c.Geometry.Sets)}
	if p.Sets, err = background.NewSets(c, p); err != nil {
		return nil, err
	}
	for set := range p.each {
		p.each[set] = s.newPhases()
	}
	if !s.bitset {
		p.marks = make([]uint32, len(c.Geometry.Home))
	}
	return p, nil
}

// describeInSets describes what newInSets makes in mode=sync.
func describeInSets(v policies.Values, ways int) (d policies.SetsDescription, why string) {
	s, err := read(v, ways)
	switch {
	case err != nil:
		return d, err.Error()
	case background.In(v):
		return d, background.WhyNoReplacement
	}
	d.Confidence = &slabs.Confidence{Fallbacks: s.confidence.decayEvery, Bits: s.bitset, Base: s.confidence.b}
	c := s.confidence
	for d.Candidates = []int{c.candidates}; c.candidates > 1; d.Candidates = append(d.Candidates, c.candidates) {
		c.shrink()
	}
	d.Counters = func(t slabs.Tally) []policies.Counter { return figures(t).counters() }
	return d, ""
}

// Candidates implements slabs.Rule. A phase begins before o is looked up, so that a miss that begins one does not count
// against the predictor.
func (p *inSets) Candidates(set int, o policies.Object) int {
	one := &p.each[set]
	if !p.Old(set) {
		p.Age(set)
		one.begin(&p.figures)
	}
	mark := uint32(0)
	if p.marks != nil {
		mark = p.marks[o]
	}
	candidates := one.confidence.candidates
	if !one.followed(one.marked(o, mark), candidates, &p.figures) {
		return 0
	}
	return candidates
}

func (p *inSets) Evicted(set int, o policies.Object) {
	if mark := p.each[set].mark(o); p.marks != nil {
		p.marks[o] = mark
	}
}

func (p *inSets) Counters() []policies.Counter { return p.figures.counters() }
