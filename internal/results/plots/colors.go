package plots

import (
	"cmp"
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// heatColors is how many colours a heat map has for values. One more, heatColors itself, stands for none, so that the
// index of a colour fits into a byte.
const heatColors = 255

// heatPalette has the colours of values from low to high: the hues of viridis, with a lightness that grows evenly.
// People with any colour vision can read it, and so can everybody on grey paper. It is the same on dark pages.
var heatPalette = func() (all color.Palette) {
	viridis := []color.Color{
		color.NRGBA{0x44, 0x01, 0x54, 0xff}, color.NRGBA{0x48, 0x28, 0x78, 0xff}, color.NRGBA{0x3e, 0x4a, 0x89, 0xff},
		color.NRGBA{0x31, 0x68, 0x8e, 0xff}, color.NRGBA{0x26, 0x82, 0x8e, 0xff}, color.NRGBA{0x1f, 0x9e, 0x89, 0xff},
		color.NRGBA{0x35, 0xb7, 0x79, 0xff}, color.NRGBA{0x6d, 0xcd, 0x59, 0xff}, color.NRGBA{0xb4, 0xde, 0x2c, 0xff},
		color.NRGBA{0xfd, 0xe7, 0x25, 0xff},
	}
	even, err := moreland.NewLuminance(viridis)
	if err != nil {
		panic(err) // their lightness does not grow
	}
	even.SetMax(1)
	for _, c := range even.Palette(heatColors).Colors() {
		all = append(all, color.NRGBAModel.Convert(c))
	}
	return append(all, paper)
}()

// colorScale gives values their colours.
type colorScale struct {
	low, high float64
	scale     Scale
}

// newColorScale returns a scale for these values, of which some may be NaN.
func newColorScale(scale Scale, values []float64) colorScale {
	s := colorScale{math.Inf(1), math.Inf(-1), scale}
	for _, x := range values {
		if !math.IsNaN(x) {
			s.low, s.high = min(s.low, x), max(s.high, x)
		}
	}
	switch {
	case s.low < s.high:
	case scale == Log:
		s.low, s.high = s.low/2, s.high*2
	default:
		room := cmp.Or(math.Abs(s.low)/10, 1)
		s.low, s.high = s.low-room, s.high+room
	}
	return s
}

// norm returns where a value lies between low and high, from 0 to 1.
func (s colorScale) norm(x float64) float64 {
	if s.scale == Log {
		return math.Log(x/s.low) / math.Log(s.high/s.low)
	}
	return (x - s.low) / (s.high - s.low)
}

// index returns the colour of a value in heatPalette.
func (s colorScale) index(x float64) uint8 {
	if math.IsNaN(x) {
		return heatColors
	}
	return uint8(math.Round(min(max(s.norm(x), 0), 1) * (heatColors - 1)))
}

// Room of a colour bar.
const (
	colorBarWidth = vg.Length(12)
	colorTick     = vg.Length(4)
	colorBarMost  = 2 * plotHeight // its height, at most
)

// colorBar says which values the colours of a heat map mean.
type colorBar struct {
	colorScale
	unit  Unit
	label string
}

func (b *colorBar) ticks() []plot.Tick {
	return ticker{scale: b.scale, unit: b.unit}.Ticks(b.low, b.high)
}

// width is the room that the bar takes beside a plot.
func (b *colorBar) width() vg.Length {
	widest := vg.Length(0)
	for _, t := range b.ticks() {
		widest = max(widest, textStyle(10).Width(t.Label))
	}
	return margin + colorBarWidth + colorTick + 2 + widest + margin/2 + textStyle(11).FontExtents().Height
}

// draw draws the bar on the right of an area.
func (b *colorBar) draw(c draw.Canvas, beside vg.Rectangle) {
	beside.Min.Y = max(beside.Min.Y, beside.Max.Y-colorBarMost)
	bar := vg.Rectangle{Min: vg.Point{X: beside.Max.X + margin, Y: beside.Min.Y}}
	bar.Max = vg.Point{X: bar.Min.X + colorBarWidth, Y: beside.Max.Y}
	colors := image.NewPaletted(image.Rect(0, 0, 1, heatColors), heatPalette)
	for i := range heatColors {
		colors.Pix[heatColors-1-i] = uint8(i)
	}
	c.DrawImage(bar, colors)
	frame(c, bar)
	style := textStyle(10)
	style.YAlign = draw.YCenter
	for _, t := range b.ticks() {
		length := colorTick
		if t.IsMinor() {
			length /= 2
		}
		y := bar.Min.Y + vg.Length(b.norm(t.Value))*(bar.Max.Y-bar.Min.Y)
		c.StrokeLine2(thin(), bar.Max.X, y, bar.Max.X+length, y)
		c.FillText(style, vg.Point{X: bar.Max.X + colorTick + 2, Y: y + style.FontExtents().Descent/2}, t.Label)
	}
	label, style := fitted(b.label, textStyle(11), max(bar.Max.Y-bar.Min.Y, plotHeight/2))
	style.Rotation, style.XAlign = math.Pi/2, draw.XCenter
	right := bar.Min.X + b.width() - margin - style.FontExtents().Descent
	c.FillText(style, vg.Point{X: right, Y: (bar.Min.Y + bar.Max.Y) / 2}, label)
}

// thin is the line around colours, which may be those of the page.
func thin() draw.LineStyle { return draw.LineStyle{Color: ink, Width: 0.5} }

// frame draws a line around an area of colours.
func frame(c draw.Canvas, area vg.Rectangle) {
	c.StrokeLines(thin(), []vg.Point{area.Min, {X: area.Max.X, Y: area.Min.Y}, area.Max, {X: area.Min.X, Y: area.Max.Y},
		area.Min})
}

// leastPixels is the least width and height of an image in a file, so that it stays sharp where a viewer smooths it.
const leastPixels = 1024

// enlarged returns an image in which each pixel is a rectangle of so many that none looks blurred.
func enlarged(img image.Image) image.Image {
	small, ok := img.(*image.Paletted)
	if !ok {
		return img
	}
	size := small.Bounds().Size()
	wide, high := copies(size.X), copies(size.Y)
	out := image.NewPaletted(image.Rect(0, 0, wide*size.X, high*size.Y), small.Palette)
	for i := range out.Pix {
		x, y := i%out.Stride, i/out.Stride
		out.Pix[i] = small.Pix[y/high*small.Stride+x/wide]
	}
	return out
}

// copies returns how often each of n pixels is repeated. One alone has no neighbour to be blurred with.
func copies(n int) int {
	if n == 1 {
		return 1
	}
	return (leastPixels + n - 1) / n
}
