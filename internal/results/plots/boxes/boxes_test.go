package boxes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// What is drawn of a distribution: whiskers, their ends, the box with its line, and the dot, each at its value.
func TestBox(t *testing.T) {
	p := plot.New()
	b := &Plot{Rows: []Box{{Low: -1, From: 1, Middle: 2, To: 4, High: 7, Dot: 3, HasDot: true}}}
	p.Add(b)
	p.Y.Min, p.Y.Max = -0.5, 0.5
	var on recorder.Canvas
	c := draw.NewCanvas(&on, 80, 10) // 10 points for 1 on the horizontal axis
	b.Plot(c, p)
	var got []string
	for _, action := range on.Actions {
		var path vg.Path
		switch a := action.(type) {
		case *recorder.Stroke:
			path = a.Path
		case *recorder.Fill:
			path = a.Path
		default:
			continue
		}
		low, high := path[0].Pos, path[0].Pos
		for _, step := range path {
			if step.Type == vg.MoveComp || step.Type == vg.LineComp {
				low.X, low.Y = min(low.X, step.Pos.X), min(low.Y, step.Pos.Y)
				high.X, high.Y = max(high.X, step.Pos.X), max(high.Y, step.Pos.Y)
			}
		}
		got = append(got, fmt.Sprintf("%.1f-%.1f x %.1f-%.1f", low.X, high.X, low.Y, high.Y))
	}
	want := []string{
		"10.0-10.0 x 0.0-10.0",                     // zero
		"0.0-80.0 x 5.0-5.0",                       // whiskers
		"0.0-0.0 x 3.5-6.5", "80.0-80.0 x 3.5-6.5", // their ends
		"20.0-50.0 x 2.0-8.0", "20.0-50.0 x 2.0-8.0", // the box and its border
		"30.0-30.0 x 2.0-8.0", "43.0-43.0 x 5.0-5.0", // the median, and where the circle of the mean begins
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	empty := &Plot{Rows: []Box{{Low: 2, High: 2, Dot: 2, HasDot: true, Empty: true}}}
	if xmin, xmax, _, _ := empty.DataRange(); xmin != 0 || xmax != 2 {
		t.Errorf("the range is %v to %v, want it to begin at 0", xmin, xmax)
	}
}
