package plots

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

// logRatio is the ratio of the ends of an axis from which it is logarithmic.
const logRatio = 8

// All draws the metrics that are declared with a Figure over capacity, as far as the records have them: lines, or
// bars where there is one capacity. Records of several traces, or replayed in several ways, give one set of figures
// each, with the name of the group appended to the name of the file.
func All(ctx context.Context, recs []records.Record) (all []Drawing, err error) {
	recs = results.NamedByParts(recs)
	groups := results.Groups(recs)
	suffixes := fileSuffixes(groups)
	styles := StylesOf(recs, records.DimPolicy)
	for i, g := range groups {
		if err := checkDistinct(g); err != nil {
			return nil, err
		}
		for _, declared := range metric.All() {
			m := declared.Metric
			shown := having(withCapacities(g.Records), m)
			if m.Figure.Title == "" || len(shown) == 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			c := overCapacity(g, m, shown)
			c.Name, c.Styles = cmp.Or(m.Figure.File, m.Name)+suffixes[i], styles
			d, err := c.Draw(shown, SVG, PNG)
			if err != nil {
				return nil, err
			}
			all = append(all, d)
		}
	}
	return all, nil
}

// withCapacities returns the records without those of no-cache at one of several capacities, which would be a
// meaningless point and hide differences of the others.
func withCapacities(recs []records.Record) []records.Record {
	isIdle := func(r records.Record) bool { return roleOf(r.Policy).Idle }
	capacities := map[bool]map[int64]bool{true: {}, false: {}} // of no cache, and of the others
	for _, r := range recs {
		capacities[isIdle(r)][r.Capacity] = true
	}
	if len(capacities[true]) > 1 || len(capacities[false]) < 2 {
		return recs
	}
	return slices.DeleteFunc(slices.Clone(recs), isIdle)
}

// having returns the records that have a value of the metric, without the capacities as users wrote them: places of one
// figure are identified by their numbers.
func having(recs []records.Record, m metric.Metric) (having []records.Record) {
	for _, r := range recs {
		if _, ok := r.Figure(m.Name); ok {
			r.CapacityText = ""
			having = append(having, r)
		}
	}
	return having
}

// overCapacity returns the figure of one metric of one group. Axes are logarithmic where their values span much.
func overCapacity(g results.Group, m metric.Metric, recs []records.Record) Chart {
	c := Chart{Title: titleOf(g, m), X: records.DimCapacity, Y: m.Name, YLabel: axisOf(m, recs)}
	var capacities, values span
	for i := range recs {
		r := &recs[i]
		low, high := boundsOf(m, r)
		capacities.add(float64(r.Capacity))
		values.add(low)
		values.add(high)
	}
	if capacities.low == capacities.high {
		c.Title += ", capacity " + show.Capacity(recs[0].Capacity, recs[0].CapacityUnit)
		return c
	}
	c.LogX, c.LogY = capacities.wide(), values.wide() && m.Unit != metric.Share
	return c
}

func titleOf(g results.Group, m metric.Metric) string {
	title := fmt.Sprintf("%s: %s, %s requests", m.Figure.Title, g.Name,
		show.Count(g.Records[0].Int(metric.Requests)))
	if setting := g.Setting(); setting != "" {
		title += ", " + setting
	}
	return title
}

func axisOf(m metric.Metric, recs []records.Record) string {
	if m.Figure.Interval != "" && slices.ContainsFunc(recs, func(r records.Record) bool { return isInterval(m, &r) }) {
		return m.Figure.Interval
	}
	return cmp.Or(m.Figure.Axis, m.Label())
}

// span is the range of some values; the zero value has none.
type span struct {
	low, high float64
	some      bool
}

func (s *span) add(x float64) {
	if !s.some {
		*s = span{x, x, true}
	}
	s.low, s.high = min(s.low, x), max(s.high, x)
}

// wide reports whether the values span so much that their axis is logarithmic.
func (s *span) wide() bool { return s.low > 0 && s.high/s.low >= logRatio }

// fileSuffixes returns the suffixes that distinguish the files of the groups: none for a single group.
func fileSuffixes(groups []results.Group) []string {
	suffixes := make([]string, len(groups))
	if len(groups) == 1 {
		return suffixes
	}
	taken := map[string]bool{}
	for i, g := range groups {
		s := "-" + fileName(g.Name)
		for n := 2; taken[s]; n++ { // names may differ only in what a file name leaves out
			s = fmt.Sprintf("-%s-%d", fileName(g.Name), n)
		}
		taken[s] = true
		suffixes[i] = s
	}
	return suffixes
}

// fileName keeps the letters, digits and dots of s.
func fileName(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '_'
	})
	r := []rune(strings.Join(words, "-"))
	return string(r[:min(len(r), 60)])
}

// checkDistinct rejects two results for one point of a line.
func checkDistinct(g results.Group) error {
	type point struct {
		label    string
		capacity int64
	}
	seen := map[point]bool{}
	for _, r := range g.Records {
		p := point{r.Label, r.Capacity}
		if seen[p] {
			return fmt.Errorf("cannot draw %s: there are two records of %s at capacity %d %s; draw one run at a time",
				g.Name, r.Label, r.Capacity, r.CapacityUnit)
		}
		seen[p] = true
	}
	return nil
}
