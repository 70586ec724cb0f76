package baseline

import (
	"maps"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// capacityFigure is compared in addition to the declared metrics: the number that a share amounts to.
const capacityFigure = "capacity"

func compared() []string {
	names := []string{capacityFigure}
	for _, m := range metric.All() {
		if m.Checked {
			names = append(names, m.Name)
		}
	}
	return names
}

// Difference is a metric whose value differs from the baseline. Was or Is is nil if it has no value.
type Difference struct {
	Figure string   `json:"figure"` // as in records
	Was    *float64 `json:"was"`
	Is     *float64 `json:"is"`
}

// compare returns the metrics in which two records of the same cell differ, including those that rules name.
func compare(was, is *records.Record, rules tolerances) (differences []Difference) {
	names := compared()
	for _, name := range slices.Sorted(maps.Keys(rules.of)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, figure := range names {
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

// allow reports whether a cell is within its tolerances. A metric that a rule names is compared by that rule.
// Otherwise, unless the tolerance is exact, only hit ratios, byte hit ratios and misses as a share of the requests
// count. The requests and the size of the cache must be the same.
func (t tolerances) allow(was, is *records.Record, differences []Difference) bool {
	return !slices.ContainsFunc(differences, func(d Difference) bool {
		allowed, named := t.of[d.Figure]
		switch {
		case named:
			return !d.within(allowed)
		case t.Tolerance == (Tolerance{}):
			return true
		}
		switch d.Figure {
		case capacityFigure, metric.Requests.Name:
			return true
		case metric.Misses.Name:
			// as far as the hit ratio that follows from them may
			more := (is.Float(metric.Misses) - was.Float(metric.Misses)) / max(1, is.Float(metric.Requests))
			return !t.Allows(was.Float(metric.HitRatio), was.Float(metric.HitRatio)-more)
		case metric.HitRatio.Name, metric.ByteHitRatio.Name:
			return !d.within(t.Tolerance)
		}
		return false
	})
}

// allowOnAnother is allow for a replay of another trace: only hit ratios count, and metrics that a rule names.
func (t tolerances) allowOnAnother(differences []Difference) bool {
	return !slices.ContainsFunc(differences, func(d Difference) bool {
		if allowed, named := t.of[d.Figure]; named {
			return !d.within(allowed)
		}
		return isRatio(d.Figure) && !d.within(t.Tolerance)
	})
}

func isRatio(figure string) bool {
	return figure == metric.HitRatio.Name || figure == metric.ByteHitRatio.Name
}

// within reports whether a metric has both values, and changed no more than allowed.
func (d Difference) within(t Tolerance) bool {
	return d.Was != nil && d.Is != nil && t.Allows(*d.Was, *d.Is)
}
