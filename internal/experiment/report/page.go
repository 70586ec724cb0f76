package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

func withoutEmptyColumns(t page.Table) page.Table {
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if slices.ContainsFunc(t.Rows, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for j := range t.Rows {
			t.Rows[j] = slices.Delete(t.Rows[j], i, i+1)
		}
	}
	return t
}

// newPage puts what does not hold first, then what people came for.
func newPage(in Input, summary Summary, drawn []*page.Figure, tables []*results.Tables) page.Page {
	p := page.Page{
		Title: in.File.Title, Source: claims.OneLine(in.File.Source), About: in.File.About, Version: in.Version,
		Command: in.Command, Files: files(),
	}
	if in.Quick {
		p.Notes = append(p.Notes, "This is the quick version of the experiment: fewer cells or shorter traces than the "+
			"whole, to which the description below refers. "+hints(summary)+" What ran: "+sizes(in)+".")
	}
	p.Notes = slices.Concat(p.Notes, summary.CannotFail(), summary.Notes, records.TimesOf(in.Records))
	add := func(id, title string, parts ...page.Part) {
		if len(parts) > 0 {
			p.Sections = append(p.Sections, page.Section{ID: id, Title: title, Parts: parts})
		}
	}
	add("failures", "What is refuted", failures(summary, tables)...)
	add("claims", "Claims", claimParts(summary.Claims)...)
	var parts []page.Part
	for _, f := range drawn {
		parts = append(parts, page.Part{Figure: f})
	}
	add("figures", "Figures", parts...)
	parts = nil
	for _, t := range tables {
		parts = append(parts, page.Part{Pivot: t})
	}
	add("tables", "Tables", parts...)
	traces, policies, recs := tracesTable(in), policiesTable(in.Cells), recordsTable(in.File.ShownMetrics(), in.Records)
	add("setup", "Setup", page.Part{Settings: setup(in.File, in.Records)}, page.Part{Table: &traces},
		page.Part{Table: &policies})
	add("records", "Records", page.Part{Table: &recs}, page.Part{Text: "The files beside this page have every figure of " +
		"every record. The times of the replays, which differ from run to run, are only in timings.csv."})
	return p
}

// hints says what the verdicts of a quick version are worth.
func hints(s Summary) string {
	switch {
	case len(s.Claims) == 0:
		return "It has no claims."
	case s.IsSmokeTest():
		return fmt.Sprintf("It is a smoke test, which checks %d of %s.", s.checked(),
			show.Counted(len(s.Claims), "claim"))
	}
	return fmt.Sprintf("It checks %d of %s, and its verdicts are hints.", s.checked(),
		show.Counted(len(s.Claims), "claim"))
}

func files() (files []page.Link) {
	for _, name := range append(records.FileNames(), "timings.csv", "experiment.yaml") {
		files = append(files, page.Link{Path: name, Kind: name})
	}
	return files
}

// failures shows the claims that do not hold, and the tables that differ from published numbers.
func failures(summary Summary, tables []*results.Tables) (parts []page.Part) {
	failing := slices.DeleteFunc(slices.Clone(summary.Claims), func(c Claim) bool {
		return c.Verdict != claims.Refuted
	})
	if len(failing) > 0 {
		parts = append(parts, claimsPart(failing))
	}
	for _, t := range tables {
		if t.Differs() {
			parts = append(parts, page.Part{Text: agreement(t)})
		}
	}
	return parts
}

// claimParts counts the claims, and shows those that are not among the failures.
func claimParts(all []Claim) (parts []page.Part) {
	if len(all) == 0 {
		return nil
	}
	parts = append(parts, countsPart(all))
	if t := withoutEmptyColumns(figuresTable([]Summary{{Claims: all}})); len(t.Rows) > 1 {
		parts = append(parts, page.Part{Table: &t})
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(c Claim) bool { return c.Verdict == claims.Refuted })
	if len(rest) > 0 {
		parts = append(parts, claimsPart(rest))
	}
	return parts
}

// tracesTable gives the origin of each trace and, if it was replayed, its contents.
func tracesTable(in Input) page.Table {
	t := page.Table{Caption: "Traces", Columns: []page.Column{
		{Name: "trace"}, {Name: "from", Class: page.Wrapped}, {Name: "requests", Class: page.Number},
		{Name: "distinct objects", Class: page.Number}, {Name: "footprint", Class: page.Number},
		{Name: "capacities", Class: page.Wrapped}, {Name: "SHA-256", Class: page.Wrapped},
	}}
	for _, cells := range records.GroupBy(in.Cells, func(c experiment.Cell) string { return c.Workload.Name }) {
		name, replayed := cells[0].Workload.Name, in.on(cells[0].Workload.Name)
		t.Rows = append(t.Rows, []string{
			name, origin(in.File, cells), span(replayed, requests, show.Count),
			footprint(replayed, records.Objects), footprint(replayed, records.Bytes),
			capacities(replayed), strings.TrimPrefix(cells[0].Workload.Checksum, "sha256:"),
		})
	}
	return withoutEmptyColumns(t)
}

