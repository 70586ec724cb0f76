package curve

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/results/records"
	"github.com/cachesim/cachesim/internal/results/target"
)

// Answer says what capacity each policy needs for a target, where policies other than LRU are estimated from samples.
// ok is false if there is no target.
func (c *Curve) Answer(t target.Target) (a target.Answer, ok bool) {
	exact := target.Curve{Policy: policies.Recency(), Online: true}
	for i := range c.Exact {
		if r := &c.Exact[i]; r.Label == exact.Policy {
			exact.Points = append(exact.Points, target.Point{Capacity: r.Capacity, HitRatio: r.Float(metric.HitRatio)})
		}
	}
	slices.SortFunc(exact.Points, func(a, b target.Point) int { return cmp.Compare(a.Capacity, b.Capacity) })
	curves := []target.Curve{exact}
	for _, s := range c.Specs {
		if s.Entry.Kind != policies.Bound && !s.Entry.Unbounded {
			curves = append(curves, c.sampledCurve(s))
		}
	}
	if a, ok = target.Of(t, c.Capacities[0].Unit(), curves); !ok {
		return a, false
	}
	a.Name = c.Trace
	a.Remark = "the hit ratios of all policies except " + exact.Policy + " are estimates from samples"
	return a, true
}

func (c *Curve) sampledCurve(s policies.Spec) target.Curve {
	i := slices.IndexFunc(c.Sampled, func(r records.Record) bool { return r.Label == s.String() })
	curve := target.Curve{Policy: s.String(), Online: i >= 0 && c.Sampled[i].Competes(), Estimate: true}
	for _, capacity := range c.Capacities {
		if e, ok := c.sampledAt(s.String(), capacity.Amount); ok {
			curve.Points = append(curve.Points, target.Point{Capacity: capacity.Amount, HitRatio: e.mean})
		}
	}
	return curve
}
