package admission

import "github.com/cachesim/cachesim/internal/policies"

// arrivalsParams are those of tinylfu with feedback, by the names of Caffeine's simulator.
var arrivalsParams = []policies.Param{
	{Name: "feedback", Default: false, Doc: "count what misses several times, more often the more of what was refused " +
		"is soon requested again"},
	{Name: "maximum-insertion-gain", Default: 5, Min: 0, Max: 15, Doc: "with feedback, by how many requests more at most"},
	{Name: "maximum-sample-size", Default: 256, Min: 2, Max: 1 << 40,
		Doc: "with feedback, requests in a sample at most; else the capacity"},
	{Name: "adaptive-fpp", Default: 0.03, Min: 1e-6, Max: 0.9, Doc: "with feedback, share of wrong answers of the " +
		"filter that remembers what was refused"},
}

// arrivals is the feedback of tinylfu: it admits an object that was refused before in the same half of a sample, and
// from then on gives objects that miss more weight against what is resident; less again, if samples go by without.
type arrivals struct {
	refusals
	gain, most  int64 // requests that a miss counts in addition, and may
	frequencies *Frequencies
}

func newArrivals(c policies.Config, f *Frequencies) *arrivals {
	return &arrivals{refusals: newRefusals(c.Params, c.Capacity), most: int64(c.Params.Int("maximum-insertion-gain")),
		frequencies: f}
}

// raise counts a miss as several requests.
func (a *arrivals) raise(o policies.Object) {
	for range a.gain {
		a.frequencies.Count(o)
	}
}

// readmits reports whether a candidate that has lost is admitted nevertheless, and adjusts the gain.
func (a *arrivals) readmits(candidate policies.Object) bool {
	code := a.frequencies.code(candidate)
	if a.adjusted != a.sampled {
		if a.refused.has(code) {
			if a.sampled >= a.adjusted+a.gain && a.gain < a.most {
				a.adjusted = a.sampled
				a.gain++
			}
			return true
		}
		if a.sampled > a.adjusted+a.gain+1 && a.gain > 0 {
			a.adjusted = a.sampled
			a.gain--
		}
	}
	a.refused.put(code)
	return false
}
