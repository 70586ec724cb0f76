package records

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/cachesim/cachesim/internal/base/metric"
)

// PrintOptions are the options of Print.
type PrintOptions struct {
	Color bool // bold and dim rows in a table, unless the environment has NO_COLOR (https://no-color.org)
	Width int  // of the terminal that a table is to fit; 0 for none
}

// Print writes recs to w as table, csv, json (one record per line) or markdown.
func Print(w io.Writer, recs []Record, format string, opt PrintOptions) error {
	return Printed{
		Table: func(w io.Writer, format string) error { return printTables(w, recs, opt.paint(format)) },
		CSV:   func(w io.Writer) error { return EncodeCSV(w, recs) },
		JSON:  func(w io.Writer) error { return EncodeJSON(w, recs) },
	}.Print(w, format)
}

// paint says how a cell stands out, and how much room there is.
type paint struct {
	markdown, color bool
	width           int // 0 for as much as is needed
}

// paint returns how cells stand out in a format, table or markdown.
func (o PrintOptions) paint(format string) paint {
	if format == "markdown" {
		return paint{markdown: true}
	}
	return paint{color: o.Color && os.Getenv("NO_COLOR") == "", width: o.Width}
}

// grid returns the text of a table.
func (p paint) grid(g Grid) string {
	if p.markdown {
		return g.Markdown()
	}
	return g.Text(p.width)
}

func (p paint) bold(s string) string {
	switch {
	case p.markdown:
		return "**" + s + "**"
	case p.color:
		return "\x1b[1m" + s + "\x1b[0m"
	}
	return s
}

func (p paint) dim(s string) string {
	if p.color && s != "" {
		return "\x1b[2m" + s + "\x1b[0m"
	}
	return s
}

func printTables(w io.Writer, recs []Record, p paint) error {
	for i, g := range Groups(recs) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		heading := p.eachLine(g.Title(), p.bold)
		if sizes := g.Records[0].Sizes; sizes != "" {
			heading += "\n" + p.eachLine(sizes, p.dim)
		}
		if _, err := fmt.Fprintf(w, "%s\n\n%s\n\n%s", heading, renderGroup(g, p), footer(g, p)); err != nil {
			return err
		}
	}
	return nil
}

// Title is the line above the table of the group.
func (g Group) Title() string {
	first := &g.Records[0]
	s := fmt.Sprintf("%s: %s requests", g.Name, Count(first.Int(metric.Requests)))
	if first.IsSample() {
		s += fmt.Sprintf(" (a sample of %s)", Share(first.SampleRate))
	}
	if first.PerFile {
		s += ", each file through an empty cache"
	}
	if setting := g.Setting(); setting != "" {
		s += ", " + setting
	}
	if first.Warmup > 0 {
		s += fmt.Sprintf(", after a warm-up of %s", Count(first.Warmup))
	}
	return s
}

type column struct {
	Head
	cell func(*Record) string
}

// key returns a column of text without which rows cannot be told apart.
func key(name string, cell func(*Record) string) column {
	return column{Head{Name: name, IsText: true, Weight: Key, Wrap: 16}, cell}
}

func columnsFor(g Group) []column {
	columns := []column{
		{Head{Name: "capacity"}, capacityCell},
		key("policy", policyCell),
	}
	for _, k := range PartKinds {
		if k.hasColumn(g.Records) {
			columns = append(columns, key(k.Name, k.cell))
		}
	}
	for _, m := range tableColumns(columnMetrics()) {
		if !isShown(m, g.Records) {
			continue
		}
		name := cmp.Or(m.Column.Head, m.Label())
		if m.Unit == metric.Count && alwaysThere(m.Name) && g.Records[0].IsSample() {
			name += " of the sample" // next to a hit ratio of the whole trace
		}
		columns = append(columns, column{Head{Name: name, Weight: m.Column.Weight},
			func(r *Record) string { return metricCell(m, r) }})
	}
	return columns
}

// tableColumns returns the columns of metrics: one for each, or one for each of its labels.
func tableColumns(all []metric.Metric) (columns []metric.Metric) {
	for _, m := range all {
		if m.Labels == "" {
			columns = append(columns, m)
			continue
		}
		for _, label := range strings.Fields(m.Column.Labels) {
			one := m
			one.Name, one.Column.Head = m.Of(label), label+" "+cmp.Or(m.Column.Head, m.Label())
			columns = append(columns, one)
		}
	}
	return columns
}

// columnMetrics returns the metrics that have columns, from left to right.
func columnMetrics() (all []metric.Metric) {
	for _, m := range metric.All() {
		if m.Column.At > 0 {
			all = append(all, m.Metric)
		}
	}
	slices.SortStableFunc(all, func(a, b metric.Metric) int { return a.Column.At - b.Column.At })
	return all
}

// isShown reports whether the records' table has a column for the metric.
func isShown(m metric.Metric, recs []Record) bool {
	return slices.ContainsFunc(recs, func(r Record) bool {
		x, ok := r.Figure(m.Name)
		return ok && (x > 0 || !m.Column.IfAny) && (m.Column.Unlike == "" || !isAlike(&r, m.Column.Unlike, x))
	})
}

