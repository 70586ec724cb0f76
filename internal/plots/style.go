package plots

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/records"
)

// Style is how a line looks.
type Style struct {
	Color  color.NRGBA
	Dashes []vg.Length
	Marker draw.GlyphDrawer // nil for none
	Width  vg.Length
}

// palette begins with that of Okabe and Ito (Color universal design, 2008), which people with any colour vision can tell apart, without its
// black (the optimum) and its yellow (too pale for lines). The darker ones after it are of Tol (Colour schemes, 2021: muted) and a brown.
var palette = []color.NRGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x00, 0x9e, 0x73, 0xff}, // green
	{0xcc, 0x79, 0xa7, 0xff}, // purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	{0x33, 0x22, 0x88, 0xff}, // indigo
	{0x88, 0x22, 0x55, 0xff}, // wine
	{0x99, 0x99, 0x33, 0xff}, // olive
	{0x7f, 0x4a, 0x1e, 0xff}, // brown
}

// dashes tell apart the lines that share a colour.
var dashes = [][]vg.Length{
	nil,
	{5, 2},
	{1.5, 1.5},
	{6, 2, 1.5, 2},
	{9, 3},
}

// markers share no factor with the number of colours, so that colour and marker together repeat late.
var markers = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{}, draw.PlusGlyph{}, draw.SquareGlyph{},
}

// SeriesStyle returns the look of series i, counted from 0. The first 50 differ in colour or dashes, the first 70 in colour or marker.
func SeriesStyle(i int) Style {
	return Style{
		Color:  palette[i%len(palette)],
		Dashes: dashes[i/len(palette)%len(dashes)],
		Marker: markers[i%len(markers)],
		Width:  1.4,
	}
}

// OptimumStyle returns the look of the offline optimum.
func OptimumStyle() Style {
	return Style{Color: color.NRGBA{A: 0xff}, Dashes: []vg.Length{6, 3}, Width: 1.6}
}

// BoundStyle returns the look of a bound that no policy can pass.
func BoundStyle() Style {
	return Style{Color: color.NRGBA{0x70, 0x70, 0x70, 0xff}, Dashes: []vg.Length{1.5, 3}, Width: 1.6}
}

func (s Style) line() draw.LineStyle {
	return draw.LineStyle{Color: s.Color, Width: s.Width, Dashes: s.Dashes}
}

func (s Style) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.Color, Radius: 2.6, Shape: s.Marker}
}

// translucent returns the colour of a band along a line of colour c.
func translucent(c color.NRGBA) color.NRGBA {
	c.A = 0x28
	return c
}

// Styles are the looks of lines by their names.
type Styles map[string]Style

// EasilyTold is how many lines in one figure are easy to tell apart: those that share a colour differ in being solid or dashed.
const EasilyTold = 12

// StylesOf gives each place on the dimension lines one look. With all records of an experiment it gives each policy the same look in all
// of its figures.
func StylesOf(recs []records.Record, lines string) Styles {
	styles := Styles{}
	for i := range recs {
		name := recs[i].Label // of a record without that dimension
		if v, ok := recs[i].Dim(lines); ok {
			name = records.PlaceName(lines, v)
		}
		styles.add(name, kindOnLines(&recs[i], lines))
	}
	return styles
}

// kindOnLines returns the kind of policy that a line stands for. A line that is a trace or a parameter stands for none.
func kindOnLines(r *records.Record, lines string) string {
	if _, ok := r.Dim(lines); ok && lines != records.DimPolicy {
		return "online"
	}
	return r.Kind
}

// add gives a line of a kind of policies the next look that is free.
func (s Styles) add(name, kind string) {
	if _, ok := s[name]; ok {
		return
	}
	switch kind {
	case "offline":
		s[name] = OptimumStyle()
		if n := s.count(OptimumStyle().Color); n > 1 {
			other := OptimumStyle()
			other.Dashes = dashes[1+(n-1)%(len(dashes)-1)]
			s[name] = other
		}
	case "bound":
		s[name] = BoundStyle()
	default:
		s[name] = SeriesStyle(len(s) - s.count(OptimumStyle().Color) - s.count(BoundStyle().Color))
	}
}

// count returns the number of lines in a colour.
func (s Styles) count(c color.NRGBA) (n int) {
	for _, style := range s {
		if style.Color == c {
			n++
		}
	}
	return n
}
