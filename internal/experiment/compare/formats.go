package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
)

// number is a number that may be undefined, which NaN stands for.
type number float64

// MarshalJSON writes null for an undefined number.
func (x number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) {
		return []byte("null"), nil
	}
	return jsonlines.Marshal(float64(x))
}

// String is the number with all its digits, "" for an undefined one.
func (x number) String() string {
	if math.IsNaN(float64(x)) {
		return ""
	}
	return strconv.FormatFloat(float64(x), 'g', -1, 64)
}

func (x number) orZero() float64 {
	if math.IsNaN(float64(x)) {
		return 0
	}
	return float64(x)
}

// printable is a text that JSON has without control characters.
type printable string

func (p printable) MarshalText() ([]byte, error) { return []byte(show.Printable(string(p))), nil }

var estimateHeads = []string{"old", "new", "difference", "low", "high", "n", "ratio", "outcome"}

// csv returns an estimate as CSV has it. A single sample has no interval.
func (e Estimate) csv() []string {
	difference := number(e.Difference)
	return append(texts(number(e.Old), number(e.New), difference, difference-e.Margin, difference+e.Margin, e.Samples,
		e.Ratio), string(e.Outcome))
}

func (c Counts) csv() []string { return texts(c.Won, c.Lost, c.Tied) }

func texts(values ...any) (texts []string) {
	for _, x := range values {
		texts = append(texts, fmt.Sprint(x))
	}
	return texts
}

func writeCSV(w io.Writer, heads []string, rows [][]string) error {
	out := csv.NewWriter(w)
	_ = out.Write(heads) // errors are kept until Error
	_ = out.WriteAll(rows)
	return out.Error()
}

func (c *Comparison) rowsCSV(w io.Writer) error {
	heads := slices.Concat([]string{"metric", "old_run", "new_run"}, c.Versus[0].Dimensions, estimateHeads,
		[]string{"won", "lost", "tied"})
	var rows [][]string
	for _, v := range c.Versus {
		for _, r := range v.Rows {
			rows = append(rows, slices.Concat([]string{c.quantity.Name, v.Old, v.New}, r.Places, r.Estimate.csv(),
				r.Counts.csv()))
		}
	}
	return writeCSV(w, heads, rows)
}

func (c *Comparison) cellsCSV(w io.Writer) error {
	heads := append([]string{"metric", "old_run", "new_run", "trace", "policy", "capacity", "capacity_unit"},
		estimateHeads...)
	var rows [][]string
	for _, v := range c.Versus {
		for _, cell := range v.Cells {
			rows = append(rows, append(texts(c.quantity.Name, v.Old, v.New, cell.Record.Trace, cell.Policy, cell.Capacity,
				cell.CapacityUnit), cell.Estimate.csv()...))
		}
	}
	return writeCSV(w, heads, rows)
}

func (c *Comparison) reductionsCSV(w io.Writer) error {
	heads := []string{"metric", "baseline", "capacity", "run", "policy", "mean", "low", "high"}
	for _, p := range percentiles {
		heads = append(heads, fmt.Sprintf("p%d", p))
	}
	heads = append(heads, "best_on", "worse_on", "traces")
	var rows [][]string
	for _, r := range c.Reductions.Rows {
		mean := number(r.Mean)
		row := texts(c.quantity.Name, c.Reductions.Baseline, r.Capacity, r.Run, r.Policy, mean, mean-r.Margin, mean+r.Margin)
		for _, x := range r.Percentiles {
			row = append(row, number(x).String())
		}
		rows = append(rows, append(row, texts(r.BestOn, r.WorseOn, r.Traces)...))
	}
	return writeCSV(w, heads, rows)
}

// distribution is the values at percentiles; in JSON they have names.
type distribution []float64

func (d distribution) MarshalJSON() ([]byte, error) {
	named := map[string]float64{}
	for i, p := range percentiles {
		named[fmt.Sprintf("p%d", p)] = d[i]
	}
	return jsonlines.Marshal(named)
}

func (c *Comparison) json() any {
	out := struct {
		Metric      string      `json:"metric"`
		Runs        []string    `json:"runs"`
		Comparisons []Versus    `json:"comparisons,omitempty"`
		Baseline    string      `json:"baseline,omitempty"`
		Reductions  []Reduction `json:"reductions,omitempty"`
		Failed      *int        `json:"failed,omitempty"` // cells; absent without a tolerance
		Notes       []string    `json:"notes,omitempty"`
	}{Metric: c.quantity.Name, Runs: c.Runs, Comparisons: c.Versus, Notes: c.Notes}
	if c.gate.FailIf != "" {
		failed := len(c.failing())
		out.Failed = &failed
	}
	if c.Reductions != nil {
		out.Baseline, out.Reductions = c.Reductions.Baseline, c.Reductions.Rows
	}
	return out
}
