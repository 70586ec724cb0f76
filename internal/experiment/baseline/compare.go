package baseline

import (
	"slices"

	"github.com/cachesim/cachesim/internal/records"
)

// Figures of a record, by their names there.
const (
	capacityFigure     = "capacity"
	requestsFigure     = "requests"
	missesFigure       = "misses"
	hitRatioFigure     = "hit_ratio"
	byteHitRatioFigure = "byte_hit_ratio"
)

// compared are the figures that are compared: all that the requests and the cell determine, except what a policy counts
// for itself.
var compared = []string{
	capacityFigure,
	requestsFigure,
	missesFigure,
	hitRatioFigure,
	byteHitRatioFigure,
	"hits",
	"evictions",
	"oversized",
	"bytes",
	"hit_bytes",
	"opt_misses",
	"lower_bound_misses",
	"normalized_hit_ratio",
	"labelled_requests",
	"labelled_hits",
	"wrong_hits",
}

// Difference is a figure that is not what the baseline says. Was or Is is nil where there is none.
type Difference struct {
	Figure string   `json:"figure"` // as in records
	Was    *float64 `json:"was"`
	Is     *float64 `json:"is"`
}

// compare returns the figures in which two records of the same cell differ.
func compare(was, is *records.Record) (differences []Difference) {
	for _, figure := range compared {
		d := Difference{figure, metric(was, figure), metric(is, figure)}
		if (d.Was == nil) != (d.Is == nil) || d.Was != nil && *d.Was != *d.Is {
			differences = append(differences, d)
		}
	}
	return differences
}

func metric(rec *records.Record, name string) *float64 {
	x, ok := rec.Metric(name)
	if !ok {
		return nil
	}
	return &x
}

// tolerates reports whether a cell is within a tolerance. Unless it is exact, only hit ratios, misses as a share of the
// requests and byte hit ratios count, as long as the same requests met a cache of the same size.
func (t Tolerance) tolerates(was, is *records.Record, differences []Difference) bool {
	if t == (Tolerance{}) {
		return len(differences) == 0
	}
	return !slices.ContainsFunc(differences, func(d Difference) bool {
		switch d.Figure {
		case capacityFigure, requestsFigure:
			return true
		case missesFigure:
			more := float64(is.Misses-was.Misses) / float64(max(1, is.Requests))
			return !t.Allows(was.HitRatio, was.HitRatio-more)
		case hitRatioFigure, byteHitRatioFigure:
			return d.Was == nil || d.Is == nil || !t.Allows(*d.Was, *d.Is)
		}
		return false
	})
}
