package report

import (
	"fmt"
	"hash/fnv"
	"html"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// planned returns a built-in experiment with records of made-up values for all of its cells, which are many more than a
// test could replay.
func planned(t *testing.T, name string) Input {
	t.Helper()
	file := must.Get(experiment.Load(name))(t)
	must.Do(t, file.Apply(nil, false))
	checksum := func(workload.Workload) (string, error) { return "sha256:1", nil }
	cells := must.Get(file.Cells(experiment.CellOptions{Checksum: checksum}))(t)
	in := Input{File: file, Cells: cells}
	for _, c := range cells {
		if c.Auxiliary {
			continue
		}
		rec := must.Get(experiment.Result{Record: madeUp(file, c)}.RecordOf(c))(t)
		in.Records = append(in.Records, rec)
		for _, f := range file.Figures {
			if f.X == series.Time {
				in.Series = append(in.Series, madeUpSeries(f, rec)...)
			}
		}
	}
	return in
}

// madeUp returns a record of a cell with values of all metrics that figures show.
func madeUp(file *experiment.File, c experiment.Cell) records.Record {
	entry := c.Parts.Policy.Entry
	rec := records.Record{Policy: entry.Name, Kind: entry.Kind.String(), CapacityUnit: records.Objects, Seed: c.Seed}
	if c.Capacity.CountsBytes(c.Sizes) {
		rec.CapacityUnit = records.Bytes
	}
	share := fraction(c.Capacity.String())
	rec.Capacity, rec.CapacityShare = 1+int64(share*1e6), &share
	for _, f := range file.Figures {
		for _, name := range append(valueMetrics(f), f.X, f.Metric()) {
			m, _ := metric.Lookup(name)
			if m.Name == "" || f.X == series.Time {
				continue
			}
			names := []string{name}
			if m.Labels != "" {
				names = []string{name + "[01-short]", name + "[02-much-longer-than-that]", name + "[0.5]"}
			}
			for _, name := range names {
				x := fraction(name, c.Label, c.Axes, c.Capacity.String(), c.Workload.Name, fmt.Sprint(c.Seed))
				if m.Unit != metric.Share {
					x = 1000 * math.Pow(10, 3*x)
				}
				setFigure(&rec, name, x)
			}
		}
	}
	return rec
}

// valueMetrics returns the metrics of which a figure shows computed values.
func valueMetrics(f experiment.Figure) (names []string) {
	for _, text := range f.Values {
		if v, err := claims.ParseValue(text); err == nil {
			names = append(names, v.Figures()...)
		}
	}
	return names
}

func madeUpSeries(f experiment.Figure, rec records.Record) (rows []series.Row) {
	name, labels := f.Y, f.Only[series.Label]
	switch {
	case f.Color != "": // a heat map, whose rows are labels
		name, labels = f.Color, []string{"60", "120", "180"}
	case labels == nil:
		labels = []string{"", "a", "b"}
	}
	for _, label := range labels {
		for i := range 5 {
			rows = append(rows, series.Row{Cell: rec.Cell, Time: 60*float64(i+1) + f.From, Name: name, Label: label,
				Value: fraction(rec.Cell, label, fmt.Sprint(i))})
		}
	}
	return rows
}

// fraction returns a number from 0 to 1 that depends on texts.
func fraction(texts ...string) float64 {
	h := fnv.New64a()
	h.Write([]byte(strings.Join(texts, "\n")))
	return float64(h.Sum64()>>12) / (1 << 52)
}

// In the figures of all experiments no text is cut or reaches beyond the edge, and no two lines have one colour.
func TestFiguresOfAllExperimentsAreLegible(t *testing.T) {
	brief.Long(t, "draws a hundred figures")
	for _, name := range configs.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := planned(t, name)
			notes := must.Get(eachFigure(in, func(f drawable) error {
				d, err := f.draw(canvas.SVG)
				for _, file := range d.Files {
					checkLegible(t, name, file.Name, file.Data)
				}
				return err
			}))(t)
			for _, note := range notes {
				t.Error(note)
			}
		})
	}
}

func checkLegible(t *testing.T, experiment, file string, data []byte) {
	t.Helper()
	if strings.HasSuffix(file, ".svg") {
		where := experiment + ", " + file
		checkTexts(t, where, string(data))
		checkColours(t, where, string(data))
	}
}

