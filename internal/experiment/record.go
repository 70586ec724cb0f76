package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
)

// Results are the results of finished cells, by hash.
type Results map[string]Result

// Keep is an Options.Finished that stores results.
func (r Results) Keep(c Cell, result Result) error {
	r[c.Hash] = result
	return nil
}

// Records returns the records of the finished cells in the order of the cells, each compared with its optima's.
// With the digest of a plan they name it and their cells, and have no times. Without a plan only those with series name
// their cells, and optima need not be finished.
func (r Results) Records(cells []Cell, plan string) (recs []records.Record, err error) {
	for _, c := range cells {
		result, ended := r[c.Hash]
		if !ended || c.Auxiliary {
			continue
		}
		rec, err := result.RecordOf(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		for _, hash := range c.Against {
			if optimum, ended := r[hash]; ended {
				sim.HoldAgainst(&rec, optimum.Record)
			} else if plan != "" {
				return nil, fmt.Errorf("%s: the plan has no cell %s, which is its optimum", c, hash)
			}
		}
		if rec.Plan = plan; plan == "" {
			result.Times.AddTo(&rec)
			if !c.Series.IsSet() {
				rec.Cell = ""
			}
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

// AddBlocks adds the blocks of the finished cells to a set.
func (r Results) AddBlocks(to *blocks.Set, cells []Cell) {
	for _, c := range cells {
		if result := r[c.Hash]; !c.Auxiliary {
			to.Add(&result.Record, result.Blocks)
		}
	}
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
			for _, row := range r[c.Hash].Series {
				row.Cell = c.Hash
				rows = append(rows, row)
			}
		}
	}
	return rows
}
