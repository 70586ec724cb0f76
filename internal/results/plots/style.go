package plots

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"image/color"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// Style is how a line looks.
type Style struct {
	Color  color.NRGBA
	Dashes []vg.Length
	Marker draw.GlyphDrawer // nil for none
	Width  vg.Length
	Strong bool // it is highlighted: above the others and first in the legend
	Grey   bool // it is only the background of others
}

// palette has the colours in the order of package policies. No two have the same hue: they are at least 25 degrees of
// OKLCH apart. On dark pages each has a lighter shade of its hue, so that all have a contrast of at least 4.5 to the
// page. Within these bounds, found by a search, they are as far apart as possible for people with any colour vision.
var palette = []color.NRGBA{
	{0x00, 0x76, 0xd4, 0xff}, // blue
	{0xd6, 0x36, 0x47, 0xff}, // red
	{0x22, 0x7c, 0x52, 0xff}, // green
	{0x72, 0x46, 0xa2, 0xff}, // violet
	{0x8d, 0x60, 0x04, 0xff}, // ochre
	{0x08, 0x5a, 0x73, 0xff}, // cyan
	{0x50, 0x25, 0xfd, 0xff}, // indigo
	{0xcc, 0x21, 0xc9, 0xff}, // magenta
	{0x4e, 0x55, 0x18, 0xff}, // olive
	{0x9a, 0x0f, 0x5c, 0xff}, // pink
}

