package billing

import (
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/traces"
)

// rate is what the rate of a trace follows from. Writes that fill the cache are no requests.
type rate struct {
	requests float64 // all of them
	sized    float64 // those with a size, if there are sizes
	atEnds   float64 // those at the first and the last instant of the clock
	span     time.Duration
	scale    float64 // of a sample to the whole trace
}

func rateOf(t *traces.Trace) (r rate) {
	var first, last int64
	if t.Times != nil {
		first, last = slices.Min(t.Times), slices.Max(t.Times)
		r.span = time.Duration(last - first)
	}
	fills := t.Fills()
	for pos := range t.Objects {
		if fills && t.IsWrite(pos) {
			continue
		}
		r.requests++
		if !t.HasSizes() || t.Size(pos) > 0 {
			r.sized++
		}
		if t.Times != nil && (t.Times[pos] == first || t.Times[pos] == last) {
			r.atEnds++
		}
	}
	r.scale = 1
	if t.SampledFrom > 0 && r.requests > 0 {
		r.scale = float64(t.SampledFrom) / r.requests
	}
	return r
}

// perSecond returns how often requests come; 0 if that is unknown. A trace begins and ends with a request: n requests
// that are d apart take (n - 1) d, so that the two at the ends count half each. So do all that share the first or the
// last instant: the blocks of a prompt, or the requests of a second where the clock has only seconds.
func (r rate) perSecond() float64 {
	if r.span <= 0 {
		return 0
	}
	return (r.requests - r.atEnds/2) / r.span.Seconds() * r.scale
}
