package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/show"
)

func number(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// estimateHeads are the columns of an estimate in CSV.
var estimateHeads = []string{"old", "new", "difference", "low", "high", "n", "ratio", "outcome"}

// cells returns an estimate as CSV has it. A single sample has no interval.
func (e Estimate) cells() []string {
	low, high := "", ""
	if e.Samples > 1 {
		low, high = number(e.Difference-e.Margin), number(e.Difference+e.Margin)
	}
	return []string{number(e.Old), number(e.New), number(e.Difference), low, high, strconv.Itoa(e.Samples),
		number(e.Ratio), string(e.Outcome)}
}

func writeCSV(w io.Writer, heads []string, rows [][]string) error {
	out := csv.NewWriter(w)
	_ = out.Write(heads) // errors are kept until Error
	_ = out.WriteAll(rows)
	return out.Error()
}

// rowsCSV writes the rows of all comparisons, with all digits.
func (c *Comparison) rowsCSV(w io.Writer) error {
	var heads []string
	var rows [][]string
	for i := range c.Versus {
		v := &c.Versus[i]
		if heads == nil {
			heads = append([]string{"metric", "old_run", "new_run"}, v.Dimensions...)
			heads = append(append(heads, estimateHeads...), "won", "lost", "tied")
		}
		for _, r := range v.Rows {
			row := append([]string{c.quantity.Name, v.Old, v.New}, r.Places...)
			row = append(append(row, r.Estimate.cells()...), strconv.Itoa(r.Won), strconv.Itoa(r.Lost), strconv.Itoa(r.Tied))
			rows = append(rows, row)
		}
	}
	return writeCSV(w, heads, rows)
}

// cellsCSV writes the cells of all comparisons, with all digits.
func (c *Comparison) cellsCSV(w io.Writer) error {
	heads := append([]string{"metric", "old_run", "new_run", "trace", "policy", "capacity", "capacity_unit"},
		estimateHeads...)
	var rows [][]string
	for i := range c.Versus {
		v := &c.Versus[i]
		for _, cell := range v.Cells {
			r := cell.Record
			rows = append(rows, append([]string{c.quantity.Name, v.Old, v.New, r.Trace, cell.policy,
				strconv.FormatInt(r.Capacity, 10), r.CapacityUnit}, cell.Estimate.cells()...))
		}
	}
	return writeCSV(w, heads, rows)
}

// reductionsCSV writes the distributions, with all digits.
func (c *Comparison) reductionsCSV(w io.Writer) error {
	heads := []string{"metric", "baseline", "capacity", "run", "policy", "mean", "low", "high"}
	for _, p := range percentiles {
		heads = append(heads, fmt.Sprintf("p%d", p))
	}
	heads = append(heads, "best_on", "worse_on", "traces")
	var rows [][]string
	for _, r := range c.Reductions.Rows {
		low, high := "", ""
		if r.Traces > 1 {
			low, high = number(r.Mean-r.Margin), number(r.Mean+r.Margin)
		}
		row := []string{c.quantity.Name, c.Reductions.Baseline, r.Capacity, r.Run, r.Policy, number(r.Mean), low, high}
		for _, x := range r.Percentiles {
			row = append(row, number(x))
		}
		rows = append(rows, append(row, strconv.Itoa(r.BestOn), strconv.Itoa(r.WorseOn), strconv.Itoa(r.Traces)))
	}
	return writeCSV(w, heads, rows)
}

type jsonComparison struct {
	Metric      string          `json:"metric"`
	Runs        []string        `json:"runs"`
	Comparisons []jsonVersus    `json:"comparisons,omitempty"`
	Baseline    string          `json:"baseline,omitempty"`
	Reductions  []jsonReduction `json:"reductions,omitempty"`
	Failed      *int            `json:"failed,omitempty"` // cells; absent without a tolerance
	Notes       []string        `json:"notes,omitempty"`
}

type jsonVersus struct {
	Old     string     `json:"old"`
	New     string     `json:"new"`
	Rows    []jsonRow  `json:"rows"`
	Cells   []jsonCell `json:"cells"`
	Wins    []jsonWins `json:"wins"` // by policy; the last one is of all
	OnlyOld []jsonOnly `json:"only_old,omitempty"`
	OnlyNew []jsonOnly `json:"only_new,omitempty"`
}

type jsonOnly struct {
	Trace string `json:"trace"`
	Cell  string `json:"cell"`
}

func onlyJSON(alone []Unmatched) (out []jsonOnly) {
	for _, u := range alone {
		out = append(out, jsonOnly{show.Printable(u.Trace), u.Cell})
	}
	return out
}

type jsonRow struct {
	At map[string]string `json:"at"`
	jsonEstimate
	Won  int `json:"won"`
	Lost int `json:"lost"`
	Tied int `json:"tied"`
}

type jsonCell struct {
	Trace        string `json:"trace"`
	Policy       string `json:"policy"`
	Capacity     int64  `json:"capacity"`
	CapacityUnit string `json:"capacity_unit"`
	jsonEstimate
}

type jsonWins struct {
	Policy string   `json:"policy"`
	Won    int      `json:"won"`
	Lost   int      `json:"lost"`
	Tied   int      `json:"tied"`
	Ratio  *float64 `json:"ratio"`
}

type jsonEstimate struct {
	Old        float64  `json:"old"`
	New        float64  `json:"new"`
	Difference float64  `json:"difference"`
	Margin     *float64 `json:"margin"` // null for a single sample
	Samples    int      `json:"n"`
	Ratio      *float64 `json:"ratio"` // null where it is undefined
	Outcome    Outcome  `json:"outcome"`
}

type jsonReduction struct {
	Capacity    string             `json:"capacity"`
	Run         string             `json:"run"`
	Policy      string             `json:"policy"`
	Mean        float64            `json:"mean"`
	Margin      *float64           `json:"margin"`
	Percentiles map[string]float64 `json:"percentiles"`
	BestOn      int                `json:"best_on"`
	WorseOn     int                `json:"worse_on"`
	Traces      int                `json:"traces"`
}

// known returns a pointer to a number; nil for one that is undefined.
func known(x float64, isKnown bool) *float64 {
	if !isKnown || math.IsNaN(x) {
		return nil
	}
	return &x
}

func (e Estimate) json() jsonEstimate {
	return jsonEstimate{e.Old, e.New, e.Difference, known(e.Margin, e.Samples > 1), e.Samples, known(e.Ratio, true),
		e.Outcome}
}

func (c *Comparison) json() jsonComparison {
	out := jsonComparison{Metric: c.quantity.Name, Runs: c.Runs, Notes: c.Notes}
	for i := range c.Versus {
		out.Comparisons = append(out.Comparisons, c.Versus[i].json())
	}
	if c.gate.FailIf != "" {
		failed := len(c.failing())
		out.Failed = &failed
	}
	if c.Reductions == nil {
		return out
	}
	out.Baseline = c.Reductions.Baseline
	for _, r := range c.Reductions.Rows {
		j := jsonReduction{r.Capacity, r.Run, r.Policy, r.Mean, known(r.Margin, r.Traces > 1), map[string]float64{},
			r.BestOn, r.WorseOn, r.Traces}
		for i, p := range percentiles {
			j.Percentiles[fmt.Sprintf("p%d", p)] = r.Percentiles[i]
		}
		out.Reductions = append(out.Reductions, j)
	}
	return out
}

func (v *Versus) json() jsonVersus {
	out := jsonVersus{Old: v.Old, New: v.New, OnlyOld: onlyJSON(v.OnlyOld), OnlyNew: onlyJSON(v.OnlyNew)}
	for _, r := range v.Rows {
		at := map[string]string{}
		for i, d := range v.Dimensions {
			at[d] = r.Places[i]
		}
		out.Rows = append(out.Rows, jsonRow{at, r.Estimate.json(), r.Won, r.Lost, r.Tied})
	}
	for _, cell := range v.Cells {
		r := cell.Record
		out.Cells = append(out.Cells, jsonCell{show.Printable(r.Trace), cell.policy, r.Capacity, r.CapacityUnit,
			cell.Estimate.json()})
	}
	for _, w := range v.Wins {
		out.Wins = append(out.Wins, jsonWins{w.Policy, w.Won, w.Lost, w.Tied, known(w.Ratio, true)})
	}
	return out
}
