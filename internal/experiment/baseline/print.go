package baseline

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/records"
)

var Formats = slices.Concat([]string{"table", "json"}, checks.Formats)

// Print writes the report as a table of changes, as JSON with every record, as JUnit XML with one test case per record,
// or as workflow commands of GitHub Actions with one annotation per failed record. If the table is wider than a
// terminal of width columns, each record gets its own lines; 0 means that the output is not a terminal.
func (r *Report) Print(w io.Writer, format string, width int) error {
	switch format {
	case "table":
		return r.printTable(w, func(moved []*Result) string { return fitted(moved, width) }, "", width)
	case "json":
		return r.printJSON(w)
	case checks.JUnit, checks.GitHub:
		return checks.Print(w, format, []checks.Suite{r.suite()}, r.printMarkdown)
	}
	return suggest.Unknown("format", format, Formats)
}

// printMarkdown writes in Markdown what Print writes as a table.
func (r *Report) printMarkdown(w io.Writer) error {
	return r.printTable(w, func(moved []*Result) string { return movedTable(moved).Markdown() }, "- ", 0)
}

// fitted returns the table of changes or, if it is wider than width columns, the same as lines.
func fitted(moved []*Result, width int) string {
	grid := movedTable(moved)
	if rendered, fits := grid.Whole(width); fits {
		return rendered
	}
	const indent = "  "
	var lines []string
	for _, r := range moved {
		heading := checks.NewCase(&r.Was, string(r.Status)).Title
		lines = append(lines, terminal.Wrapped(heading, width), terminal.Wrapped(indent+r.describe(), width))
	}
	return strings.Join(lines, "\n")
}

// printTable writes the changes and the records that could not be replayed, and then their numbers.
func (r *Report) printTable(w io.Writer, render func(moved []*Result) string, bullet string, width int) error {
	var parts []string
	if moved := r.moved(); len(moved) > 0 {
		parts = append(parts, render(moved))
	}
	var problems []string
	for _, c := range r.changes() {
		problems = append(problems, fmt.Sprintf("%s (%s)", c, show.Counted(c.Records, "record")))
	}
	if problems = append(problems, r.problems()...); len(problems) > 0 {
		parts = append(parts, terminal.Wrapped(bullet+strings.Join(problems, "\n"+bullet), width))
	}
	_, err := fmt.Fprintln(w, strings.Join(append(parts, terminal.Wrapped(r.Summary(), width)), "\n\n"))
	return err
}

func (r *Report) Summary() string {
	s := fmt.Sprintf("%s: %s", show.Printable(r.Baseline), show.Counted(len(r.Results), "record"))
	if r.Count(Equal) == len(r.Results) {
		s += ", all equal"
	} else {
		s += ": " + strings.Join(r.counts(statuses...), ", ")
	}
	changed := 0
	for _, c := range r.changes() {
		changed += c.Records
	}
	if changed > 0 && r.AllowsTraceChange {
		s += fmt.Sprintf("; %s of them on traces that have changed", show.Count(int64(changed)))
	}
	return s
}

func (r *Report) Err() error {
	switch {
	case r.Passed():
		return nil
	case r.OnlyMissing():
		return fmt.Errorf("the check is not complete: %s", r.Failures())
	}
	if r.Count(TraceChanged) > 0 {
		accepts := ", --update --new-traces accepts the trace"
		if r.Fixed {
			accepts = ""
		}
		return checks.Failed(fmt.Errorf("the check failed: %s; --allow-trace-change compares hit ratios%s", r.Failures(),
			accepts))
	}
	return checks.Failed(fmt.Errorf("the check failed: %s", r.Failures()))
}

func (r *Report) Failures() string {
	return strings.Join(r.counts(Moved, TraceChanged, FileChanged, TraceMissing, NotReplayable), ", ")
}

// counts lists the statuses that occur, with their numbers of records.
func (r *Report) counts(of ...Status) (list []string) {
	for _, s := range of {
		if n := r.Count(s); n > 0 {
			list = append(list, fmt.Sprintf("%s %s", show.Count(int64(n)), s))
		}
	}
	return list
}

// moved returns the results that are not equal or are on a changed trace, if they were replayed.
func (r *Report) moved() []*Result {
	var moved []*Result
	for i := range r.Results {
		if s := r.Results[i].Status; s == Moved || s == Within || s == TraceChanged && r.Results[i].Is != nil {
			moved = append(moved, &r.Results[i])
		}
	}
	return moved
}

