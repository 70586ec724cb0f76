package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/atomicfile"
)

// Names of what WriteIndex writes.
const (
	IndexName    = "index.html"
	MarkdownName = "reproduced.md"
)

// WriteIndex writes a page that links the reports of several experiments, which are in the folders of dir that bear their names, and a table
// in Markdown of what was reproduced, figure by figure.
func WriteIndex(dir, version string, summaries []Summary) error {
	err := atomicfile.Write(filepath.Join(dir, IndexName), func(w io.Writer) error {
		return pageTemplate.ExecuteTemplate(w, "index.html", newIndex(version, summaries))
	})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, MarkdownName), func(w io.Writer) error {
		return Print(w, summaries, "markdown", false)
	})
}

// index is what the template of the index shows.
type index struct {
	Version     string
	Counts      []count
	Figures     table
	Experiments []indexed
}

// indexed is an experiment in the index.
type indexed struct {
	Summary
	Link string // "" where there is no report
}

func newIndex(version string, summaries []Summary) index {
	x := index{Version: version, Figures: figuresTable(summaries)}
	var claims []Claim
	for _, s := range summaries {
		claims = append(claims, s.Claims...)
		link := ""
		if s.Page != "" {
			link = s.Name + "/" + PageName
		}
		x.Experiments = append(x.Experiments, indexed{s, link})
	}
	x.Counts = counts(claims)
	return x
}

// figuresTable has a row for each figure of each source.
func figuresTable(summaries []Summary) table {
	t := table{Caption: "Figure by figure", Columns: []column{
		{Name: "experiment"}, {Name: "in the source"}, {"hold", number}, {"do not hold", number}, {"not checkable here", number}, {"notes", wrapped},
	}}
	for _, s := range summaries {
		in := places(s.Claims)
		if len(in) == 0 {
			in = []place{{}}
		}
		for i, p := range in {
			cells := []string{s.Name, p.At}
			for _, o := range outcomes {
				cells = append(cells, strconv.Itoa(p.Count(o.name)))
			}
			notes := ""
			if i == 0 {
				notes = strings.Join(s.Remarks(), "; ")
			}
			t.Rows = append(t.Rows, append(cells, notes))
		}
	}
	return t
}

// Remarks say what limits or supports what the summary says.
func (s Summary) Remarks() (remarks []string) {
	if s.Failure != "" {
		remarks = append(remarks, s.Failure)
	}
	if s.Missing > 0 {
		remarks = append(remarks, fmt.Sprintf("%d of %s are missing", s.Missing, plural(s.Cells, "cell")))
	}
	return slices.Concat(remarks, s.Published, s.Notes)
}

// PrintFigures writes a row for each figure of each source to a terminal.
func PrintFigures(w io.Writer, summaries []Summary) error {
	t := figuresTable(summaries)
	_, err := fmt.Fprintln(w, t.writer().Render())
	return err
}
