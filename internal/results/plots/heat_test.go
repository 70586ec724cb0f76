package plots

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

var heats = map[string]struct {
	heat Heat
	recs []records.Record
}{
	"written": {Heat{X: "capacity", Y: "policy", Color: "hit_ratio"},
		experiment{policies: 6, capacities: wide, seeds: 3, unit: records.Objects}.records()},
	"many": {Heat{Title: "Misses", X: "capacity", Y: "policy", Color: "misses", Log: true},
		experiment{policies: 70, capacities: wide, unit: records.Bytes}.records()},
	"across": {Heat{X: "policy", Y: "capacity_share", Color: "hit_ratio", XLabel: "policies"},
		experiment{policies: 70, capacities: wide[:3], unit: records.Bytes}.records()},
	"gaps": {Heat{X: "capacity", Y: "noise", Color: "hit_ratio", Panels: "policy"},
		gappy(experiment{policies: 5, capacities: wide, noise: []string{"0.5", "0", "0.1"}, seeds: 2,
			unit: records.Objects}.records())},
	"by-trace": {Heat{X: "policy", Y: "noise", Color: "hit_ratio", Panels: "trace"},
		experiment{traces: 3, policies: 5, capacities: wide[:1], noise: []string{"none", "0.1", "a long name"},
			unit: records.Objects}.records()},
	"flat": {Heat{X: "capacity", Y: "policy", Color: "requests"},
		experiment{policies: 2, capacities: wide[:1], unit: records.Objects}.records()},
}

// gappy removes the policy without noise and some records of another.
func gappy(recs []records.Record) []records.Record {
	recs = slices.DeleteFunc(recs, func(r records.Record) bool { return r.Label == "policy-0" })
	return slices.DeleteFunc(recs, func(r records.Record) bool {
		return r.Label == "policy-2" && r.Axes == "noise=0.1" && r.Capacity < 1000
	})
}

func TestHeats(t *testing.T) {
	for _, name := range brief.Sample(3, slices.Sorted(maps.Keys(heats))...) {
		kind := heats[name]
		t.Run(name, func(t *testing.T) {
			kind.heat.Name = "heat-" + name
			checkHeat(t, func(f ...canvas.Format) (Drawing, error) { return kind.heat.Draw(kind.recs, f...) })
		})
	}
}

// checkHeat fails unless a heat map is whole and the same whenever it is drawn.
func checkHeat(t *testing.T, draw func(...canvas.Format) (Drawing, error)) {
	t.Helper()
	dir := t.TempDir()
	if keep := os.Getenv("KEEP_FIGURES"); keep != "" { // to look at them
		dir = keep
	}
	first, second := must.Get(draw(canvas.SVG, canvas.PDF, canvas.PNG))(t), must.Get(draw(canvas.SVG, canvas.PDF))(t)
	must.Do(t, Write(dir, first))
	for i, ext := range []string{".svg", ".pdf"} {
		if f := first.Files[i]; f.Name != first.Name+ext || !bytes.Equal(f.Data, second.Files[i].Data) {
			t.Errorf("%s differs between two drawings, or is not %s", f.Name, ext)
		}
	}
	checkSVG(t, filepath.Join(dir, first.Name+".svg"))
	if share := inked(t, filepath.Join(dir, first.Name+".png")); share < 0.3 {
		t.Errorf("%.1f%% of the pixels are not white", share*100)
	}
}

var embedded = regexp.MustCompile(`<image [^>]*base64,([^"]*)"/>`)

// colorsOf returns the colours of the cells of panel i of an canvas.SVG, row by row from the upper left.
func colorsOf(t *testing.T, svg string, i, columns, rows int) (colors []color.Color) {
	t.Helper()
	data := must.Get(base64.StdEncoding.DecodeString(embedded.FindAllStringSubmatch(svg, -1)[i][1]))(t)
	img := must.Get(png.Decode(bytes.NewReader(data)))(t)
	size := img.Bounds().Size()
	for row := range rows {
		for column := range columns {
			at := image.Pt((2*column+1)*size.X/(2*columns), (2*row+1)*size.Y/(2*rows))
			colors = append(colors, color.NRGBAModel.Convert(img.At(at.X, at.Y)))
		}
	}
	return colors
}