// dashes tell apart the lines that share a colour, of which there are some in figures with more than ten lines.
var dashes = [][]vg.Length{
	nil,
	{5, 2},
	{1.5, 1.5},
	{6, 2, 1.5, 2},
	{9, 3},
	{6, 2, 1.5, 2, 1.5, 2},
	{2.5, 4},
	{9, 2, 4, 2},
	{12, 2, 1.5, 2},
	{4, 1.5, 1.5, 1.5, 1.5, 1.5},
	{9, 2, 1.5, 2},
	{14, 3},
	{4, 4},
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

// policyMarks are those of policies: servers, libraries and what users write have marks of their own.
var policyMarks = append(slices.Clone(markers), canvas.Diamond{}, canvas.Star{}, canvas.Arrow{}, canvas.Hexagon{},
	canvas.Pentagon{}, canvas.Bowtie{}, canvas.Spark{})

// fadedMarks are those of lines in the background, where what users write never is.
var fadedMarks = append(slices.Clone(markers), canvas.Diamond{}, canvas.Arrow{}, canvas.Hexagon{}, canvas.Pentagon{},
	canvas.Bowtie{}, canvas.Spark{})

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

// Looks of lines of which some are highlighted.
const (
	strongWidth, mutedWidth = vg.Length(2.4), vg.Length(1)
	strongRadius            = vg.Length(4.2)
	greyRadius              = vg.Length(1.8)
	mutedAlpha              = 0x70
)

// fadedStyle returns the look of line i that is only shown as background of others. The first 169 differ in their marks
// or dashes.
func fadedStyle(i int) Style {
	mark, dash := i%len(fadedMarks), i/len(fadedMarks)%len(dashes)
	return Style{Color: faded, Width: 0.9, Marker: fadedMarks[mark], Dashes: dashes[dash], Grey: true}
}

func (s Style) line() draw.LineStyle {
	return draw.LineStyle{Color: s.Color, Width: s.Width, Dashes: s.Dashes}
}

func (s Style) glyph() draw.GlyphStyle {
	radius := vg.Length(2.6)
	switch {
	case s.Strong:
		radius = strongRadius
	case s.Grey:
		radius = greyRadius
	}
	return draw.GlyphStyle{Color: s.Color, Radius: radius, Shape: s.Marker}
}

// depth orders lines: grey ones are behind the others, those that are highlighted above them.
func (s Style) depth() int {
	switch {
	case s.Grey:
		return 0
	case s.Strong:
		return 2
	}
	return 1
}

// emphasised returns a look as strong or as muted as the highlighted lines make it.
func emphasised(o look.Options, s Style, line string, r *records.Record) Style {
	switch {
	case s.Grey:
		return s
	case isStrong(o, line, r):
		s.Width, s.Strong = strongWidth, true
		return s
	case len(o.Highlight) == 0:
		return s
	}
	s.Width = min(s.Width, mutedWidth)
	s.Color.A = mutedAlpha
	return s
}

// isStrong reports whether a line of a record is highlighted: because options say so, or because a user has written its
// policy.
func isStrong(o look.Options, line string, r *records.Record) bool {
	return o.IsStrong(line, r) || r != nil && roleOf(r.Policy).Own
}

// Emphasise draws the highlighted ones of lines strong, and above the others, which are muted. It reorders the lines.
// Bands have the looks of their lines.
func Emphasise(o look.Options, lines []Line) {
	name := func(l Line) string { return strings.TrimSuffix(strings.TrimSuffix(l.Label, " (sampled)"), " (exact)") }
	for i := range lines {
		if lines[i].Style.Width > 0 {
			lines[i].Style = emphasised(o, lines[i].Style, name(lines[i]), nil)
		}
	}
	slices.SortStableFunc(lines, func(a, b Line) int { return a.Style.depth() - b.Style.depth() })
}

// translucent returns the colour of a band along a line of colour c.
func translucent(c color.NRGBA) color.NRGBA {
	c.A = 0x28
	return c
}

// Styles are the looks of lines by their names.
type Styles map[string]Style

// StylesOf gives each place on the dimension lines one look. A policy has its own unless another one has its colour;
// other lines get theirs in turn. Several figures agree in them if recs has the records of all of them.
func StylesOf(recs []records.Record, lines string) Styles {
	styles := Styles{}
	for i := range recs {
		name := recs[i].Label // of a record without that dimension
		if v, ok := recs[i].Dim(lines); ok {
			name = results.PlaceName(lines, v)
		}
		styles.add(name, &recs[i], lines)
	}
	names := inRank(slices.Collect(maps.Keys(styles)))
	if len(names) <= len(palette) { // of more, each figure has few in colour
		styles.colorsApart(names)
	}
	styles.dashesApart(names)
	return styles
}

func (s Styles) add(name string, r *records.Record, lines string) {
	if _, ok := s[name]; ok {
		return
	}
	if _, ok := r.Dim(lines); ok && lines != records.DimPolicy {
		s[name] = SeriesStyle(len(s))
		return
	}
	policy := r.Policy
	if policy == "" { // a published number of a policy that was not replayed has only a label
		policy, _, _ = strings.Cut(r.Label, " (")
	}
	s[name] = PolicyStyle(policy, name, r.Kind)
}

func (s Styles) names() []string { return slices.Collect(maps.Keys(s)) }

// apart gives lines of one figure that share a colour unused ones, as long as there are any, and lines that would still
// look alike other dashes. The first of them by inRank keeps its look.
func (s Styles) apart(names []string) {
	names = inRank(names)
	s.colorsApart(names)
	s.dashesApart(names)
}

// inRank returns names in the order in which lines keep their looks: policies as in their list, then others by name.
func inRank(names []string) []string {
	rank := func(name string) int {
		if role, ok := records.RoleOf(name); ok {
			return role.Rank
		}
		return math.MaxInt
	}
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	})
	return names
}

// colorsApart gives each line that has the colour of an earlier one the colour that the fewest lines have: none, as
// long as there are enough. References stay black: they differ in dashes.
func (s Styles) colorsApart(names []string) {
	lines := map[color.NRGBA]int{}
	var others []string
	for _, name := range names {
		c := s[name].Color
		if lines[c] > 0 && slices.Contains(palette, c) {
			others = append(others, name)
		}
		lines[c] = 1
	}
	for _, name := range others { // afterwards, so that none gets the colour of a line that keeps it
		style := s[name]
		style.Color = slices.MinFunc(palette, func(a, b color.NRGBA) int { return cmp.Compare(lines[a], lines[b]) })
		lines[style.Color]++
		s[name] = style
	}
}

