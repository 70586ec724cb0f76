// Package curve computes hit ratios over all capacities. It chooses capacities and samples, and prints the results as a
// table and a figure.
package curve

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/search"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
)

type Curve struct {
	Trace      string
	Rate       float64             // of the samples; 0 if the whole trace was replayed
	Parts      sim.Parts           // of all its replays, apart from the policy
	Ratio      Ratio               // of the table and, from samples, of the figure
	Capacities []capacity.Capacity // of the table, ascending
	Specs      []policies.Spec     // next to LRU
	Exact      []records.Record    // of the whole trace
	Sampled    []records.Record
}

// estimate is a hit ratio from samples.
type estimate struct {
	mean, stdErr float64 // stdErr is NaN if there is only one sample
	samples      int
}

// requests returns how many requests of the whole trace were counted. Something must have been replayed.
func (c *Curve) requests() int64 { return c.Exact[0].Int(metric.Requests) }

func (c *Curve) exactAt(label string, capacity int64) (ratio float64, ok bool) {
	i := slices.IndexFunc(c.Exact, func(r records.Record) bool { return r.Label == label && r.Capacity == capacity })
	if i < 0 || !c.Exact[i].Has(c.Ratio.Metric) {
		return 0, false
	}
	return c.Exact[i].Float(c.Ratio.Metric), true
}

func (c *Curve) sampledAt(label string, capacity int64) (e estimate, ok bool) {
	return c.sampledIn(c.Ratio, label, capacity)
}

func (c *Curve) sampledIn(of Ratio, label string, capacity int64) (e estimate, ok bool) {
	var ratios []float64
	for i := range c.Sampled {
		if r := &c.Sampled[i]; r.Label == label && r.Capacity == capacity && of.isKnown(r) {
			ratios = append(ratios, c.ofSample(of, r))
		}
	}
	if len(ratios) == 0 {
		return e, false
	}
	standardError := statistics.StdDev(ratios) / math.Sqrt(float64(len(ratios)))
	// Only the mean is limited: a sample's estimate may be below 0, and limiting it would make the mean too high.
	return estimate{max(0, statistics.Mean(ratios)), standardError, len(ratios)}, true
}

// ofSample estimates a ratio of the whole trace from the record of a sample. It counts misses, not requests: nearly all
// requests to the hottest objects hit, and a sample may lack these objects (the adjustment of Waldspurger et al., FAST
// 2015).
func (c *Curve) ofSample(of Ratio, r *records.Record) float64 {
	return 1 - float64(of.missed(r))/(c.Rate*float64(c.Exact[0].Int(of.all)))
}

// Estimate returns the hit ratio of the whole trace that the records of the samples mean together.
func (c *Curve) Estimate(samples []records.Record) float64 {
	sum := 0.0
	for i := range samples {
		sum += c.ofSample(OfRequests, &samples[i])
	}
	return max(0, sum/float64(len(samples)))
}

// Policies returns what a search for capacities is for: LRU on the whole trace, and the others on samples. cells has
// one of each.
func (c *Curve) Policies(cells []experiment.Cell) (all []search.Policy) {
	for _, cell := range cells {
		label := cell.Label
		kind := cell.Parts.Policy.Entry
		if cell.Auxiliary || kind.Kind == policies.Bound || kind.Unbounded {
			continue
		}
		p := search.Policy{Label: label, Online: kind.Kind == policies.Online, Cell: cell}
		for _, capacity := range c.Capacities {
			if e, ok := c.sampledIn(OfRequests, label, capacity.Amount); ok {
				p.Points = append(p.Points, target.Point{Capacity: capacity.Amount, HitRatio: e.mean})
			}
		}
		all = append(all, p)
	}
	return all
}

// Drawn returns the records of the lines in the figure: those of LRU on the whole trace, of the others on samples if
// there are any.
func (c *Curve) Drawn() []records.Record {
	if c.Rate == 0 {
		return c.Exact
	}
	lru := policies.Recency()
	exact := slices.DeleteFunc(slices.Clone(c.Exact), func(r records.Record) bool { return r.Label != lru })
	sampled := slices.DeleteFunc(slices.Clone(c.Sampled), func(r records.Record) bool { return r.Label == lru })
	return append(exact, sampled...)
}