// on returns the records of a trace.
func (in Input) on(trace string) []records.Record {
	return slices.DeleteFunc(slices.Clone(in.Records), func(r records.Record) bool { return r.Trace != trace })
}

// mostSizes is how many traces the note of a quick version lists; the table of traces has all.
const mostSizes = 6

// sizes says how large the traces and the caches of the records are, how many seeds there are, and where they are on
// their axes.
func sizes(in Input) string {
	var parts []string
	names := records.Distinct(in.Records, func(r records.Record) string { return r.Trace })
	for _, name := range names[:min(len(names), mostSizes)] {
		replayed := in.on(name)
		parts = append(parts, fmt.Sprintf("%s with %s requests at capacity %s", name, span(replayed, requests, show.Count),
			capacities(replayed)))
	}
	if more := len(names) - mostSizes; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more traces", more))
	}
	for _, axis := range records.AxisNames(in.Records) {
		parts = append(parts, axis+" = "+placesOn(axis, in.Records))
	}
	if n := seedsOf(in.Records); n > 1 {
		parts = append(parts, fmt.Sprintf("%d seeds", n))
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing")
}

// origin says where the requests of a trace's cells come from and how they are read. If the generator is the same in
// all cells, it is shown with all parameters.
func origin(f *experiment.File, cells []experiment.Cell) string {
	w := cells[0].Workload
	parts := []string{strings.Join(w.Files, ", ")}
	if w.Generator != "" {
		parts = []string{w.Generator}
	}
	if slices.ContainsFunc(cells, func(c experiment.Cell) bool { return c.Workload.Generator != w.Generator }) {
		parts = []string{asWritten(f, w.Name)}
	}
	add := func(is bool, text string) {
		if is {
			parts = append(parts, text)
		}
	}
	add(w.Format != "", "read as "+w.Format)
	add(w.Merge, "merged by time")
	add(w.PerFile, "each file through an empty cache")
	add(w.Tenants != "", "tenants by "+w.Tenants)
	add(w.Answers == prompts.AnswersLengths, "answers take room and do not hit")
	add(w.KV != "", "keys and values: "+w.KV)
	add(w.Embeddings != "", "embeddings: "+w.Embeddings)
	add(w.Limit > 0, fmt.Sprintf("the first %s requests", show.Count(int64(w.Limit))))
	add(w.SampleRate != 0 && w.SampleRate != 1, "a sample of "+show.Share(w.SampleRate))
	return strings.Join(parts, "; ")
}

// asWritten returns the generator of a trace as written in the file, with its axes.
func asWritten(f *experiment.File, name string) string {
	i := slices.IndexFunc(f.Traces, func(t experiment.Trace) bool { return t.Name == name })
	if i < 0 {
		return ""
	}
	text := f.Traces[i].Generate
	for _, axis := range slices.Sorted(maps.Keys(f.Traces[i].With)) {
		text += fmt.Sprintf("; %s = %s", axis, strings.Join(f.Traces[i].With[axis], ", "))
	}
	return text
}

// placesOn lists the places of records on a dimension, in order of first appearance.
func placesOn(dimension string, recs []records.Record) string {
	texts := records.Distinct(recs, func(r records.Record) string { return placeOn(dimension, &r) })
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), ", ")
}

// placeOn is the place of a record on a dimension, "" if it has none.
func placeOn(dimension string, r *records.Record) string {
	v, _ := r.Dim(dimension)
	return v.Text
}

// span formats the smallest and the largest number of the records; for a generated trace they depend on the seed.
func span(recs []records.Record, value func(*records.Record) (int64, bool), write func(int64) string) string {
	low, high := int64(math.MaxInt64), int64(-1)
	for i := range recs {
		if x, ok := value(&recs[i]); ok {
			low, high = min(low, x), max(high, x)
		}
	}
	switch {
	case high < 0:
		return ""
	case low == high:
		return write(low)
	}
	return write(low) + " to " + write(high)
}

func requests(r *records.Record) (int64, bool) { return r.Int(metric.Requests) + r.Warmup, true }

// footprint is the total size of the distinct objects of the records' trace, computed from a capacity that is also
// known as a share of it.
func footprint(recs []records.Record, unit string) string {
	return span(recs, func(r *records.Record) (int64, bool) {
		n, ok := r.Footprint()
		return n, ok && r.CapacityUnit == unit
	}, func(n int64) string { return show.Capacity(n, unit) })
}

// capacities lists the capacities as written, and their numbers if these differ.
func capacities(recs []records.Record) string {
	var texts []string
	for _, same := range records.GroupBy(recs, func(r records.Record) string { return placeOn(records.DimCapacity, &r) }) {
		texts = append(texts, withNumber(placeOn(records.DimCapacity, &same[0]), span(same,
			func(r *records.Record) (int64, bool) { return r.Capacity, true },
			func(n int64) string { return show.Capacity(n, same[0].CapacityUnit) })))
	}
	return strings.Join(texts, ", ")
}

