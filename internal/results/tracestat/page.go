package tracestat

import (
	"cmp"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
)

// About is the part of a page besides the summary.
type About struct {
	Read    []records.Setting // what was read, and how
	Version string            // of the program
	Command string            // that made the summary
}

func (s *Summary) page(about About, drawn []plots.Drawing) page.Page {
	p := page.Page{
		Title: "What is in the trace " + show.Printable(s.Trace), Version: about.Version, Command: about.Command,
	}
	for _, name := range []string{jsonName, csvName, binsName} {
		p.Files = append(p.Files, page.Link{Path: name, Kind: name})
	}
	tables := []page.Part{{Table: s.summaryTable()}}
	if len(s.distributions()) > 0 {
		tables = append(tables, page.Part{Table: s.quantileTable()})
	}
	p.Sections = []page.Section{
		{ID: "summary", Title: "Summary", Parts: tables},
		{ID: "figures", Title: "Figures", Parts: page.Drawings(drawn)},
		{ID: "read", Title: "What was read", Parts: []page.Part{{Settings: about.Read}}},
	}
	return p
}

func (s *Summary) summaryTable() *page.Table {
	t := &page.Table{Caption: "Counts and shares", Columns: []page.Column{{Name: "figure"},
		{Name: "value", Class: page.Wrapped}}}
	if s.SampleRate < 1 {
		t.Notes = []string{"Of a sample of " + show.Share(s.SampleRate) + " of the objects; reuse distances and times " +
			"are scaled to the whole trace."}
	}
	name := ""
	for _, r := range s.rows() {
		name = cmp.Or(r.name, name) // a page can sort its rows, so that each needs a name
		t.Rows = append(t.Rows, []string{name, r.value})
	}
	return t
}

func (s *Summary) quantileTable() *page.Table {
	t := &page.Table{Caption: "Distributions", Columns: []page.Column{{Name: "distribution"}}}
	for _, name := range strings.Fields("min 10% 25% median 75% 90% 99% max mean") {
		t.Columns = append(t.Columns, page.Column{Name: name, Class: page.Number})
	}
	for _, d := range s.distributions() {
		cells := []string{d.title}
		for _, q := range d.quantiles() {
			cells = append(cells, d.write(q))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
