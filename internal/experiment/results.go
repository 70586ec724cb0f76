package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/results/records"
	"github.com/cachesim/cachesim/internal/results/series"
	"github.com/cachesim/cachesim/internal/sim"
)

// Results are the results of finished cells, by hash.
type Results map[string]Result

// Keep is an Options.Finished that stores results.
func (r Results) Keep(c Cell, result Result) error {
	r[c.Hash] = result
	return nil
}

// Records returns the records of the finished cells, with their times, in the order of the cells. Each is compared with
// those of its optima that are finished. The records belong to no plan, so they do not name their cells.
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

// AddTimes adds the replay's times to a record.
func (r Result) AddTimes(rec *records.Record) {
	setTime(rec, metric.NsPerRequest, r.NsPerRequest)
	setTime(rec, predict.NsMetric, r.PredictionNsPerRequest)
	for name, x := range r.OtherTimes {
		rec.SetNamed(name, x)
	}
}

// setTime sets a time in a record, if it is known.
func setTime(rec *records.Record, m metric.Metric, ns *float64) {
	if ns != nil {
		rec.Set(m, *ns)
	}
}

// takeTime removes a time from a record and returns it; nil if the record has none.
func takeTime(rec *records.Record, m metric.Metric) *float64 {
	x, ok := rec.Get(m.Name)
	if !ok {
		return nil
	}
	rec.Delete(m)
	return &x
}

// takeOtherTimes removes from a record all metrics that depend on the machine, and returns them; nil if there is none.
func takeOtherTimes(rec *records.Record) (taken map[string]float64) {
	for name := range rec.Names() {
		m, ok := metric.Lookup(name)
		if !ok || !m.OfMachine {
			continue
		}
		if taken == nil {
			taken = map[string]float64{}
		}
		taken[name] = rec.Float(m)
		rec.Delete(m)
	}
	return taken
}

// SameAs checks that two results of c are the same, apart from times and from the names that they ran under. The error
// says what differs.
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
	return fmt.Errorf("%s is %s in one and %s in the other", name, left[name], right[name])
}

// fieldsOf returns a record's values by name.
func fieldsOf(c Cell, r Result) (map[string]json.RawMessage, error) {
	rec, err := r.RecordOf(c)
	if err != nil {
		return nil, err
	}
	text, err := jsonlines.Marshal(rec)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	return fields, json.Unmarshal(text, &fields)
}

// Series returns the rows of the finished cells, in the order of the cells.
func (r Results) Series(cells []Cell) (rows []series.Row) {
	for _, c := range cells {
		if !c.Auxiliary {
			rows = append(rows, r[c.Hash].SeriesOf(c)...)
		}
	}
	return rows
}

// SeriesOf returns the rows of a result for c, which must have the hash of the cell that ran.
func (r Result) SeriesOf(c Cell) []series.Row {
	rows := slices.Clone(r.Series)
	for i := range rows {
		rows[i].Cell = c.Hash
	}
	return rows
}
