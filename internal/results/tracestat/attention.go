package tracestat

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// Attention describes an attention trace, which has no requests and so nothing of a Summary.
type Attention struct {
	Trace   string                 `json:"trace"`
	Shape   *attention.Shape       `json:"shape"`
	Samples int                    `json:"sampled_steps"` // per head, for overlaps and masses
	All     *attention.Description `json:"all_layers"`
	Layers  []attentionLayer       `json:"layers"`

	queries *attention.QueryMap // nil for a single step
}

type attentionLayer struct {
	Layer int `json:"layer"`
	*attention.Description
}

// NewAttention returns the description of a trace as tables and figures have it.
func NewAttention(name string, shape *attention.Shape, d *attention.Descriptions) *Attention {
	a := &Attention{Trace: name, Shape: shape, Samples: d.Samples, All: d.All, queries: d.Queries}
	for i, layer := range shape.Layers {
		a.Layers = append(a.Layers, attentionLayer{layer, d.Layers[i]})
	}
	return a
}

// Print writes a to w as table, csv (layer,measure,at,value), json (one line) or markdown.
func (a *Attention) Print(w io.Writer, format string) error {
	return tabular.Printed{Table: a.printTables, CSV: a.encodeCSV, JSON: tabular.OneJSON(a)}.Print(w, format)
}

// named are the descriptions with the names that they have in tables: of all layers, then of each.
func (a *Attention) named() (names []string, all []*attention.Description) {
	names, all = []string{"all"}, []*attention.Description{a.All}
	for _, l := range a.Layers {
		names, all = append(names, strconv.Itoa(l.Layer)), append(all, l.Description)
	}
	return names, all
}

// measure is one figure of a description: what it is, and for which lag, similarity or rank.
type measure struct {
	name, at string
	value    float64
}

func measures(d *attention.Description) (list []measure) {
	for _, l := range d.SimilarityByLag {
		list = append(list, measure{"similarity_by_lag", strconv.Itoa(l.Lag), l.Value})
	}
	for _, l := range d.OverlapByLag {
		list = append(list, measure{"overlap_by_lag", strconv.Itoa(l.Lag), l.Value})
	}
	for _, b := range d.OverlapBySimilarity {
		list = append(list, measure{"overlap_by_similarity", exact(b.From), b.Value})
	}
	list = append(list, measure{"sink_mass", "", d.SinkMass}, measure{"recent_mass", "", d.RecentMass})
	for _, r := range d.MassByRank {
		list = append(list, measure{"mass_by_rank", exact(r.Share), r.Value})
	}
	if d.Prediction != nil {
		list = append(list, measure{"prediction_similarity", "", *d.Prediction})
	}
	return list
}

