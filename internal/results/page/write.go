package page

import (
	_ "embed"
	"fmt"
	"net/url"
	"strings"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

func (p Page) html() HTML {
	var w Writer
	w.HTML("<!DOCTYPE html>\n<html lang=\"en\">\n")
	p.writeHead(&w)
	w.HTML("<body>\n")
	p.writeHeader(&w)
	w.Element("main", nil, func() {
		w.Line()
		for _, s := range p.Sections {
			s.write(&w)
		}
	})
	w.Line()
	p.writeFooter(&w)
	w.HTML(HTML("<script>\n" + strings.TrimSpace(script) + "\n</script>\n</body>\n</html>\n"))
	return w.Written()
}

func (p Page) writeHead(w *Writer) {
	w.HTML("<head>\n<meta charset=\"utf-8\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	w.Leaf("title", nil, p.Title)
	w.HTML(HTML("\n<style>\n" + strings.TrimSpace(style) + "\n</style>\n</head>\n"))
}

func (p Page) writeHeader(w *Writer) {
	w.Element("header", nil, func() {
		w.Line()
		w.Leaf("h1", nil, p.Title)
		w.Line()
		w.Paragraph("source", p.Source)
		for _, note := range p.Notes {
			w.Paragraph("note", note)
		}
		w.Paragraph("", p.About)
		w.Element("nav", Attributes{"aria-label", "Sections"}, func() {
			for _, s := range p.Sections {
				w.Leaf("a", Attributes{"href", "#" + s.ID}, s.Title)
			}
		})
		w.Line()
	})
	w.Line()
}

func (p Page) writeFooter(w *Writer) {
	w.Element("footer", nil, func() {
		w.Line()
		w.Element("p", nil, func() {
			w.Text("Made by cachesim " + p.Version + ".")
			before := " Beside this page: "
			for _, f := range p.Files {
				w.Text(before)
				w.Link(f.Path, f.Kind)
				before = ", "
			}
			if len(p.Files) > 0 {
				w.Text(".")
			}
		})
		w.Line()
		if p.Command != "" {
			w.Paragraph("", "This makes it again:")
			w.Element("pre", nil, func() { w.Leaf("code", nil, p.Command) })
			w.Line()
		}
	})
	w.Line()
}

func (s Section) write(w *Writer) {
	w.Element("section", Attributes{"id", s.ID}, func() {
		w.Line()
		w.Leaf("h2", nil, s.Title)
		w.Line()
		for _, part := range s.Parts {
			part.write(w)
		}
	})
	w.Line()
}

func (p Part) write(w *Writer) {
	w.Paragraph("", p.Text)
	w.Paragraph("answer", p.Answer)
	if len(p.Settings) > 0 {
		writeSettings(w, p.Settings)
	}
	if p.Table != nil {
		p.Table.write(w)
	}
	if p.Pivot != nil {
		writePivot(w, p.Pivot)
	}
	if p.Figure != nil {
		p.Figure.write(w)
	}
	w.HTML(p.HTML)
}

func writeSettings(w *Writer, settings []records.Setting) {
	w.Element("dl", nil, func() {
		w.Line()
		for _, s := range settings {
			w.Leaf("dt", nil, s.Name)
			w.Leaf("dd", nil, s.Value)
			w.Line()
		}
	})
	w.Line()
}

func (f *Figure) write(w *Writer) {
	w.Element("figure", Attributes{"id", "figure-" + f.Name}, func() {
		w.Line()
		if f.LeftOut {
			w.Paragraph("note", "Together, the figures of this page are too large; this one is only in its files.")
		} else {
			w.Element("div", Attributes{"class", "drawing", "role", "img", "aria-label", f.Alt,
				"style", fmt.Sprintf("--least: %drem", f.Least)},
				func() { w.HTML(f.SVG) })
			w.Line()
			if f.Narrow != "" {
				w.Element("div", Attributes{"class", "drawing narrow", "role", "img", "aria-label", f.Alt},
					func() { w.HTML(f.Narrow) })
				w.Line()
			}
		}
		w.Element("figcaption", nil, func() {
			w.Text(f.Caption)
			for _, file := range f.Files {
				w.Text(" ")
				w.Link(file.Path, file.Kind)
			}
			if f.Note != "" && !f.LeftOut {
				w.HTML("<br>\n")
				w.Leaf("span", Attributes{"class", "soft"}, f.Note)
			}
		})
		w.Line()
	})
	w.Line()
}

// write writes the table, a long one folded away.
func (t *Table) write(w *Writer) {
	if !t.Long() {
		t.writeRows(w)
		return
	}
	w.Element("details", nil, func() {
		w.Line()
		w.Leaf("summary", nil, fmt.Sprintf("%s: %d rows", t.Caption, len(t.Rows)))
		w.Line()
		t.writeRows(w)
	})
	w.Line()
}

func (t *Table) writeRows(w *Writer) {
	writeTable(w, t.Caption, func() {
		for _, c := range t.Columns {
			w.Leaf("th", Attributes{"scope", "col", "class", c.Class}, c.Name)
		}
	}, func() {
		for i, row := range t.Rows {
			w.Element("tr", Attributes{"data-line", t.Line(i)}, func() {
				for k, text := range row {
					if k == 0 {
						w.Leaf("th", Attributes{"scope", "row", "class", t.Columns[k].Class}, text)
					} else {
						w.Leaf("td", Attributes{"class", t.Columns[k].Class}, text)
					}
				}
			})
			w.Line()
		}
	})
	writeNotes(w, t.Notes)
}

// writeTable writes a table in a frame that scrolls; heads and rows write its cells.
func writeTable(w *Writer, caption string, heads, rows func()) {
	w.Element("div", Attributes{"class", "scroll"}, func() {
		w.Line()
		w.Element("table", Attributes{"class", "data"}, func() {
			w.Line()
			w.Leaf("caption", nil, caption)
			w.Line()
			w.Element("thead", nil, func() { w.Element("tr", nil, heads) })
			w.Line()
			w.Element("tbody", nil, func() {
				w.Line()
				rows()
			})
			w.Line()
		})
		w.Line()
	})
	w.Line()
}

func writeNotes(w *Writer, notes []string) {
	if len(notes) == 0 {
		return
	}
	w.Element("p", Attributes{"class", "soft"}, func() {
		for _, note := range notes {
			w.Text(note)
			w.HTML("<br>\n")
		}
	})
	w.Line()
}

func writePivot(w *Writer, all *results.Tables) {
	for i, table := range all.Tables {
		writeTable(w, all.Heading(i), func() {
			w.Leaf("th", Attributes{"scope", "col"}, table.Corner)
			for _, c := range table.Columns {
				w.Leaf("th", Attributes{"scope", "col", "class", Number}, c.Name)
			}
		}, func() {
			for _, row := range table.Rows {
				writePivotRow(w, row)
			}
		})
	}
	var notes []string
	if ref := all.Against; ref != nil {
		notes = append(notes, fmt.Sprintf("Below a value: the number of %s (%s) and the difference from ours; ! where it "+
			"exceeds the tolerance.", ref.Name, ref.Source))
	}
	writeNotes(w, append(notes, all.Notes...))
}

// writePivotRow writes a line of a figure. Policies that are not online are grey.
func writePivotRow(w *Writer, row results.TableRow) {
	name, class := row.Name, ""
	if row.Kind != records.Online {
		name, class = fmt.Sprintf("%s (%s)", row.Name, row.Kind), "soft"
	}
	w.Element("tr", Attributes{"data-line", row.Name, "class", class}, func() {
		w.Leaf("th", Attributes{"scope", "row"}, name)
		for _, cell := range row.Cells {
			w.Element("td", Attributes{"class", Number}, func() { writePivotCell(w, cell) })
		}
	})
	w.Line()
}

// writePivotCell writes a value, the best with a star, and below it the published one.
func writePivotCell(w *Writer, cell results.TableCell) {
	if cell.Best {
		w.Leaf("strong", nil, cell.Text+" *")
	} else {
		w.Text(cell.Text)
	}
	if cell.Published == "" {
		return
	}
	class, mark := "soft", ""
	if cell.Off {
		class, mark = "fails", "\u00a0!"
	}
	w.HTML("<br>")
	w.Leaf("small", Attributes{"class", class},
		fmt.Sprintf("%s\u00a0(%s%s)", cell.Published, cell.Difference, mark))
}

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
