package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/series"
	"github.com/cachesim/cachesim/internal/sim"
)

// Results are what cells gave that have ended, by their hashes.
type Results map[string]Result

// Keep is an Options.Finished that keeps results.
func (r Results) Keep(c Cell, result Result) error {
	r[c.Hash] = result
	return nil
}

// Records returns the records, with their times, of those cells that have ended, in the order of the cells, each held
// against those of its optima that have. They are of no plan, so that they do not name their cells.
func (r Results) Records(cells []Cell) (recs []records.Record, err error) {
	for _, c := range cells {
		result, ended := r[c.Hash]
		if !ended || c.Auxiliary {
			continue
		}
		rec, err := result.RecordOf(c)
		if err != nil {
			return nil, err
		}
		for _, hash := range c.Against {
			if optimum, ended := r[hash]; ended {
				sim.HoldAgainst(&rec, optimum.Record)
			}
		}
		if !c.Series.Asked() {
			rec.Cell = ""
		}
		result.AddTimes(&rec)
		recs = append(recs, rec)
	}
	return recs, nil
}

// AddTimes writes what the replay took into a record.
func (r Result) AddTimes(rec *records.Record) {
	setTime(rec, metric.NsPerRequest, r.NsPerRequest)
	setTime(rec, predict.NsMetric, r.PredictionNsPerRequest)
}

// setTime says what a replay took, if that is known.
func setTime(rec *records.Record, m metric.Metric, ns *float64) {
	if ns != nil {
		rec.Set(m, *ns)
	}
}

// takeTime takes a time out of a record; nil where it has none.
func takeTime(rec *records.Record, m metric.Metric) *float64 {
	x, ok := rec.Get(m.Name)
	if !ok {
		return nil
	}
	rec.Delete(m)
	return &x
}

// SameAs compares two results of c in everything but their times and the names they were run under. The error says what
// differs.
func (r Result) SameAs(c Cell, other Result) error {
	left, err := fieldsOf(c, r)
	if err != nil {
		return err
	}
	right, err := fieldsOf(c, other)
	if err != nil {
		return err
	}
	var names []string
	for name := range left {
		if !bytes.Equal(left[name], right[name]) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	name := slices.Min(names)
	return fmt.Errorf("%s is %s and %s", name, left[name], right[name])
}

// fieldsOf returns the figures of a record by their names.
func fieldsOf(c Cell, r Result) (map[string]json.RawMessage, error) {
	rec, err := r.RecordOf(c)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(rec)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	return fields, json.Unmarshal(text, &fields)
}

// Series returns the rows of those cells that have ended, in the order of the cells.
func (r Results) Series(cells []Cell) (rows []series.Row) {
	for _, c := range cells {
		if !c.Auxiliary {
			rows = append(rows, r[c.Hash].SeriesOf(c)...)
		}
	}
	return rows
}

// SeriesOf returns the rows of a result as those of c, which must have the hash of the cell that was run.
func (r Result) SeriesOf(c Cell) []series.Row {
	rows := slices.Clone(r.Series)
	for i := range rows {
		rows[i].Cell = c.Hash
	}
	return rows
}
