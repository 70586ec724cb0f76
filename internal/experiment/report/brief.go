package report

import (
	"fmt"
	"strconv"

	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/results/page"
)

// screenLines are the lines of a terminal that are left for claims, beside the notes before and after them.
const screenLines = 20

// mostNamed is the number of claims that fail as expected, of which a brief text names each.
const mostNamed = 4

// brief writes a count of the claims of each experiment, and those with another verdict than expected.
func (t *lines) brief(summaries []Summary) {
	if len(summaries) == 1 {
		t.line(heading(summaries[0]), bold)
	} else {
		t.WriteString(gridOf(countsTable(summaries)).Text(t.Width) + "\n")
	}
	var expected []Claim
	for _, s := range summaries {
		if s.Failure != "" {
			t.line(s.Name+": "+s.Failure, plain)
		}
		for _, text := range s.movedText() {
			t.line(s.Name+": "+text, plain)
		}
		for _, c := range s.Claims {
			switch {
			case !c.Expected.Met(c.Verdict):
				t.WriteString("\n")
				t.claim(c)
			case c.Verdict == claims.Refuted:
				expected = append(expected, c)
			}
		}
	}
	t.failAsExpected(expected)
	t.WriteString("\n")
	if len(summaries) == 1 {
		t.line(summaries[0].Verdict(), bold)
	} else {
		t.line("In all: "+Total(summaries), bold)
	}
	t.line("claim by claim: --verbose, or "+t.Written, plain)
}

// failAsExpected names claims whose failure is no news.
func (t *lines) failAsExpected(failing []Claim) {
	if len(failing) > 0 {
		t.WriteString("\n")
		t.line("Refuted, as expected:", plain)
	}
	for i, c := range failing {
		if i == mostNamed && len(failing) > mostNamed+1 {
			t.line(fmt.Sprintf("  and %d more", len(failing)-i), plain)
			return
		}
		t.paragraph(c.Mark(), red, t.inLines(1, c.Experiment+": "+c.Claim), plain)
	}
}

// countsTable has a row for each experiment.
func countsTable(summaries []Summary) page.Table {
	listed := occurring(summaries)
	t := page.Table{Columns: []page.Column{{Name: "experiment"}, {Name: "claims", Class: page.Number}}}
	for _, v := range listed {
		t.Columns = append(t.Columns, page.Column{Name: string(v), Class: page.Number})
	}
	for _, s := range summaries {
		name := s.Name
		if s.Quick {
			name += " (quick)"
		}
		row := []string{name, strconv.Itoa(len(s.Claims))}
		for _, v := range listed {
			row = append(row, strconv.Itoa(s.Count(v)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