// Print writes the hit ratios, as markdown or as a table.
func (c *Curve) Print(w io.Writer, format string) error {
	width := terminal.Width(w)
	_, err := fmt.Fprintf(w, "%s\n\n%s\n\n%s\n", terminal.Wrapped(c.title(), width), c.grid().In(format, width),
		terminal.Wrapped(c.footer(), width))
	return err
}

func (c *Curve) title() string {
	in := ""
	if !cache.IsExact(c.Parts.Cache) {
		in = " in the cache " + c.Parts.Cache.String()
	}
	if c.Parts.Admission != nil {
		in += ", admission " + c.Parts.Admission.String()
	}
	if c.Parts.Router != nil {
		in += ", router " + c.Parts.Router.String()
	}
	title := fmt.Sprintf("%s: %s requests, %ss%s", show.Printable(c.Trace), show.Count(c.requests()), c.Ratio.noun(), in)
	if sizes := c.Exact[0].Sizes; sizes != "" {
		title += "\n" + show.Printable(sizes)
	}
	return title
}

func (c *Curve) grid() tabular.Grid {
	lru := policies.Recency()
	columns := []tabular.Column[capacity.Capacity]{
		{Head: tabular.Head{Name: "capacity"},
			Cell: func(at capacity.Capacity) string { return show.Capacity(at.Amount, at.Unit()) }},
		{Head: tabular.Head{Name: lru}, Cell: c.exactCell(lru)},
	}
	cell := c.exactCell
	if c.Rate > 0 {
		cell = c.sampledCell
		columns = append(columns, tabular.Column[capacity.Capacity]{
			Head: tabular.Head{Name: lru + " sampled", Beside: true}, Cell: cell(lru),
		}, tabular.Column[capacity.Capacity]{Head: tabular.Head{Name: "error", Beside: true}, Cell: c.errorCell})
	}
	for _, s := range c.Specs {
		columns = append(columns, tabular.Column[capacity.Capacity]{Head: tabular.Head{Name: c.heading(s)},
			Cell: cell(s.String())})
	}
	g := tabular.GridOf(columns, c.Capacities)
	g.Folds = true
	if row := c.noCache(len(columns)); row != nil {
		g.Rows = slices.Insert(g.Rows, 0, row)
	}
	return g
}

// exactCell, sampledCell and errorCell are blank where a value is unknown.
func (c *Curve) exactCell(label string) func(capacity.Capacity) string {
	return func(at capacity.Capacity) string {
		x, ok := c.exactAt(label, at.Amount)
		if !ok {
			return ""
		}
		return fmt.Sprintf("%.2f%%", 100*x)
	}
}

func (c *Curve) sampledCell(label string) func(capacity.Capacity) string {
	return func(at capacity.Capacity) string {
		e, ok := c.sampledAt(label, at.Amount)
		switch {
		case !ok:
			return ""
		case e.samples == 1:
			return fmt.Sprintf("%.2f%%", 100*e.mean)
		}
		return fmt.Sprintf("%.2f%% ± %.2f", 100*e.mean, 100*e.stdErr)
	}
}

func (c *Curve) errorCell(at capacity.Capacity) string {
	e, ok := c.errorOf(policies.Recency(), at.Amount)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%+.2f", 100*e)
}

// noCache is the row of no cache, if it was replayed next to the others; nil if it was not.
func (c *Curve) noCache(columns int) (row []string) {
	i := slices.IndexFunc(c.Exact, func(r records.Record) bool {
		role, _ := records.RoleOf(r.Policy)
		return role.Idle
	})
	idle := func(s policies.Spec) bool { return s.Entry.Idle }
	if i < 0 || slices.ContainsFunc(c.Specs, idle) {
		return nil
	}
	row = slices.Repeat([]string{fmt.Sprintf("%.2f%%", 100*c.Exact[i].Float(c.Ratio.Metric))}, columns)
	if row[0] = c.Exact[i].Label; c.Rate > 0 {
		row[2], row[3] = "", ""
	}
	return row
}

func (c *Curve) heading(s policies.Spec) string {
	if s.Entry.Kind == policies.Bound {
		return s.String() + " (bound)"
	}
	return s.String()
}

