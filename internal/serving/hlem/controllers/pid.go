package controllers

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

var pidEntry = entry(allocate.Entry{
	Name: "pid",
	Summary: "by feedback: towards a given difference between transfer and computation in the latency of the slowest " +
		"1% of requests",
	Source: "Åström and Hägglund, PID Controllers: Theory, Design and Tuning, 1995, section 3.5 for the windup; " +
		"PID in HLEM, arXiv 2605.04450, section V-D",
	Params: []params.Param{
		{Name: "kp", Default: 0.2, Min: 0, Max: 100, Doc: "gain of the error"},
		{Name: "ki", Default: 0.02, Min: 0, Max: 100, Doc: "gain of the sum of the errors of all epochs"},
		{Name: "kd", Default: 0.05, Min: 0, Max: 100, Doc: "gain of the change of the error since the previous epoch"},
		{Name: "setpoint", Default: -0.65, Min: -1, Max: 1,
			Doc: "transfer less computation, over both, that it is to have; 0: equal times. At the best ratios of the fluid " +
				"model it is about -0.65 with 10 tables, and -0.35 with 25"},
		stepParam(actionStep, "most that the ratio moves in an epoch"),
	},
}, func(c allocate.Config) (decider, allocate.Needs, error) {
	v := c.Params
	return &pid{kp: v.Float("kp"), ki: v.Float("ki"), kd: v.Float("kd"), setpoint: v.Float("setpoint"),
		step: v.Float("step")}, allocate.Needs{}, nil
})

// pid moves the ratio up where the slowest requests wait longer for embeddings, compared with computation, than they
// should.
type pid struct {
	kp, ki, kd     float64
	setpoint, step float64

	sum, last float64 // of the errors
	begun     bool
}

func (p *pid) next(s *allocate.State, w *hlem.Window) float64 {
	// The two relative to each other: in an overload both are small compared with the time in the queue.
	e := (w.SlowEMB-w.SlowKV)/(w.SlowEMB+w.SlowKV) - p.setpoint
	if math.IsNaN(e) || math.IsInf(e, 0) {
		return w.Ratio
	}
	change := 0.0
	if p.begun {
		change = e - p.last
	}
	p.last, p.begun = e, true
	move := float64(p.kp*e) + float64(p.ki*(p.sum+e)) + float64(p.kd*change)
	if p.integrates(w, e, move) {
		p.sum += e
	}
	return towards(w.Ratio+move, w.Ratio, p.step)
}

// integrates prevents windup by conditional integration: the sum does not grow in a direction in which the ratio cannot
// follow, because the move is at its limit or the ratio at its bound.
func (p *pid) integrates(w *hlem.Window, e, move float64) bool {
	least, most := w.Bounds()
	up := e > 0 && (move > p.step || w.Ratio >= most)
	down := e < 0 && (move < -p.step || w.Ratio <= least)
	return !up && !down
}
