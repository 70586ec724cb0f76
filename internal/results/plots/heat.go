package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/letters"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// Heat is a heat map of an experiment: a metric of its records, averaged over seeds, is the colour of the cell at a
// place on each of two dimensions. Numbers ascend to the right and upwards; names are in the order of the records, to
// the right and downwards. All panels have the same colours.
type Heat struct {
	Name           string // of the files
	Title          string // "" for one made of Color, X and Y
	X, Y           string // dimensions: records.DimCapacityShare, too
	Color          string // a metric
	Panels         string // a dimension with one panel per place on it, or "" for one panel
	Log            bool   // colours follow the logarithm of the values
	XLabel, YLabel string // "" for the names of the dimensions
	ColorLabel     string // "" for the name of the metric
	Options        look.Options
}

// Draw draws recs as NAME.svg and so on; without a format it only returns the error. It is an UndrawableError if
// results.Arrange refuses the records, or if several of them share a cell.
func (h Heat) Draw(recs []records.Record, usual ...canvas.Format) (Drawing, error) {
	s, err := h.sheet(recs)
	return drawn(h.Name, h.Options, s, err, usual)
}

func (h Heat) sheet(recs []records.Record) (*sheet, error) {
	panels, err := results.Arrange(recs, results.Layout{Panels: h.Panels, Lines: h.Y, Along: h.X, Metric: h.Color})
	if err != nil {
		return nil, err
	}
	grids, err := h.grids(panels)
	if err != nil {
		return nil, err
	}
	skipped := 0
	var values []float64
	for _, g := range grids {
		if h.Log {
			skipped += g.dropWithoutLogarithm()
		}
		values = append(values, g.values...)
	}
	if !slices.ContainsFunc(values, isNumber) {
		return nil, fmt.Errorf("no %s is above 0, as logarithmic colours need", h.Color)
	}
	colors := axes.NewColorScale(scaleOf(h.Log), values)
	s := &sheet{title: h.title(), bar: &colorBar{colors, unitOf(h.Color), cmp.Or(h.ColorLabel, records.AxisName(h.Color))}}
	var all []*cells
	for _, g := range grids {
		f, cells := h.draw(g, colors, len(grids))
		s.panels, all = append(s.panels, f), append(all, cells)
	}
	s.note = missingNote(all...)
	if skipped > 0 {
		s.note = joined(s.note, fmt.Sprintf("%s of them at 0 or below, as the colours are logarithmic",
			show.Count(int64(skipped))))
	}
	if slices.ContainsFunc(grids, func(g *heatPanel) bool { return !g.hasAxesOf(grids[0]) }) {
		s.note = joined(s.note, "each panel has axes of its own")
	}
	return s, nil
}

func isNumber(x float64) bool { return !math.IsNaN(x) }

func (h Heat) title() string {
	return cmp.Or(h.Title, cmp.Or(h.ColorLabel, sentence(h.Color))+" by "+records.MetricName(h.X)+" and "+
		records.MetricName(h.Y))
}

type heatPanel struct {
	heading     string
	columns     []place
	rows        []place   // from the lowest
	values      []float64 // row by row from the lowest; NaN where there is none
	from        []*records.Record
	countsBytes bool
	counted     string // what capacities count
}

type place struct {
	records.Value
	label string
}

// entry is a value of a panel with its places.
type entry struct {
	x, y       records.Value
	allX, allY bool // it has no place there, so that it counts at all of them
	mean       float64
	measured   *records.Record
}

