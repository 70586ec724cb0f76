package page

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/cachesim/cachesim/internal/markup"
	"github.com/cachesim/cachesim/internal/plots"
)

const bad = `<img src=x onerror="alert(1)">`

// sample has one of each part, and text that must be escaped everywhere.
func sample() Page {
	return Page{
		Title: bad, Source: bad, Notes: []string{bad}, About: bad, Version: bad, Command: bad,
		Files: []Link{{Path: "records.csv", Kind: bad}},
		Sections: []Section{{ID: "all", Title: bad, Parts: []Part{
			{Text: bad}, {Answer: bad}, {Settings: []Setting{{bad, bad}}},
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
	if err := p.Write(&s); err != nil {
		t.Fatal(err)
	}
	return s.String()
}

func elements(t *testing.T, text string) map[string][]*html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
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
	drawing := markup.HTML("<svg>" + strings.Repeat(" ", mostDrawing/2) + "</svg>")
	p := Page{Sections: []Section{{Parts: []Part{
		{Table: &Table{Columns: []Column{{Name: "n"}}, Rows: rows}},
		{Figure: &Figure{Name: "a", SVG: drawing}}, {Figure: &Figure{Name: "b", SVG: drawing}},
	}}}}
	text := written(t, p)
	found := elements(t, text)
	if n := len(found["tr"]); n != mostRows+1 {
		t.Errorf("%d rows, want the head and %d", n, mostRows)
	}
	if len(found["svg"]) != 1 || !strings.Contains(text, "too large together") ||
		!strings.Contains(text, "The first 2,000 of 2,005 rows") {
		t.Errorf("%d drawings; what is left out is not said", len(found["svg"]))
	}
	if len(p.Sections[0].Parts[0].Table.Rows) != mostRows+5 || p.Sections[0].Parts[2].Figure.LeftOut {
		t.Error("writing a page changed it")
	}
}
