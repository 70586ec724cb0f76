package laru

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/slabs"
	"github.com/cachesim/cachesim/internal/predict"
)

// inSets is LARU in the sets of a set-associative cache: algorithm 1 runs in each set independently, with one worker
// and one predictor for all. The order of recency is that of slabs.LRU.
type inSets struct {
	*slabs.Ranked
	predictor predict.Predictor
	each      []phases // per set
	marks     []uint32 // per object: the phase of its set in which a prediction evicted it last; nil with bitsets
	worker    *worker  // mode=async; nil otherwise
	figures   figures
}

func newInSets(c policies.SetsConfig) (policies.SetsPolicy, error) {
	s, err := read(c.Params, c.Geometry.Ways)
	if err != nil {
		return nil, err
	}
	if s.batch != 0 {
		return nil, fmt.Errorf("batch=%d: the cache `sets` has its own batches; leave batch out and write --cache "+
			"'sets(batch=%d)'", s.batch, s.batch)
	}
	p := &inSets{predictor: c.Predictor, each: make([]phases, c.Geometry.Sets)}
	p.Ranked = slabs.NewRanked(c.Geometry, c.Predictor, p)
	for set := range p.each {
		p.each[set] = s.newPhases()
	}
	if !s.bitset {
		p.marks = make([]uint32, len(c.Geometry.Home))
	}
	if s.async {
		p.worker = newWorker(len(c.Geometry.Home), s.latency)
		p.TakeFrom(p.worker.known)
	}
	return p, nil
}

// describeInSets describes what newInSets makes in mode=sync.
func describeInSets(v policies.Values, ways int) (d policies.SetsDescription, why string) {
	s, err := read(v, ways)
	switch {
	case err != nil:
		return d, err.Error()
	case s.async:
		return d, "its predictions are made in the background"
	}
	d.Confidence = &slabs.Confidence{Fallbacks: s.confidence.decayEvery, Bits: s.bitset, Base: s.confidence.b}
	c := s.confidence
	for d.Candidates = []int{c.candidates}; c.candidates > 1; d.Candidates = append(d.Candidates, c.candidates) {
		c.shrink()
	}
	d.Counters = func(t slabs.Tally) []policies.Counter { return figures(t).counters() }
	return d, ""
}

func (p *inSets) LookUp(objects []policies.Object, first int, times []int64) (fetches int) {
	fetches = p.Ranked.LookUp(objects, first, times)
	if p.worker != nil {
		p.worker.request(objects...)
	}
	return fetches
}

func (p *inSets) Load(end int) (evictions int) {
	if p.worker == nil {
		return p.Ranked.Load(end)
	}
	p.worker.publish(end-1, p.Learn)
	evictions = p.Ranked.Load(end)
	p.worker.publish(end, p.Learn)
	p.worker.endBatch(p.predictor, end)
	return evictions
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

// Evicted implements slabs.Rule.
func (p *inSets) Evicted(set int, o policies.Object) {
	if mark := p.each[set].mark(o); p.marks != nil {
		p.marks[o] = mark
	}
}

// UseClock implements policies.Background.
func (p *inSets) UseClock(clock predict.Worker) (background bool, err error) {
	switch {
	case p.worker == nil:
		return false, nil
	case p.worker.latency != 0:
		return false, fmt.Errorf("latency=%d", p.worker.latency)
	}
	p.worker.clock = clock
	return true, nil
}

// Counters implements policies.Reporter.
func (p *inSets) Counters() []policies.Counter { return p.figures.counters() }
