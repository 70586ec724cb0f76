package plots

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

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

// palette has the colours in the order of package policies. It begins with that of Okabe and Ito (Color universal
// design, 2008), which people with any colour vision can tell apart, without its black (the optimum) and its yellow
// (too pale for lines). The darker ones after it are of Tol (Colour schemes, 2021: muted) and a brown.
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

// markers are in the order of package policies. They share no factor with the number of colours, so that colour and
// marker together repeat late.
var markers = []draw.GlyphDrawer{
	draw.CircleGlyph{},
	draw.BoxGlyph{},
	draw.PyramidGlyph{},
	draw.CrossGlyph{},
	draw.RingGlyph{},
	draw.PlusGlyph{},
	draw.SquareGlyph{},
}

// SeriesStyle returns the look of series i, counted from 0, if the lines are not policies. The first 50 differ in
// colour or dashes, the first 70 in colour or marker.
func SeriesStyle(i int) Style {
	return Style{
		Color:  palette[i%len(palette)],
		Dashes: dashes[i/len(palette)%len(dashes)],
		Marker: markers[i%len(markers)],
		Width:  lineWidth,
	}
}

const lineWidth = vg.Length(1.4)

// fadedText is the colour of the names of faded lines, which are read and need more contrast than lines.
var fadedText = color.NRGBA{0x60, 0x60, 0x60, 0xff}

// fadedStyle returns the look of a line that is only shown as background of others.
func fadedStyle() Style { return Style{Color: color.NRGBA{0xb4, 0xb4, 0xb4, 0xff}, Width: 0.9} }

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

// StylesOf gives each place on the dimension lines one look. That of a policy is its own everywhere; those of other
// lines are given out in turn, and are the same in several figures if all records of these are given here.
func StylesOf(recs []records.Record, lines string) Styles {
	styles := Styles{}
	var renamed map[string]bool
	if lines == records.DimPolicy {
		renamed = renamedPolicies(recs)
	}
	for i := range recs {
		if renamed[recs[i].Policy] {
			continue
		}
		name := recs[i].Label // of a record without that dimension
		if v, ok := recs[i].Dim(lines); ok {
			name = records.PlaceName(lines, v)
		}
		styles.add(name, &recs[i], lines)
	}
	turn := 0
	for i := range recs {
		if _, ok := styles[recs[i].Label]; renamed[recs[i].Policy] && !ok {
			styles[recs[i].Label] = styles.unlike(&turn)
		}
	}
	return styles
}

// unlike returns the next look of a series in another colour than the lines have, or at least another look, if all
// colours are taken.
func (s Styles) unlike(turn *int) (style Style) {
	looks, colours := map[string]bool{}, map[color.NRGBA]bool{}
	for _, other := range s {
		looks[other.look()], colours[other.Color] = true, true
	}
	for range len(palette) * len(dashes) {
		style = SeriesStyle(*turn)
		*turn++
		if !colours[style.Color] || *turn > len(palette) && !looks[style.look()] {
			break
		}
	}
	return style
}

// renamedPolicies returns the policies of several lines, none of which has the policy in its name, or all of which have
// the same policy and other parts in their names: these are what is compared, such as allocators, and the colour of the
// policy would say nothing.
func renamedPolicies(recs []records.Record) map[string]bool {
	renamed, first, compared := map[string]bool{}, map[string]string{}, map[string]bool{}
	for i := range recs {
		r := &recs[i]
		if _, ok := first[r.Policy]; !ok {
			first[r.Policy] = r.Label
		}
		if first[r.Policy] != r.Label {
			renamed[r.Policy] = true
		}
		if !isReference(r.Policy, r.Kind) {
			compared[r.Policy] = true
		}
	}
	for i := range recs {
		r := &recs[i]
		named := strings.HasPrefix(r.Label, r.Policy)
		parts := strings.HasPrefix(r.Label, r.Policy+", ")
		if r.Policy == "" || named && !(parts && len(compared) == 1) {
			delete(renamed, r.Policy)
		}
	}
	return renamed
}

// add gives a line a look.
func (s Styles) add(name string, r *records.Record, lines string) {
	if _, ok := s[name]; ok {
		return
	}
	if _, ok := r.Dim(lines); ok && lines != records.DimPolicy {
		s[name] = SeriesStyle(len(s))
		return
	}
	s[name] = policyStyle(r, name)
}

// apart gives lines of one figure that would look alike other dashes, so that they keep their colours and marks. Few
// do: those of policies with other parameters or other names than their own.
func (s Styles) apart(names []string) {
	taken := map[string]bool{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		style := s[name]
		for i := 1; i < len(dashes) && taken[style.look()]; i++ {
			style.Dashes = dashes[i]
		}
		taken[style.look()] = true
		s[name] = style
	}
}

// colorsApart gives lines of the same colour others that no line has, as long as there are any: those of bars, which
// have no marks and no dashes.
func (s Styles) colorsApart(names []string) {
	taken := map[color.NRGBA]bool{}
	for _, name := range names {
		taken[s[name].Color] = true
	}
	seen := map[color.NRGBA]bool{}
	for _, name := range names {
		style := s[name]
		if seen[style.Color] {
			if free := slices.IndexFunc(palette, func(c color.NRGBA) bool { return !taken[c] }); free >= 0 {
				style.Color = palette[free]
				taken[style.Color] = true
				s[name] = style
			}
		}
		seen[style.Color] = true
	}
}

// look is what distinguishes lines.
func (s Style) look() string { return fmt.Sprintf("%v %T %v", s.Color, s.Marker, s.Dashes) }

// levelGlyph is a short level line, which marks the only point of a line without marks.
type levelGlyph struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (levelGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	line := draw.LineStyle{Color: style.Color, Width: 1.6}
	c.StrokeLine2(line, at.X-2*style.Radius, at.Y, at.X+2*style.Radius, at.Y)
}
