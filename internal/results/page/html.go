package page

import (
	"net/url"
	"strings"
)

// HTML is text that needs no escaping, for example a drawing in SVG.
type HTML string

// Attributes alternate names and values: {"class", "note"}. An attribute without a value is left out.
type Attributes []string

// Writer collects the text of a page or of a part of one.
type Writer struct{ text strings.Builder }

// Text writes text, escaped.
func (w *Writer) Text(text string) { _, _ = escaper.WriteString(&w.text, text) } // a builder takes everything

// HTML writes HTML as it is.
func (w *Writer) HTML(text HTML) { w.text.WriteString(string(text)) }

// Element writes an element around what content writes.
func (w *Writer) Element(name string, attributes Attributes, content func()) {
	w.text.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		if attributes[i+1] != "" {
			w.text.WriteString(" " + attributes[i] + `="`)
			w.Text(attributes[i+1])
			w.text.WriteString(`"`)
		}
	}
	w.text.WriteString(">")
	content()
	w.text.WriteString("</" + name + ">")
}

// Leaf writes an element that holds text alone.
func (w *Writer) Leaf(name string, attributes Attributes, text string) {
	w.Element(name, attributes, func() { w.Text(text) })
}

// Link writes a link to a file, whose path is relative to the page.
func (w *Writer) Link(path, text string) {
	target := url.URL{Path: path}
	w.Leaf("a", Attributes{"href", target.String()}, text)
}

// Paragraph writes a paragraph of text on a line of its own; nothing for "".
func (w *Writer) Paragraph(class, text string) {
	if text != "" {
		w.Leaf("p", Attributes{"class", class}, text)
		w.Line()
	}
}

// Line ends a line of the HTML source; the page looks the same without it.
func (w *Writer) Line()         { w.text.WriteString("\n") }
func (w *Writer) Written() HTML { return HTML(w.text.String()) }

// escaper writes what has a meaning in texts or values of attributes as references; HTML has none for a zero byte. A
// character that turns the direction of the text behind it (Unicode Standard Annex 9) would make a name look like
// another one.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\x00", hidden,
	"\u061c", hidden, "\u200e", hidden, "\u200f", hidden, "\u202a", hidden, "\u202b", hidden, "\u202c", hidden,
	"\u202d", hidden, "\u202e", hidden, "\u2066", hidden, "\u2067", hidden, "\u2068", hidden, "\u2069", hidden)

// hidden replaces a character that is not shown.
const hidden = "\uFFFD"
