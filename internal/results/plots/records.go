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
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// logRatio is the ratio of the ends of an axis from which it is logarithmic.
const logRatio = 8

// All draws the metrics that are declared with a Figure over capacity, as far as the records have them: lines, or
// bars where there is one capacity. Each trace has its own figures, with its name appended to that of the file if there
// are several. A trace that was replayed in several ways, through several caches say, has a line for each way or, if
// these would be too many, a panel.
func All(ctx context.Context, recs []records.Record, o look.Options) (all []Drawing, err error) {
	recs = results.NamedByParts(recs)
	styles := StylesOf(recs, records.DimPolicy)
	for _, of := range tracesOf(recs) {
		for _, g := range of.groups {
			if err := checkDistinct(g); err != nil {
				return nil, err
			}
		}
		for _, declared := range metric.All() {
			m := declared.Metric
			shown := of.having(m)
			if m.Figure.Title == "" || len(shown.groups) == 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			name := cmp.Or(m.Figure.File, m.Name) + of.suffix
			d, err := shown.draw(m, name, styles, o)
			if err != nil {
				return nil, err
			}
			all = append(all, d)
		}
	}
	return all, nil
}

// ofTrace is the records of a trace, in a group for each way in which it was replayed.
type ofTrace struct {
	suffix string // of the names of files
	groups []results.Group
}

// tracesOf returns the records of each trace in the order of their first appearance.
func tracesOf(recs []records.Record) (all []ofTrace) {
	var names []results.Group
	for _, g := range results.Groups(recs) {
		trace := g.Records[0].Trace
		at := slices.IndexFunc(names, func(n results.Group) bool { return n.Name == trace })
		if at < 0 {
			at = len(names)
			names, all = append(names, results.Group{Name: trace}), append(all, ofTrace{})
		}
		all[at].groups = append(all[at].groups, g)
	}
	for i, suffix := range fileSuffixes(names) {
		all[i].suffix = suffix
	}
	return all
}

// having returns the groups with the records that have a value of the metric.
func (t ofTrace) having(m metric.Metric) ofTrace {
	var some []results.Group
	for _, g := range t.groups {
		if g.Records = having(withCapacities(g.Records), m); len(g.Records) > 0 {
			some = append(some, g)
		}
	}
	t.groups = some
	return t
}

// settings returns what distinguishes each group from the others of its trace.
func (t ofTrace) settings() (names []string) {
	for _, g := range t.groups {
		names = append(names, cmp.Or(strings.TrimPrefix(g.Name, show.Printable(g.Records[0].Trace)+", "), "default"))
	}
	return names
}

// settled returns copies of the records of all groups, in which the settings take the place of the trace.
func (t ofTrace) settled() (recs []records.Record) {
	settings := t.settings()
	for i, g := range t.groups {
		for _, r := range g.Records {
			r.Trace = settings[i]
			recs = append(recs, r)
		}
	}
	return recs
}

// whole returns a group that stands for all: it has the trace's name, and what all have in common.
func (t ofTrace) whole() results.Group {
	first := t.groups[0].Records[0]
	for _, k := range records.PartKinds {
		part := *k.Field(&first)
		if slices.ContainsFunc(t.groups, func(g results.Group) bool { return *k.Field(&g.Records[0]) != part }) {
			*k.Field(&first) = ""
		}
	}
	return results.Group{Name: show.Printable(first.Trace), Records: []records.Record{first}}
}

// draw draws a metric: the only group, or several in one plot or in panels.
func (t ofTrace) draw(m metric.Metric, name string, styles Styles, o look.Options) (Drawing, error) {
	first := t.groups[0]
	if m.Labels != "" {
		return t.spread(m, styles, o).render(name, []canvas.Format{canvas.SVG, canvas.PNG})
	}
	if len(t.groups) == 1 {
		c := overCapacity(first, m, first.Records)
		c.Name, c.Styles, c.Options = name, styles, o
		return c.Draw(first.Records, canvas.SVG, canvas.PNG)
	}
	recs, all := t.settled(), t.whole()
	c := overCapacity(all, m, recs)
	c.Name, c.Options = name, o
	if t.together() {
		for i := range recs {
			recs[i].Label += ", " + recs[i].Trace
			recs[i].Trace = all.Name
		}
		c.Styles = StylesOf(recs, records.DimPolicy)
		return c.Draw(recs, canvas.SVG, canvas.PNG)
	}
	c.Panels, c.Styles, c.Comparable = records.DimTrace, styles, true
	return c.Draw(recs, canvas.SVG, canvas.PNG)
}

// together reports whether the lines of all groups fit into one plot: all have the same axis, and are so few that each
// has a colour.
func (t ofTrace) together() bool {
	lines := 0
	for _, g := range t.groups {
		lines += len(records.Distinct(g.Records, func(r records.Record) string { return r.Label }))
		if countedBy(&g.Records[0]) != countedBy(&t.groups[0].Records[0]) {
			return false
		}
	}
	return lines <= mostColoured
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
		name := m.Name
		if m.Labels != "" {
			name = m.Of(quantiles[0])
		}
		if _, ok := r.Figure(name); ok {
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