// problems returns why records were not replayed, each reason once.
func (r *Report) problems() (lines []string) {
	reason := func(result Result) string { return show.Printable(result.Problem.Error()) }
	others := slices.DeleteFunc(slices.Clone(r.Results), func(result Result) bool { return result.Problem == nil })
	for _, same := range records.GroupBy(others, reason) {
		lines = append(lines, fmt.Sprintf("%s (%s not compared)", reason(same[0]), show.Counted(len(same), "record")))
	}
	return lines
}

// movedTable leaves out columns that are the same in all rows.
func movedTable(moved []*Result) tabular.Grid {
	var columns []tabular.Column[*Result]
	add := func(name string, isText bool, cell func(*Result) string) {
		columns = append(columns, tabular.Column[*Result]{Head: tabular.Head{Name: name, IsText: isText}, Cell: cell})
	}
	addRatio := func(m metric.Metric) { // the old value, the new value, and the difference
		add(m.Label()+" was", false, func(r *Result) string { return percent(figureOf(&r.Was, m.Name)) })
		add("is", false, func(r *Result) string { return percent(figureOf(r.Is, m.Name)) })
		add("points", false, func(r *Result) string { return r.points(m) })
	}
	add("trace", true, func(r *Result) string { return show.Printable(r.Was.Trace) })
	add("policy", true, func(r *Result) string { return show.Printable(r.Was.Label) + checks.DetailsOf(&r.Was) })
	add("capacity", false, func(r *Result) string { return checks.CapacityOf(&r.Was) })
	addRatio(metric.HitRatio)
	add("misses were", false, func(r *Result) string { return show.Count(misses(&r.Was)) })
	add("are", false, func(r *Result) string { return show.Count(misses(r.Is)) })
	add("difference", false, func(r *Result) string { return signed(misses(r.Is) - misses(&r.Was)) })
	if slices.ContainsFunc(moved, func(r *Result) bool { return r.points(metric.ByteHitRatio) != "" }) {
		addRatio(metric.ByteHitRatio)
	}
	if slices.ContainsFunc(moved, func(r *Result) bool { return others(r) != "" }) {
		add("besides", true, others)
	}
	if slices.ContainsFunc(moved, func(r *Result) bool { return r.Tolerance != Tolerance{} }) {
		add("tolerance", false, allowance)
	}
	return tabular.GridOf(columns, moved)
}

func misses(rec *records.Record) int64 { return rec.Int(metric.Misses) }

// points is the change of a ratio in percentage points; "" if it did not change.
func (r *Result) points(m metric.Metric) string {
	was, is := figureOf(&r.Was, m.Name), figureOf(r.Is, m.Name)
	if was == nil || is == nil || *was == *is {
		return ""
	}
	return sign(*is-*was) + fmt.Sprintf("%.4f", math.Abs(*is-*was)*100)
}

func (r *Result) describeRatio(m metric.Metric) string {
	text := fmt.Sprintf("%s %s → %s", m.Label(), percent(figureOf(&r.Was, m.Name)), percent(figureOf(r.Is, m.Name)))
	if p := r.points(m); p != "" {
		text += " (" + p + " points)"
	}
	return text
}

// percent formats a hit ratio with enough digits to show one request in a million.
func percent(x *float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf("%.4f%%", *x*100)
}

func signed(n int64) string {
	if n == 0 {
		return ""
	}
	return sign(float64(n)) + show.Count(max(n, -n))
}

func sign(x float64) string {
	if x < 0 {
		return "−"
	}
	return "+"
}

var inColumns = map[string]string{
	metric.HitRatio.Name:     metric.HitRatio.Name,
	metric.Misses.Name:       metric.Misses.Name,
	metric.Hits.Name:         metric.Misses.Name,
	metric.ByteHitRatio.Name: metric.ByteHitRatio.Name,
	metric.HitBytes.Name:     metric.ByteHitRatio.Name,
}

// others lists the changed metrics without a column. On a changed trace most of them have changed, too: only metrics
// that a rule names are listed, and the amount of a share.
func others(r *Result) string {
	moved := map[string]bool{}
	for _, d := range r.Differences {
		moved[d.Figure] = true
	}
	var list []string
	for _, d := range r.Differences {
		if !moved[inColumns[d.Figure]] && (r.Change == nil || d.Figure == capacityFigure || r.hasRule(d.Figure)) {
			list = append(list, d.String())
		}
	}
	return strings.Join(list, ", ")
}

