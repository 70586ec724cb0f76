package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
)

// longTable is the number of rows from which a table is folded away.
const longTable = 30

// page is what the template shows, in the order in which it shows it.
type page struct {
	Input
	Traces   table
	Policies table
	Setup    []setting
	Records  table
	Missing  table
}

// setting is a parameter that holds for the whole experiment.
type setting struct{ Name, Value string }

// table is a table as it is shown.
type table struct {
	Caption string
	Columns []column
	Rows    [][]string
}

type column struct {
	Name   string
	Number bool // aligned to the right
}

// Long reports whether the table is to be folded away.
func (t table) Long() bool { return len(t.Rows) >= longTable }

func newPage(in Input) page {
	return page{
		Input:    in,
		Traces:   tracesTable(in),
		Policies: policiesTable(in.Cells),
		Setup:    setup(in.File, in.Records),
		Records:  recordsTable(in.File.Metrics, in.Records),
		Missing:  missingTable(in.Missing),
	}
}

// tracesTable says where each trace comes from and, as far as it was replayed, what is in it.
func tracesTable(in Input) table {
	t := table{Caption: "Traces", Columns: []column{
		{Name: "trace"}, {Name: "from"}, {"requests", true}, {"distinct objects", true}, {Name: "capacities"}, {Name: "checksum"},
	}}
	seen := map[string]bool{}
	for _, c := range in.Cells {
		name := c.Workload.Name
		if seen[name] {
			continue
		}
		seen[name] = true
		replayed := recordsOf(in.Records, name)
		checksum := c.Workload.Checksum
		if len(replayed) > 0 {
			checksum = replayed[0].TraceChecksum
		}
		t.Rows = append(t.Rows, []string{
			name, origin(c), each(replayed, requests), each(replayed, objects), each(replayed, capacity), strings.TrimPrefix(checksum, "sha256:"),
		})
	}
	return t
}

func recordsOf(recs []records.Record, trace string) (of []records.Record) {
	for _, r := range recs {
		if r.Trace == trace {
			of = append(of, r)
		}
	}
	return of
}

// origin says where the requests of a cell come from and how they are read.
func origin(c experiment.Cell) string {
	w := c.Workload
	parts := []string{strings.Join(w.Files, ", ")}
	if w.Generator != "" {
		parts = []string{w.Generator}
	}
	if w.Format != "" {
		parts = append(parts, "read as "+w.Format)
	}
	if w.Merge {
		parts = append(parts, "merged by time")
	}
	if w.PerFile {
		parts = append(parts, "each file through an empty cache")
	}
	if w.Limit > 0 {
		parts = append(parts, fmt.Sprintf("the first %s requests", records.Count(int64(w.Limit))))
	}
	if w.SampleRate != 0 && w.SampleRate != 1 {
		parts = append(parts, fmt.Sprintf("a sample of %s of the keys", records.Share(w.SampleRate)))
	}
	return strings.Join(parts, "; ")
}

