package results

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
)

// Layout assigns dimensions of the records to the parts of a figure or a table.
type Layout struct {
	Panels string // one figure or table per place on it; "" for a single one
	Lines  string // the lines of a figure, the rows of a table
	Along  string // the horizontal axis of a figure, the columns of a table
	// Instead stands in for Along in records without it: the first of these dimensions that a record has. Such places
	// are called like axes: "tau=0.7".
	Instead []string
	Metric  string
}

// Panel is one figure or table out of several.
type Panel struct {
	Name  string // "oltp", "capacity 1%", "small=0.1"; "" for the only one
	Place string // as in the records: "oltp", "1%", "0.1"
	Lines []Series
}

// Series is one line of a figure or one row of a table.
type Series struct {
	Name   string // its place on Layout.Lines, and whatever else distinguishes it
	Points []Point
}

// Kind returns the kind of the series' policy: online, offline or bound.
func (s *Series) Kind() string { return s.Points[0].Record.Kind }

// Point is one value of a series, in the order of the records.
type Point struct {
	Place    records.Value // on Layout.Along
	Anywhere bool          // no place: the record applies to all places
	Estimate
	Record *records.Record // one of the averaged records
}

// Estimate is a mean over seeds.
type Estimate struct {
	Mean   float64
	Margin float64 // half of the 95% confidence interval of the mean, by Student's t; 0 for a single seed
	Seeds  int
}

// Average returns the mean of samples, one per seed, and its margin.
func Average(samples []float64) Estimate {
	n := len(samples)
	e := Estimate{Mean: statistics.Mean(samples), Seeds: n}
	if n > 1 && slices.Min(samples) != slices.Max(samples) {
		t := statistics.StudentQuantile(0.975, float64(n-1))
		e.Margin = t * statistics.StdDev(samples) / math.Sqrt(float64(n))
	}
	return e
}

// Arrange lays out the records that have the metric and averages over their seeds. A record without a dimension of the
// layout applies to all places on it. Records that differ in a further dimension become separate series, named by their
// places on it, so that only seeds are averaged. Unknown dimensions and metrics, and two results for one point and
// seed, are errors.
func Arrange(recs []records.Record, l Layout) ([]Panel, error) {
	if err := l.check(recs); err != nil {
		return nil, err
	}
	a := arranger{Layout: l, apart: map[string][]string{}}
	for i := range recs {
		if _, ok := recs[i].Figure(l.Metric); ok {
			a.recs = append(a.recs, &recs[i])
		}
	}
	if len(a.recs) == 0 {
		if _, known := metric.Lookup(l.Metric); known {
			return nil, fmt.Errorf("no record has the metric %s", l.Metric)
		}
		return nil, suggest.Unknown("metric", l.Metric, metricsOf(recs))
	}
	a.shares = sharesApart(a.recs)
	a.further = slices.DeleteFunc(append([]string{records.DimTrace, records.DimPolicy, records.DimCapacity},
		records.AxisNames(recs)...), l.uses)
	split := a.panels()
	for _, p := range split { // all of them before any series: a line has the same name in each panel
		a.separate(p.recs)
	}
	var panels []Panel
	for _, p := range split {
		lines, err := a.series(p.recs)
		if err != nil {
			return nil, err
		}
		panels = append(panels, Panel{p.name, p.place, lines})
	}
	return panels, nil
}

// metricsOf returns the names of the metrics of at least one record.
func metricsOf(recs []records.Record) []string {
	return slices.DeleteFunc(records.MetricNames(), func(name string) bool {
		return !slices.ContainsFunc(recs, func(r records.Record) bool { _, ok := r.Figure(name); return ok })
	})
}

// check rejects dimensions that no record has, except some of Along and Instead.
func (l Layout) check(recs []records.Record) error {
	if len(recs) == 0 {
		return fmt.Errorf("there are no records")
	}
	has := func(dim string) bool {
		return slices.ContainsFunc(recs, func(r records.Record) bool { _, ok := r.Dim(dim); return ok })
	}
	along := l.Along
	if i := slices.IndexFunc(l.Instead, has); i >= 0 && !has(along) {
		along = l.Instead[i]
	}
	for _, dim := range []string{l.Panels, l.Lines, along} {
		if dim != "" && !has(dim) {
			return suggest.Unknown("dimension", dim, append([]string{records.DimTrace, records.DimPolicy, records.DimCapacity,
				records.DimCapacityShare,
				records.DimSeed}, records.AxisNames(recs)...))
		}
	}
	return nil
}