// footer gives the origin of the values and their error.
func (c *Curve) footer() string {
	if c.Rate == 0 {
		why, _ := Exact(c.Parts)
		return "lru: " + why + "; the others are replayed at these"
	}
	seeds := c.seeds()
	lines := []string{fmt.Sprintf("lru: exact; the others: mean and standard error of %d samples of %s of the objects, "+
		"in percentage points",
		len(seeds), show.Share(c.Rate))}
	lines = append(lines, c.errorLines()...)
	if held := Scaled(c.Capacities, c.Rate); len(held) < len(c.Capacities) {
		lines = append(lines, "blank: less than one unit of this capacity remains on a sample")
	}
	return strings.Join(lines, "\n")
}

func (c *Curve) seeds() []uint64 {
	return records.Distinct(c.Sampled, func(r records.Record) uint64 { return r.Seed })
}

// Figure draws the exact curve of LRU, and the sampled ones with bands of one standard error to either side.
func (c *Curve) Figure(o look.Options) *plots.Figure {
	axis, unit := "capacity (objects)", axes.Number
	if c.Capacities[0].Unit() == records.Bytes {
		axis, unit = "capacity", axes.Bytes
	}
	f := plots.New(fmt.Sprintf("%s: %s, from %d samples of %s", c.Ratio.Metric.Figure.Title, c.Trace, len(c.seeds()),
		show.Share(c.Rate)), axis, c.Ratio.noun())
	lru := slices.DeleteFunc(slices.Clone(c.Exact), func(r records.Record) bool { return r.Label != policies.Recency() })
	slices.SortFunc(lru, func(a, b records.Record) int { return cmp.Compare(a.Capacity, b.Capacity) })
	styles := c.styles()
	line := plots.Line{Label: exactLRU, Style: styles[exactLRU]}
	for _, r := range lru {
		line.X, line.Y = append(line.X, float64(r.Capacity)), append(line.Y, r.Float(c.Ratio.Metric))
	}
	lines := append([]plots.Line{line}, c.sampledLines(policies.Recency(), styles)...)
	for _, s := range c.Specs {
		lines = append(lines, c.sampledLines(s.String(), styles)...)
	}
	plots.Emphasise(o, lines)
	for _, l := range lines {
		if len(l.X) > 0 {
			f.AddLine(l)
		}
	}
	f.SetX(axes.Log, unit)
	f.SetY(axes.Linear, axes.Percent)
	return f
}

// exactLRU is the name of the line of LRU on the whole trace, sampled ends the names of lines from samples.
const (
	exactLRU = "lru (exact)"
	sampled  = " (sampled)"
)

// styles are the looks of the lines: no two are alike.
func (c *Curve) styles() plots.Styles {
	named := func(policy, kind, label string) records.Record {
		return records.Record{Policy: policy, Kind: kind, Label: label}
	}
	lru := policies.Recency()
	recs := []records.Record{named(lru, records.Online, exactLRU), named(lru, records.Online, lru+sampled)}
	for _, s := range c.Specs {
		recs = append(recs, named(s.Entry.Name, s.Entry.Kind.String(), s.String()+sampled))
	}
	return plots.StylesOf(recs, records.DimPolicy)
}

// sampledLines returns the line of a policy's means, and a band of one standard error to either side.
func (c *Curve) sampledLines(label string, styles plots.Styles) []plots.Line {
	style := styles[label+sampled]
	mean := plots.Line{Label: label + sampled, Style: style}
	style.Width, style.Marker = 0, nil
	band := plots.Line{Style: style}
	for _, capacity := range c.Capacities {
		if e, ok := c.sampledAt(label, capacity.Amount); ok && e.samples > 1 {
			x := float64(capacity.Amount)
			mean.X, mean.Y = append(mean.X, x), append(mean.Y, e.mean)
			band.X, band.Y, band.High = append(band.X, x), append(band.Y, e.mean-e.stdErr), append(band.High, e.mean+e.stdErr)
		}
	}
	return []plots.Line{band, mean}
}

// Table returns the hit ratios as Print writes them, for a page.
func (c *Curve) Table() *page.Table {
	g := c.grid()
	t := &page.Table{Caption: c.title(), Rows: g.Rows, Notes: strings.Split(c.footer(), "\n")}
	for _, h := range g.Heads {
		t.Columns = append(t.Columns, page.Column{Name: h.Name, Class: page.Number})
	}
	return t
}

// Drawings draws what Figure returns.
func (c *Curve) Drawings(o look.Options) ([]plots.Drawing, error) {
	d, err := c.Figure(o).Draw(c.Ratio.Metric.Name, o, canvas.SVG, canvas.PNG)
	return []plots.Drawing{d}, err
}
