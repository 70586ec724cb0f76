package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/records"
)

// Formats are the formats of Print.
var Formats = slices.Concat([]string{"table", "csv", "json", "markdown"}, checks.Formats)

// Print writes the comparison in one of Formats. A table fits a terminal of width columns; 0 means that the output is
// not one. CSV has the reductions if there are any, and otherwise the rows.
func (c *Comparison) Print(w io.Writer, format string, width int) error {
	if slices.Contains(checks.Formats, format) {
		return c.printCases(w, format)
	}
	return tabular.Printed{
		Table: func(w io.Writer, format string) error { return c.printTables(w, format, width) },
		CSV: func(w io.Writer) error {
			if c.Reductions != nil {
				return c.reductionsCSV(w)
			}
			return c.rowsCSV(w)
		},
		JSON: tabular.OneJSON(c.json()),
	}.Print(w, format)
}

// exact returns the metric with as many digits as the smallest of the differences needs that is no tie.
func (c *Comparison) exact(of ...Estimate) metric.Metric {
	m := c.quantity.Metric
	if m.Whole() {
		return m
	}
	const most = 6 // one request in a million of a hit ratio has four
	smallest := math.Inf(1)
	for _, e := range of {
		if e.Outcome != Equal && e.Outcome != Tie {
			smallest = min(smallest, math.Abs(e.Difference))
		}
	}
	if m.Unit == metric.Share {
		smallest *= 100
	}
	for m.Digits < most && smallest < 0.5*math.Pow10(-m.Digits) {
		m.Digits++
	}
	return m
}

func (v *Versus) estimates() (all []Estimate) {
	for _, r := range v.Rows {
		all = append(all, r.Estimate)
	}
	return all
}

// printTables writes the tables with explanations.
func (c *Comparison) printTables(w io.Writer, format string, width int) error {
	p := printer{format: format, width: width}
	for i := range c.Versus {
		c.printVersus(&p, &c.Versus[i])
	}
	if c.Reductions != nil {
		c.Reductions.print(&p)
	}
	_, err := fmt.Fprintln(w, strings.Join(p.parts, "\n\n"))
	return err
}

// printer collects headings, tables and notes.
type printer struct {
	format string
	width  int
	parts  []string
}

func (p *printer) heading(text string) {
	if p.format == "markdown" {
		text = "**" + text + "**"
	}
	p.parts = append(p.parts, terminal.Wrapped(show.Printable(text), p.width))
}

func (p *printer) grid(g tabular.Grid) { p.parts = append(p.parts, g.In(p.format, p.width)) }

// notes adds lines; an empty one is left out.
func (p *printer) notes(lines ...string) {
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	if len(lines) == 0 {
		return
	}
	if p.format == "markdown" {
		p.parts = append(p.parts, "- "+strings.Join(lines, "\n- "))
		return
	}
	p.parts = append(p.parts, terminal.Wrapped(strings.Join(lines, "\n"), p.width))
}

func (c *Comparison) printVersus(p *printer, v *Versus) {
	p.heading(fmt.Sprintf("%s, %s against %s: %s", c.quantity.Label(), v.New, v.Old, v.over()))
	p.grid(c.rowsGrid(v))
	p.notes(c.explain(v)...)
	if len(v.Cells) > 1 {
		p.heading(fmt.Sprintf("cells that %s wins: each a policy at a capacity on a trace", v.New))
		p.grid(c.winsGrid(v))
	}
	p.notes(unmatched(v.Old, v.OnlyOld), unmatched(v.New, v.OnlyNew))
	if c.gate.FailIf != "" {
		p.notes(c.gateSummary(v))
	}
}

// over says what the rows are over.
func (v *Versus) over() string {
	if v.traces > 1 {
		return show.Counted(v.traces, "trace")
	}
	return v.Cells[0].Record.Trace
}

// ratioHead is the name of the column of geometric means.
func (c *Comparison) ratioHead() string { return c.quantity.noun + " ×" }