// uses reports whether the layout distinguishes places on the dimension.
func (l Layout) uses(dim string) bool {
	used := []string{l.Panels, l.Lines, l.Along}
	return slices.Contains(used, dim) || dim == records.DimCapacity && slices.Contains(used, records.DimCapacityShare)
}

type arranger struct {
	Layout
	recs    []*records.Record   // those with the metric
	further []string            // dimensions that the layout does not use
	apart   map[string][]string // further dimensions in which the records of one line differ, by the line's place
	shares  map[float64]string  // texts of capacity shares that need more digits than others
}

type panelRecords struct {
	name, place string
	recs        []*records.Record
}

// panels returns the records of each panel. Records without a panel are in all panels.
func (a *arranger) panels() (panels []panelRecords) {
	for _, r := range a.recs {
		v, ok := a.dim(r, a.Panels)
		if ok && !slices.ContainsFunc(panels, func(p panelRecords) bool { return p.place == v.Text }) {
			panels = append(panels, panelRecords{name: PlaceName(a.Panels, v), place: v.Text})
		}
	}
	if len(panels) == 0 {
		return []panelRecords{{recs: a.recs}}
	}
	for i := range panels {
		for _, r := range a.recs {
			if v, ok := a.dim(r, a.Panels); !ok || v.Text == panels[i].place {
				panels[i].recs = append(panels[i].recs, r)
			}
		}
	}
	return panels
}

// PlaceName names a place on a dimension for texts that do not name the dimension.
func PlaceName(dim string, v records.Value) string {
	switch dim {
	case records.DimTrace, records.DimPolicy, records.DimCapacityShare:
		return v.Text
	case records.DimCapacity:
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
			return "capacity " + show.Count(n)
		}
		return "capacity " + v.Text
	case records.DimSeed:
		return "seed " + v.Text
	}
	return dim + "=" + v.Text
}

// line returns a record's place on Lines; without one it is the record's policy.
func (a *arranger) line(r *records.Record) string {
	if v, ok := a.dim(r, a.Lines); ok {
		return PlaceName(a.Lines, v)
	}
	return r.Label
}

// separate finds the further dimensions in which the records of one line differ at one place. Comparing each with the
// first is enough: two that differ in a dimension cannot both equal the first.
func (a *arranger) separate(recs []*records.Record) {
	first := map[[2]string]*records.Record{}
	for _, r := range recs {
		line, place := a.line(r), a.place(r)
		other, ok := first[[2]string{line, place}]
		if !ok {
			first[[2]string{line, place}] = r
			continue
		}
		for _, dim := range a.further {
			if dimText(r, dim) != dimText(other, dim) && !slices.Contains(a.apart[line], dim) {
				a.apart[line] = append(a.apart[line], dim)
			}
		}
	}
}

// place identifies a record's place on Along.
func (a *arranger) place(r *records.Record) string {
	v, _ := a.along(r)
	return v.Text
}

// along returns a record's place on Along, or on the dimension that stands in for it.
func (a *arranger) along(r *records.Record) (v records.Value, ok bool) {
	if v, ok = a.dim(r, a.Along); ok {
		return v, true
	}
	for _, dim := range a.Instead {
		if v, ok = a.dim(r, dim); ok {
			v.Text = dim + "=" + v.Text // 0.7 is another place on another dimension
			return v, true
		}
	}
	return records.Value{}, false
}

// dim is Record.Dim, where the texts of different capacities on a trace differ.
func (a *arranger) dim(r *records.Record, name string) (v records.Value, ok bool) {
	v, ok = r.Dim(name)
	if text, long := a.shares[v.Number]; long && ok && name == records.DimCapacityShare {
		v.Text = text
	}
	return v, ok
}