// dashesApart gives lines that look like an earlier one other dashes.
func (s Styles) dashesApart(names []string) {
	taken := map[string]bool{}
	for _, name := range names {
		style := s[name]
		for i := 1; i < len(dashes) && taken[style.look()]; i++ {
			style.Dashes = dashes[i]
		}
		taken[style.look()] = true
		s[name] = style
	}
}

// greyApart gives grey lines looks that differ as long as there are any.
func (s Styles) greyApart(names []string) {
	for i, name := range inRank(names) {
		s[name] = fadedStyle(i)
	}
}

// look is what distinguishes lines.
func (s Style) look() string { return fmt.Sprintf("%v %T %v", s.Color, s.Marker, s.Dashes) }

// levelGlyph is a short level line, which marks the only point of a line without marks. It implements draw.GlyphDrawer.
type levelGlyph struct{}

func (levelGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	line := draw.LineStyle{Color: style.Color, Width: 1.6}
	c.StrokeLine2(line, at.X-2*style.Radius, at.Y, at.X+2*style.Radius, at.Y)
}

// The colours of what is no line.
var (
	ink       = color.NRGBA{A: 0xff} // text, axes and references
	paper     = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	grid      = color.NRGBA{0xe6, 0xe6, 0xe6, 0xff}
	bound     = color.NRGBA{0x70, 0x70, 0x70, 0xff}
	faded     = color.NRGBA{0x94, 0x94, 0x94, 0xff} // lines that are only the background of others
	fadedText = color.NRGBA{0x60, 0x60, 0x60, 0xff} // their names, which are read and need more contrast than lines
)

// Property is a colour that a page chooses: the name of a property of its style sheet, and the colour on paper.
type Property struct {
	Name  string
	Color color.NRGBA
}

// Properties are what a page chooses: all colours. Those of lines come last, in the order of LineColors; a page keeps
// their hue.
func Properties() []Property {
	all := []Property{{"--ink", ink}, {"--paper", paper}, {"--grid", grid}, {"--bound", bound}, {"--faded", faded},
		{"--faded-text", fadedText}}
	for i, c := range palette {
		all = append(all, Property{fmt.Sprintf("--hue-%d", i+1), c})
	}
	return all
}

// PropertyOf returns the name of the property that a page has for a colour; that of text for any other.
func PropertyOf(c color.NRGBA) string {
	for _, p := range Properties() {
		if p.Color == c {
			return p.Name
		}
	}
	return Properties()[0].Name
}

// LineColors returns the colours that lines may have.
func LineColors() []color.NRGBA { return palette }

// themed replaces colours by properties of the page. Only styles have quotes: texts and names are escaped.
func themed(svg []byte) []byte {
	var replaced []string
	for _, p := range Properties() {
		for _, set := range []string{`style="fill:`, `style="stroke:`} {
			replaced = append(replaced, set+canvas.Hex(p.Color), set+"var("+p.Name+")")
		}
	}
	return []byte(strings.NewReplacer(replaced...).Replace(string(svg)))
}

// PolicyStyle returns the look of a policy by its name. With other parameters, or under another name, it keeps the
// colour of the policy and has a mark that depends on that name.
func PolicyStyle(policy, name, kind string) Style {
	style := Style{Width: lineWidth}
	switch {
	case isReference(policy, kind):
		return referenceStyle(policy, kind)
	case name == policy:
		// the mark by what of the hash does not choose the colour
		mark := hashOf(policy) / len(palette) % len(markers)
		if own := roleOf(policy).Mark; own > 0 {
			mark = own - 1
		}
		style.Color, style.Marker = palette[policyColor(policy)], policyMarks[mark]
	default:
		style.Color, style.Marker = palette[policyColor(policy)], markers[hashOf(name)%len(markers)]
	}
	return style
}

