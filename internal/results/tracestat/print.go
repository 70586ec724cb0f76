package tracestat

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/look"
	"github.com/cachesim/cachesim/internal/traces"
)

// Print writes s to w as table, csv (metric,value), json (one line) or markdown.
func (s *Summary) Print(w io.Writer, format string) error {
	return tabular.Printed{Table: s.printTables, CSV: s.encodeCSV, JSON: tabular.OneJSON(s)}.Print(w, format)
}

// row is one figure of the table.
type row struct{ name, value string }

func (s *Summary) rows() []row {
	if !s.knowsObjects() {
		return append(s.Kind.rows(), s.clockRows()...)
	}
	rows := []row{
		{"requests", show.Count(s.Requests)},
		{"objects", show.Count(s.Objects)},
		{"compulsory misses", s.ofRequests(s.Objects, s.CompulsoryMissRatio)},
		{"one-hit wonders", fmt.Sprintf("%s (%s of the objects, %s of the requests)",
			show.Count(s.OneHitWonders), show.Share(s.OneHitObjectShare), show.Share(s.OneHitRequestShare))},
	}
	if s.Bytes != nil {
		rows = append(rows, row{"bytes requested", byteCount(*s.Bytes)}, row{"footprint", byteCount(*s.Footprint)})
		imputed := traces.Share{Objects: *s.ImputedObjects, Requests: *s.ImputedRequests, Bytes: *s.ImputedBytes}
		if imputed.Requests > 0 {
			rows = append(rows, row{"imputed sizes", imputed.String()})
		}
		if n := *s.EmptyRequests; n > 0 {
			rows = append(rows, row{"requests of size 0", s.ofRequests(n, float64(n)/float64(s.Requests))})
		}
	}
	if s.Kind != nil {
		rows = append(s.Kind.rows(), rows...)
	}
	rows = append(rows, s.clockRows()...)
	if ops := s.Operations; ops != nil {
		rows = append(rows, row{"operations", fmt.Sprintf("reads %s, writes %s, deletes %s, unknown %s",
			show.Count(ops.Reads), show.Count(ops.Writes), show.Count(ops.Deletes), show.Count(ops.Unknown))})
	}
	rows = append(rows, s.zipfRows()...)
	for _, top := range s.TopShares {
		name := "top " + show.Count(top.Objects) + " objects"
		if top.Objects == 1 {
			name = "top object"
		}
		rows = append(rows, row{name, show.Share(top.RequestShare) + " of the requests"})
	}
	return rows
}

func (s *Summary) ofRequests(n int64, share float64) string {
	return fmt.Sprintf("%s (%s of the requests)", show.Count(n), show.Share(share))
}

func (s *Summary) clockRows() []row {
	if s.SpanSeconds == nil {
		return nil
	}
	rows := []row{{"time span", duration(*s.SpanSeconds)}}
	if s.RequestsPerSecond != nil {
		rows = append(rows, row{"requests per second", number(*s.RequestsPerSecond)})
	}
	if *s.OutOfOrder > 0 {
		rows = append(rows, row{"times out of order", s.ofRequests(*s.OutOfOrder,
			float64(*s.OutOfOrder)/float64(s.Requests))})
	}
	return rows
}

func (s *Summary) zipfRows() []row {
	if s.Zipf == nil {
		return nil
	}
	rows := []row{{"Zipf exponent", fmt.Sprintf("%.3f (maximum likelihood)", s.Zipf.Alpha)}}
	if s.Zipf.AlphaLeastSquares != nil {
		value := fmt.Sprintf("%.3f (least squares, log-log)", *s.Zipf.AlphaLeastSquares)
		if s.Zipf.RSquared != nil {
			value = fmt.Sprintf("%.3f (least squares, log-log, R² %.3f)", *s.Zipf.AlphaLeastSquares, *s.Zipf.RSquared)
		}
		rows = append(rows, row{"", value})
	}
	return rows
}

// namedDistribution is a distribution with its names in files and tables, and the format of its values.
type namedDistribution struct {
	key, title string
	*Distribution
	write func(float64) string
}

// distributions returns the distributions that the trace has, for tables and files.
func (s *Summary) distributions() []namedDistribution {
	var present []namedDistribution
	all := []namedDistribution{
		{"object_sizes", "size, per object", s.ObjectSizes, writeBytes},
		{"request_sizes", "size, per request", s.RequestSizes, writeBytes},
		{"reuse_distance", "reuse distance, objects", s.ReuseDistance, number},
		{"reuse_time_requests", "reuse time, requests", s.ReuseTimeRequests, number},
		{"reuse_time_seconds", "reuse time, clock", s.ReuseTimeSeconds, duration},
	}
	if s.Kind != nil {
		all = append(s.Kind.distributions(), all...)
	}
	for _, d := range all {
		if d.Distribution != nil {
			present = append(present, d)
		}
	}
	return present
}

// quantiles are the columns of the table of distributions.
func (d *Distribution) quantiles() []float64 {
	return []float64{d.Min, d.P10, d.P25, d.Median, d.P75, d.P90, d.P99, d.Max, d.Mean}
}

func (s *Summary) printTables(w io.Writer, format string) error {
	title := show.Printable(s.Trace)
	if s.SampleRate < 1 {
		title += fmt.Sprintf(" (a sample of %s; reuse distances and times scaled to the whole trace)",
			show.Share(s.SampleRate))
	}
	if format == "markdown" {
		title = "**" + title + "**"
	}
	return tabular.PrintTables(w, format, title, s.tables()...)
}

