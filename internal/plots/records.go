package plots

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/atomicfile"
	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/records"
)

const (
	// logRatio is the ratio of the ends of an axis from which it is logarithmic.
	logRatio = 8
	// maxIntervals is the number of policies up to which each one's interval is drawn. They differ only in proportion to
	// the policy's misses, so that with more policies the interval of the optimum says enough.
	maxIntervals = 12
	// intervalShift is the distance between the intervals of two policies at one capacity.
	intervalShift = vg.Length(4)
	// tickGap is the least room between two labels of the capacity axis, axisShare the part of the width that is left for
	// the axis.
	tickGap   = vg.Length(8)
	axisShare = 0.85
)

// interval is a value known to lie between low and high; mostly they are the same.
type interval struct{ low, high float64 }

// valueOf returns the value of a metric, of which a bound says nothing but hits.
func valueOf(m metric.Metric, r *records.Record) (v interval, ok bool) {
	v.low, ok = r.Figure(m.Name)
	if v.high = v.low; ok && m.UpTo != "" {
		if high, ok := r.Figure(m.UpTo); ok {
			v.high = high
		}
	}
	return v, ok
}

// isInterval reports whether what the record says of a metric is an interval.
func isInterval(m metric.Metric, r *records.Record) bool {
	_, ok := r.Get(m.UpTo)
	return ok
}

// axisOf names the axis of a metric.
func axisOf(m metric.Metric, all []series) string {
	if m.Figure.Interval != "" && slices.ContainsFunc(all, series.isInterval) {
		return m.Figure.Interval
	}
	return cmp.Or(m.Figure.Axis, m.Label())
}

// unitOf returns what the axis of a metric counts.
func unitOf(m metric.Metric) Unit {
	if m.Unit == metric.Share {
		return Percent
	}
	return Number
}

