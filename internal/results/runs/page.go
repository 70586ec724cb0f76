package runs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/bylabel"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/target"
)

func (r Results) page(drawn []plots.Drawing) page.Page {
	p := page.Page{
		Title: "Hit ratios: " + show.Printable(r.Records[0].Trace), Version: r.Version, Command: r.Command,
		Files: r.files(), Notes: r.Notes,
	}
	add := func(id, title string, parts []page.Part) {
		if len(parts) > 0 {
			p.Sections = append(p.Sections, page.Section{ID: id, Title: title, Parts: parts})
		}
	}
	add("cost", "What it costs", slices.Concat(cost.Parts(r.Costs), page.Answers(tabular.Sentences(r.Rents))))
	add("origin", "What reaches the origin", page.Answers(tabular.Sentences(r.Reaches)))
	add("answer", "Which capacity", r.answers())
	var starts []page.Part
	for _, line := range r.ColdStart {
		starts = append(starts, page.Part{Text: line})
	}
	add("start", "Cold start", starts)
	tables := r.Tables
	if tables == nil {
		tables = r.groups()
	}
	var parts []page.Part
	for _, t := range tables {
		parts = append(parts, page.Part{Table: t})
	}
	add("table", "Table", parts)
	if by := bylabel.Of(r.Records); len(by.Rows) > 0 {
		add("labels", "Hits by label", []page.Part{{Table: page.NewTable(by.Title, by.Grid)}})
	}
	if len(r.Missed.Rows) > 0 {
		add("missed", missedTitle, []page.Part{{Table: page.NewTable(missedTitle, r.Missed)}})
	}
	add("figures", "Figures", page.Drawings(drawn))
	add("replayed", "What was replayed", []page.Part{{Settings: append(slices.Clone(r.Replayed), r.settings()...)}})
	return p
}

func (r Results) files() (files []page.Link) {
	names := records.FileNames()
	if len(r.Rows) > 0 {
		names = append(names, series.FileNames()...)
	}
	return page.FileLinks(names...)
}

// answers says which capacity each policy needs, in a sentence and in a table.
func (r Results) answers() (parts []page.Part) {
	for i, sentence := range tabular.Sentences(r.Answers) {
		parts = append(parts, page.Part{Answer: sentence})
		if a := r.Answers[i]; len(a.Needs) > 0 {
			parts = append(parts, page.Part{Table: answerTable(a)})
		}
	}
	return parts
}

// answerTable has a row for each policy, with the basis of its capacity.
func answerTable(a target.Answer) *page.Table {
	t := &page.Table{
		Caption: a.Name + ": capacity for " + a.Subject(),
		Columns: []page.Column{{Name: "policy"}, {Name: "capacity", Class: page.Number},
			{Name: "times the least", Class: page.Number}, {Name: "how it is known", Class: page.Wrapped}},
		Notes: a.Explanation(),
	}
	for _, n := range a.Needs {
		name, times := n.Policy, ""
		if !n.Online {
			name += " (offline)"
		}
		if least := a.Needs[0]; n.How == target.Found && least.How == target.Found {
			times = strconv.FormatFloat(float64(n.Capacity)/float64(least.Capacity), 'f', 2, 64)
		}
		t.Rows = append(t.Rows, []string{name, a.CapacityOf(n) + a.InBrackets(n), times, a.Basis(n)})
		t.Lines = append(t.Lines, n.Policy)
	}
	return t
}

func (r Results) groups() (tables []*page.Table) {
	for _, g := range results.Groups(results.NamedByParts(r.Records)) {
		grid, labels, notes := g.Table()
		if sizes := g.Records[0].Sizes; sizes != "" {
			notes = append([]string{sizes}, notes...)
		}
		t := page.NewTable(g.Title(), grid, notes...)
		t.Lines = labels
		tables = append(tables, t)
	}
	return tables
}

// settings says what was replayed on the trace.
func (r Results) settings() (settings []records.Setting) {
	add := func(name string, text func(*records.Record) string) {
		texts := records.Texts(r.Records, text)
		if len(texts) > mostTexts {
			texts = append(texts[:mostTexts], fmt.Sprintf("... (%d in all)", len(texts)))
		}
		if len(texts) > 0 {
			settings = append(settings, records.Setting{Name: name, Value: strings.Join(texts, ", ")})
		}
	}
	add("policies", func(r *records.Record) string {
		if r.Params == "" {
			return r.Policy
		}
		return r.Policy + "(" + r.Params + ")"
	})
	add("capacities", func(r *records.Record) string { return show.Capacity(r.Capacity, r.CapacityUnit) })
	add("capacities count", func(r *records.Record) string { return r.CapacityUnit })
	for _, k := range records.PartKinds {
		add(k.Plural, func(r *records.Record) string { return *k.Field(r) })
	}
	add("requests counted", func(r *records.Record) string { return show.Count(r.Int(metric.Requests)) })
	add("left out in all", func(r *records.Record) string {
		if r.LeftOut == 0 {
			return ""
		}
		return show.Count(r.LeftOut) + " rows and requests"
	})
	add("warm-up", func(r *records.Record) string {
		if r.Warmup == 0 {
			return ""
		}
		return show.Count(r.Warmup) + " requests before counting starts"
	})
	add("seed", func(r *records.Record) string { return strconv.FormatUint(r.Seed, 10) })
	return settings
}

// mostTexts is how many values of a setting are listed.
const mostTexts = 24
