package canvas

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// SVGCanvas writes SVG. Unlike gonum's canvas it has groups and tooltips, which Grouped and Spot write. It implements
// vg.CanvasWriterTo. An SVG counts downwards where vg counts upwards, as y says.
type SVGCanvas struct {
	width, height vg.Length
	svg           bytes.Buffer
	pen           pen
	pushed        []pen
	Points        int // of lines and bars
	Told          int // of these, those with a tooltip
}

type pen struct {
	color  color.NRGBA
	width  vg.Length
	dashes []vg.Length
	offset vg.Length
	groups int // opened since the last Push
}

// fonts are what a viewer without the measured font uses: they have the same widths, or every viewer has them.
const fonts = "Liberation Sans,Arial,Helvetica,sans-serif"

// NewSVG returns a canvas of that size, which is shown so many times as large.
func NewSVG(width, height, scale vg.Length) *SVGCanvas {
	c := &SVGCanvas{width: width, height: height}
	c.write(`<?xml version="1.0"?>
<svg width="%spt" height="%spt" viewBox="0 0 %s %s" font-family="%s"
	xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
`, Digits(width*scale), Digits(height*scale), Digits(width), Digits(height), fonts)
	vg.Initialize(c)
	return c
}

func (c *SVGCanvas) write(format string, values ...any) { fmt.Fprintf(&c.svg, format, values...) }

// Digits writes a length in hundredths of a point, finer than anybody sees.
func Digits(l vg.Length) string {
	return strconv.FormatFloat(math.Round(l.Points()*100)/100+0, 'f', -1, 64) // + 0: no negative zero
}

func (c *SVGCanvas) y(up vg.Length) vg.Length { return c.height - up }

func (c *SVGCanvas) at(p vg.Point) string { return Digits(p.X) + "," + Digits(c.y(p.Y)) }

// begin opens a group; end closes it.
func (c *SVGCanvas) begin(attribute, value string) {
	c.write("<g %s=\"%s\">\n", attribute, html.EscapeString(value))
}

func (c *SVGCanvas) end() { c.write("</g>\n") }

// Spot draws a circle that cannot be seen, whose value viewers show under the mouse.
func (c *SVGCanvas) Spot(at vg.Point, value string) {
	c.write(`<circle class="spot" cx="%s" cy="%s" r="5" fill-opacity="0"><title>%s</title></circle>`+"\n",
		Digits(at.X), Digits(c.y(at.Y)), html.EscapeString(value))
	c.Told++
}

func (c *SVGCanvas) Size() (x, y vg.Length) { return c.width, c.height }

func (c *SVGCanvas) SetLineWidth(w vg.Length) { c.pen.width = w }

func (c *SVGCanvas) SetLineDash(dashes []vg.Length, offset vg.Length) {
	c.pen.dashes, c.pen.offset = dashes, offset
}

func (c *SVGCanvas) SetColor(to color.Color) {
	if to == nil {
		to = color.Black
	}
	c.pen.color = color.NRGBAModel.Convert(to).(color.NRGBA)
}

func (c *SVGCanvas) Push() {
	c.pushed = append(c.pushed, c.pen)
	c.pen.groups = 0
}

func (c *SVGCanvas) Pop() {
	for range c.pen.groups {
		c.end()
	}
	last := len(c.pushed) - 1
	c.pen, c.pushed = c.pushed[last], c.pushed[:last]
}

func (c *SVGCanvas) transform(format string, values ...any) {
	c.begin("transform", fmt.Sprintf(format, values...))
	c.pen.groups++
}

func (c *SVGCanvas) Translate(by vg.Point) {
	c.transform("translate(%s %s)", Digits(by.X), Digits(-by.Y))
}

func (c *SVGCanvas) Rotate(rad float64) { // around the lower left corner
	c.transform("rotate(%.6g 0 %s)", -rad*180/math.Pi, Digits(c.height))
}

func (c *SVGCanvas) Scale(x, y float64) {
	c.transform("matrix(%.6g 0 0 %.6g 0 %s)", x, y, Digits(c.height*vg.Length(1-y)))
}

func (c *SVGCanvas) Fill(path vg.Path) {
	c.write("<path d=\"%s\" style=\"%s\"/>\n", c.outline(path), c.colored("fill"))
}

