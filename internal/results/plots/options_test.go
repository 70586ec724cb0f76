package plots

import (
	"bytes"
	"fmt"
	"html"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/letters"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// eight returns records of eight policies.
func eight(capacities ...int64) (recs []records.Record) {
	for i, name := range []string{"lru", "arc", "lirs", "s3fifo", "sieve", "w-tinylfu", "lfu", "opt"} {
		for _, capacity := range capacities {
			kind := records.Online
			if name == "opt" {
				kind = records.Offline
			}
			r := records.Record{Trace: "a-trace-with-a-long-name.oracleGeneral.zst", Policy: name, Label: name, Kind: kind,
				Capacity: capacity, CapacityUnit: records.Bytes}
			r.SetInt(metric.Requests, 123_456_789)
			r.Set(metric.HitRatio, 0.3+0.04*float64(i)+float64(capacity)/float64(1<<34))
			recs = append(recs, r)
		}
	}
	return recs
}

var textForm = regexp.MustCompile(`<text x="([-0-9.]+)" y="([-0-9.]+)" style=".*font-size:([0-9.]+)px">(.*)</text>`)

// textArea is where a text is in an SVG.
type textArea struct {
	text                     string
	left, right, top, bottom float64
	size                     float64
}

// textAreas returns the areas of the texts of an SVG that are not rotated, and the width of the whole.
func textAreas(t *testing.T, svg string) (areas []textArea, width float64) {
	t.Helper()
	box := regexp.MustCompile(`viewBox="0 0 ([0-9.]+) `).FindStringSubmatch(svg)
	number := func(text string) float64 { return must.Get(strconv.ParseFloat(text, 64))(t) }
	depth := 0
	for line := range strings.Lines(svg) {
		switch {
		case strings.HasPrefix(line, "<g transform"), depth > 0 && strings.HasPrefix(line, "<g"):
			depth++
		case strings.HasPrefix(line, "</g>") && depth > 0:
			depth--
		}
		part := textForm.FindStringSubmatch(line)
		if part == nil || depth > 0 {
			continue
		}
		text, size := html.UnescapeString(part[4]), number(part[3])
		style := letters.Style(vg.Length(size))
		x, y := number(part[1]), number(part[2])
		areas = append(areas, textArea{text, x, x + style.Width(text).Points(), y - 0.7*size, y + 0.15*size, size})
	}
	return areas, number(box[1])
}

// At the width of a column, no text is cut, clipped or over another, and letters have the size that was asked for.
func TestTextsFitIntoAColumn(t *testing.T) {
	kinds := map[string][]records.Record{"lines": eight(1<<28, 1<<29, 1<<30, 1<<31), "bars": eight(1 << 28)}
	several := slices.Clone(kinds["lines"])
	for i := range several {
		several[i].Trace, several[i].Cache = "t", "prefix(block=64)"
		other := several[i]
		other.Cache = "tiers(host=4x)"
		several = append(several, other)
	}
	kinds["panels"] = several
	for name, recs := range kinds {
		for _, width := range []string{"3.3in", "7in"} {
			for _, highlight := range [][]string{nil, {"sieve", "lru"}} {
				o := must.Get(look.Parse("font=8pt,width=" + width))(t)
				o.Highlight = highlight
				all := must.Get(All(t.Context(), recs, o))(t)
				svg := string(all[0].svg)
				if name == "panels" && strings.Count(svg, "cache<") != 2 {
					t.Errorf("%s: want panels of two caches", name)
				}
				areas, within := textAreas(t, svg)
				if len(areas) < 15 {
					t.Fatalf("%s at %s: only %d texts", name, width, len(areas))
				}
				checkAreas(t, name+" at "+width, areas, within)
				unit := o.Width
				if want := fmt.Sprintf(`<svg width="%spt"`, canvas.Digits(unit)); !strings.Contains(svg, want) {
					t.Errorf("%s: the figure has no %s", name, want)
				}
				img := must.Get(png.Decode(bytes.NewReader(all[0].Files[1].Data)))(t)
				if pixels := img.Bounds().Dx(); pixels < int(unit.Points()/72*299) || pixels > int(unit.Points()/72*301) {
					t.Errorf("%s: %d pixels are %s wide, want 300 in an inch", name, pixels, width)
				}
			}
		}
	}
}

func checkAreas(t *testing.T, what string, areas []textArea, width float64) {
	t.Helper()
	for i, a := range areas {
		if a.left < -0.5 || a.right > width+0.5 {
			t.Errorf("%s: %q reaches from %.1f to %.1f of %.1f", what, a.text, a.left, a.right, width)
		}
		if strings.HasSuffix(a.text, "...") {
			t.Errorf("%s: %q is cut", what, a.text)
		}
		if a.size < 9 { // of 10, which is drawn as 8 points
			t.Errorf("%s: %q has letters of %v", what, a.text, a.size)
		}
		for _, b := range areas[:i] {
			if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
				t.Errorf("%s: %q is over %q", what, a.text, b.text)
			}
		}
	}
}

