package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

var Formats = slices.Concat([]string{"table", "csv", "json", "markdown"}, checks.Formats)

// Print writes the comparison in one of Formats. A table fits a terminal of width columns; 0 means that the output is
// not one. CSV has the reductions if there are any, and otherwise the rows.
func (c *Comparison) Print(w io.Writer, format string, width int) error {
	if slices.Contains(checks.Formats, format) {
		return checks.Print(w, format, c.suites(), func(w io.Writer) error { return c.printTables(w, "markdown", 0) })
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

func (v *Versus) over() string {
	if v.traces > 1 {
		return show.Counted(v.traces, "trace")
	}
	return v.Cells[0].Record.Trace
}

func (c *Comparison) ratioHead() string { return c.quantity.noun + " ×" }

func (c *Comparison) rowsGrid(v *Versus) tabular.Grid {
	var columns []tabular.Column[Row]
	var estimates []Estimate
	for _, r := range v.Rows {
		estimates = append(estimates, r.Estimate)
	}
	m := c.exact(estimates...)
	add := func(name string, weight int, cell func(r Row) string) {
		columns = append(columns, tabular.Column[Row]{Head: tabular.Head{Name: name, Weight: weight}, Cell: cell})
	}
	for i, d := range v.Dimensions {
		columns = append(columns, tabular.Column[Row]{Head: tabular.Head{Name: d, IsText: d != records.DimCapacity,
			Weight: tabular.Key, Wrap: 16}, Cell: func(r Row) string { return r.Places[i] }})
	}
	add(show.Printable(v.Old), 60, func(r Row) string { return m.Text(r.Old) })
	add(show.Printable(v.New), 70, func(r Row) string { return m.Text(r.New) })
	add("difference", tabular.Key, func(r Row) string { return differenceText(m, r.Estimate) })
	if v.hasIntervals() {
		add("95% interval", 80, func(r Row) string { return intervalText(m, r.Estimate) })
	}
	if len(v.sampleSizes()) > 1 {
		add("n", 65, func(r Row) string { return strconv.Itoa(r.Samples) })
	}
	add(c.ratioHead(), 75, func(r Row) string { return ratioText(r.Ratio) })
	if slices.ContainsFunc(v.Rows, func(r Row) bool { return r.Won+r.Lost+r.Tied > 1 }) {
		add(strings.Join(c.outcomeHeads(), "/"), 55, func(r Row) string { return strings.Join(r.Counts.csv(), "/") })
	}
	return tabular.GridOf(columns, v.Rows)
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
func (v *Versus) sampleSizes() []int {
	return records.Distinct(v.Rows, func(r Row) int { return r.Samples })
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
	margin := float64(e.Margin)
	return m.DifferenceText(e.Difference-margin) + " to " + m.DifferenceText(e.Difference+margin)
}

func ratioText(x number) string {
	if math.IsNaN(float64(x)) {
		return ""
	}
	return strconv.FormatFloat(float64(x), 'f', 3, 64)
}

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
		g.Rows = append(g.Rows, slices.Concat([]string{w.Policy}, w.Counts.csv(), []string{ratioText(w.Ratio)}))
	}
	return g
}

// unmatched lists results without a partner; "" if there are none.
func unmatched(run string, alone []Unmatched) string {
	if len(alone) == 0 {
		return ""
	}
	var names []string
	for _, u := range alone {
		names = append(names, u.String())
	}
	return fmt.Sprintf("%s only in %s: %s", show.Counted(len(alone), "result"), show.Printable(run),
		checks.Named(names, mostExplained))
}

// print writes a table for each capacity.
func (r *Reductions) print(p *printer) {
	for _, rows := range r.byCapacity() {
		p.heading(fmt.Sprintf("%s at %s: %s", r.Title, rows[0].Capacity, r.tracesText(rows)))
		p.grid(r.table(rows))
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
	var columns []tabular.Column[Reduction]
	add := func(head tabular.Head, cell func(row Reduction) string) {
		columns = append(columns, tabular.Column[Reduction]{Head: head, Cell: cell})
	}
	add(tabular.Head{Name: "policy", IsText: true, Weight: tabular.Key, Wrap: 16},
		func(row Reduction) string { return row.name() })
	if r.runs > 1 {
		add(tabular.Head{Name: "run", IsText: true, Weight: tabular.Key, Wrap: 12},
			func(row Reduction) string { return show.Printable(row.Run) })
	}
	add(tabular.Head{Name: "mean", Weight: 95}, func(row Reduction) string {
		if row.Traces > 1 {
			return fmt.Sprintf("%s ± %.1f", percentText(row.Mean), 100*row.Margin)
		}
		return percentText(row.Mean)
	})
	for i, p := range percentiles {
		add(tabular.Head{Name: fmt.Sprintf("P%d", p), Weight: 90},
			func(row Reduction) string { return percentText(row.Percentiles[i]) })
	}
	add(tabular.Head{Name: "best on", Weight: 60}, func(row Reduction) string { return strconv.Itoa(row.BestOn) })
	add(tabular.Head{Name: "worse on", Weight: 70}, func(row Reduction) string { return strconv.Itoa(row.WorseOn) })
	if slices.ContainsFunc(rows, func(row Reduction) bool { return row.Traces != rows[0].Traces }) {
		add(tabular.Head{Name: "traces", Weight: 50}, func(row Reduction) string { return strconv.Itoa(row.Traces) })
	}
	return tabular.GridOf(columns, rows)
}

// name is the policy, with its kind if it is not online.
func (r *Reduction) name() string {
	if r.record.Kind != records.Online {
		return r.Policy + " (" + r.record.Kind + ")"
	}
	return r.Policy
}

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

// Write writes the comparison into a folder, which is created if missing: comparison.md, comparison.json, the rows and
// the cells as CSV, the reductions if there are any, and the figures. After an error no file has changed.
func (c *Comparison) Write(dir string, o look.Options) error {
	if err := o.CheckHighlight(c.records()); err != nil {
		return fmt.Errorf("--highlight: %w", err)
	}
	drawn, err := c.Figures(o)
	if err != nil {
		return err
	}
	if err := atomicfile.MakeFolder(dir); err != nil {
		return err
	}
	as := func(format string) func(io.Writer) error {
		return func(w io.Writer) error { return c.Print(w, format, 0) }
	}
	outputs := []atomicfile.Output{{Name: "comparison.md", Write: as("markdown")},
		{Name: "comparison.json", Write: as("json")}}
	if len(c.Versus) > 0 {
		outputs = append(outputs, atomicfile.Output{Name: "rows.csv", Write: c.rowsCSV},
			atomicfile.Output{Name: "cells.csv", Write: c.cellsCSV})
	}
	if c.Reductions != nil {
		outputs = append(outputs, atomicfile.Output{Name: "reductions.csv", Write: c.reductionsCSV})
	}
	return atomicfile.WriteAllIn(dir, append(outputs, plots.Outputs(drawn)...)...)
}