// sharesApart returns longer texts for the capacity shares that differ on one trace, but have the same text. Shares of
// different traces with the same text are the same place: 1% of two traces is rarely the same number.
func sharesApart(recs []*records.Record) map[float64]string {
	numbers, first, alike := map[string][]float64{}, map[[2]string]float64{}, map[string]bool{}
	for _, r := range recs {
		v, ok := r.Dim(records.DimCapacityShare)
		if !ok {
			continue
		}
		if !slices.Contains(numbers[v.Text], v.Number) {
			numbers[v.Text] = append(numbers[v.Text], v.Number)
		}
		at := [2]string{r.Trace, v.Text}
		if other, seen := first[at]; seen && other != v.Number {
			alike[v.Text] = true
		}
		first[at] = v.Number
	}
	apart, taken := map[float64]string{}, map[string]bool{}
	for text := range numbers {
		taken[text] = !alike[text]
	}
	for _, text := range slices.Sorted(maps.Keys(alike)) {
		longer := distinctShares(numbers[text], taken)
		maps.Copy(apart, longer)
		for long := range maps.Values(longer) {
			taken[long] = true
		}
	}
	return apart
}

// distinctShares returns texts of different ratios with as many digits as they need to differ, also from those that are
// taken.
func distinctShares(ratios []float64, taken map[string]bool) map[float64]string {
	for digits := 3; ; digits++ {
		texts, used, free := map[float64]string{}, map[string]bool{}, true
		for _, x := range ratios {
			text := show.Trimmed(100*x, digits) + "%"
			if digits > 17 { // the products may be equal
				text = strconv.FormatFloat(x, 'g', -1, 64)
			}
			texts[x], used[text] = text, true
			free = free && !taken[text]
		}
		if free && len(used) == len(ratios) {
			return texts
		}
	}
}

func dimText(r *records.Record, dim string) string {
	v, _ := r.Dim(dim)
	return v.Text
}

func (a *arranger) name(r *records.Record) string {
	line := a.line(r)
	parts := []string{line}
	for _, dim := range a.further { // not in the order of apart, which depends on the records
		if v, ok := r.Dim(dim); ok && slices.Contains(a.apart[line], dim) {
			parts = append(parts, PlaceName(dim, v))
		}
	}
	return strings.Join(parts, ", ")
}

func (a *arranger) series(recs []*records.Record) ([]Series, error) {
	var all []Series
	points := map[[2]string][]*records.Record{} // by series and place
	for _, r := range recs {
		name := a.name(r)
		i := slices.IndexFunc(all, func(s Series) bool { return s.Name == name })
		if i < 0 {
			i = len(all)
			all = append(all, Series{Name: name})
		}
		key := [2]string{name, a.place(r)}
		if points[key] == nil {
			v, ok := a.along(r)
			all[i].Points = append(all[i].Points, Point{Place: v, Anywhere: !ok, Record: r})
		}
		points[key] = append(points[key], r)
	}
	for i := range all {
		for j := range all[i].Points {
			p := &all[i].Points[j]
			e, err := a.average(points[[2]string{all[i].Name, p.Place.Text}])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[i].Name, err)
			}
			p.Estimate = e
		}
	}
	return all, nil
}

// average returns the mean over the seeds of the records at one point.
func (a *arranger) average(recs []*records.Record) (Estimate, error) {
	samples := map[uint64]float64{}
	for _, r := range recs {
		x, _ := r.Figure(a.Metric)
		if other, ok := samples[r.Seed]; ok && other != x {
			return Estimate{}, fmt.Errorf("two records of %s on %s at capacity %s from seed %d: %s is %v and %v",
				r.Label, r.Trace, dimText(r, records.DimCapacity), r.Seed, a.Metric, other, x)
		}
		samples[r.Seed] = x
	}
	var inOrder []float64 // by seed: the sum of floats depends on the order, and must not on the records'
	for _, seed := range slices.Sorted(maps.Keys(samples)) {
		inOrder = append(inOrder, samples[seed])
	}
	return Average(inOrder), nil
}