func isAlike(r *Record, name string, x float64) bool {
	y, ok := r.Figure(name)
	return ok && x == y
}

// metricCell formats a value, or the interval from it to the value of UpTo. For a bound it says what no policy can
// exceed or go below.
func metricCell(m metric.Metric, r *Record) string {
	x, ok := r.Figure(m.Name)
	if !ok && m.Column.OfBounds {
		if x, ok := r.Get(m.Name); ok {
			return m.Text(x)
		}
	}
	if !ok {
		return ""
	}
	text := shortText(m, x)
	if upTo, ok := r.Figure(m.UpTo); ok {
		text += "-" + shortText(m, upTo)
	}
	switch {
	case r.Kind != Bound:
		return text
	case m.Better == metric.Lower:
		return "≥ " + text
	}
	return "≤ " + text
}

// shortText formats a value for a column.
func shortText(m metric.Metric, x float64) string {
	switch {
	case m.Unit == metric.Nanoseconds && x >= 99.95: // nobody measures these to a tenth
		return strconv.FormatFloat(x, 'f', 0, 64)
	case m.Unit == metric.Bytes:
		return byteText(int64(x), 3)
	case m.Column.Digits > 0:
		return strconv.FormatFloat(x, 'f', m.Column.Digits, 64)
	}
	return m.Text(x)
}

func renderGroup(g Group, p paint) string {
	columns := columnsFor(g)
	grid := Grid{Rows: rowsOf(byCapacity(g.Records), columns, p), InFolder: true}
	for _, c := range columns {
		grid.Heads = append(grid.Heads, c.Head)
	}
	return p.grid(grid)
}

// byCapacity groups the records by capacity; otherwise their order stays.
func byCapacity(recs []Record) []Record {
	order := map[int64]int{}
	for _, r := range recs {
		if _, ok := order[r.Capacity]; !ok {
			order[r.Capacity] = len(order)
		}
	}
	sorted := slices.Clone(recs)
	slices.SortStableFunc(sorted, func(a, b Record) int { return order[a.Capacity] - order[b.Capacity] })
	return sorted
}

// rowsOf shows a capacity only in the first of its rows, except in Markdown, where nothing separates them.
func rowsOf(recs []Record, columns []column, p paint) (rows [][]string) {
	for i := range recs {
		r := &recs[i]
		again := i > 0 && r.Capacity == recs[i-1].Capacity
		if i > 0 && !again {
			rows = append(rows, nil)
		}
		var row []string
		for j, c := range columns {
			s := c.cell(r)
			switch {
			case j == 0 && again && !p.markdown:
				s = ""
			case j == 0 || s == "":
			case r.Best && p.markdown && c.Name == "policy":
				s = p.bold(r.Label) + ` \*` // a star inside would end the emphasis
			case r.Best:
				s = p.bold(s)
			case !r.Competes():
				s = p.dim(s)
			}
			row = append(row, s)
		}
		rows = append(rows, row)
	}
	return rows
}

func capacityCell(r *Record) string {
	s := Capacity(r.Capacity, r.CapacityUnit)
	if r.CapacityShare != nil {
		s += " (" + Share(*r.CapacityShare) + ")"
	}
	return s
}

func policyCell(r *Record) string {
	label := Printable(r.Label)
	switch {
	case r.Best:
		return label + " *"
	case r.Kind != Online:
		return label + " (" + r.Kind + ")"
	}
	return label
}

// footer explains the marks and what the ratios are relative to.
func footer(g Group, p paint) string {
	var lines []string
	if slices.ContainsFunc(g.Records, func(r Record) bool { return r.Best }) {
		lines = append(lines, "* highest hit ratio of the online policies at this capacity")
	}
	if i := slices.IndexFunc(g.Records, func(r Record) bool { return roles[r.Policy].Idle }); i >= 0 {
		lines = append(lines, Printable(g.Records[i].Label)+": without a cache; the same at every capacity")
	}
	for _, line := range []string{FutureNote(g.Records), ratioLine(g.Records), elsewhereLine(g.Records)} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	for _, k := range PartKinds {
		if k.ratioNote != "" && slices.ContainsFunc(g.Records, func(r Record) bool {
			return *k.Field(&r) != "" && r.Has(metric.CompetitiveRatio)
		}) {
			lines = append(lines, k.ratioNote)
		}
	}
	if note := SampleNote(g.Records); note != "" {
		lines = append(lines, note)
	}
	if e := g.Records[0].Embeddings; e != "" && e != "trace" {
		lines = append(lines, "embeddings: "+e)
	}
	for _, m := range columnMetrics() {
		note := m.Column.NoteIfNone
		if isShown(m, g.Records) {
			note = m.Column.Note
		} else if !slices.ContainsFunc(g.Records, func(r Record) bool { return r.Has(m) }) {
			note = ""
		}
		if note != "" {
			lines = append(lines, note)
		}
	}
	return p.lines(lines)
}