// The same figure is the same file, and a document for TeX that compiles, where there is a TeX.
func TestTeX(t *testing.T) {
	recs := eight(1<<28, 1<<30)
	for i := range recs {
		recs[i].Trace = `50%_of {a}\b & $c^2 #~`
	}
	o := must.Get(look.Parse("width=3.3in,font=8pt,format=tex"))(t)
	o.Highlight = []string{"lru"}
	draw := func() []byte {
		all := must.Get(All(t.Context(), recs, o))(t)
		if len(all[0].Files) != 1 || all[0].Files[0].Name != "hit_ratio.tex" || all[0].SVG() == nil {
			t.Fatalf("files %v, want hit_ratio.tex alone, and the SVG of the page", all[0].Files)
		}
		return all[0].Files[0].Data
	}
	first := draw()
	if !bytes.Equal(first, draw()) {
		t.Error("the same figure is another file")
	}
	for _, want := range []string{`50\%\_of \{a\}\textbackslash{}b \& \$c\textasciicircum{}2 \#\textasciitilde{}`,
		`\pgfsetstrokeopacity{0.439}`, `\fontsize{8bp}{8bp}`, "paperwidth=237.6bp"} {
		if !bytes.Contains(first, []byte(want)) {
			t.Errorf("the file has no %s", want)
		}
	}
	latex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("no pdflatex to compile it with")
	}
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "f.tex"), first, 0o600))
	document := "\\documentclass{article}\\usepackage{pgf}\\begin{document}\\input{f.tex}\\input{f.tex}\\end{document}"
	must.Do(t, os.WriteFile(filepath.Join(dir, "paper.tex"), []byte(document), 0o600))
	for _, name := range []string{"f.tex", "paper.tex"} {
		cmd := exec.Command(latex, "-interaction=nonstopmode", "-halt-on-error", name)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// Log chooses the axes that are logarithmic, whatever the values suggest.
func TestLogAxes(t *testing.T) {
	recs := eight(1<<28, 1<<29, 1<<30)
	for log, want := range map[string]string{"": "log", "none": "linear", "y": "linear", "x+y": "log"} {
		c := Chart{Name: "f", X: records.DimCapacity, Y: "hit_ratio", LogX: true, Options: look.Options{Log: log}}
		c.LogX = c.Options.InLog("x", c.LogX)
		d := drawingOf(t, c, recs)
		axis := "linear"
		if fmt.Sprintf("%T", d.draw(d.panels[0]).Plot.X.Scale) == "plot.LogScale" {
			axis = "log"
		}
		if axis != want {
			t.Errorf("log=%s: the horizontal axis is %s, want %s", log, axis, want)
		}
	}
	f := New("t", "x", "y")
	f.AddLine(Line{Label: "l", X: []float64{0, 1}, Y: []float64{1, 2}, Style: SeriesStyle(0)})
	svg := string(must.Get(f.Draw("f", look.Options{Log: "x+y"}, canvas.SVG))(t).svg)
	if !strings.Contains(svg, "the x axis has values at 0, and is not logarithmic") {
		t.Error("the figure does not say that its axis is linear")
	}
}

// An amount begins at zero, a share where the lines are.
func TestAmountsBeginAtZero(t *testing.T) {
	recs := everyPolicy(100, 1000)
	for y, zero := range map[string]bool{"misses": true, "hit_ratio": false} {
		d := drawingOf(t, Chart{Name: "f", X: records.DimCapacity, Y: y}, recs)
		if least := d.draw(d.panels[0]).Plot.Y.Min; (least == 0) != zero {
			t.Errorf("the axis of %s begins at %v", y, least)
		}
	}
}
