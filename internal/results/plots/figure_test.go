package plots

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// ramp is a figure with n lines over a logarithmic axis.
func ramp(t *testing.T, n int) *Figure {
	t.Helper()
	f := New("Lines", "capacity (objects)", "hit ratio")
	f.SetX(axes.Log, axes.Number)
	f.SetY(axes.Linear, axes.Percent)
	for i := range n {
		l := Line{Label: fmt.Sprintf("policy-%d", i), Style: SeriesStyle(i)}
		for x := 100.0; x <= 1e6; x *= 10 {
			l.X = append(l.X, x)
			l.Y = append(l.Y, math.Log10(x)/10+float64(i)/100)
		}
		f.AddLine(l)
	}
	return f
}

// checkFigure fails unless both files of the figure are whole and show something.
func checkFigure(t *testing.T, dir, name string) {
	t.Helper()
	checkPNG(t, filepath.Join(dir, name+".png"))
	checkSVG(t, filepath.Join(dir, name+".svg"))
}

func checkPNG(t *testing.T, path string) {
	t.Helper()
	if share := inked(t, path); share < 0.01 || share > 0.6 {
		t.Errorf("%s: %.1f%% of the pixels are not white", path, share*100)
	}
}

// inked returns the share of the pixels that are not white. The image must be of a usual size, with white edges.
func inked(t *testing.T, path string) float64 {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	image := must.Get(png.Decode(bytes.NewReader(b)))(t)
	size := image.Bounds().Size()
	if size.X < 600 || size.Y < 400 || size.X > 3000 || size.Y > 3000 {
		t.Errorf("%s is %v pixels", path, size)
	}
	white := func(x, y int) bool {
		r, g, b, _ := image.At(x, y).RGBA()
		return r == 0xffff && g == 0xffff && b == 0xffff
	}
	for x := range size.X {
		if !white(x, 0) || !white(x, size.Y-1) {
			t.Fatalf("%s: something touches the upper or lower edge at %d", path, x)
		}
	}
	const step = 3 // a sample of the pixels is enough
	sampled, inked := 0, 0
	for y := 0; y < size.Y; y += step {
		if !white(0, y) || !white(size.X-1, y) {
			t.Fatalf("%s: something touches the left or right edge at %d", path, y)
		}
		for x := 0; x < size.X; x += step {
			sampled++
			if !white(x, y) {
				inked++
			}
		}
	}
	return float64(inked) / float64(sampled)
}

func checkSVG(t *testing.T, path string) {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	elements := 0
	for d := xml.NewDecoder(f); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if _, ok := token.(xml.StartElement); ok {
			elements++
		}
	}
	if elements < 20 {
		t.Errorf("%s has %d elements", path, elements)
	}
}

func TestFiguresAreWhole(t *testing.T) {
	for _, n := range brief.Sample(2, 1, 8, 42) {
		dir := t.TempDir()
		save(t, ramp(t, n), dir, "figure")
		checkFigure(t, dir, "figure")
	}
}

func save(t *testing.T, f *Figure, dir, name string) {
	t.Helper()
	must.Do(t, Write(dir, must.Get(f.Draw(name, look.Options{}, canvas.SVG, canvas.PNG))(t)))
}

func TestLongLineMakesASmallFile(t *testing.T) {
	const n = 1_000_000
	l := Line{Label: "curve", Style: SeriesStyle(0), X: make([]float64, n), Y: make([]float64, n)}
	for i := range n {
		l.X[i], l.Y[i] = float64(i+1), float64(i)/n
	}
	f := New("Curve", "x", "y")
	f.SetX(axes.Log, axes.Number)
	f.AddLine(l)
	dir := t.TempDir()
	save(t, f, dir, "curve")
	checkFigure(t, dir, "curve")
	info, err := os.Stat(filepath.Join(dir, "curve.svg"))
	if err != nil || info.Size() > 200_000 {
		t.Errorf("the drawing of a million points has %v bytes (%v)", info.Size(), err)
	}
}

func TestAddLineRefusesBadValues(t *testing.T) {
	for name, l := range map[string]Line{
		"NaN":          {X: []float64{1, 2}, Y: []float64{1, math.NaN()}},
		"infinite":     {X: []float64{1, math.Inf(1)}, Y: []float64{1, 2}},
		"short":        {X: []float64{1, 2}, Y: []float64{1}},
		"short band":   {X: []float64{1, 2}, Y: []float64{1, 2}, High: []float64{3}},
		"NaN in band":  {X: []float64{1, 2}, Y: []float64{1, 2}, High: []float64{3, math.NaN()}},
		"no points":    {},
		"empty slices": {X: []float64{}, Y: []float64{}},
	} {
		f := New("", "", "")
		f.AddLine(l)
		if _, err := f.Draw("refused", look.Options{}); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDrawErrors(t *testing.T) {
	must.NotGet(New("Nothing", "x", "y").Draw("none", look.Options{}))(t, "nothing to draw", "figure without lines")
	f := New("Zero", "size", "y")
	f.SetX(axes.Log, axes.Number)
	f.AddLine(Line{X: []float64{0, 1}, Y: []float64{1, 2}})
	must.NotGet(f.Draw("zero", look.Options{}))(t, `logarithmic axis "size"`, "zero on a logarithmic axis")
}

func TestOnePointOnEveryScale(t *testing.T) {
	for _, scale := range []axes.Scale{axes.Linear, axes.Log} {
		for _, unit := range []axes.Unit{axes.Number, axes.Bytes, axes.Percent, axes.Seconds, axes.Plain} {
			f := New("One point", "x", "y")
			f.SetX(scale, unit)
			f.SetY(scale, unit)
			f.AddLine(Line{X: []float64{1}, Y: []float64{1}, Style: SeriesStyle(0)})
			dir := t.TempDir()
			save(t, f, dir, "point")
			checkFigure(t, dir, "point")
		}
	}
}

// gonum would keep half of the label's width free on the right of a logarithmic axis.
func TestLogAxisFillsTheWidth(t *testing.T) {
	f := New("title", "a label that is long enough to take more than half of the axis", "y")
	f.SetX(axes.Log, axes.Number)
	f.AddLine(Line{X: []float64{1, 1500}, Y: []float64{0.5, 0.5},
		Style: Style{Color: palette[0], Width: 2}})
	width, height := f.size()
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))
	f.draw(draw.New(canvas))
	image := canvas.Image()
	rightmost := 0
	for x := range image.Bounds().Dx() {
		for y := range image.Bounds().Dy() {
			if color.NRGBAModel.Convert(image.At(x, y)) == palette[0] {
				rightmost = x
			}
		}
	}
	if share := float64(rightmost) / float64(image.Bounds().Dx()); share < 0.95 {
		t.Errorf("the line ends at %.0f%% of the figure's width", share*100)
	}
}