// tables are that of the figures and, if the trace has any, that of the distributions.
func (s *Summary) tables() []tabular.Grid {
	if len(s.distributions()) == 0 {
		return []tabular.Grid{s.figureTable()}
	}
	return []tabular.Grid{s.figureTable(), s.distributionTable()}
}

func (s *Summary) figureTable() tabular.Grid {
	t := tabular.Grid{Heads: []tabular.Head{
		{Name: "figure", IsText: true, Wrap: 16},
		{Name: "value", IsText: true, Weight: tabular.Key, Wrap: 20},
	}}
	for _, r := range s.rows() {
		t.Rows = append(t.Rows, []string{r.name, r.value})
	}
	return t
}

// distributionTable has the columns of Distribution.quantiles.
func (s *Summary) distributionTable() tabular.Grid {
	t := tabular.Grid{
		Heads: []tabular.Head{
			{Name: "distribution", IsText: true, Wrap: 16},
			{Name: "min", Weight: 3},
			{Name: "10%", Weight: 2},
			{Name: "25%", Weight: 1},
			{Name: "median", Weight: 9},
			{Name: "75%", Weight: 1},
			{Name: "90%", Weight: 6},
			{Name: "99%", Weight: 5},
			{Name: "max", Weight: 7},
			{Name: "mean", Weight: 8},
		},
		InFolder: true,
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

// encodeCSV writes one line per figure, under the name that JSON has; bins are in a file of their own.
func (s *Summary) encodeCSV(w io.Writer) error {
	rows, err := s.metrics()
	if err != nil {
		return err
	}
	lines := [][]string{{"metric", "value"}}
	for _, m := range rows {
		lines = append(lines, []string{m.name, m.value})
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// metrics returns the figures of the JSON form that are present, with dotted names in alphabetical order.
func (s *Summary) metrics() ([]row, error) {
	encoded, err := jsonlines.Marshal(s)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var decoded map[string]any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, err
	}
	for _, top := range s.TopShares {
		decoded[fmt.Sprintf("top_share.%d", top.Objects)] = exact(top.RequestShare)
	}
	return flatten("", decoded), nil
}

// flatten returns the scalar members of object and, recursively, of the objects in it.
func flatten(prefix string, object map[string]any) []row {
	var rows []row
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch value := object[name].(type) {
		case map[string]any:
			rows = append(rows, flatten(prefix+name+".", value)...)
		case string:
			rows = append(rows, row{prefix + name, value})
		case json.Number:
			rows = append(rows, row{prefix + name, value.String()})
		}
	}
	return rows
}

// Names of the files that Write makes besides figures and the page.
const (
	jsonName = "stat.json"
	csvName  = "stat.csv"
	binsName = "distributions.csv"
)

// Write writes stat.json, stat.csv, distributions.csv (all bins), the figures and a page with all of it into dir, which
// is created if missing. After an error none of them has changed, unless renaming one of them itself failed.
func (s *Summary) Write(dir string, about About) error {
	drawn, err := s.figures(about.Figures)
	if err != nil {
		return err
	}
	outputs := []atomicfile.Output{
		{Name: jsonName, Write: func(w io.Writer) error { return encodeIndented(w, s) }},
		{Name: csvName, Write: s.encodeCSV},
		{Name: binsName, Write: s.encodeBins},
		{Name: page.Name, Write: s.page(about, drawn).Write},
	}
	return atomicfile.WriteAllIn(dir, append(outputs, plots.Outputs(drawn)...)...)
}

func encodeIndented(w io.Writer, v any) error {
	out := jsonlines.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

func (s *Summary) encodeBins(w io.Writer) error {
	buffer := bufio.NewWriter(w)
	fmt.Fprintln(buffer, "distribution,lower,upper,count")
	for _, d := range s.distributions() {
		for _, b := range d.Bins {
			fmt.Fprintf(buffer, "%s,%s,%s,%d\n", d.key, exact(b.Lower), exact(b.Upper), b.Count)
		}
	}
	return buffer.Flush()
}

// exact writes every digit of x.
func exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// number writes whole numbers with separators, and others to 4 digits.
func number(x float64) string {
	if x == float64(int64(x)) || x >= 1000 {
		return show.Count(int64(x + 0.5))
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

func writeBytes(x float64) string { return show.Capacity(int64(x+0.5), records.Bytes) }

// byteCount writes n in full and in a unit that is easy to read.
func byteCount(n int64) string {
	if n < 1024 {
		return show.Count(n) + " B"
	}
	return fmt.Sprintf("%s (%s B)", show.Capacity(n, records.Bytes), show.Count(n))
}

// duration writes seconds in the largest unit that gives at least 1.
func duration(seconds float64) string {
	for _, unit := range []struct {
		seconds float64
		name    string
	}{{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}} {
		if seconds >= unit.seconds {
			return strconv.FormatFloat(seconds/unit.seconds, 'g', 4, 64) + " " + unit.name
		}
	}
	return "0 s"
}

// About is the part of a page besides the summary.
type About struct {
	Read    []records.Setting // what was read, and how
	Version string            // of the program
	Command string            // that made the summary
	Figures look.Options
}

func (s *Summary) page(about About, drawn []plots.Drawing) page.Page {
	tables := []page.Part{{Table: s.summaryTable()}}
	if len(s.distributions()) > 0 {
		tables = append(tables, page.Part{Table: page.NewTable("Distributions", s.distributionTable())})
	}
	return about.page("What is in the trace "+show.Printable(s.Trace), []string{jsonName, csvName, binsName}, tables,
		drawn)
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
