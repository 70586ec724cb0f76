package plots

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// leastPanel is the least width of a panel beside another one, at the usual size of letters.
const leastPanel = 1.9 * vg.Inch

const (
	// tickGap is the least room between two labels of the horizontal axis.
	tickGap = vg.Length(8)
	// labelPitch and linePitch are the room of a label, with the next gap, along the horizontal and the vertical axis.
	labelPitch, linePitch = vg.Length(42), vg.Length(15)
	// axisShare is the part of the width of a figure that is left for its axis.
	axisShare = 0.85
)

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