// withNumber adds the number that a capacity means to its text, unless they are the same.
func withNumber(text, number string) string {
	if plain := strings.NewReplacer(",", "", " ", ""); plain.Replace(text) == plain.Replace(number) {
		return number
	}
	return fmt.Sprintf("%s (%s)", text, number)
}

func capacity(r *records.Record) string {
	return withNumber(placeOn(records.DimCapacity, r), show.Capacity(r.Capacity, r.CapacityUnit))
}

// policiesTable shows every policy with all its parameters; a policy whose parameters are axes has several rows.
func policiesTable(cells []experiment.Cell) page.Table {
	t := page.Table{Caption: "Policies", Columns: []page.Column{{Name: "policy"},
		{Name: "with every parameter", Class: page.Wrapped}}}
	cells = slices.DeleteFunc(slices.Clone(cells), func(c experiment.Cell) bool { return c.Auxiliary })
	for _, same := range records.GroupBy(cells, func(c experiment.Cell) string { return c.Label }) {
		texts := records.Distinct(same, func(c experiment.Cell) string { return c.Parts.PolicyText() })
		t.Rows = append(t.Rows, []string{same[0].Label, strings.Join(texts, "; ")})
	}
	return t
}

// partsText lists the parts that policies are combined with, and the places on the axes of each.
func partsText(parts []experiment.Part) string {
	var texts []string
	for _, p := range parts {
		text := p.Use
		if p.As != "" && p.As != p.Use {
			text = p.As + " = " + text
		}
		for _, axis := range slices.Sorted(maps.Keys(p.With)) {
			text += fmt.Sprintf(" with %s = %s", axis, strings.Join(p.With[axis], ", "))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// partSettings lists the parts of each kind that the experiment has.
func partSettings(f *experiment.File) (settings []records.Setting) {
	for _, k := range records.PartKinds {
		if text := cmp.Or(partsText(f.Parts(k.Name)), k.Default); text != "" {
			settings = append(settings, records.Setting{Name: k.Plural, Value: text})
		}
	}
	return settings
}

func setup(f *experiment.File, recs []records.Record) []records.Setting {
	optimum := "the offline optimum under the same rules at every point"
	if f.Optimum != nil && !*f.Optimum {
		optimum = "none"
	}
	settings := partSettings(f)
	add := func(is bool, name, value string) {
		if is {
			settings = append(settings, records.Setting{Name: name, Value: value})
		}
	}
	seeds := records.Distinct(f.Seeds, func(seed uint64) string { return strconv.FormatUint(seed, 10) })
	add(true, "seeds", cmp.Or(strings.Join(seeds, ", "), "0"))
	add(true, "optimum", optimum)
	add(f.Bytes, "sizes", "bare capacities and shares count bytes")
	add(f.UnitSize, "sizes", "ignored: every object has size 1")
	add(f.Warmup > 0, "warm-up", show.Count(int64(f.Warmup))+" requests before counting starts")
	_, says, isSample := strings.Cut(results.SampleNote(recs), ": ")
	add(isSample, "samples", says)
	add(len(f.Changes) > 0, "changed by", strings.Join(f.Changes, " "))
	add(len(f.Only) > 0, "only", strings.Join(f.Only, "; "))
	for _, axis := range records.AxisNames(recs) {
		add(true, "axis "+axis, placesOn(axis, recs))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Groups)) {
		add(true, "group "+name, strings.Join(f.Groups[name], ", "))
	}
	return settings
}

func recordsTable(metrics []string, recs []records.Record) page.Table {
	t := page.Table{Caption: "Records", Columns: []page.Column{{Name: "trace"}, {Name: "policy"}}}
	axes := records.AxisNames(recs)
	for _, axis := range axes {
		t.Columns = append(t.Columns, page.Column{Name: axis, Class: page.Number})
	}
	t.Columns = append(t.Columns, page.Column{Name: "capacity", Class: page.Number})
	bySeed := slices.ContainsFunc(recs, func(r records.Record) bool { return r.Seed != recs[0].Seed })
	if bySeed {
		t.Columns = append(t.Columns, page.Column{Name: "seed", Class: page.Number})
	}
	for _, m := range metrics {
		t.Columns = append(t.Columns, page.Column{Name: strings.ReplaceAll(m, "_", " "), Class: page.Number})
	}
	for i := range recs {
		r := &recs[i]
		row := []string{r.Trace, r.Label}
		for _, axis := range axes {
			row = append(row, placeOn(axis, r))
		}
		row = append(row, capacity(r))
		if bySeed {
			row = append(row, strconv.FormatUint(r.Seed, 10))
		}
		for _, m := range metrics {
			row = append(row, metricCell(r, m))
		}
		t.Rows, t.Lines = append(t.Rows, row), append(t.Lines, r.Label)
	}
	return t
}

func metricCell(r *records.Record, metric string) string {
	x, ok := r.Metric(metric)
	if !ok {
		return ""
	}
	return records.MetricText(metric, x)
}
