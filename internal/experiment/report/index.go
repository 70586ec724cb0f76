package report

import (
	"cmp"
	"io"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/experiment/scorecard"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/page"
)

// Names of the files that WriteIndex writes.
const (
	IndexName    = "index.html"
	MarkdownName = "reproduced.md"
)

// WriteIndex writes a page with links to the reports of several experiments, in folders of their names below dir, and a
// Markdown table of the results, figure by figure.
func WriteIndex(dir, version string, summaries []Summary) error {
	if err := atomicfile.WriteIn(dir, IndexName, newIndex(version, summaries).Write); err != nil {
		return err
	}
	return atomicfile.WriteIn(dir, MarkdownName, func(w io.Writer) error {
		return Print(w, summaries, "markdown", PrintOptions{})
	})
}

func newIndex(version string, summaries []Summary) page.Page {
	p := page.Page{Title: "Experiments reproduced", About: Total(summaries) + ".", Version: version,
		Files: []page.Link{{Path: MarkdownName, Kind: MarkdownName}}}
	var all, failing []Claim
	experiments := []page.Part{}
	for _, s := range summaries {
		all = append(all, s.Claims...)
		link := ""
		if s.Page != "" {
			link = s.Name + "/" + sweep.PageName
		}
		experiments = append(experiments, indexPart(s, link))
	}
	for _, c := range all {
		if c.Verdict == claims.Refuted {
			failing = append(failing, c)
		}
	}
	if len(failing) > 0 {
		p.Sections = append(p.Sections, page.Section{ID: "failures", Title: "What is refuted",
			Parts: []page.Part{claimsPart(failing)}})
	}
	if papers := papersTable(summaries); len(papers.Rows) > 0 {
		p.Sections = append(p.Sections, page.Section{ID: "papers", Title: "Paper by paper",
			Parts: []page.Part{{Table: &papers}}})
	}
	figures := figuresTable(summaries)
	p.Sections = append(p.Sections,
		page.Section{ID: "figures", Title: "Figure by figure",
			Parts: []page.Part{countsPart(all), {Table: &figures}}},
		page.Section{ID: "experiments", Title: "Experiment by experiment", Parts: experiments})
	return p
}

// papersTable counts the sentences of each paper whose experiments ran, and questions of ours apart.
func papersTable(summaries []Summary) page.Table {
	listed := occurring(summaries)
	t := page.Table{Caption: "Paper by paper", Columns: []page.Column{{Name: "paper"},
		{Name: "sentences", Class: page.Number}}}
	for _, v := range listed {
		t.Columns = append(t.Columns, page.Column{Name: string(v), Class: page.Number})
	}
	t.Columns = append(t.Columns, page.Column{Name: "questions of ours", Class: page.Number})
	for _, p := range scorecard.Papers {
		var of Summary
		ours := 0
		for _, s := range summaries {
			for _, c := range s.Claims {
				switch {
				case !p.Has(s.Name):
				case c.Ours:
					ours++
				default:
					of.Claims = append(of.Claims, c)
				}
			}
		}
		if len(of.Claims)+ours == 0 {
			continue
		}
		row := []string{p.Name, strconv.Itoa(len(of.Claims))}
		for _, v := range listed {
			row = append(row, strconv.Itoa(of.Count(v)))
		}
		t.Rows = append(t.Rows, append(row, strconv.Itoa(ours)))
	}
	return t
}

// figuresTable has a row for each figure of each source.
func figuresTable(summaries []Summary) page.Table {
	listed := occurring(summaries)
	t := page.Table{Caption: "Figure by figure", Columns: []page.Column{
		{Name: "experiment"}, {Name: "in the source", Class: page.Wrapped}}}
	for _, v := range listed {
		t.Columns = append(t.Columns, page.Column{Name: string(v), Class: page.Number})
	}
	for _, s := range summaries {
		places := records.GroupBy(s.Claims, func(c Claim) string { return c.At })
		if len(places) == 0 {
			places = [][]Claim{{}}
		}
		for _, same := range places {
			at := "–" // claims without a place in the source
			if len(same) > 0 {
				at = cmp.Or(same[0].At, at)
			}
			row := []string{s.Name, at}
			for _, v := range listed {
				row = append(row, strconv.Itoa(Summary{Claims: same}.Count(v)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