func (c *SVGCanvas) Stroke(path vg.Path) {
	if c.pen.width <= 0 {
		return
	}
	style := c.colored("stroke") + ";fill:none;stroke-width:" + Digits(c.pen.width)
	if len(c.pen.dashes) > 0 {
		lengths := make([]string, len(c.pen.dashes))
		for i, l := range c.pen.dashes {
			lengths[i] = Digits(l)
		}
		style += ";stroke-dasharray:" + strings.Join(lengths, ",") + ";stroke-dashoffset:" + Digits(c.pen.offset)
	}
	c.write("<path d=\"%s\" style=\"%s\"/>\n", c.outline(path), style)
}

// colored sets a property to the colour. It is the first of a style, where package plots looks for it.
func (c *SVGCanvas) colored(property string) string {
	style := property + ":" + Hex(c.pen.color)
	if c.pen.color.A < 0xff {
		style += fmt.Sprintf(";%s-opacity:%.3g", property, float64(c.pen.color.A)/0xff)
	}
	return style
}

func (c *SVGCanvas) outline(path vg.Path) string {
	var d strings.Builder
	for i, to := range path {
		switch to.Type {
		case vg.MoveComp:
			d.WriteString("M" + c.at(to.Pos))
		case vg.LineComp:
			d.WriteString("L" + c.at(to.Pos))
		case vg.ArcComp:
			c.arc(&d, to, i == 0)
		case vg.CurveComp:
			d.WriteString([]string{1: "Q", 2: "C"}[len(to.Control)])
			for _, p := range to.Control {
				d.WriteString(c.at(p) + " ")
			}
			d.WriteString(c.at(to.Pos))
		case vg.CloseComp:
			d.WriteString("Z")
		}
	}
	return d.String()
}

// arc draws an arc as two, because the ends of one must not be at the same place.
func (c *SVGCanvas) arc(d *strings.Builder, arc vg.PathComp, first bool) {
	end := func(part float64) string {
		sin, cos := math.Sincos(arc.Start + part*arc.Angle)
		return c.at(arc.Pos.Add(vg.Point{X: arc.Radius * vg.Length(cos), Y: arc.Radius * vg.Length(sin)}))
	}
	large, sweep := 0, 0
	if math.Abs(arc.Angle) > 2*math.Pi {
		large = 1
	}
	if arc.Angle < 0 {
		sweep = 1
	}
	to := "L"
	if first {
		to = "M"
	}
	d.WriteString(to + end(0))
	for _, part := range []float64{0.5, 1} {
		fmt.Fprintf(d, "A%[1]s,%[1]s 0 %[2]d %[3]d %[4]s", Digits(arc.Radius), large, sweep, end(part))
	}
}

func (c *SVGCanvas) FillString(f font.Face, at vg.Point, text string) {
	if f.Font.Size <= 0 {
		return
	}
	c.write("<text x=\"%s\" y=\"%s\" style=\"%s;font-size:%spx\">%s</text>\n", Digits(at.X), Digits(c.y(at.Y)),
		c.colored("fill"), Digits(f.Font.Size), html.EscapeString(text))
}

// DrawImage implements vg.Canvas. The image fills the area whatever its ratio is, and its pixels stay squares.
func (c *SVGCanvas) DrawImage(area vg.Rectangle, img image.Image) {
	var data bytes.Buffer
	if err := png.Encode(&data, enlarged(img)); err != nil {
		panic(err) // it is empty
	}
	size := area.Size()
	c.write(`<image x="%s" y="%s" width="%s" height="%s" preserveAspectRatio="none" `+
		`style="image-rendering:pixelated" xlink:href="data:image/png;base64,%s"/>`+"\n", Digits(area.Min.X),
		Digits(c.y(area.Max.Y)), Digits(size.X), Digits(size.Y), base64.StdEncoding.EncodeToString(data.Bytes()))
}

func (c *SVGCanvas) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(append(c.svg.Bytes(), "</svg>\n"...))
	return int64(n), err
}

// SVGOf returns the SVG that a canvas, or one that it is a part of, draws on; nil for another image.
func SVGOf(c vg.Canvas) *SVGCanvas {
	for {
		switch on := c.(type) {
		case *SVGCanvas:
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

// Grouped draws what belongs to a line, as a group where the canvas has groups.
func Grouped(c draw.Canvas, line string, paint func()) {
	svg := SVGOf(c)
	if svg == nil || line == "" {
		paint()
		return
	}
	svg.begin("data-line", line)
	paint()
	svg.end()
}

// Hex writes a colour as an SVG has it.
func Hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }
