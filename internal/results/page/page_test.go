package page

import (
	"fmt"
	"image/color"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots"
)

const bad = `<img src=x onerror="alert(1)">`

// sample has one of each part, and text that must be escaped everywhere.
func sample() Page {
	return Page{
		Title: bad, Source: bad, Notes: []string{bad}, About: bad, Version: bad, Command: bad,
		Files: []Link{{Path: "records.csv", Kind: bad}},
		Sections: []Section{{ID: "all", Title: bad, Parts: []Part{
			{Text: bad}, {Answer: bad}, {Settings: []records.Setting{{Name: bad, Value: bad}}},
			{Table: &Table{Caption: bad, Columns: []Column{{Name: bad}, {Name: bad, Class: Number}},
				Rows: [][]string{{bad, bad}, {"lru", "1"}}, Lines: []string{bad, "lru"}, Notes: []string{bad}}},
			{Figure: Drawn(plots.Drawing{Name: "f", Title: bad, Files: []plots.File{
				{Name: "f.svg", Data: []byte(`<?xml version="1.0"?><svg><g data-line="lru"></g></svg>`)}, {Name: "f.png"}}}, "")},
		}}},
	}
}

func written(t *testing.T, p Page) string {
	t.Helper()
	var s strings.Builder
	must.Do(t, p.Write(&s))
	return s.String()
}

func elements(t *testing.T, text string) map[string][]*html.Node {
	t.Helper()
	root := must.Get(html.Parse(strings.NewReader(text)))(t)
	found := map[string][]*html.Node{}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			found[n.Data] = append(found[n.Data], n)
		}
	}
	return found
}

func TestEverythingIsEscaped(t *testing.T) {
	found := elements(t, written(t, sample()))
	if len(found["img"]) > 0 {
		t.Error("a text became an element")
	}
	if len(found["svg"]) != 1 || len(found["tr"]) != 3 || len(found["h2"]) != 1 {
		t.Errorf("%d drawings, %d rows, %d headings", len(found["svg"]), len(found["tr"]), len(found["h2"]))
	}
	for _, nodes := range found {
		for _, n := range nodes {
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s has %s", n.Data, a.Key)
				}
			}
		}
	}
}

// The page loads nothing, and its one script stands in it.
func TestNothingIsLoaded(t *testing.T) {
	text := written(t, sample())
	found := elements(t, text)
	for _, name := range []string{"link", "iframe", "object", "embed", "base", "form"} {
		if len(found[name]) > 0 {
			t.Errorf("the page has a %s", name)
		}
	}
	if len(found["script"]) != 1 || len(found["script"][0].Attr) != 0 {
		t.Error("want one script without attributes")
	}
	for _, s := range []string{"url(", "@import", "fetch(", "XMLHttpRequest", "import(", "eval(", "innerHTML"} {
		if strings.Contains(text, s) {
			t.Errorf("the page has %s", s)
		}
	}
}

// Rows carry the names of their lines, by which the script finds them, and controls are made by the script alone:
// without it nothing on the page is dead.
func TestRowsAndLinesHaveNames(t *testing.T) {
	found := elements(t, written(t, sample()))
	lines := map[string]int{}
	for _, name := range []string{"tr", "g"} {
		for _, n := range found[name] {
			for _, a := range n.Attr {
				if a.Key == "data-line" {
					lines[a.Val]++
				}
			}
		}
	}
	if lines["lru"] != 2 || lines[bad] != 1 {
		t.Errorf("lines %v", lines)
	}
	if len(found["button"])+len(found["input"]) > 0 {
		t.Error("the page has controls that do nothing without its script")
	}
}

func TestSameBytes(t *testing.T) {
	first, second := written(t, sample()), written(t, sample())
	if first != second {
		t.Error("the same page has two texts")
	}
}

// Where the points of a drawing are too many, the page says how many of them show their values.
func TestPointsWithoutValues(t *testing.T) {
	p := sample()
	d := plots.Drawing{Name: "f", Points: 3000, Told: 390}
	p.Sections[0].Parts = []Part{{Figure: Drawn(d, "")}}
	const want = "390 of its 3,000 points show their values"
	if !strings.Contains(written(t, p), want) {
		t.Errorf("the page does not say %q", want)
	}
	d.Told = d.Points
	p.Sections[0].Parts = []Part{{Figure: Drawn(d, "")}}
	if strings.Contains(written(t, p), "show their values:") {
		t.Error("all points show their values, and the page says that some do not")
	}
}

// A page stays small enough to be sent, and says what it leaves out.
func TestPageIsBounded(t *testing.T) {
	rows := make([][]string, mostRows+5)
	for i := range rows {
		rows[i] = []string{fmt.Sprint(i)}
	}
	drawing := HTML("<svg>" + strings.Repeat(" ", mostDrawing/2) + "</svg>")
	p := Page{Sections: []Section{{Parts: []Part{
		{Table: &Table{Columns: []Column{{Name: "n"}}, Rows: rows}},
		{Figure: &Figure{Name: "a", SVG: drawing}}, {Figure: &Figure{Name: "b", SVG: drawing}},
	}}}}
	text := written(t, p)
	found := elements(t, text)
	if n := len(found["tr"]); n != mostRows+1 {
		t.Errorf("%d rows, want the head and %d", n, mostRows)
	}
	if len(found["svg"]) != 1 || !strings.Contains(text, "page are too large") ||
		!strings.Contains(text, "The first 2,000 of 2,005 rows") {
		t.Errorf("%d drawings; what is left out is not said", len(found["svg"]))
	}
	if len(p.Sections[0].Parts[0].Table.Rows) != mostRows+5 || p.Sections[0].Parts[2].Figure.LeftOut {
		t.Error("writing a page changed it")
	}
}

// themes returns the colours that the style sheet sets on light pages, on dark ones and on paper.
func themes(t *testing.T) map[string]map[string]color.NRGBA {
	t.Helper()
	blocks := regexp.MustCompile(`(?s):root \{(.*?)\n? *\}`).FindAllStringSubmatch(style, -1)
	if len(blocks) != 3 {
		t.Fatalf("%d sets of colours, want those of light pages, dark ones and paper", len(blocks))
	}
	all := map[string]map[string]color.NRGBA{}
	for i, name := range []string{"light", "dark", "print"} {
		all[name] = map[string]color.NRGBA{}
		for _, set := range regexp.MustCompile(`(--[a-z0-9-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(blocks[i][1], -1) {
			rgb := must.Get(strconv.ParseUint(set[2], 16, 32))(t)
			all[name][set[1]] = color.NRGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 0xff}
		}
	}
	return all
}

// contrast is that of WCAG 2.2.
func contrast(a, b color.NRGBA) float64 {
	luminance := func(c color.NRGBA) (sum float64) {
		for i, v := range []uint8{c.R, c.G, c.B} {
			x := float64(v) / 255
			if x <= 0.04045 {
				x /= 12.92
			} else {
				x = math.Pow((x+0.055)/1.055, 2.4)
			}
			sum += x * []float64{0.2126, 0.7152, 0.0722}[i]
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Text and lines have a contrast of 4.5 on every page, more than lines need, and what is their background has 3 (WCAG
// 2.2, 1.4.3 and 1.4.11).
func TestContrast(t *testing.T) {
	for theme, set := range themes(t) {
		for _, on := range []string{"--page", "--panel"} {
			for _, text := range []string{"--text", "--soft", "--link", "--holds", "--fails", "--open"} {
				if c := contrast(set[text], set[on]); c < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", theme, text, on, c)
				}
			}
		}
		for _, p := range plots.Properties() {
			least := 4.5
			switch p.Name {
			case "--paper", "--grid":
				continue
			case "--faded", "--bound":
				least = 3
			}
			if c := contrast(set[p.Name], set["--paper"]); c < least {
				t.Errorf("%s: %s has a contrast of %.2f, want %v", theme, p.Name, c, least)
			}
		}
	}
}

// hue returns the hue of a colour in OKLCH, in degrees.
func hue(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	r, g, b := linear(c.R), linear(c.G), linear(c.B)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return math.Atan2(0.0259040371*l+0.7827717662*m-0.8086757660*s, 1.9779984951*l-2.4285922050*m+0.4505937099*s) *
		180 / math.Pi
}

// Two lines never have the same hue, on no page, and each keeps its own on dark ones.
func TestLinesKeepTheirHues(t *testing.T) {
	apart := func(a, b color.NRGBA) float64 { return math.Abs(math.Remainder(hue(a)-hue(b), 360)) }
	all := themes(t)
	n := len(plots.LineColors())
	lines := plots.Properties()[len(plots.Properties())-n:]
	for i, p := range lines {
		if d := apart(all["light"][p.Name], all["dark"][p.Name]); d > 10 {
			t.Errorf("%s: the hues on light and dark pages are %.0f degrees apart", p.Name, d)
		}
		for theme, set := range all {
			for _, other := range lines[:i] {
				if d := apart(set[p.Name], set[other.Name]); d < 25 {
					t.Errorf("%s: %s and %s are %.0f degrees apart, want 25", theme, p.Name, other.Name, d)
				}
			}
		}
	}
}

// Each page chooses every colour of a figure; the light one has those of the files, and the dark one the same hues.
func TestPagesHaveTheColoursOfFigures(t *testing.T) {
	all := themes(t)
	for _, p := range plots.Properties() {
		for theme, set := range all {
			if c, ok := set[p.Name]; !ok || theme != "dark" && c != p.Color {
				t.Errorf("%s: %s is %v (set: %v), in files %v", theme, p.Name, c, ok, p.Color)
			}
		}
	}
	for _, change := range []string{"filter:", "mix-blend", "invert("} {
		if strings.Contains(style, change) {
			t.Errorf("the style sheet has %s, which changes the colours of lines", change)
		}
	}
}

// A small screen shows the figure that was drawn for it.
func TestSmallScreensHaveFiguresOfTheirOwn(t *testing.T) {
	f := &Figure{Name: "f", Alt: "a", SVG: "<svg>wide</svg>", Narrow: "<svg>narrow</svg>"}
	text := written(t, Page{Sections: []Section{{Parts: []Part{{Figure: f}}}}})
	for _, want := range []string{"<svg>wide</svg></div>", `<div class="drawing narrow" role="img" aria-label="a">`,
		".drawing:has(+ .narrow) { display: none; }"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// A row of a page has the cells that a terminal leaves out where they repeat.
func TestRowsOfAPageAreWhole(t *testing.T) {
	g := tabular.Grid{Heads: []tabular.Head{{Name: "capacity"}, {Name: "policy"}, {Name: "misses"}},
		Rows: [][]string{{"10", "lru", "3"}, {"", "", "2"}, nil, {"20", "lru", "1"}, {"", "arc", ""}}}
	want := [][]string{{"10", "lru", "3"}, {"10", "lru", "2"}, {"20", "lru", "1"}, {"20", "arc", ""}}
	if got := NewTable("", g).Rows; !reflect.DeepEqual(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
}

// Where a small screen has no room, figures and tables scroll within their frames, tables without their first column.
func TestSmallScreensScrollWithinFrames(t *testing.T) {
	d := plots.Drawing{Name: "f", Width: 700, Files: []plots.File{{Name: "f.svg", Data: []byte("<svg></svg>")}}}
	text := written(t, Page{Sections: []Section{{Parts: []Part{{Figure: Drawn(d, "")}}}}})
	for _, want := range []string{
		`style="--least: 44rem"`, ".drawing svg { max-width: none; width: var(--least); }", ".drawing { overflow-x: auto; }",
		".scroll { overflow-x: auto;",
		".scroll > table:not(.stacked) th:first-child { background: var(--page); left: 0; position: sticky;",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