// grids arranges the values. Panels of different traces have columns and rows of their own, others share them.
func (h Heat) grids(panels []results.Panel) (grids []*heatPanel, err error) {
	var entries [][]entry
	for _, p := range panels {
		entries = append(entries, h.entries(p))
	}
	shared := slices.Concat(entries...)
	for i, p := range panels {
		of := shared
		if h.Panels == records.DimTrace {
			of = entries[i]
		}
		g := &heatPanel{heading: p.Name, countsBytes: inBytes(p), counted: countedIn(p)}
		g.columns = placesOf(of, func(e entry) (records.Value, bool) { return e.x, e.allX }, h.X, g.countsBytes)
		g.rows = placesOf(of, func(e entry) (records.Value, bool) { return e.y, e.allY }, h.Y, g.countsBytes)
		if len(g.rows) > 0 && !g.rows[0].IsNumber {
			slices.Reverse(g.rows) // names are read downwards
		}
		if len(g.columns) == 0 || len(g.rows) == 0 {
			return nil, fmt.Errorf("no record of %s has places on both %s and %s", p.Name, h.X, h.Y)
		}
		if err := h.fill(g, entries[i]); err != nil {
			return nil, err
		}
		grids = append(grids, g)
	}
	return grids, nil
}

func (h Heat) entries(p results.Panel) (all []entry) {
	for _, s := range p.Lines {
		for _, point := range s.Points {
			y, ok := point.Record.Dim(h.Y)
			all = append(all, entry{x: point.Place, allX: point.Anywhere, y: y, allY: !ok, mean: point.Mean,
				measured: point.Record})
		}
	}
	return all
}

// placesOf returns the places of entries on a dimension: numbers in ascending order, others in that of the entries.
func placesOf(all []entry, on func(entry) (v records.Value, everywhere bool), dimension string,
	bytes bool) (places []place) {
	numbers := true
	for _, e := range all {
		v, everywhere := on(e)
		if everywhere || slices.ContainsFunc(places, func(p place) bool { return p.Text == v.Text }) {
			continue
		}
		numbers = numbers && v.IsNumber
		places = append(places, place{v, placeLabel(v, dimension, bytes)})
	}
	if !numbers {
		for i := range places {
			places[i].IsNumber = false
		}
		return places
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.Number, b.Number) })
	return places
}

// placeLabel writes a place as it stands on an axis.
func placeLabel(v records.Value, dimension string, bytes bool) string {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if dimension != records.DimCapacity || err != nil {
		return v.Text
	}
	unit := records.Objects
	if bytes {
		unit = records.Bytes
	}
	return show.Capacity(n, unit)
}

// fill puts the values into their cells. Two in one cell are an error, which says how to tell them apart.
func (h Heat) fill(g *heatPanel, all []entry) error {
	g.values = slices.Repeat([]float64{math.NaN()}, len(g.columns)*len(g.rows))
	g.from = make([]*records.Record, len(g.values))
	for _, e := range all {
		for row, y := range g.rows {
			for column, x := range g.columns {
				if !e.allX && e.x.Text != x.Text || !e.allY && e.y.Text != y.Text {
					continue
				}
				at := row*len(g.columns) + column
				if other := g.from[at]; other != nil {
					return fmt.Errorf("two records share the cell at %s %s and %s %s: %s", records.MetricName(h.X), x.label,
						records.MetricName(h.Y), y.label, h.apart(other, e.measured))
				}
				g.values[at], g.from[at] = e.mean, e.measured
			}
		}
	}
	return nil
}

// apart says how two records differ, and how to draw one of them or both.
func (h Heat) apart(a, b *records.Record) string {
	dimensions := append([]string{records.DimTrace, records.DimPolicy, records.DimCapacity},
		records.AxisNames([]records.Record{*a, *b})...)
	i := slices.IndexFunc(dimensions, func(name string) bool {
		one, _ := a.Dim(name)
		other, _ := b.Dim(name)
		return one.Text != other.Text
	})
	name := dimensions[max(i, 0)]
	one, _ := a.Dim(name)
	other, _ := b.Dim(name)
	advice := "choose one with only"
	if h.Panels == "" {
		advice += fmt.Sprintf(", or draw both with panels: %s", name)
	}
	return fmt.Sprintf("their %s is %s and %s; %s", name, cmp.Or(one.Text, "none"), cmp.Or(other.Text, "none"), advice)
}