// small has the hit ratios 0.1, 0.2 and 0.5 at capacities 10, 20 and 30 of lru, and 0.3 at 10 of arc.
func small() (recs []records.Record) {
	for _, r := range []struct {
		label    string
		capacity int64
		ratio    float64
	}{{"lru", 30, 0.5}, {"lru", 10, 0.1}, {"lru", 20, 0.2}, {"arc", 10, 0.3}} {
		recs = append(recs, records.Record{Trace: "t", Label: r.label, Policy: r.label, Kind: "online",
			Capacity: r.capacity, CapacityUnit: records.Objects,
			Values: metric.ValuesOf(map[string]float64{"hit_ratio": r.ratio})})
	}
	return recs
}

// Cells have the colours of their values: numbers ascend to the right and upwards, names follow each other downwards.
// What is missing is hatched, and the note says so.
func TestCellsHaveTheColoursOfTheirValues(t *testing.T) {
	at := func(share float64) color.Color { return axes.HeatPalette[int(math.Round(share*(axes.HeatColors-1)))] }
	draw := func(h Heat) string {
		return string(must.Get(h.Draw(small(), canvas.SVG))(t).Files[0].Data)
	}
	svg := draw(Heat{Name: "h", X: "capacity", Y: "policy", Color: "hit_ratio"})
	want := []color.Color{at(0), at(0.25), at(1), at(0.5), paper, paper}
	if got := colorsOf(t, svg, 0, 3, 2); !slices.Equal(got, want) {
		t.Errorf("colours %v, want %v", got, want)
	}
	for _, text := range []string{">hatched: 2 of 6 cells without a value<", ">10.00%<", ">50.00%<", ">hit ratio<",
		"<title>capacity (objects) 30, policy lru: hit ratio 50.00%</title>",
		"<title>capacity (objects) 20, policy arc: hit ratio no value</title>"} {
		if !strings.Contains(svg, text) {
			t.Errorf("the figure has no %q", text)
		}
	}
	svg = draw(Heat{Name: "h", X: "policy", Y: "capacity", Color: "hit_ratio"})
	want = []color.Color{at(1), paper, at(0.25), paper, at(0), at(0.5)}
	if got := colorsOf(t, svg, 0, 2, 3); !slices.Equal(got, want) {
		t.Errorf("upright: colours %v, want %v", got, want)
	}
	svg = draw(Heat{Name: "h", X: "capacity", Y: "policy", Color: "hit_ratio", Log: true})
	want = []color.Color{at(0), at(math.Log(2) / math.Log(5)), at(1), at(math.Log(3) / math.Log(5)), paper, paper}
	if got := colorsOf(t, svg, 0, 3, 2); !slices.Equal(got, want) {
		t.Errorf("logarithmic: colours %v, want %v", got, want)
	}
}

// A record without a place on a dimension counts at all places on it.
func TestRecordsWithoutAPlaceFillTheirRow(t *testing.T) {
	recs := small()[:2]
	recs[0].Axes = "noise=1"
	recs = append(recs, recs[0])
	recs[2].Axes = "noise=2"
	recs[2].Set(metric.HitRatio, 0.3)
	h := Heat{Name: "h", X: "noise", Y: "capacity", Color: "hit_ratio"}
	svg := string(must.Get(h.Draw(recs, canvas.SVG))(t).Files[0].Data)
	colors := colorsOf(t, svg, 0, 2, 2)
	if colors[2] != axes.HeatPalette[0] || colors[3] != axes.HeatPalette[0] || colors[0] == colors[1] {
		t.Errorf("colours %v, want the lower two alike", colors)
	}
}

// All panels have the same colours, and one bar.
func TestPanelsShareTheirColours(t *testing.T) {
	h := Heat{Name: "h", X: "capacity", Y: "trace", Color: "hit_ratio", Panels: "policy"}
	svg := string(must.Get(h.Draw(small(), canvas.SVG))(t).Files[0].Data)
	if n := len(embedded.FindAllString(svg, -1)); n != 3 {
		t.Fatalf("%d images, want two panels and a bar", n)
	}
	middle := axes.HeatPalette[(axes.HeatColors-1)/2]
	if got := colorsOf(t, svg, 1, 3, 1); !slices.Equal(got, []color.Color{middle, paper, paper}) {
		t.Errorf("the second panel has the colours %v", got)
	}
}