func (a *Attention) encodeCSV(w io.Writer) error {
	lines := [][]string{{"layer", "measure", "at", "value"}}
	names, all := a.named()
	for i, d := range all {
		for _, m := range measures(d) {
			lines = append(lines, []string{names[i], m.name, m.at, exact(m.value)})
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// encodeQueries writes the cosines of all pairs of steps as a matrix, with the numbers of the steps.
func (a *Attention) encodeQueries(w io.Writer) error {
	head := []string{"step"}
	for column := range a.queries.Steps {
		head = append(head, strconv.Itoa(column*a.queries.Every))
	}
	lines := [][]string{head}
	for row := range a.queries.Steps {
		cells := []string{head[row+1]}
		for _, c := range a.queries.Cosines[row*a.queries.Steps:][:a.queries.Steps] {
			cells = append(cells, strconv.FormatFloat(c, 'f', 5, 64))
		}
		lines = append(lines, cells)
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// attentionColumns are the columns of the table by layer, each with the measure that it shows. A column without any
// values is left out.
var attentionColumns = []struct {
	head, name, at string
	weight         int
}{
	{"similarity at lag 1", "similarity_by_lag", "1", 10}, {"similarity at 8", "similarity_by_lag", "8", 3},
	{"similarity at 64", "similarity_by_lag", "64", 5}, {"overlap at lag 1", "overlap_by_lag", "1", 9},
	{"overlap at 8", "overlap_by_lag", "8", 2}, {"overlap at 64", "overlap_by_lag", "64", 4},
	{"mass of sink", "sink_mass", "", 8}, {"mass of recent", "recent_mass", "", 7},
	{"top tenth of middle", "mass_by_rank", "0.1", 6}, {"prediction", "prediction_similarity", "", 1},
}

func (a *Attention) layerTable() tabular.Grid {
	t := tabular.Grid{Heads: []tabular.Head{{Name: "layer", IsText: true, Weight: tabular.Key}}, InFolder: true}
	names, all := a.named()
	for i := range names {
		t.Rows = append(t.Rows, []string{names[i]})
	}
	for _, c := range attentionColumns {
		var cells []string
		found := false
		for _, d := range all {
			cell := "-"
			for _, m := range measures(d) {
				if m.name == c.name && m.at == c.at {
					cell, found = strconv.FormatFloat(m.value, 'f', 3, 64), true
				}
			}
			cells = append(cells, cell)
		}
		if !found {
			continue
		}
		t.Heads = append(t.Heads, tabular.Head{Name: c.head, Weight: c.weight})
		for i := range cells {
			t.Rows[i] = append(t.Rows[i], cells[i])
		}
	}
	return t
}

func (a *Attention) overlapTable() tabular.Grid {
	t := tabular.Grid{Heads: []tabular.Head{{Name: "similarity", IsText: true, Weight: tabular.Key},
		{Name: "pairs of steps", Weight: 1}, {Name: "overlap", Weight: 2}}}
	for _, b := range a.All.OverlapBySimilarity {
		t.Rows = append(t.Rows, []string{exact(b.From) + " to " + exact(b.To), show.Count(int64(b.Pairs)),
			strconv.FormatFloat(b.Value, 'f', 3, 64)})
	}
	return t
}

const legend = "Similarity is the cosine of two queries of a query head that are lag steps apart. A set is the tenth " +
	"of the middle, all tokens but the first 4 (sink) and the last 64 (recent), that has the most probability, and the " +
	"overlap is its share that was in the set lag steps before. The top tenth has the stated share of the middle's " +
	"probability."

func (a *Attention) samplesNote() string {
	return fmt.Sprintf("Overlaps and masses are means over %s of each KV head, similarities over all.",
		show.Counted(a.Samples, "step"))
}

func (a *Attention) printTables(w io.Writer, format string) error {
	title := show.Printable(a.Trace)
	if format == "markdown" {
		title = "**" + title + "**"
	}
	tables := []tabular.Grid{a.layerTable()}
	if len(a.All.OverlapBySimilarity) > 0 {
		tables = append(tables, a.overlapTable())
	}
	if err := tabular.PrintTables(w, format, title+"\n"+a.Shape.String(), tables...); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", terminal.Wrapped(legend+" "+a.samplesNote(), cmp.Or(terminal.Width(w), 120)))
	return err
}

// queriesName is the name of the file with the cosines of the queries of pairs of steps.
const queriesName = "query-similarity.csv"

// Write writes stat.json, stat.csv, the figures, the numbers of the heat map and a page with all of it into dir, which
// is created if missing. After an error none of them has changed, unless renaming one of them itself failed.
func (a *Attention) Write(dir string, about About) error {
	drawn, err := a.figures(about.Figures)
	if err != nil {
		return err
	}
	outputs := []atomicfile.Output{
		{Name: jsonName, Write: func(w io.Writer) error { return encodeIndented(w, a) }},
		{Name: csvName, Write: a.encodeCSV},
		{Name: page.Name, Write: a.page(about, drawn).Write},
	}
	if a.queries != nil {
		outputs = append(outputs, atomicfile.Output{Name: queriesName, Write: a.encodeQueries})
	}
	return atomicfile.WriteAllIn(dir, append(outputs, plots.Outputs(drawn)...)...)
}

func (a *Attention) page(about About, drawn []plots.Drawing) page.Page {
	tables := []page.Part{{Text: legend}, {Table: page.NewTable("By layer", a.layerTable(), a.samplesNote())}}
	if len(a.All.OverlapBySimilarity) > 0 {
		tables = append(tables, page.Part{Table: page.NewTable("Overlap by similarity, all layers", a.overlapTable())})
	}
	files := []string{jsonName, csvName}
	if a.queries != nil {
		files = append(files, queriesName)
	}
	return about.page("What is in the attention trace "+show.Printable(a.Trace), files, tables, drawn)
}

// drawnLayers is the largest number of layers that have a curve each.
const drawnLayers = 6

// figures draws, for all layers and for some, the similarity by lag, the overlap by similarity and the mass by rank. It
// also draws the masses by layer, and the similarity of all pairs of steps of one head.
func (a *Attention) figures(o look.Options) (drawn []plots.Drawing, err error) {
	for _, f := range []struct {
		file, title, x, y string
		scale             axes.Scale
		unit, yUnit       axes.Unit
		points            func(d *attention.Description) (x, y []float64)
	}{
		{"similarity-by-lag", "Similarity of queries", "steps between two queries of a head", "mean cosine", axes.Log,
			axes.Number, axes.Number, func(d *attention.Description) (x, y []float64) {
				for _, l := range d.SimilarityByLag {
					x, y = append(x, float64(l.Lag)), append(y, l.Value)
				}
				return x, y
			}},
		{"overlap-by-similarity", "Overlap of sets of keys", "similarity of the queries", "overlap", axes.Linear,
			axes.Number, axes.Percent, func(d *attention.Description) (x, y []float64) {
				for _, b := range d.OverlapBySimilarity {
					x, y = append(x, (b.From+b.To)/2), append(y, b.Value)
				}
				return x, y
			}},
		{"mass-by-rank", "Probability of the middle", "share of the middle's tokens, the most probable first",
			"their share of its probability", axes.Log, axes.Percent, axes.Percent,
			func(d *attention.Description) (x, y []float64) {
				for _, r := range d.MassByRank {
					x, y = append(x, r.Share), append(y, r.Value)
				}
				return x, y
			}},
	} {
		figure := plots.New(f.title+": "+a.Trace, f.x, f.y)
		figure.SetX(f.scale, f.unit)
		figure.SetY(axes.Linear, f.yUnit)
		lines := 0
		for i, c := range a.drawn() {
			line := plots.Line{Label: c.name, Style: plots.SeriesStyle(i)}
			if line.X, line.Y = f.points(c.Description); len(line.X) == 0 {
				continue
			}
			figure.AddLine(line)
			lines++
		}
		if lines == 0 {
			continue
		}
		d, err := figure.Draw(f.file, o, canvas.SVG, canvas.PNG)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, d)
	}
	if len(a.Layers) > 1 && len(a.All.MassByRank) > 0 {
		d, err := a.massFigure(o)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, d)
	}
	if a.queries != nil {
		d, err := a.queryFigure(o)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, d)
	}
	return drawn, nil
}

// queryFigure draws how similar the queries of one query head are at each pair of steps.
func (a *Attention) queryFigure(o look.Options) (plots.Drawing, error) {
	q := a.queries
	steps := plots.Places{Label: "step", Step: float64(q.Every)}
	m := plots.Matrix{
		Name:  "query-similarity",
		Title: fmt.Sprintf("Similarity of queries, layer %d, query head %d: %s", q.Layer, q.Head, a.Trace),
		X:     steps, Y: steps, Label: "cosine", Columns: q.Steps, Values: q.Cosines,
	}
	if q.Every > 1 {
		m.Note = fmt.Sprintf("one in %d of %s", q.Every, show.Counted(a.Shape.Steps, "step"))
	}
	return m.Draw(o, canvas.SVG, canvas.PNG, canvas.PDF)
}

type namedCurve struct {
	name string
	*attention.Description
}

// drawn returns what has a curve: all layers together, and up to drawnLayers of them, evenly spread.
func (a *Attention) drawn() []namedCurve {
	curves := []namedCurve{{"all layers", a.All}}
	n := min(len(a.Layers), drawnLayers)
	for i := range n {
		l := a.Layers[i*(len(a.Layers)-1)/max(n-1, 1)]
		curves = append(curves, namedCurve{fmt.Sprint("layer ", l.Layer), l.Description})
	}
	return curves
}

// massFigure draws how the probability is divided in each layer.
func (a *Attention) massFigure(o look.Options) (plots.Drawing, error) {
	figure := plots.New("Probability by layer: "+a.Trace, "layer", "share of the probability")
	figure.SetX(axes.Linear, axes.Number)
	figure.SetY(axes.Linear, axes.Percent)
	figure.Plot.Y.Min = 0
	for i, c := range []struct {
		name string
		of   func(d *attention.Description) float64
	}{
		{"first 4 tokens", func(d *attention.Description) float64 { return d.SinkMass }},
		{"last 64", func(d *attention.Description) float64 { return d.RecentMass }},
		{"the others", func(d *attention.Description) float64 { return 1 - d.SinkMass - d.RecentMass }},
	} {
		line := plots.Line{Label: c.name, Style: plots.SeriesStyle(i)}
		for _, l := range a.Layers {
			line.X, line.Y = append(line.X, float64(l.Layer)), append(line.Y, c.of(l.Description))
		}
		figure.AddLine(line)
	}
	return figure.Draw("mass-by-layer", o, canvas.SVG, canvas.PNG)
}
