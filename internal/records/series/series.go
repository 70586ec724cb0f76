// Package series contains values over the time of a replay: hit ratio, occupancy, quotas, one value for each window. It
// is a second table next to the records, written as series.jsonl and series.parquet; figures over time are drawn from
// it.
package series

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
)

// Row is one value of a series. Rows of one cell are consecutive, in the order of their times.
type Row struct {
	Cell string `json:"cell" parquet:"cell,dict"` // as in the row's record
	// Time is the end of the window: requests served since the start of the replay, or seconds since the first request if
	// windows are spans of time.
	Time float64 `json:"time" parquet:"time"`
	Name string  `json:"name" parquet:"name,dict"` // of the metric
	// the tenant, stream or file; "" if there is only one
	Label string  `json:"label" parquet:"label,dict"`
	Value float64 `json:"value" parquet:"value"`
}

// check rejects what no replay can have produced.
func (r *Row) check() error {
	switch {
	case r.Cell == "":
		return fmt.Errorf("cell is empty, want a record's")
	case r.Name == "":
		return fmt.Errorf("name is empty, want a metric's")
	case math.IsNaN(r.Time) || math.IsInf(r.Time, 0) || r.Time < 0:
		return fmt.Errorf("time is %v, want a finite number from 0", r.Time)
	case math.IsNaN(r.Value) || math.IsInf(r.Value, 0):
		return fmt.Errorf("value is %v, want a finite number", r.Value)
	}
	return nil
}

// Digest returns the digest of one cell's rows, which its record stores. It shows whether rows are missing, were
// changed or belong to another replay. It does not depend on Cell, so that a cell may be renamed.
func Digest(rows []Row) string {
	sum := sha256.New()
	for _, r := range rows {
		fmt.Fprintf(sum, "%s %q %q %s\n", number(r.Time), r.Name, r.Label, number(r.Value))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// ByCell returns the rows of each cell, in their order.
func ByCell(rows []Row) map[string][]Row {
	cells := map[string][]Row{}
	for _, r := range rows {
		cells[r.Cell] = append(cells[r.Cell], r)
	}
	return cells
}