// dropWithoutLogarithm removes the values that logarithmic colours cannot show, and returns how many there are.
func (g *heatPanel) dropWithoutLogarithm() (dropped int) {
	for i, x := range g.values {
		if x <= 0 {
			g.values[i] = math.NaN()
			dropped++
		}
	}
	return dropped
}

func (g *heatPanel) hasAxesOf(other *heatPanel) bool {
	same := func(a, b place) bool { return a.label == b.label }
	return slices.EqualFunc(g.columns, other.columns, same) && slices.EqualFunc(g.rows, other.rows, same)
}

// rowPitch is the least height of a row with a name.
const rowPitch = vg.Length(13)

func (h Heat) draw(g *heatPanel, colors axes.ColorScale, n int) (*Figure, *cells) {
	xLabel := cmp.Or(h.XLabel, heatLabel(h.X, g.columns, g.counted))
	yLabel := cmp.Or(h.YLabel, heatLabel(h.Y, g.rows, g.counted))
	title := h.title()
	if g.heading != "" {
		title += ": " + g.heading
	}
	f := newPanel(h.Options, title, g.heading, xLabel, yLabel, n)
	f.least = max(f.least, min(vg.Length(len(g.rows))*rowPitch, 2*plotHeight)+vg.Inch)
	c := &cells{columns: len(g.columns), values: g.values, colors: colors,
		label: cmp.Or(h.ColorLabel, records.MetricName(h.Color)),
		text:  func(x float64) string { return records.MetricText(h.Color, x) },
		x:     Places{Label: xLabel, Step: 1, names: labelsOf(g.columns)},
		y:     Places{Label: yLabel, Step: 1, names: labelsOf(g.rows)}}
	f.addCells(c)
	f.placesOnX(g.columns)
	f.placesOnY(g.rows)
	return f, c
}

// heatLabel names the axis of a dimension. Capacities as users wrote them, such as 1%, have their unit.
func heatLabel(dimension string, places []place, counted string) string {
	isText := func(p place) bool {
		_, err := strconv.ParseInt(p.Text, 10, 64)
		return err != nil
	}
	if dimension == records.DimCapacity && slices.ContainsFunc(places, isText) {
		return records.MetricName(dimension)
	}
	return dimensionLabel(dimension, counted)
}

// placesOnX names the columns as far as there is room, names aslant if they need it.
func (f *Figure) placesOnX(places []place) {
	axis := &f.Plot.X
	labels := labelsOf(places)
	axis.Min, axis.Max = -0.5, float64(len(places))-0.5
	if !places[0].IsNumber {
		every := int(math.Ceil(float64(len(labels)) * float64(rowPitch/(axisShare*f.width))))
		for i := range labels {
			if i%every > 0 {
				labels[i] = ""
			}
		}
		f.nominalX(labels)
		return
	}
	every := 1
	for !f.haveRoom(everyNth(labels, every, axis.Tick.Label)) {
		every++
	}
	axis.Tick.Marker = plot.ConstantTicks(everyNth(labels, every, axis.Tick.Label))
}

// placesOnY names the rows, as far as there is room.
func (f *Figure) placesOnY(places []place) {
	axis := &f.Plot.Y
	axis.Min, axis.Max = -0.5, float64(len(places))-0.5
	most := max(1, int((max(f.height, f.least)-vg.Inch)/rowPitch))
	every := (len(places) + most - 1) / most
	axis.Tick.Marker = plot.ConstantTicks(everyNth(labelsOf(places), every, axis.Tick.Label))
}

func labelsOf(places []place) (labels []string) {
	for _, p := range places {
		labels = append(labels, p.label)
	}
	return labels
}

// everyNth returns ticks at every n-th of the places 0, 1, 2.
func everyNth(labels []string, n int, style text.Style) (ticks []plot.Tick) {
	for i := 0; i < len(labels); i += n {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: letters.Shorten(labels[i], style, categoryWidth)})
	}
	return ticks
}