var (
	svgSize = regexp.MustCompile(`viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)
	svgText = regexp.MustCompile(`(?:<g transform="rotate\(([-0-9.]+) 0 [0-9.]+\)">\n)?<text x="([-0-9.]+)" ` +
		`y="([-0-9.]+)" style="[^"]*font-size:([0-9.]+)px[^"]*">([^<]*)</text>`)
)

// checkTexts measures all texts of a figure as the drawing library does.
func checkTexts(t *testing.T, where, svg string) {
	t.Helper()
	number := func(text string) float64 {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil && text != "" {
			t.Fatal(err)
		}
		return x
	}
	cache := font.NewCache(liberation.Collection())
	size := svgSize.FindStringSubmatch(svg)
	width, height := number(size[1]), number(size[2])
	texts := svgText.FindAllStringSubmatch(svg, -1)
	if len(texts) < 3 {
		t.Fatalf("%s: %d texts were found in the drawing", where, len(texts))
	}
	for _, found := range texts {
		text := html.UnescapeString(found[5])
		if strings.HasSuffix(text, "...") {
			t.Errorf("%s: the text %q is cut", where, text)
		}
		points := vg.Length(number(found[4]))
		face := cache.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, points)
		extents := face.Extents()
		x, y := number(found[2]), height-number(found[3])
		sin, cos := math.Sincos(-number(found[1]) * math.Pi / 180)
		for _, corner := range [][2]float64{{x, y}, {x + face.Width(text).Points(), y},
			{x, y + extents.Ascent.Points()/2}, {x + face.Width(text).Points(), y - extents.Descent.Points()}} {
			left, up := corner[0]*cos-corner[1]*sin, corner[0]*sin+corner[1]*cos
			if left < -0.5 || left > width+0.5 || up < -0.5 || up > height+0.5 {
				t.Errorf("%s: %q reaches to %.0f, %.0f, beyond the edge of %.0f by %.0f", where, text, left, up, width, height)
				break
			}
		}
	}
}

// checkColours checks that each colour of lines belongs to one line.
func checkColours(t *testing.T, where, svg string) {
	t.Helper()
	lines := map[string]map[string]bool{} // by colour
	var line string
	for part := range strings.Lines(svg) {
		if _, name, ok := strings.Cut(part, `<g data-line="`); ok {
			line = name
		}
		for _, c := range plots.LineColors() {
			if hex := fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B); line != "" && strings.Contains(part, hex) {
				if lines[hex] == nil {
					lines[hex] = map[string]bool{}
				}
				lines[hex][line] = true
			}
		}
		if strings.HasPrefix(part, "</g>") {
			line = ""
		}
	}
	for colour, of := range lines {
		if len(of) > 1 && len(lines) < len(plots.LineColors()) {
			t.Errorf("%s: %d lines are %s: %q", where, len(of), colour, slices.Sorted(maps.Keys(of)))
		}
	}
}

// The axes of all figures have names that people understand, with units where ticks have none.
func TestAxesHaveNamesAndUnits(t *testing.T) {
	named := []string{records.DimCapacity, records.DimCapacityShare, series.Time}
	for _, name := range configs.Names() {
		file := loaded(t, name)
		for _, f := range file.Figures {
			named := slices.Contains(named, f.X) || f.XLabel != ""
			m, _ := metric.Lookup(f.X)
			if m.Name == "" && !named {
				t.Errorf("%s, %s: the axis of %s has no x-label", name, f.Name, f.X)
			}
			if len(f.Values) > 0 {
				continue // they have names of their own, and are percentages or plain numbers
			}
			m, _ = metric.Lookup(f.Metric())
			label := f.YLabel
			if label == "" || f.Color != "" {
				label = m.AxisLabel()
			}
			unit := string(m.Unit)
			switch m.Unit {
			case metric.Count, metric.Share, metric.Ratio, metric.Bytes:
			default:
				if !strings.Contains(label, "("+unit+")") && !strings.HasPrefix(label, unit+"/") &&
					!strings.Contains(label, "per second") {
					t.Errorf("%s, %s: the axis %q has no unit (%s)", name, f.Name, label, unit)
				}
			}
			if m.Name == "" || strings.ContainsAny(label, "_") {
				t.Errorf("%s, %s: the vertical axis is called %q", name, f.Name, label)
			}
		}
	}
}