// each returns what text says of the records, each once: along an axis of the trace they differ.
func each(recs []records.Record, text func(*records.Record) string) string {
	var texts []string
	for i := range recs {
		if s := text(&recs[i]); s != "" && !slices.Contains(texts, s) {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, ", ")
}

func requests(r *records.Record) string { return records.Count(r.Requests + r.Warmup) }

// objects are as many as the capacity says, which is also known as a share of them.
func objects(r *records.Record) string {
	if r.CapacityUnit != records.Objects || r.CapacityShare == nil || *r.CapacityShare == 0 {
		return ""
	}
	return records.Count(int64(math.Round(float64(r.Capacity) / *r.CapacityShare)))
}

func capacity(r *records.Record) string {
	number := records.Capacity(r.Capacity, r.CapacityUnit)
	text, _ := r.Dim(records.DimCapacity)
	if text.Text == strconv.FormatInt(r.Capacity, 10) {
		return number
	}
	return fmt.Sprintf("%s (%s)", text.Text, number)
}

// policiesTable shows every policy with all its parameters; one whose parameters are axes has several.
func policiesTable(cells []experiment.Cell) table {
	t := table{Caption: "Policies", Columns: []column{{Name: "policy"}, {Name: "with every parameter"}}}
	row := map[string]int{} // by label
	for _, c := range cells {
		if c.Auxiliary {
			continue
		}
		at, ok := row[c.Label]
		if !ok {
			at = len(t.Rows)
			row[c.Label] = at
			t.Rows = append(t.Rows, []string{c.Label, c.Policy})
			continue
		}
		if !slices.Contains(strings.Split(t.Rows[at][1], "; "), c.Policy) {
			t.Rows[at][1] += "; " + c.Policy
		}
	}
	return t
}

// setup lists the parameters that hold for all cells.
func setup(f *experiment.File, recs []records.Record) []setting {
	settings := []setting{
		{"cache", f.Cache},
		{"seeds", seeds(f.Seeds)},
		{"optimum", "the offline optimum under the same rules at every point"},
	}
	if f.Optimum != nil && !*f.Optimum {
		settings[2].Value = "none"
	}
	switch {
	case f.Bytes:
		settings = append(settings, setting{"sizes", "bare capacities and shares count bytes"})
	case f.UnitSize:
		settings = append(settings, setting{"sizes", "ignored: every object has size 1"})
	}
	if f.Warmup > 0 {
		settings = append(settings, setting{"warm-up", records.Count(int64(f.Warmup)) + " requests before counting begins"})
	}
	for _, axis := range records.AxisNames(recs) {
		settings = append(settings, setting{"axis " + axis, each(recs, func(r *records.Record) string {
			v, _ := r.Dim(axis)
			return v.Text
		})})
	}
	for _, name := range slices.Sorted(maps.Keys(f.Groups)) {
		settings = append(settings, setting{"group " + name, strings.Join(f.Groups[name], ", ")})
	}
	return settings
}

func seeds(s experiment.Seeds) string {
	if len(s) == 0 {
		return "0"
	}
	texts := make([]string, len(s))
	for i, seed := range s {
		texts[i] = strconv.FormatUint(seed, 10)
	}
	return strings.Join(texts, ", ")
}

// recordsTable shows the metrics of every record.
func recordsTable(metrics []string, recs []records.Record) table {
	t := table{Caption: "Records", Columns: []column{{Name: "trace"}, {Name: "policy"}}}
	axes := records.AxisNames(recs)
	for _, axis := range axes {
		t.Columns = append(t.Columns, column{axis, true})
	}
	t.Columns = append(t.Columns, column{"capacity", true})
	bySeed := slices.ContainsFunc(recs, func(r records.Record) bool { return r.Seed != recs[0].Seed })
	if bySeed {
		t.Columns = append(t.Columns, column{"seed", true})
	}
	for _, m := range metrics {
		t.Columns = append(t.Columns, column{strings.ReplaceAll(m, "_", " "), true})
	}
	for i := range recs {
		r := &recs[i]
		row := []string{r.Trace, r.Label}
		for _, axis := range axes {
			v, _ := r.Dim(axis)
			row = append(row, v.Text)
		}
		row = append(row, capacity(r))
		if bySeed {
			row = append(row, strconv.FormatUint(r.Seed, 10))
		}
		for _, m := range metrics {
			row = append(row, metricCell(r, m))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func metricCell(r *records.Record, metric string) string {
	x, ok := r.Metric(metric)
	if !ok {
		return ""
	}
	return records.FormatMetric(metric, x)
}

func missingTable(cells []experiment.Cell) table {
	t := table{Caption: "Missing cells", Columns: []column{{Name: "trace"}, {Name: "policy"}, {"capacity", true}, {"seed", true}, {"cell", true}}}
	for _, c := range cells {
		t.Rows = append(t.Rows, []string{c.Workload.Name, c.Label, c.Capacity, strconv.FormatUint(c.Seed, 10), strconv.Itoa(c.Number)})
	}
	return t
}