func TestHeatsThatCannotBeDrawn(t *testing.T) {
	without := small()
	for i := range without {
		without[i].Set(metric.HitRatio, 0)
	}
	byPolicy := func(metric string, log bool) Heat { return Heat{X: "capacity", Y: "policy", Color: metric, Log: log} }
	for want, c := range map[string]struct {
		heat Heat
		recs []records.Record
	}{
		"two records share the cell at capacity 10 and trace t: their policy is lru and arc; choose one with only, or " +
			"draw both with panels: policy": {Heat{X: "capacity", Y: "trace", Color: "hit_ratio"}, small()},

		`unknown dimension "noise"`:               {Heat{X: "capacity", Y: "noise", Color: "hit_ratio"}, small()},
		`no record has the metric byte_hit_ratio`: {byPolicy("byte_hit_ratio", false), small()},
		"there are no records":                    {byPolicy("hit_ratio", false), nil},

		"no hit_ratio is above 0, as logarithmic colours need": {byPolicy("hit_ratio", true), without},
	} {
		c.heat.Name = "h"
		_, err := c.heat.Draw(c.recs)
		if !errors.As(err, new(*UndrawableError)) || !strings.Contains(err.Error(), "figure h: "+want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Whatever the records say, a heat map is drawn or refused with a reason.
func TestAnyHeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := []string{"trace", "policy", "capacity", "seed", "noise"}
		e := experiment{
			policies: rapid.IntRange(1, 4).Draw(t, "policies"), traces: rapid.IntRange(1, 3).Draw(t, "traces"),
			seeds:      rapid.IntRange(0, 3).Draw(t, "seeds"),
			capacities: rapid.SliceOfNDistinct(rapid.Int64Range(1, 1<<62), 1, 4, rapid.ID).Draw(t, "capacities"),
			noise: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"0", "1e300", "-3", "big", "NaN"}), 1, 4,
				rapid.ID).Draw(t, "noise"),
			unit: rapid.SampledFrom([]string{records.Objects, records.Bytes}).Draw(t, "unit"),
		}
		recs := e.records()
		for i := range recs {
			recs[i].Set(metric.HitRatio, rapid.SampledFrom([]float64{0, 1, 0.5, 1e-300}).Draw(t, "ratio"))
		}
		h := Heat{Name: "any", X: rapid.SampledFrom(append(dims, "capacity_share")).Draw(t, "x"),
			Y: rapid.SampledFrom(dims).Draw(t, "y"), Color: "hit_ratio",
			Panels: rapid.SampledFrom(append(dims, "")).Draw(t, "panels"), Log: rapid.Bool().Draw(t, "log")}
		if _, err := h.Draw(recs, canvas.SVG); err != nil && !strings.Contains(err.Error(), "share the cell") &&
			!strings.Contains(err.Error(), "above 0") && !strings.Contains(err.Error(), "unknown dimension") {
			t.Fatalf("%+v: %v", h, err)
		}
	})
}

// The lightness of colours grows evenly, so that equal differences look equal, in grey too.
func TestColoursGrowEvenlyInLightness(t *testing.T) {
	lightness := func(c color.Color) float64 { // L* of CIELAB
		r, g, b, _ := c.RGBA()
		linear := func(v uint32) float64 {
			x := float64(v) / 0xffff
			if x <= 0.04045 {
				return x / 12.92
			}
			return math.Pow((x+0.055)/1.055, 2.4)
		}
		return 116*math.Cbrt(0.2126*linear(r)+0.7152*linear(g)+0.0722*linear(b)) - 16
	}
	low, high := lightness(axes.HeatPalette[0]), lightness(axes.HeatPalette[axes.HeatColors-1])
	if high-low < 70 {
		t.Errorf("the lightness spans %.1f to %.1f of 100", low, high)
	}
	for i, c := range axes.HeatPalette[:axes.HeatColors] {
		want := low + (high-low)*float64(i)/(axes.HeatColors-1)
		if got := lightness(c); math.Abs(got-want) > 1 {
			t.Errorf("colour %d has the lightness %.1f, want %.1f", i, got, want)
		}
	}
}