// heatExperiment has a heat map for each trace, one with logarithmic colours, and one with two policies in a cell.
const heatExperiment = `name: heat
title: S3-FIFO by its parameters
source: none
traces:
- {name: flat, generate: "zipf(objects=200,requests=2000,alpha=0.6)"}
- {name: steep, generate: "zipf(objects=200,requests=2000,alpha=1.2)"}
- {name: once, generate: "zipf(objects=200,requests=2000,alpha=1.2,seed=3)"}
policies: [{policy: s3fifo, with: {small: [0.1, 0.3, 0.5]}}, lru]
capacities: [5%, 10%, 20%]
seeds: 2
optimum: false
figures:
- {name: small, x: capacity, y: small, color: hit_ratio, panels: trace, only: {policy: s3fifo}}
- {name: logarithmic, x: small, y: capacity, color: misses, log: color, only: {policy: s3fifo, trace: steep}}
- {name: both, x: capacity, y: small, color: hit_ratio, only: {trace: flat}}
- {name: gain, x: capacity, y: small, values: {gain over lru: hit_ratio(s3fifo) / hit_ratio(lru) - 100%}, panels: trace}
- name: points
  x: capacity
  y-label: difference
  values:
    small 0.1: hit_ratio(s3fifo at small = 0.1) - hit_ratio(lru)
    small 0.5: hit_ratio(s3fifo at small = 0.5) - hit_ratio(lru)
  panels: trace
- {name: one-seed, x: capacity, y-label: lru, values: {lru: hit_ratio(lru)}, only: {trace: once}}
- name: partly
  x: capacity
  y-label: misses
  values: {misses: misses(lru), bytes: byte_hit_ratio(lru)}
  only: {trace: once}
`

// A figure with a colour is a heat map, with a caption and a description for who cannot see it.
func TestHeatMapsOfAnExperiment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heat.yaml")
	must.Do(t, os.WriteFile(path, []byte(heatExperiment), 0o644))
	file := must.Get(experiment.Load(path))(t)
	checksum := func(workload.Workload) (string, error) { return "", nil }
	in := Input{File: file, Cells: must.Get(file.Cells(experiment.CellOptions{Checksum: checksum}))(t)}
	must.Do(t, experiment.Execute(t.Context(), in.Cells, experiment.Options{Jobs: 1,
		Finished: func(c experiment.Cell, r experiment.Result) error {
			rec, err := r.RecordOf(c)
			in.Records = append(in.Records, rec)
			return err
		}}))
	var captions, alts []string
	dir := t.TempDir()
	drawn, notes, err := figures(dir, in)
	must.Do(t, err)
	for _, f := range drawn {
		captions, alts = append(captions, f.Caption), append(alts, f.Alt)
		for _, link := range f.Files {
			checkLegible(t, file.Name, link.Path, must.Get(os.ReadFile(filepath.Join(dir, link.Path)))(t))
		}
	}
	if want := []string{
		"Hit ratio at each capacity and small, one panel per trace, all in the same colours. Means over 2 seeds.",
		"Misses at each small and capacity. Means over 2 seeds.",
		"Gain over lru at each capacity and small, one panel per trace, all in the same colours. Gain over lru is " +
			"hit_ratio(s3fifo) / hit_ratio(lru) - 100%. Computed from means over 2 seeds.",
		"Difference over capacity by value, one panel per trace. Small 0.1 is hit_ratio(s3fifo at small = 0.1) - " +
			"hit_ratio(lru); small 0.5 is hit_ratio(s3fifo at small = 0.5) - hit_ratio(lru). Computed from means over 2 seeds.",
		"Lru over capacity by value. Lru is hit_ratio(lru).",
		"Misses over capacity by value. Bytes is byte_hit_ratio(lru); misses is misses(lru).",
	}; !slices.Equal(captions, want) {
		t.Errorf("captions %q, want %q", captions, want)
	}
	if want := "Hit ratio at each capacity and small, one panel per trace, all in the same colours. Columns: 5%, 10%, " +
		"20%. Rows: 0.1, 0.3, 0.5. The values are in the records."; alts[0] != want {
		t.Errorf("described as %q, want %q", alts[0], want)
	}
	same := "figure both: two records share the cell at capacity 5% and small 0.1: their policy is s3fifo and lru; " +
		"choose one with only, or draw both with panels: policy"
	absent := "figure partly: bytes has no value: byte_hit_ratio of lru is not in the records"
	if !slices.Equal(notes, []string{same, absent}) {
		t.Errorf("notes %q, want %q and %q", notes, same, absent)
	}
	if again := must.Get(Summarize("", in))(t).Notes; !slices.Equal(again, notes) {
		t.Errorf("without drawing: notes %q, want %q", again, notes)
	}
}