// ratioLine says which optimum the ratios of which policies refer to.
func ratioLine(recs []Record) string {
	against := map[string][]string{} // policies by optimum
	var optima []string
	interval := map[string]bool{}
	for i := range recs {
		r := &recs[i]
		if !r.Has(metric.CompetitiveRatio) {
			continue
		}
		interval[r.Optimum] = interval[r.Optimum] || r.Has(metric.CompetitiveRatioMax)
		if !slices.Contains(optima, r.Optimum) {
			optima = append(optima, r.Optimum)
		}
		if !slices.Contains(against[r.Optimum], r.Label) {
			against[r.Optimum] = append(against[r.Optimum], r.Label)
		}
	}
	if len(optima) == 0 {
		return ""
	}
	// The optimum of most policies is named without listing the policies.
	slices.SortStableFunc(optima, func(a, b string) int { return len(against[b]) - len(against[a]) })
	s := "misses / misses of " + optima[0]
	var others []string
	for _, o := range optima[1:] {
		listed := strings.Join(against[o], ", ")
		if interval[o] && !interval[optima[0]] {
			listed += ", up to misses / lower bound, " + roles[o].Bound
		}
		others = append(others, fmt.Sprintf("%s for %s", o, listed))
	}
	if len(others) > 0 {
		s += " (" + strings.Join(others, "; ") + ")"
	}
	if interval[optima[0]] {
		s = "from " + s + " to misses / lower bound (" + roles[optima[0]].Bound + ")"
	}
	return "ratio: " + s + ", at the same capacity"
}

// elsewhereLine says which optima in the table are optimal under other rules alone, so that the ratios do not refer to
// them.
func elsewhereLine(recs []Record) string {
	var optima, others []string
	for i := range recs {
		if recs[i].Has(metric.CompetitiveRatio) && !slices.Contains(optima, recs[i].Optimum) {
			optima = append(optima, recs[i].Optimum)
		}
	}
	for i := range recs {
		r := &recs[i]
		if roles[r.Policy].Optimum && len(optima) > 0 && !slices.Contains(optima, r.Policy) &&
			!slices.Contains(others, r.Label) {
			others = append(others, r.Label)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return strings.Join(others, ", ") + ": optimal under other rules only; no optimum here"
}

var english = message.NewPrinter(language.English)

// Count formats a whole number with thousands separators: 914,145.
func Count(n int64) string { return english.Sprintf("%d", n) }

// Counted formats a number with what it counts: 1 record, 914,145 records.
func Counted[N int | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Count(int64(n)) + " " + noun
}

// Capacity formats a capacity: 1,000 for objects, 64 MiB for bytes. Bytes that are not a multiple of a unit are rounded
// to four digits.
func Capacity(n int64, unit string) string {
	if unit != Bytes {
		return Count(n)
	}
	return byteText(n, 4)
}

// About formats an estimated capacity, with three digits.
func About(n int64, unit string) string {
	if unit == Bytes {
		return byteText(n, 3)
	}
	return Count(int64(rounded(float64(n), 3)))
}

// Within formats the end of an interval with three digits, or as Capacity if these are not from least to most: an
// interval contains what it is of, and ends where everything has room.
func Within(n, least, most int64, unit string) string {
	x := float64(n)
	if unit == Bytes {
		size, _ := inUnit(n)
		x = rounded(size, 3) / size * x
	} else {
		x = rounded(x, 3)
	}
	if x < float64(least) || x > float64(most) {
		return Capacity(n, unit)
	}
	return About(n, unit)
}

// Between writes a range of capacities that About has written, with a unit that both have only once: "2.9 to 3.4 GiB".
func Between(low, high string) string {
	if number, unit, ok := strings.Cut(low, " "); ok && strings.HasSuffix(high, " "+unit) {
		low = number
	}
	return low + " to " + high
}

// byteText formats a number of bytes in the unit that keeps it below 1,024.
func byteText(n int64, digits int) string {
	size, suffix := inUnit(n)
	return trimmed(size, digits) + " " + suffix
}

func inUnit(n int64) (size float64, suffix string) {
	const units = "KMGTPE"
	size, suffix = float64(n), "B"
	for i := 0; size >= 1024 && i < len(units); i++ {
		size, suffix = size/1024, units[i:i+1]+"iB"
	}
	return size, suffix
}

// Share formats a ratio as a percentage: 12.5%, 0.13%, 0.0045%.
func Share(x float64) string {
	x *= 100
	if x >= 0.1 {
		x = math.Round(x*100) / 100
		return strconv.FormatFloat(x, 'f', -1, 64) + "%"
	}
	return trimmed(x, 2) + "%"
}

// trimmed formats x with the given number of significant digits and without an exponent.
func trimmed(x float64, digits int) string {
	return strconv.FormatFloat(rounded(x, digits), 'f', -1, 64)
}

func rounded(x float64, digits int) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
	return x
}