func (r *Result) hasRule(figure string) bool {
	_, named := r.named[figure]
	return named
}

// String describes the change: "evictions 10 → 12".
func (d Difference) String() string {
	return fmt.Sprintf("%s %s → %s", strings.ReplaceAll(d.Figure, "_", " "), number(d.Was), number(d.Is))
}

// number formats whole numbers with separators, other numbers with all digits.
func number(x *float64) string {
	switch {
	case x == nil:
		return "none"
	case *x == math.Trunc(*x) && math.Abs(*x) < 1<<53:
		return show.Count(int64(*x))
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}

// allowance formats the tolerance and whether it was kept.
func allowance(r *Result) string {
	if r.kept {
		return "within " + r.Tolerance.String()
	}
	return "beyond " + r.Tolerance.String()
}

// describe describes the change in one line, for formats without columns.
func (r *Result) describe() string {
	if r.Problem != nil {
		return r.Problem.Error()
	}
	list := []string{r.describeRatio(metric.HitRatio),
		fmt.Sprintf("misses %s → %s", show.Count(misses(&r.Was)), show.Count(misses(r.Is)))}
	if r.Was.Has(metric.ByteHitRatio) && r.Is.Has(metric.ByteHitRatio) {
		list = append(list, r.describeRatio(metric.ByteHitRatio))
	}
	if besides := others(r); besides != "" {
		list = append(list, besides)
	}
	if r.Status == TraceChanged { // which does not say whether the tolerance was kept
		return strings.Join(append(list, allowance(r)), ", ")
	}
	return strings.Join(append(list, "tolerance "+r.Tolerance.String()), ", ")
}

type jsonReport struct {
	Baseline  string         `json:"baseline"`
	Version   string         `json:"version"`
	Passed    bool           `json:"passed"`
	Records   int            `json:"records"`
	Counts    map[Status]int `json:"counts"` // for every status that occurs
	NewTraces []string       `json:"new_traces,omitempty"`
	Changes   []*traceChange `json:"trace_changes,omitempty"`
	Results   []jsonResult   `json:"results"`
}

type jsonResult struct {
	Trace        string       `json:"trace"`
	Policy       string       `json:"policy"` // its label
	Capacity     int64        `json:"capacity"`
	CapacityUnit string       `json:"capacity_unit"`
	CapacityText string       `json:"capacity_text"`
	Seed         uint64       `json:"seed"`
	Axes         string       `json:"axes"`
	Status       Status       `json:"status"`
	Tolerance    string       `json:"tolerance"`
	TraceChanged bool         `json:"trace_changed,omitempty"`
	Problem      string       `json:"problem,omitempty"`
	Differences  []Difference `json:"differences"`
}

func (r *Report) printJSON(w io.Writer) error {
	out := jsonReport{Baseline: r.Baseline, Version: r.Version, Passed: r.Passed(), Records: len(r.Results),
		Counts: map[Status]int{}, NewTraces: r.NewTraces, Changes: r.changes()}
	for _, result := range r.Results {
		out.Counts[result.Status]++
		was := result.Was
		j := jsonResult{was.Trace, was.Label, was.Capacity, was.CapacityUnit, was.CapacityText, was.Seed, was.Axes,
			result.Status, result.Tolerance.String(), result.Change != nil, "", append([]Difference{}, result.Differences...)}
		if result.Problem != nil {
			j.Problem = result.Problem.Error()
		}
		out.Results = append(out.Results, j)
	}
	e := jsonlines.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// suite returns a case for each trace that has changed and for each record. A changed record fails; one that could not
// be replayed is broken.
func (r *Report) suite() checks.Suite {
	s := checks.Suite{Name: r.Baseline, File: r.Baseline, Summary: r.Summary()}
	for _, c := range r.changes() {
		s.Cases = append(s.Cases, c.toCase())
	}
	for i := range r.Results {
		s.Cases = append(s.Cases, r.Results[i].toCase())
	}
	return s
}

func (r *Result) toCase() checks.Case {
	c := checks.NewCase(&r.Was, string(r.Status))
	switch r.Status {
	case Equal:
		return c
	case Within:
		c.Outcome = checks.Noted
	case TraceMissing, NotReplayable:
		c.Outcome = checks.Broken
	default:
		c.Outcome = checks.Fails
	}
	c.Message = r.describe()
	return c
}
