package results

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// SampleNote says which numbers of records refer to a sample and which to the whole trace; "" if no record is of a
// sample.
func SampleNote(recs []records.Record) string {
	var rates []string
	prompts := false
	for i := range recs {
		r := &recs[i]
		if rate := show.Share(r.SampleRate); r.IsSample() && !slices.Contains(rates, rate) {
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
	return strings.Join(slices.Concat([]string{"sample of " + strings.Join(rates, ", ") + ": " + says}, roundings(recs),
		belowZero(recs)), "; ")
}

// mostMarked is how many rows or capacities a note about a sample names.
const mostMarked = 3

// roundings says at which capacities the cache of a sample is off its share of the whole by more than 1%, because it
// holds whole objects, and at least one.
func roundings(recs []records.Record) []string {
	var at []string
	for i := range recs {
		r := &recs[i]
		exact := float64(r.Capacity) * r.SampleRate / float64(max(1, r.BlockBytes))
		held := float64(r.SimulatedCapacity)
		if !r.IsSample() || held == 0 || math.Abs(held-exact) <= 0.01*exact {
			continue
		}
		unit := r.CapacityUnit
		if r.BlockBytes > 0 {
			unit = "blocks"
		}
		text := fmt.Sprintf("%s as %s instead of %.3g %s", show.Capacity(r.Capacity, r.CapacityUnit),
			show.Count(r.SimulatedCapacity),
			exact, unit)
		if !slices.Contains(at, text) {
			at = append(at, text)
		}
	}
	return marked("rounded in the sample's cache: ", at)
}

// belowZero says which hit ratios are 0 because the sample misses more often than its share of the requests.
func belowZero(recs []records.Record) []string {
	var at []string
	for i := range recs {
		r := &recs[i]
		if ratio, ok := r.Get(metric.HitRatio.Name); ok && ratio == 0 && r.IsSample() && r.Int(metric.Hits) > 0 {
			at = append(at, show.Printable(r.Label)+" at "+show.Capacity(r.Capacity, r.CapacityUnit))
		}
	}
	return marked("estimated below 0, shown as 0: ", at)
}

// marked returns a sentence that lists the first of some texts, if there are any.
func marked(says string, texts []string) []string {
	if len(texts) == 0 {
		return nil
	}
	more := ""
	if n := len(texts) - mostMarked; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
		texts = texts[:mostMarked]
	}
	return []string{says + strings.Join(texts, ", ") + more}
}

// FutureNote says which online policies do not compete because a part of theirs knows the future; "" if there are none.
func FutureNote(recs []records.Record) string {
	var names []string
	for i := range recs {
		part := recs[i].Foresees()
		if part == "" {
			continue
		}
		name := recs[i].Label
		if !strings.Contains(name, part) {
			name += " with " + part
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " knows the future and does not compete"
	}
	return strings.Join(names, "; ") + " know the future and do not compete"
}