// isReference reports whether other policies are compared with this one.
func isReference(policy, kind string) bool {
	return kind == records.Offline || kind == records.Bound || roleOf(policy).Unlimited
}

// roleOf returns the role of a policy; an empty one for a policy that is not in this program.
func roleOf(policy string) records.Role {
	r, _ := records.RoleOf(policy)
	return r
}

// ReferenceStyle returns the look of a line with which others are compared.
func ReferenceStyle() Style {
	return referenceStyle(records.ReferencePolicy(), records.Offline)
}

func referenceStyle(policy, kind string) Style {
	style := Style{Color: ink, Width: 1.6}
	for _, length := range roleOf(policy).Dashes {
		style.Dashes = append(style.Dashes, vg.Length(length))
	}
	if kind == records.Bound {
		style.Color, style.Dashes = bound, []vg.Length{1.5, 3}
	}
	if style.Dashes == nil { // not dashes[0], which is solid as the lines of other policies
		style.Dashes = dashes[1+hashOf(policy)%(len(dashes)-1)]
	}
	return style
}

func policyColor(policy string) int {
	if color := roleOf(policy).Color; color > 0 {
		return color - 1
	}
	return hashOf(policy) % len(palette)
}

// hashOf returns a number that depends on a name alone. Without its top bit it is positive where int has 32 bits, too.
func hashOf(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32() >> 1)
}

const (
	// mostColoured is the number of lines up to which each is in its colour.
	mostColoured = 8
	// leastBest is the least number of the best that are in colour, however many references there are.
	leastBest = 3
)

// ranked is a line with what decides whether it is in colour.
type ranked struct {
	name      string
	reference bool
	values    map[string]float64 // by place
	record    *records.Record    // one of its records
	points    int                // at most, in a panel
}

// fadedOf returns the names of the grey lines: none if there are at most mostColoured lines, otherwise all except the
// references, the lines with the best mean ranks, the first one, which the user named first, and the strong ones.
func fadedOf(lines []ranked, metric string, strong func(ranked) bool) map[string]bool {
	grey := map[string]bool{}
	if len(lines) <= mostColoured {
		return grey
	}
	competing := slices.DeleteFunc(slices.Clone(lines), func(l ranked) bool { return l.reference })
	best := max(leastBest, mostColoured-(len(lines)-len(competing)))
	order := meanRanks(competing, records.LowerIsBetter(metric))
	slices.SortStableFunc(competing, func(a, b ranked) int { return cmp.Compare(order[a.name], order[b.name]) })
	first := slices.IndexFunc(lines, func(l ranked) bool { return !l.reference && !l.isIdle() })
	for _, l := range competing[min(best, len(competing)):] {
		if l.name != lines[max(first, 0)].name && !strong(l) {
			grey[l.name] = true
		}
	}
	return grey
}

// isIdle reports whether the line is what happens without a cache.
func (l ranked) isIdle() bool { return l.record != nil && roleOf(l.record.Policy).Idle }

// meanRanks returns the rank of each line, from 0 for the best, averaged over the places at which it has a value. With
// ranks each place has the same weight; with values the place with the largest differences would decide.
func meanRanks(lines []ranked, lowest bool) map[string]float64 {
	sum, count := map[string]float64{}, map[string]float64{}
	places := map[string]bool{}
	for _, l := range lines {
		for place := range l.values {
			places[place] = true
		}
	}
	for place := range places { // in any order: the sums are of whole numbers
		for _, l := range lines {
			x, ok := l.values[place]
			if !ok {
				continue
			}
			count[l.name]++
			for _, other := range lines {
				if y, ok := other.values[place]; ok && (lowest && y < x || !lowest && y > x) {
					sum[l.name]++
				}
			}
		}
	}
	for _, l := range lines {
		sum[l.name] /= max(count[l.name], 1)
	}
	return sum
}
