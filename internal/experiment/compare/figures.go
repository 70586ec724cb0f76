package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/boxes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// mostDrawn is how many rows a figure has: more cannot be told apart.
const mostDrawn = 60

// Figures draws the differences of each comparison with their intervals, and for each capacity the reductions.
func (c *Comparison) Figures(o look.Options) (drawn []plots.Drawing, err error) {
	for i := range c.Versus {
		name := "difference"
		if len(c.Versus) > 1 {
			name = fmt.Sprintf("difference_%d", i+1)
		}
		d, err := c.drawDifferences(&c.Versus[i], name, o)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, d)
	}
	if c.Reductions == nil {
		return drawn, nil
	}
	for _, rows := range c.Reductions.byCapacity() {
		d, err := c.Reductions.draw(rows, o)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, d)
	}
	return drawn, nil
}

func (c *Comparison) drawDifferences(v *Versus, name string, o look.Options) (plots.Drawing, error) {
	label, scale := fmt.Sprintf("%s, %s − %s", c.quantity.Label(), v.New, v.Old), 1.0
	if c.quantity.Unit == metric.Share {
		label, scale = label+" (percentage points)", 100
	}
	title := fmt.Sprintf("%s: %s against %s, %s", sentence(c.quantity.Label()), v.New, v.Old, v.over())
	if v.hasIntervals() {
		label += ", with 95% intervals"
	}
	rows := v.Rows[:min(mostDrawn, len(v.Rows))]
	if len(rows) < len(v.Rows) {
		title += fmt.Sprintf(", the first %d rows", len(rows))
	}
	var b boxes.Plot
	var names []string
	var recs []*records.Record
	for _, r := range rows {
		recs = append(recs, v.recordOf(r))
	}
	colors := plots.Colors(o, recs)
	for i, r := range slices.Backward(rows) {
		x, margin := r.Difference, r.Margin.orZero()
		b.Rows = append(b.Rows, boxes.Box{Low: scale * (x - margin), High: scale * (x + margin), Dot: scale * x,
			HasDot: true, Color: colors[i], Empty: true})
		names = append(names, v.rowName(r))
	}
	f := plots.New(title, label, "")
	f.AddRows(&b, names)
	return f.Draw(name, o, canvas.SVG, canvas.PNG)
}

// records returns a record of each row that may be drawn.
func (c *Comparison) records() (recs []records.Record) {
	for i := range c.Versus {
		for _, cell := range c.Versus[i].Cells {
			recs = append(recs, *cell.Record)
		}
	}
	if c.Reductions != nil {
		for _, row := range c.Reductions.Rows {
			recs = append(recs, *row.record)
		}
	}
	return recs
}

// recordOf returns a record at the places of a row.
func (v *Versus) recordOf(r Row) *records.Record {
	at := slices.IndexFunc(v.Cells, func(c Cell) bool { return slices.Equal(c.Places, r.Places) })
	return v.Cells[at].Record
}

// rowName names a row by its places: the policy first.
func (v *Versus) rowName(r Row) string {
	var first, others []string
	for i, d := range v.Dimensions {
		if d == records.DimPolicy {
			first = append(first, r.Places[i])
		} else {
			others = append(others, r.Places[i])
		}
	}
	return strings.Join(append(first, others...), " at ")
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (r *Reductions) byCapacity() [][]Reduction {
	return records.GroupBy(r.Rows, func(row Reduction) string { return row.Capacity })
}

// draw draws the distributions at one capacity, the largest mean on top.
func (r *Reductions) draw(rows []Reduction, o look.Options) (plots.Drawing, error) {
	capacity := rows[0].Capacity
	title := fmt.Sprintf("%s at %s, %s", sentence(r.Title), capacity, r.tracesText(rows))
	if len(rows) > mostDrawn {
		title += fmt.Sprintf(", the %d largest means", mostDrawn)
		rows = rows[:mostDrawn]
	}
	var b boxes.Plot
	var names []string
	var recs []*records.Record
	for _, row := range rows {
		recs = append(recs, row.record)
	}
	colors := plots.Colors(o, recs)
	for i, row := range slices.Backward(rows) {
		p := row.Percentiles
		b.Rows = append(b.Rows, boxes.Box{Low: p[0], From: p[1], Middle: p[2], To: p[3], High: p[4], Dot: row.Mean,
			HasDot: true, Color: colors[i]})
		name := row.name()
		if r.runs > 1 {
			name += " in " + row.Run
		}
		names = append(names, name)
	}
	f := plots.New(title, "whiskers: P10 to P90, box: P25 to P75, line: median, dot: mean", "")
	f.SetX(axes.Linear, axes.Percent)
	f.AddRows(&b, names)
	return f.Draw("reduction_at_"+fileName(capacity), o, canvas.SVG, canvas.PNG)
}

// fileName replaces what not every file system has in names.
func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.':
			return r
		case r == '%':
			return 'p'
		}
		return '_'
	}, text)
}
