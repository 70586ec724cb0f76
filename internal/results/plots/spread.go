package plots

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/boxes"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// quantiles are the labels of the percentiles that a figure of a spread shows, from the lowest.
var quantiles = [5]string{"p5", "p25", "p50", "p75", "p95"}

// spread draws a metric whose labels are percentiles: over several capacities a panel for each policy with bands around
// the median, at one capacity a box for each.
func (t ofTrace) spread(m metric.Metric, styles Styles, o look.Options) *sheet {
	recs := t.settled()
	if len(t.groups) == 1 {
		recs = t.groups[0].Records
	}
	axis := timesOf(m, recs, o)
	title := titleOf(t.groups[0], m)
	if len(t.groups) > 1 {
		title = titleOf(t.whole(), m)
	}
	byLine := records.GroupBy(recs, func(r records.Record) string {
		if len(t.groups) == 1 {
			return r.Label
		}
		return r.Label + ", " + r.Trace
	})
	capacities := records.Distinct(recs, func(r records.Record) int64 { return r.Capacity })
	s := &sheet{title: title, options: o}
	if len(capacities) == 1 {
		s.title += ", capacity " + show.Capacity(recs[0].Capacity, recs[0].CapacityUnit)
		s.panels = []*Figure{axis.boxes(s.title, byLine, o)}
		s.note = axis.note()
		return s
	}
	for _, line := range byLine {
		s.panels = append(s.panels, t.fan(axis, title, line, styles, len(byLine), o))
	}
	s.share(false)
	s.note = joined("line: median; bands: P25 to P75, P5 to P95", axis.note(), s.scalesNote())
	return s
}

// times is an axis with the percentiles of a metric: logarithmic if they span much.
type times struct {
	metric.Metric
	scale axes.Scale
	floor float64 // what a logarithmic axis shows instead of 0; 0 if there is none
}

func timesOf(m metric.Metric, recs []records.Record, o look.Options) times {
	var values span
	zero := false
	for i := range recs {
		for _, p := range quantiles {
			if x, ok := recs[i].Figure(m.Of(p)); ok && x > 0 {
				values.add(x)
			} else if ok {
				zero = true
			}
		}
	}
	t := times{Metric: m, scale: scaleOf(values.some && o.InLog("y", values.wide()))}
	if zero && t.scale == axes.Log {
		t.floor = values.low / 2
	}
	return t
}

func (t times) note() string {
	if t.floor == 0 {
		return ""
	}
	return "values of 0 are at the edge, as the axis is logarithmic"
}

// of returns the percentiles of a record.
func (t times) of(r *records.Record) (at [5]float64) {
	for i, p := range quantiles {
		at[i], _ = r.Figure(t.Of(p))
		at[i] = max(at[i], t.floor)
	}
	return at
}

func (t times) label() string { return cmp.Or(t.Figure.Axis, t.Label()) }

// axisUnit is the unit of the ticks.
func (t times) axisUnit() axes.Unit {
	if t.Unit == metric.Seconds {
		return axes.Seconds
	}
	return unitOf(t.Name)
}

// fan draws the percentiles of a policy over capacity.
func (t ofTrace) fan(axis times, title string, recs []records.Record, styles Styles, n int, o look.Options) *Figure {
	r := &recs[0]
	heading := r.Label
	if len(t.groups) > 1 {
		heading += ", " + r.Trace
	}
	f := newPanel(o, title+": "+heading, heading, dimensionLabel(records.DimCapacity, countedBy(r)), axis.label(), n)
	if n > 1 {
		f.Plot.Add(border{})
	}
	recs = slices.SortedStableFunc(slices.Values(recs), func(a, b records.Record) int {
		return cmp.Compare(a.Capacity, b.Capacity)
	})
	style := emphasised(o, styles[r.Label], r.Label, r)
	style.Dashes = nil
	bare := Style{Color: style.Color}
	outer, inner, middle := Line{Style: bare}, Line{Style: bare}, Line{Label: r.Label, Style: style}
	var unit axes.Unit
	for _, r := range recs {
		at, x := axis.of(&r), float64(r.Capacity)
		for _, l := range []*Line{&outer, &inner, &middle} {
			l.X = append(l.X, x)
		}
		outer.Y, outer.High = append(outer.Y, at[0]), append(outer.High, at[4])
		inner.Y, inner.High = append(inner.Y, at[1]), append(inner.High, at[3])
		middle.Y = append(middle.Y, at[2])
	}
	for _, l := range []Line{outer, inner, middle} {
		f.AddLine(l)
	}
	f.legend.entries = nil // the heading names the line
	if r.CapacityUnit == records.Bytes {
		unit = axes.Bytes
	}
	f.SetX(scaleOf(o.InLog("x", true)), unit)
	f.SetY(axis.scale, axis.axisUnit())
	if axis.scale == axes.Linear {
		f.Plot.Y.Min = 0
	}
	return f
}

// boxes draws the percentiles of each policy as a box.
func (t times) boxes(title string, byLine [][]records.Record, o look.Options) *Figure {
	f := newPanel(o, title, "", t.label()+": P5, P25, median, P75 and P95", "", 1)
	b := &boxes.Plot{FromData: t.scale == axes.Log}
	var names []string
	var recs []*records.Record
	for _, line := range byLine {
		recs = append(recs, &line[0])
	}
	colors := Colors(o, recs)
	for i, r := range slices.Backward(recs) {
		at := t.of(r)
		b.Rows = append(b.Rows, boxes.Box{Low: at[0], From: at[1], Middle: at[2], To: at[3], High: at[4],
			Color: colors[i]})
		names = append(names, r.Label)
	}
	f.AddRows(b, names)
	f.SetX(t.scale, t.axisUnit())
	return f
}
