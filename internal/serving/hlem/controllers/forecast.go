package controllers

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

var milpEntry = entry(allocate.Entry{
	Name:    "milp",
	Summary: "the ratio with the least P99 that the fluid model forecasts for the load of the last epoch, on a grid",
	Source: "MILP in HLEM, arXiv 2605.04450, section V-D; with one node and one variable the program is a search on " +
		"a grid",
	Params: []params.Param{gridParam, stepParam(1, "most that the ratio moves in an epoch; 1: no limit")},
}, func(c allocate.Config) (decider, allocate.Needs, error) {
	return &milp{grid: c.Params.Float("grid"), step: c.Params.Float("step")}, allocate.Needs{Forecast: true}, nil
})

// milp takes the last load for the next one.
type milp struct{ grid, step float64 }

func (m *milp) next(s *allocate.State, w *hlem.Window) float64 {
	return towards(best(w.Forecast, w, m.grid), w.Ratio, m.step)
}

var hindsightEntry = entry(allocate.Entry{
	Name: "hindsight",
	Summary: "the best ratio of each epoch, from the load of that epoch itself: a bound, which ignores what moving " +
		"costs and that caches warm up",
	Source: "oracle of HLEM, arXiv 2605.04450, section V-A",
	Future: true,
	Params: []params.Param{gridParam},
}, func(c allocate.Config) (decider, allocate.Needs, error) {
	return &hindsight{c.Params.Float("grid")}, allocate.Needs{Next: true}, nil
})

type hindsight struct{ grid float64 }

func (h *hindsight) next(s *allocate.State, w *hlem.Window) float64 {
	return best(w.Next, w, h.grid)
}

// best returns the ratio of a grid, from the least one on, with the least P99 in a forecast; without one, the current
// ratio.
func best(f hlem.Forecast, w *hlem.Window, grid float64) float64 {
	if f == nil {
		return w.Ratio
	}
	least, most := w.Bounds()
	return f.Best(least, most, grid)
}
