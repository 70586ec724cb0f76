package plots

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// An SVG says which line each of its parts belongs to, and what its points mean; names that come from traces are
// escaped.
func TestSVGNamesLinesAndPoints(t *testing.T) {
	f := New("title", "capacity", "hit ratio")
	f.SetX(axes.Log, axes.Bytes)
	f.SetY(axes.Linear, axes.Percent)
	for _, name := range []string{"lru", `<b a="1">`} {
		l := Line{Label: name, X: []float64{1024, 2048}, Y: []float64{0.25, 0.5}, Style: SeriesStyle(0)}
		f.AddLine(l)
	}
	d := must.Get(f.Draw("f", look.Options{}, canvas.SVG))(t)
	svg := string(d.SVG())
	for _, want := range []string{
		`<g data-line="lru">`, `<g data-line="&lt;b a=&#34;1&#34;&gt;">`,
		`<title>lru, capacity 1 KiB: hit ratio 25.00%</title>`, `<title>&lt;b a=&#34;1&#34;&gt;, capacity 2 KiB: hit ratio`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if n := strings.Count(svg, `class="spot"`); n != 4 {
		t.Errorf("%d points say their values, want 4", n)
	}
	if opened, closed := strings.Count(svg, "<g"), strings.Count(svg, "</g>"); opened != closed {
		t.Errorf("%d groups are opened, %d closed", opened, closed)
	}
	if strings.Contains(svg, "<b ") {
		t.Error("a name got into the drawing as an element")
	}
}

// A figure with very many points stays small.
func TestSpotsAreFew(t *testing.T) {
	f := New("title", "x", "y")
	l := Line{Label: "line", Style: SeriesStyle(0)}
	const points = 3*mostSpots + 1
	for i := range points {
		l.X, l.Y = append(l.X, float64(i)), append(l.Y, float64(i))
	}
	f.AddLine(l)
	d := must.Get(f.Draw("f", look.Options{}, canvas.SVG))(t)
	if n := strings.Count(string(d.SVG()), `class="spot"`); n == 0 || n > mostSpots {
		t.Errorf("%d points say their values, want at most %d", n, mostSpots)
	} else if d.Told != n || d.Points != points {
		t.Errorf("%d of %d points are said to tell their values, want %d of %d", d.Told, d.Points, n, points)
	}
	for _, end := range []string{"line, x 0: y 0", "line, x 1,200: y 1,200"} {
		if !strings.Contains(string(d.SVG()), "<title>"+end+"</title>") {
			t.Errorf("the end of the line, %q, does not say its value", end)
		}
	}
}

// A figure for a small screen has the same lines, and its legend below; one whose width is chosen stays as it is.
func TestNarrow(t *testing.T) {
	draw := func(o look.Options) Drawing {
		f := New("title", "capacity", "hit ratio")
		f.SetX(axes.Log, axes.Bytes)
		f.SetY(axes.Linear, axes.Percent)
		for i, name := range []string{"lru", "w-tinylfu", "s3fifo", "belady-size"} {
			f.AddLine(Line{Label: name, X: []float64{1024, 1 << 30}, Y: []float64{0.25, 0.5}, Style: SeriesStyle(i)})
		}
		return must.Get(f.Draw("f", o, canvas.SVG))(t)
	}
	d := draw(look.Options{})
	wide, narrow := string(d.SVG()), string(d.Narrow())
	if want := `<svg width="280.8pt"`; !strings.HasPrefix(narrow, want) || d.Width < 400 {
		t.Errorf("the figure begins with %.60s and is %.0f wide, want %s and more than 400", narrow, d.Width, want)
	}
	for _, count := range []string{`data-line="lru"`, `data-line="belady-size"`, `class="spot"`} {
		if n, want := strings.Count(narrow, count), strings.Count(wide, count); n != want || n == 0 {
			t.Errorf("%d times %s, want %d", n, count, want)
		}
	}
	if again := string(d.SVG()); again != wide {
		t.Error("drawing it narrow changed the wide one")
	}
	if strings.Contains(narrow, ">title<") {
		t.Error("it has a title, which the page says below")
	}
	if n := draw(look.Options{Width: 3.3 * 72}).Narrow(); n != nil {
		t.Error("a figure of a chosen width is drawn twice")
	}
}
