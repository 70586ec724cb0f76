package page

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// A reader of the page gets back every text and value of an attribute as it was, and no element that a text names.
func TestTextsAndAttributesComeBack(t *testing.T) {
	for _, text := range []string{"plain", `<img src=x onerror="alert(1)">`, "' onclick='x", "a&amp;b", "</p><script>",
		"x\ny\t\u2028", "a+b=c/`d`", "<!-- c -->", "&#34;"} {
		var w Writer
		w.Leaf("p", Attributes{"title", text, "class", "", "id", "1"}, text)
		root := must.Get(html.Parse(strings.NewReader(string(w.Written()))))(t)
		var elements []*html.Node
		for n := range root.Descendants() {
			if n.Type == html.ElementNode && n.Data != "html" && n.Data != "head" && n.Data != "body" {
				elements = append(elements, n)
			}
		}
		if len(elements) != 1 || elements[0].FirstChild == nil || elements[0].FirstChild != elements[0].LastChild {
			t.Fatalf("%q became %s", text, w.Written())
		}
		p := elements[0]
		if p.FirstChild.Data != text || len(p.Attr) != 2 || p.Attr[0].Val != text || p.Attr[1].Key != "id" {
			t.Errorf("%q became %s", text, w.Written())
		}
	}
}

func TestNoHiddenCharacters(t *testing.T) {
	var w Writer
	w.Text("a\x00b\u202ec\u2066d")
	if got := w.Written(); got != "a\uFFFDb\uFFFDc\uFFFDd" {
		t.Errorf("%q", got)
	}
}

// A path is one of a file, whatever it looks like.
func TestLinksLeadToFiles(t *testing.T) {
	for path, want := range map[string]string{
		"figures/a.svg":       "figures/a.svg",
		"50% of #1?.svg":      "50%25%20of%20%231%3F.svg",
		"javascript:alert(1)": "./javascript:alert%281%29",
		`"><b>`:               "%22%3E%3Cb%3E",
	} {
		var w Writer
		w.Link(path, "x")
		if got := string(w.Written()); got != `<a href="`+want+`">x</a>` {
			t.Errorf("%q: %s, want a link to %s", path, got, want)
		}
	}
}

func TestElementsNest(t *testing.T) {
	var w Writer
	w.Element("ul", nil, func() {
		w.Line()
		w.Leaf("li", nil, "1")
		w.HTML("<hr>")
	})
	w.Paragraph("soft", "")
	w.Paragraph("soft", "2")
	if got := w.Written(); got != "<ul>\n<li>1</li><hr></ul><p class=\"soft\">2</p>\n" {
		t.Error(got)
	}
}
