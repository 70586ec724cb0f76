package rac

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
)

// fadedCount is what importance is made of if it fades, as prevalence does: requests to an entry, and to those that
// build on it.
type fadedCount struct {
	own, dependants float64
	at              uint32 // the request up to which both have faded
}

// fades reports whether importance fades.
func (s *settings) fades() bool { return s.beta > 0 }

// fade brings the counts of o to the present.
func (p *policy) fade(o policies.Object) *fadedCount {
	f := &p.faded[o]
	if f.at != p.clock {
		kept := math.Exp2(-p.beta * float64(p.clock-f.at))
		f.own, f.dependants, f.at = f.own*kept, f.dependants*kept, p.clock
	}
	return f
}

// lastingImportance returns log2(TSI) + beta * now, which does not change over time.
func (p *policy) lastingImportance(o policies.Object) float64 {
	f := p.fade(o)
	return math.Log2(f.own+float64(p.lambda*f.dependants)) + float64(p.beta*float64(p.clock))
}

// lastingValue returns log2(TP^weight * TSI), plus a term that depends on the time alone.
func (p *policy) lastingValue(t *topic, importance float64) float64 {
	if !p.fades() {
		importance = math.Log2(importance)
	}
	return float64(p.topicWeight*p.lasting(t, 1)) + importance
}

// fadeBy changes how fast importance fades, from now on. All importance moves by the same amount, so that the order of
// entries stays as it is.
func (p *policy) fadeBy(beta float64) {
	for o := range p.faded {
		if p.seen[o] != 0 {
			p.fade(policies.Object(o))
			p.entries[o].importance += float64((beta - p.beta) * float64(p.clock))
		}
	}
	p.beta = beta
}
