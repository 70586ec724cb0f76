package report

import (
	"io"
	"strconv"

	"github.com/cachesim/cachesim/internal/atomicfile"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
)

// Names of the files that WriteIndex writes.
const (
	IndexName    = "index.html"
	MarkdownName = "reproduced.md"
)

// WriteIndex writes a page with links to the reports of several experiments, which are in the folders below dir with
// their names, and a Markdown table of the results, figure by figure.
func WriteIndex(dir, version string, summaries []Summary) error {
	err := atomicfile.WriteIn(dir, IndexName, func(w io.Writer) error {
		return pageTemplate.ExecuteTemplate(w, "index.html", newIndex(version, summaries))
	})
	if err != nil {
		return err
	}
	return atomicfile.WriteIn(dir, MarkdownName, func(w io.Writer) error {
		return Print(w, summaries, "markdown", PrintOptions{})
	})
}

// index is the data of the index's template.
type index struct {
	Version     string
	Total       string
	Counts      []count
	Figures     table
	Experiments []indexed
}

// indexed is an experiment in the index.
type indexed struct {
	Summary
	Link string // "" if there is no report
}

func newIndex(version string, summaries []Summary) index {
	x := index{Version: version, Total: Total(summaries), Figures: figuresTable(summaries)}
	var all []Claim
	for _, s := range summaries {
		all = append(all, s.Claims...)
		link := ""
		if s.Page != "" {
			link = s.Name + "/" + sweep.PageName
		}
		x.Experiments = append(x.Experiments, indexed{s, link})
	}
	x.Counts = counts(all)
	return x
}

// figuresTable has a row for each figure of each source.
func figuresTable(summaries []Summary) table {
	t := table{Caption: "Figure by figure", Columns: []column{
		{
			Name: "experiment",
		},
		{"in the source", wrapped},
		{"hold", number},
		{"do not hold", number},
		{"not checkable here", number},
	}}
	for _, s := range summaries {
		in := places(s.Claims)
		if len(in) == 0 {
			in = []place{{}}
		}
		for _, p := range in {
			cells := []string{s.Name, p.Name()}
			for _, o := range outcomes {
				cells = append(cells, strconv.Itoa(p.Count(o.verdict)))
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}
