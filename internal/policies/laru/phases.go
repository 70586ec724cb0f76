package laru

import "github.com/cachesim/cachesim/internal/policies"

// phases is the state of algorithm 1 of LCR besides the order of requests: how far it follows predictions in the
// current phase, and what they have evicted in it.
type phases struct {
	confidence confidence
	phase      uint32     // the mark of objects evicted by prediction; 0 before the first phase
	bitset     *MarkedSet // marks=bitset; nil otherwise
}

func (s settings) newPhases() phases {
	p := phases{confidence: s.confidence}
	if s.bitset {
		p.bitset = &MarkedSet{}
	}
	return p
}

func (p *phases) begin(f *figures) {
	p.confidence.restore()
	p.phase++
	if p.bitset != nil {
		*p.bitset = MarkedSet{}
	}
	f.Phases++
}

// followed decides whether a prediction chooses the victim, and counts that eviction. wrong says that the object to be
// loaded was evicted by prediction in this phase. In that case, or with only one candidate, the least recently used
// object is evicted.
func (p *phases) followed(wrong bool, candidates int, f *figures) bool {
	f.Lambda += p.confidence.lambda()
	switch {
	case wrong:
		f.Fallbacks++
		p.confidence.lose()
	case candidates == 1:
		f.ByRecency++
	default:
		f.ByPrediction++
		return true
	}
	return false
}

// marked reports whether o, which is not resident and has a mark, was evicted by prediction in this phase.
func (p *phases) marked(o policies.Object, mark uint32) bool {
	if p.bitset != nil {
		return p.bitset.Has(o)
	}
	return mark == p.phase
}

// mark returns the mark of an object that is evicted by prediction.
func (p *phases) mark(o policies.Object) uint32 {
	if p.bitset != nil {
		p.bitset.Add(o)
		return 0
	}
	return p.phase
}
