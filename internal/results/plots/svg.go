package plots

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"image/png"
	"io"
	"math"
	"regexp"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// svgCanvas is an SVG whose parts say what they belong to: an element g with the attribute data-line holds what is
// drawn of a line, and circles that cannot be seen have the values of its points as titles, which viewers show under
// the mouse.
//
// The canvas of gonum cannot hold other elements. They are written as texts that no figure can have otherwise, between
// private characters, and replaced at the end. It implements io.WriterTo.
type svgCanvas struct {
	*vgsvg.Canvas
	elements []string
	points   int // of lines and bars
	told     int // of these, those that say their values
}

// Elements are between these characters, which shorten removes from every text.
const (
	elementStart = "\uE000"
	elementEnd   = "\uE001"
)

var elementText = regexp.MustCompile(`(?s)<text [^>]*>` + elementStart + `(\d+)` + elementEnd + `</text>\n`)

func newSVGCanvas(width, height vg.Length) *svgCanvas {
	return &svgCanvas{Canvas: vgsvg.New(width, height)}
}

func (c *svgCanvas) add(element string) {
	face := font.DefaultCache.Lookup(sans(1), 1)
	c.FillString(face, vg.Point{}, elementStart+strconv.Itoa(len(c.elements))+elementEnd)
	c.elements = append(c.elements, element)
}

// begin opens the group of a line; end closes it.
func (c *svgCanvas) begin(line string) {
	c.add(fmt.Sprintf(`<g data-line="%s">`, html.EscapeString(line)))
}

func (c *svgCanvas) end() { c.add("</g>") }

func (c *svgCanvas) spot(at vg.Point, value string) {
	c.add(fmt.Sprintf(`<circle class="spot" cx="%.5g" cy="%.5g" r="5" fill-opacity="0"><title>%s</title></circle>`,
		at.X.Points(), at.Y.Points(), html.EscapeString(value)))
	c.told++
}

// DrawImage implements vg.Canvas. The image fills the area whatever its ratio is, and its pixels stay squares.
func (c *svgCanvas) DrawImage(area vg.Rectangle, img image.Image) {
	var data bytes.Buffer
	if err := png.Encode(&data, enlarged(img)); err != nil {
		panic(err) // it is empty
	}
	size := area.Size()
	c.add(fmt.Sprintf(`<image x="%.5g" y="%.5g" width="%.5g" height="%.5g" preserveAspectRatio="none" `+
		`style="image-rendering:pixelated" transform="scale(1, -1)" xlink:href="data:image/png;base64,%s"/>`,
		area.Min.X.Points(), -area.Max.Y.Points(), size.X.Points(), size.Y.Points(),
		base64.StdEncoding.EncodeToString(data.Bytes())))
}

func (c *svgCanvas) WriteTo(w io.Writer) (int64, error) {
	var drawn bytes.Buffer
	if _, err := c.Canvas.WriteTo(&drawn); err != nil {
		return 0, err
	}
	text := elementText.ReplaceAllFunc(drawn.Bytes(), func(found []byte) []byte {
		number, err := strconv.Atoi(string(elementText.FindSubmatch(found)[1]))
		if err != nil || number >= len(c.elements) {
			return found
		}
		return []byte(c.elements[number] + "\n")
	})
	n, err := w.Write(text)
	return int64(n), err
}

// svgOf returns the SVG that a canvas, or one that it is a part of, draws on; nil for another image.
func svgOf(c vg.Canvas) *svgCanvas {
	for {
		switch on := c.(type) {
		case *svgCanvas:
			return on
		case draw.Canvas:
			c = on.Canvas
		case *draw.Canvas:
			c = on.Canvas
		default:
			return nil
		}
	}
}

// grouped draws what belongs to a line, as a group where the canvas has groups.
func grouped(c draw.Canvas, line string, paint func()) {
	svg := svgOf(c)
	if svg == nil || line == "" {
		paint()
		return
	}
	svg.begin(line)
	paint()
	svg.end()
}

// ofLine is a plotter that draws something of a line. It implements plot.Plotter and plot.GlyphBoxer.
type ofLine struct {
	plot.Plotter
	line string
}

func (p ofLine) Plot(c draw.Canvas, on *plot.Plot) {
	grouped(c, p.line, func() { p.Plotter.Plot(c, on) })
}

// DataRange implements plot.DataRanger. A plotter that has no range changes no axis.
func (p ofLine) DataRange() (xmin, xmax, ymin, ymax float64) {
	if r, ok := p.Plotter.(plot.DataRanger); ok {
		return r.DataRange()
	}
	return math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
}

func (p ofLine) GlyphBoxes(on *plot.Plot) []plot.GlyphBox {
	if b, ok := p.Plotter.(plot.GlyphBoxer); ok {
		return b.GlyphBoxes(on)
	}
	return nil
}

// mostSpots is how many points of a plot say their values. If it has more, every n-th of each line does, and its last.
const mostSpots = 400

// spots show the values of the points of all lines of a figure. They are above everything else, so that the mouse finds
// them.
type spots struct {
	figure *Figure
	lines  []spotLine
}

type spotLine struct {
	name   string
	points plotter.XYs
	text   func(point int) string // what a point means; nil for what valueText says
}

func (s *spots) add(name string, points plotter.XYs) {
	s.lines = append(s.lines, spotLine{name: name, points: points})
}

// draw draws the spots on the canvas that the figure was drawn on.
func (s *spots) draw(plotted draw.Canvas) {
	svg := svgOf(plotted)
	if svg == nil {
		return
	}
	step := s.step()
	area := s.figure.Plot.DataCanvas(plotted)
	x, y := s.figure.Plot.Transforms(&area)
	for _, l := range s.lines {
		grouped(area, l.name, func() {
			for i, p := range l.points {
				if i%step == 0 || i == len(l.points)-1 {
					svg.spot(vg.Point{X: x(p.X), Y: y(p.Y)}, s.text(l, i))
				}
			}
		})
		svg.points += len(l.points)
	}
}

func (s *spots) text(l spotLine, point int) string {
	if l.text != nil {
		return show.Printable(l.text(point))
	}
	return s.figure.valueText(l.name, l.points[point])
}

// step returns the distance on a line between two points that say their values.
func (s *spots) step() int {
	all := 0
	for _, l := range s.lines {
		all += len(l.points)
	}
	if all <= mostSpots {
		return 1
	}
	most := max(mostSpots-len(s.lines), 1) // the last points come on top
	return (all + most - 1) / most
}

// valueText says what a point means: "lru, capacity (objects) 1,000: hit ratio 47.12%".
func (f *Figure) valueText(line string, p plotter.XY) string {
	place := f.xUnit.exact(p.X)
	if f.xNames != nil {
		i := min(max(int(math.Round(p.X)), 0), len(f.xNames)-1)
		place = f.xNames[i]
	}
	text := fmt.Sprintf("%s %s: %s %s", f.xLabel, place, f.yLabel, f.yUnit.exact(p.Y))
	if line != "" {
		text = line + ", " + text
	}
	return show.Printable(text)
}

// exact writes a value with more digits than the labels of an axis have.
func (u Unit) exact(v float64) string {
	switch u {
	case Percent:
		return strconv.FormatFloat(v*100, 'f', 2, 64) + "%"
	case Bytes:
		return show.Capacity(int64(math.Round(v)), records.Bytes)
	case Seconds:
		return u.format(v)
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return show.Count(int64(v))
	}
	return short(v)
}