func (c *Comparison) rowsGrid(v *Versus) (g tabular.Grid) {
	for _, d := range v.Dimensions {
		g.Heads = append(g.Heads, tabular.Head{Name: d, IsText: d != records.DimCapacity, Weight: tabular.Key, Wrap: 16})
	}
	g.Heads = append(g.Heads, tabular.Head{Name: show.Printable(v.Old), Weight: 60},
		tabular.Head{Name: show.Printable(v.New), Weight: 70}, tabular.Head{Name: "difference", Weight: tabular.Key})
	interval, n := v.hasIntervals(), v.sampleSizes()
	if interval {
		g.Heads = append(g.Heads, tabular.Head{Name: "95% interval", Weight: 80})
	}
	if len(n) > 1 {
		g.Heads = append(g.Heads, tabular.Head{Name: "n", Weight: 65})
	}
	g.Heads = append(g.Heads, tabular.Head{Name: c.ratioHead(), Weight: 75})
	counts := slices.ContainsFunc(v.Rows, func(r Row) bool { return r.Won+r.Lost+r.Tied > 1 })
	if counts {
		g.Heads = append(g.Heads, tabular.Head{Name: strings.Join(c.outcomeHeads(), "/"), Weight: 55})
	}
	m := c.exact(v.estimates()...)
	for _, r := range v.Rows {
		row := append(slices.Clone(r.Places), m.Text(r.Old), m.Text(r.New), differenceText(m, r.Estimate))
		if interval {
			row = append(row, intervalText(m, r.Estimate))
		}
		if len(n) > 1 {
			row = append(row, strconv.Itoa(r.Samples))
		}
		row = append(row, ratioText(r.Ratio))
		if counts {
			row = append(row, fmt.Sprintf("%d/%d/%d", r.Won, r.Lost, r.Tied))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// outcomeHeads are the names of the counts of cells.
func (c *Comparison) outcomeHeads() []string {
	if c.quantity.Better == metric.Neither {
		return []string{"higher", "lower", "tied"}
	}
	return []string{"won", "lost", "tied"}
}

func (v *Versus) hasIntervals() bool {
	return slices.ContainsFunc(v.Rows, func(r Row) bool { return r.Samples > 1 })
}

// sampleSizes returns the numbers of samples that rows have, without repetitions.
func (v *Versus) sampleSizes() (n []int) {
	for _, r := range v.Rows {
		if !slices.Contains(n, r.Samples) {
			n = append(n, r.Samples)
		}
	}
	return n
}

// differenceText writes a tie as one.
func differenceText(m metric.Metric, e Estimate) string {
	switch e.Outcome {
	case Equal:
		return "="
	case Tie:
		return "~"
	}
	return m.DifferenceText(e.Difference)
}

func intervalText(m metric.Metric, e Estimate) string {
	if e.Samples < 2 || e.Outcome == Equal {
		return ""
	}
	return m.DifferenceText(e.Difference-e.Margin) + " to " + m.DifferenceText(e.Difference+e.Margin)
}

func ratioText(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

// explain says what the columns mean.
func (c *Comparison) explain(v *Versus) (lines []string) {
	difference := fmt.Sprintf("difference: %s − %s", v.New, v.Old)
	if c.quantity.Unit == metric.Share {
		difference += ", in percentage points"
	}
	lines = append(lines, show.Printable(difference)+"; = if all values are equal, ~ a tie"+c.tieReason(v))
	lines = append(lines, v.intervalNote())
	better := "below 1 is better"
	if !c.quantity.lessIsBetter() {
		better = "above 1 is better"
	}
	if c.quantity.Better == metric.Neither {
		better = "1 is the same"
	}
	return append(lines, fmt.Sprintf("%s: geometric mean of the ratios %s / %s; %s", c.ratioHead(), v.New, v.Old, better))
}

// intervalNote explains the intervals, or why there are none.
func (v *Versus) intervalNote() string {
	switch single := slices.Contains(v.sampleSizes(), 1); {
	case v.hasIntervals() && single:
		return "interval: of the mean of the paired differences, by Student's t, over " + v.samplesText() +
			"; a single one has none, and its difference counts"
	case v.hasIntervals():
		return "interval: of the mean of the paired differences, by Student's t, over " + v.samplesText()
	case len(v.Rows) == len(v.Cells):
		return "a single pair in each row: there is no interval, and every difference counts"
	}
	return "one trace and one seed in each row: there is no interval, and every difference counts"
}

// tieReason says what makes a tie, where there are several reasons.
func (c *Comparison) tieReason(v *Versus) string {
	switch rounded := c.isRounded(v); {
	case v.hasIntervals() && rounded:
		return ": within its interval, or within the digits that were printed"
	case v.hasIntervals():
		return ": within its interval"
	case rounded:
		return ": within the digits that were printed"
	}
	return ""
}

// isRounded reports whether a single pair is a tie, which is so only where values were printed with few digits.
func (c *Comparison) isRounded(v *Versus) bool {
	return slices.ContainsFunc(v.Cells, func(cell Cell) bool { return cell.Samples == 1 && cell.Outcome == Tie })
}

// samplesText says what the samples of rows are: "12 traces", "5 seeds".
func (v *Versus) samplesText() string {
	noun := "seed"
	if v.traces > 1 {
		noun = "trace"
	}
	if n := v.sampleSizes(); len(n) == 1 {
		return show.Counted(n[0], noun)
	}
	return "n " + noun + "s"
}

func (c *Comparison) winsGrid(v *Versus) tabular.Grid {
	g := tabular.Grid{Heads: []tabular.Head{{Name: records.DimPolicy, IsText: true, Wrap: 16}}}
	for _, name := range append(c.outcomeHeads(), c.ratioHead()) {
		g.Heads = append(g.Heads, tabular.Head{Name: name})
	}
	for i, w := range v.Wins {
		if i == len(v.Wins)-1 {
			g.Rows = append(g.Rows, nil)
		}
		g.Rows = append(g.Rows, []string{w.Policy, strconv.Itoa(w.Won), strconv.Itoa(w.Lost), strconv.Itoa(w.Tied),
			ratioText(w.Ratio)})
	}
	return g
}

// unmatched lists results without a partner; "" if there are none.
func unmatched(run string, alone []Unmatched) string {
	if len(alone) == 0 {
		return ""
	}
	var names []string
	for _, u := range alone[:min(mostExplained, len(alone))] {
		names = append(names, u.String())
	}
	text := fmt.Sprintf("%s only in %s: %s", show.Counted(len(alone), "result"), show.Printable(run),
		strings.Join(names, "; "))
	if more := len(alone) - mostExplained; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// print writes a table for each capacity.
func (r *Reductions) print(p *printer) {
	for from := 0; from < len(r.Rows); {
		to := r.endOf(from)
		p.heading(fmt.Sprintf("%s at %s: %s", r.Title, r.Rows[from].Capacity, r.tracesText(r.Rows[from:to])))
		p.grid(r.table(r.Rows[from:to]))
		from = to
	}
	p.notes(r.explain()...)
}

// tracesText says over how many traces the distributions of rows are.
func (r *Reductions) tracesText(rows []Reduction) string {
	least, most := rows[0].Traces, rows[0].Traces
	for _, row := range rows {
		least, most = min(least, row.Traces), max(most, row.Traces)
	}
	if least < most {
		return fmt.Sprintf("%d to %s", least, show.Counted(most, "trace"))
	}
	return show.Counted(most, "trace")
}

func (r *Reductions) table(rows []Reduction) tabular.Grid {
	g := tabular.Grid{Heads: []tabular.Head{{Name: "policy", IsText: true, Weight: tabular.Key, Wrap: 16}}}
	if r.runs > 1 {
		g.Heads = append(g.Heads, tabular.Head{Name: "run", IsText: true, Weight: tabular.Key, Wrap: 12})
	}
	g.Heads = append(g.Heads, tabular.Head{Name: "mean", Weight: 95})
	for _, p := range percentiles {
		g.Heads = append(g.Heads, tabular.Head{Name: fmt.Sprintf("P%d", p), Weight: 90})
	}
	g.Heads = append(g.Heads, tabular.Head{Name: "best on", Weight: 60}, tabular.Head{Name: "worse on", Weight: 70})
	differ := slices.ContainsFunc(rows, func(row Reduction) bool { return row.Traces != rows[0].Traces })
	if differ {
		g.Heads = append(g.Heads, tabular.Head{Name: "traces", Weight: 50})
	}
	for _, row := range rows {
		cells := []string{row.name()}
		if r.runs > 1 {
			cells = append(cells, show.Printable(row.Run))
		}
		mean := percentText(row.Mean)
		if row.Traces > 1 {
			mean += fmt.Sprintf(" ± %.1f", 100*row.Margin)
		}
		cells = append(cells, mean)
		for _, x := range row.Percentiles {
			cells = append(cells, percentText(x))
		}
		cells = append(cells, strconv.Itoa(row.BestOn), strconv.Itoa(row.WorseOn))
		if differ {
			cells = append(cells, strconv.Itoa(row.Traces))
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// name is the policy, with its kind if it is not online.
func (r *Reduction) name() string {
	if r.record.Kind != records.Online {
		return r.Policy + " (" + r.record.Kind + ")"
	}
	return r.Policy
}

// percentText writes a share with its sign.
func percentText(x float64) string {
	text := strconv.FormatFloat(100*x, 'f', 1, 64) + "%"
	if text == "-0.0%" {
		return "0.0%"
	}
	return strings.Replace(text, "-", "−", 1)
}

func (r *Reductions) explain() (lines []string) {
	lines = append(lines, fmt.Sprintf("share of the value of %s on the same trace at the same capacity; mean ± its 95%% "+
		"interval over traces, by Student's t; percentiles are interpolated", r.Baseline))
	if r.Symmetric {
		lines = append(lines, "where a policy is worse than the baseline: share of its own value")
	}
	fewest := slices.MinFunc(r.Rows, func(a, b Reduction) int { return cmp.Compare(a.Traces, b.Traces) }).Traces
	const few = 10
	switch {
	case fewest == 1:
		lines = append(lines, "a single trace is no distribution: all its percentiles are one value")
	case fewest < few:
		lines = append(lines, fmt.Sprintf("fewer than %d traces: P10 and P90 lie between the two at either end", few))
	}
	return append(lines, "best on: traces on which no online policy of the run is better; worse on: on which "+
		r.Baseline+" is better")
}