// WriteAll draws the metrics that are declared with a Figure over capacity, as far as the records have them, into dir,
// which is created if missing: lines, or bars where there is one capacity. Records of several traces, or replayed in
// several ways, give one set of figures each, with the name of the group appended to the name of the file.
func WriteAll(ctx context.Context, dir string, recs []records.Record) error {
	if err := atomicfile.MakeFolder(dir); err != nil {
		return err
	}
	recs = namedByParts(recs)
	groups := records.Groups(recs)
	suffixes := fileSuffixes(groups)
	styles := StylesOf(recs, records.DimPolicy)
	styles.apart(slices.Collect(maps.Keys(styles)))
	for i, g := range groups {
		if err := checkDistinct(g); err != nil {
			return err
		}
		for _, declared := range metric.All() {
			m := declared.Metric
			if m.Figure.Title == "" {
				continue
			}
			all := seriesOf(g, m)
			if len(all) == 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			f, err := figureOf(g, m, all, styles)
			if err != nil {
				return err
			}
			if err := f.Save(dir, cmp.Or(m.Figure.File, m.Name)+suffixes[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// namedByParts gives the lines of one policy with several predictors, or prefetchers, names of their own.
func namedByParts(recs []records.Record) []records.Record {
	predictors, prefetchers := map[string]bool{}, map[string]bool{}
	for _, r := range recs {
		predictors[r.Predictor], prefetchers[r.Prefetcher] = true, true
	}
	delete(predictors, "") // of policies that ask none
	recs = slices.Clone(recs)
	for i := range recs {
		r := &recs[i]
		if len(predictors) > 1 && r.Predictor != "" {
			r.Label += ", " + r.Predictor
		}
		if len(prefetchers) > 1 && r.Prefetcher != "" {
			r.Label += ", " + r.Prefetcher
		}
	}
	return recs
}

// figureOf returns the figure of one metric of one group.
func figureOf(g records.Group, m metric.Metric, all []series, styles Styles) (*Figure, error) {
	title := fmt.Sprintf("%s: %s, %s requests", m.Figure.Title, g.Name,
		records.Count(g.Records[0].Int(metric.Requests)))
	if setting := g.Setting(); setting != "" {
		title += ", " + setting
	}
	first := g.Records[0].Capacity
	if !slices.ContainsFunc(g.Records, func(r records.Record) bool { return r.Capacity != first }) {
		title += ", capacity " + records.Capacity(first, g.Records[0].CapacityUnit)
		return barFigure(title, m, all, styles), nil
	}
	return lineFigure(title, m, all, styles, g.Records[0].CapacityUnit)
}

// fileSuffixes returns what tells the files of the groups apart: nothing for a single group.
func fileSuffixes(groups []records.Group) []string {
	suffixes := make([]string, len(groups))
	if len(groups) == 1 {
		return suffixes
	}
	taken := map[string]bool{}
	for i, g := range groups {
		s := "-" + fileName(g.Name)
		for n := 2; taken[s]; n++ {
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

// checkDistinct refuses two results for one point of a line.
func checkDistinct(g records.Group) error {
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

// series are the values of one policy, by ascending capacity.
type series struct {
	label     string
	kind      string
	reference bool
	best      bool
	points    []point
}

type point struct {
	capacity float64
	interval
}

func (s series) last() float64 { return s.points[len(s.points)-1].low }

// seriesOf returns the policies that have values of m, the highest value at the largest capacity first, which is the
// order in which the lines end at the right.
func seriesOf(g records.Group, m metric.Metric) []series {
	byLabel := map[string]*series{}
	var order []string
	for i := range g.Records {
		r := &g.Records[i]
		v, ok := valueOf(m, r)
		if !ok {
			continue
		}
		s := byLabel[r.Label]
		if s == nil {
			s = &series{label: r.Label, kind: r.Kind, reference: isReference(r.Policy, r.Kind)}
			byLabel[r.Label] = s
			order = append(order, r.Label)
		}
		s.points = append(s.points, point{float64(r.Capacity), v})
		s.best = s.best || r.Best
	}
	var all []series
	for _, label := range order {
		s := byLabel[label]
		slices.SortFunc(s.points, func(a, b point) int { return cmp.Compare(a.capacity, b.capacity) })
		all = append(all, *s)
	}
	slices.SortStableFunc(all, func(a, b series) int { return cmp.Compare(b.last(), a.last()) })
	return all
}

func lineFigure(title string, m metric.Metric, all []series, styles Styles, capacityUnit string) (*Figure, error) {
	f := New(title, "capacity (objects)", axisOf(m, all))
	unit := Number
	if capacityUnit == records.Bytes {
		f.xLabel, unit = "capacity", Bytes
	}
	intervals := countIntervals(all)
	shift := -intervalShift * vg.Length(intervals-1) / 2
	behind := fadedSeries(all, m)
	for _, s := range greyFirst(all, func(s series) bool { return behind[s.label] }) {
		l := Line{Label: s.label, Style: styles[s.label], Faded: behind[s.label]}
		for _, p := range s.points {
			l.X = append(l.X, p.capacity)
			l.Y = append(l.Y, p.low)
		}
		if s.isInterval() && (intervals <= maxIntervals || s.kind == "offline") {
			for _, p := range s.points {
				l.High = append(l.High, p.high)
			}
			l.Bars, l.Shift = s.kind != "offline", shift
			shift += intervalShift
		}
		if err := f.AddLine(l); err != nil {
			return nil, err
		}
	}
	p := f.Plot
	f.SetX(scaleFor(p.X.Min, p.X.Max), unit)
	if ticks := capacityTicks(all, capacityUnit); f.haveRoom(ticks) {
		p.X.Tick.Marker = plot.ConstantTicks(ticks)
	}
	f.SetY(Linear, unitOf(m))
	if unitOf(m) == Number {
		f.SetY(scaleFor(p.Y.Min, p.Y.Max), Number)
	}
	if p.Y.Min == p.Y.Max { // a flat line in the middle of a narrow range instead of gonum's 1 below and above
		p.Y.Min, p.Y.Max = max(0, p.Y.Min-0.05), p.Y.Max+0.05
	}
	return f, nil
}

// capacityTicks returns a tick at every capacity, ascending.
func capacityTicks(all []series, unit string) []plot.Tick {
	var at []float64
	for _, s := range all {
		for _, p := range s.points {
			at = append(at, p.capacity)
		}
	}
	slices.Sort(at)
	var ticks []plot.Tick
	for _, v := range slices.Compact(at) {
		ticks = append(ticks, plot.Tick{Value: v, Label: records.Capacity(int64(v), unit)})
	}
	return ticks
}

// haveRoom reports whether the labels of these ticks of the horizontal axis would not touch.
func (f *Figure) haveRoom(ticks []plot.Tick) bool {
	a := f.Plot.X
	for i := 1; i < len(ticks); i++ {
		left, right := ticks[i-1], ticks[i]
		room := vg.Length(a.Norm(right.Value)-a.Norm(left.Value)) * axisShare * f.width
		if room < (a.Tick.Label.Width(left.Label)+a.Tick.Label.Width(right.Label))/2+tickGap {
			return false
		}
	}
	return true
}

// scaleFor chooses a logarithmic axis for a range that spans much.
func scaleFor(low, high float64) Scale {
	if low > 0 && high/low >= logRatio {
		return Log
	}
	return Linear
}

func (s series) isInterval() bool {
	return slices.ContainsFunc(s.points, func(p point) bool { return p.low != p.high })
}

// countIntervals counts the policies with intervals beside the optimum, whose interval is a band.
func countIntervals(all []series) int {
	n := 0
	for _, s := range all {
		if s.isInterval() && s.kind != "offline" {
			n++
		}
	}
	return n
}

// fadedSeries returns the labels of the lines that are grey.
func fadedSeries(all []series, m metric.Metric) map[string]bool {
	var lines []ranked
	for _, s := range all {
		l := ranked{s.label, s.reference, map[string]float64{}}
		for _, p := range s.points {
			l.values[fmt.Sprint(p.capacity)] = p.low
		}
		lines = append(lines, l)
	}
	return faded(lines, m.Name)
}

// barFigure draws one bar for each policy in its colour, the best on top.
func barFigure(title string, m metric.Metric, all []series, styles Styles) *Figure {
	f := New(title, axisOf(m, all), "")
	f.SetX(Linear, unitOf(m))
	if m.Better == metric.Lower {
		slices.Reverse(all)
	}
	behind := fadedSeries(all, m)
	chart := bars{base: m.Figure.Base, style: f.legend.style}
	names := make([]string, len(all))
	for i, s := range all {
		v := s.points[0].interval
		at := len(all) - 1 - i // the axis counts upwards
		names[at] = shorten(s.name(), f.legend.style, labelWidth)
		b := bar{at: at, end: v.low, interval: v, color: styles[s.label].Color, label: valueLabel(v, m)}
		if behind[s.label] {
			b.color = fadedStyle().Color
		}
		if s.best {
			b.label += " *"
			f.note = "* highest hit ratio of the online policies"
		}
		chart.bars = append(chart.bars, b)
	}
	f.addBars(&chart, names)
	return f
}

// name is the label with the kind of a policy that is not online.
func (s series) name() string {
	if s.kind == "online" {
		return s.label
	}
	return s.label + " (" + s.kind + ")"
}

// valueLabel writes the value at the end of a bar.
func valueLabel(v interval, m metric.Metric) string {
	label := m.Text(v.low)
	if v.low == v.high {
		return label
	}
	return label + "-" + m.Text(v.high)
}
