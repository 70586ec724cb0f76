package baseline

import (
	"slices"

	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// capacityFigure is compared besides the metrics that are declared so: what a share comes to.
const capacityFigure = "capacity"

// compared are the figures that are compared.
func compared() []string {
	names := []string{capacityFigure}
	for _, m := range metric.All() {
		if m.Checked {
			names = append(names, m.Name)
		}
	}
	return names
}

// Difference is a figure that is not what the baseline says. Was or Is is nil where there is none.
type Difference struct {
	Figure string   `json:"figure"` // as in records
	Was    *float64 `json:"was"`
	Is     *float64 `json:"is"`
}

// compare returns the figures in which two records of the same cell differ.
func compare(was, is *records.Record) (differences []Difference) {
	for _, figure := range compared() {
		d := Difference{figure, figureOf(was, figure), figureOf(is, figure)}
		if (d.Was == nil) != (d.Is == nil) || d.Was != nil && *d.Was != *d.Is {
			differences = append(differences, d)
		}
	}
	return differences
}

func figureOf(rec *records.Record, name string) *float64 {
	x, ok := rec.Metric(name)
	if name == capacityFigure {
		x, ok = float64(rec.Capacity), true
	}
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
		case capacityFigure, metric.Requests.Name:
			return true
		case metric.Misses.Name:
			more := (is.Float(metric.Misses) - was.Float(metric.Misses)) / max(1, is.Float(metric.Requests))
			return !t.Allows(was.Float(metric.HitRatio), was.Float(metric.HitRatio)-more)
		case metric.HitRatio.Name, metric.ByteHitRatio.Name:
			return d.Was == nil || d.Is == nil || !t.Allows(*d.Was, *d.Is)
		}
		return false
	})
}
