package results

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/records"
)

// PrintOptions are the options of Print.
type PrintOptions struct {
	Color bool // bold and dim rows in a table, unless the environment has NO_COLOR (https://no-color.org)
	Width int  // of the terminal that a table is to fit; 0 for none
}

// Print writes recs to w as table, csv, json (one record per line) or markdown.
func Print(w io.Writer, recs []records.Record, format string, opt PrintOptions) error {
	return tabular.Printed{
		Table: func(w io.Writer, format string) error { return printTables(w, recs, opt.paint(format)) },
		CSV:   func(w io.Writer) error { return records.EncodeCSV(w, recs) },
		JSON:  func(w io.Writer) error { return records.EncodeJSON(w, recs) },
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
func (p paint) grid(g tabular.Grid) string {
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

func printTables(w io.Writer, recs []records.Record, p paint) error {
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
	s := fmt.Sprintf("%s: %s requests", g.Name, show.Count(first.Int(metric.Requests)))
	if n, ofPrompts := first.Get("prompts"); ofPrompts {
		tokens, _ := first.Get("tokens")
		s = fmt.Sprintf("%s: %s of %s", g.Name, show.Counted(int64(n), "prompt"), show.Counted(int64(tokens), "token"))
	}
	if first.IsSample() {
		s += fmt.Sprintf(" (a sample of %s)", show.Share(first.SampleRate))
	}
	if first.PerFile {
		s += ", each file through an empty cache"
	}
	if setting := g.Setting(); setting != "" {
		s += ", " + setting
	}
	if first.Warmup > 0 {
		s += fmt.Sprintf(", after a warm-up of %s", show.Count(first.Warmup))
	}
	return s
}

type column struct {
	tabular.Head
	cell func(*records.Record) string
}

// key returns a column of text without which rows cannot be told apart.
func key(name string, cell func(*records.Record) string) column {
	return column{tabular.Head{Name: name, IsText: true, Weight: tabular.Key, Wrap: 16}, cell}
}

func columnsFor(g Group) []column {
	columns := []column{
		{tabular.Head{Name: "capacity"}, capacityCell},
		key("policy", policyCell),
	}
	for _, k := range records.PartKinds {
		if k.Heading && differs(k, g.Records) || !k.Heading && slices.ContainsFunc(g.Records, func(r records.Record) bool {
			return *k.Field(&r) != ""
		}) {
			columns = append(columns, key(k.Name, func(r *records.Record) string {
				if part := *k.Field(r); part != "" || k.Some {
					return part
				}
				return records.NoPart
			}))
		}
	}
	for _, m := range tableColumns(columnMetrics()) {
		if !isShown(m, g.Records) {
			continue
		}
		name := cmp.Or(m.Column.Head, m.Label())
		if m.Unit == metric.Count && metric.IsAlways(m.Name) && g.Records[0].IsSample() {
			name += " of the sample" // next to a hit ratio of the whole trace
		}
		columns = append(columns, column{tabular.Head{Name: name, Weight: m.Column.Weight},
			func(r *records.Record) string { return metricCell(m, r) }})
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
func isShown(m metric.Metric, recs []records.Record) bool {
	return slices.ContainsFunc(recs, func(r records.Record) bool {
		x, ok := r.Figure(m.Name)
		y, also := r.Figure(m.Column.Unlike)
		return ok && (x > 0 || !m.Column.IfAny) && (m.Column.Unlike == "" || !also || x != y)
	})
}

// metricCell formats a value, or the interval from it to the value of UpTo. For a bound it says what no policy can
// exceed or go below.
func metricCell(m metric.Metric, r *records.Record) string {
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
	case r.Kind != records.Bound:
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
		return show.Size(int64(x), 3)
	case m.Column.Digits > 0:
		return strconv.FormatFloat(x, 'f', m.Column.Digits, 64)
	}
	return m.Text(x)
}

func renderGroup(g Group, p paint) string {
	columns := columnsFor(g)
	return p.grid(tabular.Grid{Heads: headsOf(columns), Rows: rowsOf(byCapacity(g.Records), columns, p), InFolder: true})
}

func headsOf(columns []column) (heads []tabular.Head) {
	for _, c := range columns {
		heads = append(heads, c.Head)
	}
	return heads
}

// byCapacity groups the records by capacity; otherwise their order stays.
func byCapacity(recs []records.Record) []records.Record {
	order := map[int64]int{}
	for _, r := range recs {
		if _, ok := order[r.Capacity]; !ok {
			order[r.Capacity] = len(order)
		}
	}
	sorted := slices.Clone(recs)
	slices.SortStableFunc(sorted, func(a, b records.Record) int { return order[a.Capacity] - order[b.Capacity] })
	return sorted
}

// rowsOf shows a capacity only in the first of its rows, except in Markdown, where nothing separates them.
func rowsOf(recs []records.Record, columns []column, p paint) (rows [][]string) {
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

func capacityCell(r *records.Record) string {
	s := show.Capacity(r.Capacity, r.CapacityUnit)
	if r.CapacityShare != nil {
		s += " (" + show.Share(*r.CapacityShare) + ")"
	}
	return s
}

func policyCell(r *records.Record) string {
	label := show.Printable(r.Label)
	switch {
	case r.Best:
		return label + " *"
	case r.Kind != records.Online:
		return label + " (" + r.Kind + ")"
	}
	return label
}

// footer explains the marks and what the ratios are relative to.
func footer(g Group, p paint) string {
	var lines []string
	if slices.ContainsFunc(g.Records, func(r records.Record) bool { return r.Best }) {
		lines = append(lines, "* highest hit ratio of the online policies at this capacity")
	}
	if i := slices.IndexFunc(g.Records, func(r records.Record) bool { return roleOf(r.Policy).Idle }); i >= 0 {
		lines = append(lines, show.Printable(g.Records[i].Label)+": without a cache; the same at every capacity")
	}
	lines = append(lines, FutureNote(g.Records), ratioLine(g.Records), elsewhereLine(g.Records))
	for _, k := range records.PartKinds {
		if slices.ContainsFunc(g.Records, func(r records.Record) bool {
			return *k.Field(&r) != "" && r.Has(metric.CompetitiveRatio)
		}) {
			lines = append(lines, k.RatioNote)
		}
	}
	lines = append(lines, SampleNote(g.Records))
	if e := g.Records[0].Embeddings; e != "" && e != "trace" {
		lines = append(lines, "embeddings: "+e)
	}
	for _, m := range columnMetrics() {
		note := m.Column.NoteIfNone
		if isShown(m, g.Records) {
			note = m.Column.Note
		} else if !slices.ContainsFunc(g.Records, func(r records.Record) bool { return r.Has(m) }) {
			note = ""
		}
		lines = append(lines, note)
	}
	return p.lines(slices.DeleteFunc(lines, func(line string) bool { return line == "" }))
}

// ratioLine says which optimum the ratios of which policies refer to.
func ratioLine(recs []records.Record) string {
	optima := records.Texts(recs, optimumOf)
	if len(optima) == 0 {
		return ""
	}
	against, interval := map[string][]string{}, map[string]bool{} // policies by optimum
	for _, optimum := range optima {
		against[optimum] = records.Texts(recs, func(r *records.Record) string {
			if optimumOf(r) != optimum {
				return ""
			}
			interval[optimum] = interval[optimum] || r.Has(metric.CompetitiveRatioMax)
			return r.Label
		})
	}
	// The optimum of most policies is named without listing the policies.
	slices.SortStableFunc(optima, func(a, b string) int { return len(against[b]) - len(against[a]) })
	s := "misses / misses of " + optima[0]
	var others []string
	for _, o := range optima[1:] {
		listed := strings.Join(against[o], ", ")
		if interval[o] && !interval[optima[0]] {
			listed += ", up to misses / lower bound, " + roleOf(o).Bound
		}
		others = append(others, fmt.Sprintf("%s for %s", o, listed))
	}
	if len(others) > 0 {
		s += " (" + strings.Join(others, "; ") + ")"
	}
	if interval[optima[0]] {
		s = "from " + s + " to misses / lower bound (" + roleOf(optima[0]).Bound + ")"
	}
	return "ratio: " + s + ", at the same capacity"
}

// elsewhereLine says which optima in the table are optimal under other rules alone, so that the ratios do not refer to
// them.
func elsewhereLine(recs []records.Record) string {
	optima := records.Texts(recs, optimumOf)
	others := records.Texts(recs, func(r *records.Record) string {
		if roleOf(r.Policy).Optimum && !slices.Contains(optima, r.Policy) {
			return r.Label
		}
		return ""
	})
	if len(optima) == 0 || len(others) == 0 {
		return ""
	}
	return strings.Join(others, ", ") + ": optimal under other rules only; no optimum here"
}

// optimumOf returns the optimum that a record has a ratio to; "" if it has none.
func optimumOf(r *records.Record) string {
	if r.Has(metric.CompetitiveRatio) {
		return r.Optimum
	}
	return ""
}

// roleOf returns the role of a policy, which is empty if none is declared.
func roleOf(policy string) records.Role {
	r, _ := records.RoleOf(policy)
	return r
}
