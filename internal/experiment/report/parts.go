package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/results/page"
)

func countsPart(judged []Claim) page.Part {
	var w page.Writer
	w.Element("ul", page.Attributes{"class", "counts"}, func() {
		w.Line()
		s := Summary{Claims: judged}
		for _, v := range claims.Verdicts {
			if n := s.Count(v); n > 0 {
				w.Element("li", nil, func() {
					w.Leaf("strong", page.Attributes{"class", classOf(v)}, strconv.Itoa(n))
					w.Text(string(v))
				})
				w.Line()
			}
		}
	})
	w.Line()
	return page.Part{HTML: w.Written()}
}

// claimsPart is a table of claims. Its elements have roles, because the style for narrow windows takes them away.
func claimsPart(judged []Claim) page.Part {
	var w page.Writer
	w.Element("div", page.Attributes{"class", "scroll"}, func() {
		w.Line()
		w.Element("table", page.Attributes{"class", "data claims stacked", "role", "table"}, func() {
			w.Line()
			w.Leaf("caption", nil, "What the source states, and what was measured")
			w.Line()
			w.Element("thead", nil, func() {
				w.Element("tr", page.Attributes{"role", "row"}, func() {
					for _, head := range []string{"verdict", "claim", "measured", "stated"} {
						w.Leaf("th", page.Attributes{"scope", "col", "role", "columnheader"}, head)
					}
				})
			})
			w.Line()
			w.Element("tbody", nil, func() {
				w.Line()
				for _, c := range judged {
					w.Element("tr", page.Attributes{"role", "row"}, func() { writeClaim(&w, c) })
					w.Line()
				}
			})
			w.Line()
		})
		w.Line()
	})
	w.Line()
	return page.Part{HTML: w.Written()}
}

func writeClaim(w *page.Writer, c Claim) {
	aside := func(text string) {
		if text != "" {
			w.Leaf("p", page.Attributes{"class", "soft"}, text)
		}
	}
	w.Element("td", page.Attributes{"role", "cell", "class", "verdict " + classOf(c.Verdict)}, func() {
		w.Text(fmt.Sprintf("%s %s", c.Mark(), c.Verdict))
		aside(c.remark())
	})
	w.Element("th", page.Attributes{"scope", "row", "role", "rowheader", "class", "wrap"}, func() {
		w.Leaf("code", nil, c.Claim)
		if c.Reading != "" {
			aside("Read as " + c.Reading + ".")
		}
		aside(c.Note)
		writeChanges(w, c.Changed)
	})
	w.Element("td", page.Attributes{"role", "cell", "data-label", "measured"}, func() {
		w.Text(c.Measured)
		aside(c.Reason)
		if len(c.Failing) > 1 {
			writeFailing(w, c.Failing)
		}
		if len(c.Narrowed.Without) > 0 {
			aside(fmt.Sprintf("Narrowed: without %s; with it %s", strings.Join(c.Narrowed.Without, ", "), c.Narrowed.Verdict))
			aside(cmp.Or(c.Narrowed.Measured, c.Narrowed.Reason))
		}
		for _, r := range c.OtherReadings {
			aside(fmt.Sprintf("Read as %s (%s): %s", r.Reading.Reading, r.Claim, r.Verdict))
			aside(cmp.Or(r.Measured, r.Reason))
		}
	})
	w.Element("td", page.Attributes{"role", "cell", "data-label", "stated"}, func() {
		w.Text(c.said())
		aside(c.At)
		if c.Expected.Verdict != "" && c.Expected.Because != "" {
			aside(fmt.Sprintf("Expected: %s, because %s", c.Expected.Verdict, c.Expected.Because))
		}
	})
}

func writeChanges(w *page.Writer, changes []claims.Change) {
	if len(changes) == 0 {
		return
	}
	w.Element("details", nil, func() {
		w.Leaf("summary", nil, "changed after its first verdict")
		w.Element("ul", nil, func() {
			for _, c := range changes {
				w.Element("li", nil, func() {
					w.Text("until " + c.On + ": ")
					w.Leaf("code", nil, c.Before)
					w.Text("; " + c.Why)
				})
			}
		})
	})
}

// writeFailing writes the points at which a claim is not met, folded away.
func writeFailing(w *page.Writer, failing []claims.Point) {
	w.Element("details", nil, func() {
		w.Leaf("summary", nil, fmt.Sprintf("the %d points where it is not met", len(failing)))
		w.Element("ul", nil, func() {
			for _, p := range failing {
				w.Element("li", nil, func() {
					for i, place := range p.At {
						if i > 0 {
							w.Text(", ")
						}
						w.Text(place.Dimension + " " + place.Place)
					}
					if p.Verdict != claims.Refuted {
						w.Text(" (" + string(p.Verdict) + ")")
					}
					w.Text(": " + p.Measured)
				})
			}
		})
	})
}

// indexPart is an experiment in the index. link leads to its report; "" if there is none.
func indexPart(s Summary, link string) page.Part {
	var w page.Writer
	w.Element("h3", nil, func() {
		if link != "" {
			w.Link(link, s.Title)
		} else {
			w.Text(s.Title)
		}
		w.Text(s.version())
	})
	w.Line()
	w.Element("p", nil, func() {
		if s.Source != "" {
			w.Leaf("span", page.Attributes{"class", "source"}, s.Source)
			w.HTML("<br>")
		}
		w.Text(s.Verdict())
		for _, remark := range s.Remarks() {
			w.HTML("<br>")
			w.Text(remark)
		}
	})
	w.Line()
	if len(s.Claims) > 0 {
		w.HTML(claimsPart(s.Claims).HTML)
	}
	return page.Part{HTML: w.Written()}
}
