package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// Group contains the records of one table and one figure: the same trace, replayed in the same way.
type Group struct {
	Name    string // the trace, and what else distinguishes this group from others
	Records []records.Record
}

// trait is a property in which the records of different groups may differ.
type trait func(r *records.Record) string

var traits = append(partTraits(), []trait{
	func(r *records.Record) string { return "capacity in " + r.CapacityUnit },
	func(r *records.Record) string { return fmt.Sprintf("sample rate %v", r.SampleRate) },
	func(r *records.Record) string {
		if r.PerFile {
			return "file by file"
		}
		return "as one sequence"
	},
	func(r *records.Record) string {
		if r.Embeddings == "trace" {
			return "embeddings in the trace"
		}
		return cmp.Or(r.Embeddings, "no embeddings")
	},
	func(r *records.Record) string { return fmt.Sprintf("warm-up %d", r.Warmup) },
	func(r *records.Record) string { return fmt.Sprintf("seed %d", r.Seed) },
}...)

// partTraits are the parts whose records have tables of their own.
func partTraits() (all []trait) {
	for _, k := range records.PartKinds {
		if !k.Apart {
			continue
		}
		all = append(all, func(r *records.Record) string {
			if k.InRows(r) {
				return ""
			}
			return k.GroupName(*k.Field(r))
		})
	}
	return all
}

// Groups splits recs into groups in order of first appearance.
func Groups(recs []records.Record) []Group {
	var groups []Group
	index := map[string]int{}
	for i, name := range GroupNames(recs) {
		at, ok := index[name]
		if !ok {
			at = len(groups)
			index[name] = at
			groups = append(groups, Group{Name: name})
		}
		groups[at].Records = append(groups[at].Records, recs[i])
	}
	return groups
}

// GroupNames returns the name of the group of each record.
func GroupNames(recs []records.Record) (all []string) {
	varying := slices.DeleteFunc(slices.Clone(traits), func(t trait) bool {
		return !slices.ContainsFunc(recs, func(r records.Record) bool { return t(&r) != t(&recs[0]) })
	})
	for i := range recs {
		parts := []string{recs[i].Trace}
		for _, t := range varying {
			if part := t(&recs[i]); part != "" {
				parts = append(parts, part)
			}
		}
		all = append(all, show.Printable(strings.Join(parts, ", ")))
	}
	return all
}

// WithoutCache returns the name that the group of each record has if all were of one cache: groups that differ in their
// caches alone have the same one.
func WithoutCache(recs []records.Record) []string {
	same := slices.Clone(recs)
	for i := range same {
		same[i].Cache = ""
	}
	return GroupNames(same)
}

// differs reports whether rows of one table have different parts of the kind.
func differs(k records.PartKind, recs []records.Record) bool {
	var first *string
	for i := range recs {
		part := k.Field(&recs[i])
		switch {
		case !k.InRows(&recs[i]) || k.Some && *part == "":
		case first == nil:
			first = part
		case *part != *first:
			return true
		}
	}
	return false
}

// NamedByParts gives the lines of one policy with several parts of a kind that are rows of one table, such as
// predictors, different names.
func NamedByParts(recs []records.Record) []records.Record {
	named := slices.Clone(recs)
	for _, k := range records.PartKinds {
		if !differs(k, recs) {
			continue
		}
		for i := range named {
			if part := *k.Field(&recs[i]); part != "" && k.InRows(&recs[i]) {
				named[i].Label += ", " + part
			}
		}
	}
	return named
}

// Setting returns the parts that all records have, unless they are the defaults, in the rows or in the group's name.
func (g Group) Setting() string {
	var parts []string
	for _, k := range records.PartKinds {
		part := *k.Field(&g.Records[0])
		if part != "" && part != k.Default && k.Heading && !differs(k, g.Records) && !strings.Contains(g.Name, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// SampleNote says which numbers of records refer to a sample and which to the whole trace; "" if no record is of a
// sample.
func SampleNote(recs []records.Record) string {
	prompts := false
	rates := records.Texts(recs, func(r *records.Record) string {
		if !r.IsSample() {
			return ""
		}
		_, ofPrompts := r.Get("prompts") // their hit ratio is not scaled
		prompts = prompts || ofPrompts
		return show.Share(r.SampleRate)
	})
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
	return marked("rounded in the sample's cache: ", records.Texts(recs, func(r *records.Record) string {
		exact := float64(r.Capacity) * r.SampleRate / float64(max(1, r.BlockBytes))
		held := float64(r.SimulatedCapacity)
		if !r.IsSample() || held == 0 || math.Abs(held-exact) <= 0.01*exact {
			return ""
		}
		unit := r.CapacityUnit
		if r.BlockBytes > 0 {
			unit = "blocks"
		}
		return fmt.Sprintf("%s as %s instead of %.3g %s", show.Capacity(r.Capacity, r.CapacityUnit),
			show.Count(r.SimulatedCapacity), exact, unit)
	}))
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
	names := records.Texts(recs, func(r *records.Record) string {
		switch part := r.Foresees(); {
		case part == "":
			return ""
		case strings.Contains(r.Label, part):
			return r.Label
		default:
			return r.Label + " with " + part
		}
	})
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " knows the future and does not compete"
	}
	return strings.Join(names, "; ") + " know the future and do not compete"
}