// A page changes no colour of a cell, nor of the letters on it, but the line around the cells and the hatching.
func TestPagesKeepTheColoursOfCells(t *testing.T) {
	h := Heat{Name: "h", X: "capacity", Y: "policy", Color: "hit_ratio"}
	svg := string(must.Get(h.Draw(small(), canvas.SVG))(t).SVG())
	for _, c := range []color.NRGBA{onLight, onDark} {
		if !strings.Contains(svg, canvas.Hex(c)) {
			t.Errorf("no letters have the colour %s", canvas.Hex(c))
		}
	}
	for _, name := range []string{"--ink", "--paper", "--bound"} {
		if !strings.Contains(svg, "var("+name+")") {
			t.Errorf("the page cannot choose %s", name)
		}
	}
}

// peaked is a symmetrical matrix with a ridge along its diagonal.
func peaked(n int) Matrix {
	steps := Places{Label: "step", Step: 1}
	m := Matrix{Name: "matrix", Title: "A ridge", X: steps, Y: steps, Label: "height", Columns: n}
	for i := range n * n {
		m.Values = append(m.Values, math.Exp(-math.Abs(float64(i%n-i/n))/50))
	}
	return m
}

func TestMatrices(t *testing.T) {
	gap := peaked(40)
	gap.Name, gap.Values[5] = "matrix-gap", math.NaN()
	large := peaked(600)
	large.Name, large.Note = "matrix-large", "of a test"
	tiny := peaked(1)
	tiny.Name = "matrix-one"
	for _, m := range brief.Sample(3, gap, large, tiny) {
		checkHeat(t, func(usual ...canvas.Format) (Drawing, error) { return m.Draw(look.Options{}, usual...) })
	}
	svg := string(must.Get(large.Draw(look.Options{}, canvas.SVG))(t).Files[0].Data)
	if want := ">each cell is the mean of 3 by 3 values; of a test<"; !strings.Contains(svg, want) {
		t.Errorf("the figure has no %q", want)
	}
	m := peaked(3)
	for i := range m.Values {
		m.Values[i] = math.NaN()
	}
	if _, err := m.Draw(look.Options{}); !errors.As(err, new(*UndrawableError)) {
		t.Errorf("no values: error %v", err)
	}
	m.Columns = 2
	must.NotGet(m.Draw(look.Options{}))(t, "9 values in rows of 2: want full rows", "rows of different lengths")
}

// The cells of a matrix with the same places on both axes are squares.
func TestSquareMatricesLookSquare(t *testing.T) {
	m := peaked(40)
	m.Title = strings.Repeat("a long title ", 6)
	svg := string(must.Get(m.Draw(look.Options{}, canvas.SVG))(t).Files[0].Data)
	size := regexp.MustCompile(`<image [^>]* width="([^"]*)" height="([^"]*)"`).FindStringSubmatch(svg)
	if size[1] != size[2] {
		t.Errorf("the matrix is %s wide and %s high", size[1], size[2])
	}
}

// Means of blocks have the mean of all values, weighted by their sizes, and lie in the middles of their blocks.
func TestAveragedMatrices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns, rows := rapid.IntRange(1, 20).Draw(t, "columns"), rapid.IntRange(1, 20).Draw(t, "rows")
		wide, high := rapid.IntRange(1, 7).Draw(t, "wide"), rapid.IntRange(1, 7).Draw(t, "high")
		m := Matrix{X: Places{Label: "x", First: 3, Step: 2}, Y: Places{Label: "y", Step: 1}, Columns: columns}
		sum := 0.0
		for range columns * rows {
			x := rapid.Float64Range(-1, 1).Draw(t, "value")
			m.Values, sum = append(m.Values, x), sum+x
		}
		small := m.averaged(wide, high)
		got := 0.0
		for i, x := range small.Values {
			left, top := i%small.Columns*wide, i/small.Columns*high
			got += x * float64(min(wide, columns-left)*min(high, rows-top))
		}
		if math.Abs(got-sum) > 1e-9 {
			t.Fatalf("the means add up to %v, the values to %v", got, sum)
		}
		if left := small.X.start(0); math.Abs(left-m.X.start(0)) > 1e-9 {
			t.Fatalf("the first block begins at %v, the first value at %v", left, m.X.start(0))
		}
	})
}
