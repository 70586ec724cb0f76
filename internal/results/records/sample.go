package records

import (
	"slices"
	"strings"
)

// IsSample reports whether only a sample of the trace was replayed.
func (r *Record) IsSample() bool { return r.SampleRate != 0 && r.SampleRate != 1 }

// SampleNote says which numbers of records refer to a sample and which to the whole trace; "" if no record is of a
// sample.
func SampleNote(recs []Record) string {
	var rates []string
	prompts := false
	for i := range recs {
		r := &recs[i]
		if rate := Share(r.SampleRate); r.IsSample() && !slices.Contains(rates, rate) {
			rates = append(rates, rate)
		}
		_, ofPrompts := r.Get("prompts") // their hit ratio is not scaled
		prompts = prompts || r.IsSample() && ofPrompts
	}
	if len(rates) == 0 {
		return ""
	}
	says := "capacities and hit ratios are scaled to the whole trace; counts and other ratios refer to the sample"
	if prompts {
		says = "capacities are scaled to the whole trace; counts and ratios refer to the sample"
	}
	return "sample of " + strings.Join(rates, ", ") + ": " + says
}
