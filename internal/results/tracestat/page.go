package tracestat

import (
	"cmp"

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
	tables := []page.Part{{Table: s.summaryTable()}}
	if len(s.distributions()) > 0 {
		tables = append(tables, page.Part{Table: page.NewTable("Distributions", s.distributionTable())})
	}
	return about.page("What is in the trace "+show.Printable(s.Trace), []string{jsonName, csvName, binsName}, tables, drawn)
}

func (a About) page(title string, files []string, tables []page.Part, drawn []plots.Drawing) page.Page {
	return page.Page{Title: title, Version: a.Version, Command: a.Command, Files: page.FileLinks(files...),
		Sections: []page.Section{
			{ID: "summary", Title: "Summary", Parts: tables},
			{ID: "figures", Title: "Figures", Parts: page.Drawings(drawn)},
			{ID: "read", Title: "What was read", Parts: []page.Part{{Settings: a.Read}}},
		}}
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
