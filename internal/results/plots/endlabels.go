package plots

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	endLabelWidth = 1.3 * vg.Inch // of a name, at most
	endLeader     = vg.Length(14) // from the end of the axis to the name
	endGap        = vg.Length(2)  // between the leader and the name
)

// endLabels writes the names of lines at their ends, on the right of the plot and one below the other. It implements
// plot.Plotter.
type endLabels struct {
	style  text.Style
	labels []endLabel
}

type endLabel struct {
	x, y float64 // the end of the line
	name string
}

func (e *endLabels) add(x, y float64, name string) {
	e.labels = append(e.labels, endLabel{x, y, shorten(name, e.style, endLabelWidth)})
}

// pitch is the distance from one name to the next, at least.
func (e *endLabels) pitch() vg.Length { return e.style.FontExtents().Height }

// height is the room that the names need one below the other.
func (e *endLabels) height() vg.Length { return vg.Length(len(e.labels)) * e.pitch() }

// width is the room that they need next to the plot.
func (e *endLabels) width() vg.Length {
	widest := vg.Length(0)
	for _, l := range e.labels {
		widest = max(widest, e.style.Width(l.name))
	}
	if widest == 0 {
		return 0
	}
	return endLeader + endGap + widest
}

func (e *endLabels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	labels := slices.Clone(e.labels)
	// in 64ths of a point, so that lines that end together keep their order
	slices.SortStableFunc(labels, func(a, b endLabel) int { return int(y(b.y)*64) - int(y(a.y)*64) })
	wanted := make([]vg.Length, len(labels))
	for i, l := range labels {
		wanted[i] = y(l.y)
	}
	style := e.style
	style.YAlign, style.Color = draw.YCenter, fadedText
	line := draw.LineStyle{Color: fadedStyle().Color, Width: 0.5}
	for i, at := range spread(wanted, e.pitch(), c.Min.Y, c.Max.Y) {
		end := vg.Point{X: x(labels[i].x), Y: wanted[i]}
		name := vg.Point{X: c.Max.X + endLeader, Y: at}
		c.StrokeLines(line, []vg.Point{end, {X: max(end.X, c.Max.X), Y: end.Y}, name})
		c.FillText(style, vg.Point{X: name.X + endGap, Y: name.Y + style.FontExtents().Descent/2}, labels[i].name)
	}
}

// GlyphBoxes implements plot.GlyphBoxer: room for the names.
func (e *endLabels) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: e.width()}}}}
}

// spread moves descending places apart, to at least a pitch from each other, and keeps them between low and high.
// Where there is too little room for all, the first ones are above high.
func spread(wanted []vg.Length, pitch, low, high vg.Length) []vg.Length {
	at := slices.Clone(wanted)
	for i := range at {
		ceiling := high
		if i > 0 {
			ceiling = at[i-1] - pitch
		}
		at[i] = min(at[i], ceiling)
	}
	for i := len(at) - 1; i >= 0; i-- {
		floor := low
		if i < len(at)-1 {
			floor = at[i+1] + pitch
		}
		at[i] = max(at[i], floor)
	}
	return at
}
