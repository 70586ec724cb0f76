package custom

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/formula"
	"github.com/cachesim/cachesim/internal/policies"
)

// evaluator computes a formula for objects of a ranked policy.
type evaluator struct {
	machine *formula.Machine
	inputs  []input // per reference
	objects []policies.Object
}

// input fills the column of a reference, in one of these ways.
type input struct {
	value    func(p *ranked, o policies.Object, r *resident) float64
	shared   bool // value is the same for all objects
	gap      int  // k
	quantile *quantile
	next     bool
}

func newEvaluator(f *formula.Formula, rows int) *evaluator {
	e := &evaluator{machine: f.NewMachine(rows), objects: make([]policies.Object, rows)}
	for _, r := range f.References {
		e.inputs = append(e.inputs, inputOf(r))
	}
	return e
}

func inputOf(r formula.Reference) input {
	switch r.Name {
	case gapName:
		return input{gap: r.Index}
	case quantileName:
		return input{quantile: &quantile{of: newEvaluator(r.Of, quantileSample), share: r.Share,
			slots: make([]uint32, quantileSample)}}
	case nextName:
		return input{next: true}
	}
	i := slices.IndexFunc(variables, func(v variable) bool { return v.name == r.Name })
	return input{value: variables[i].value, shared: variables[i].shared}
}

// one returns the value for an object, which need not be resident.
func (e *evaluator) one(p *ranked, o policies.Object, info *resident) float64 {
	for i := range e.inputs {
		column := e.machine.Input(i)
		switch in := &e.inputs[i]; {
		case in.value != nil:
			column[0] = in.value(p, o, info)
		case in.gap > 0:
			column[0] = p.history.gap(o, in.gap)
		case in.quantile != nil:
			column[0] = in.quantile.current(p)
		default:
			e.objects[0] = o
			p.predictor.Predict(e.objects[:1], int(p.now), column[:1])
		}
	}
	return e.machine.Run(1)[0]
}

// of returns the values for the objects in some slots, until the next call.
func (e *evaluator) of(p *ranked, slots []uint32) []float64 {
	objects := e.objects[:len(slots)]
	for row, slot := range slots {
		objects[row] = p.slots.Objects[slot]
	}
	for i := range e.inputs {
		column := e.machine.Input(i)[:len(slots)]
		switch in := &e.inputs[i]; {
		case in.shared:
			fill(column, in.value(p, 0, nil))
		case in.value != nil:
			for row, slot := range slots {
				column[row] = in.value(p, objects[row], &p.slots.Infos[slot])
			}
		case in.gap > 0:
			for row, o := range objects {
				column[row] = p.history.gap(o, in.gap)
			}
		case in.quantile != nil:
			fill(column, in.quantile.current(p))
		default:
			p.predictor.Predict(objects, int(p.now), column)
		}
	}
	return e.machine.Run(len(slots))
}

func fill(column []float64, x float64) {
	for row := range column {
		column[row] = x
	}
}

const (
	quantileSample = 256 // residents
	quantileLoads  = 64  // at most, between two samples
)

// quantile estimates a quantile over the residents. It is computed again after as many loads as a quarter of them, or
// quantileLoads.
type quantile struct {
	of    *evaluator
	share float64
	slots []uint32
	due   int64 // number of loads from which on it is computed again
	value float64
}

// current returns the smallest number of those in the sample which at least the share of them do not exceed.
func (q *quantile) current(p *ranked) float64 {
	if p.loads < q.due {
		return q.value
	}
	p.slots.Dense()
	n := len(p.slots.Objects)
	if n == 0 {
		return 0
	}
	q.due = p.loads + int64(max(1, min(quantileLoads, n/4)))
	slots := q.slots[:min(n, quantileSample)]
	for i := range slots {
		slots[i] = uint32(i)
		if n > quantileSample {
			slots[i] = uint32(p.draws.Below(uint64(n)))
		}
	}
	all := q.of.of(p, slots)
	slices.Sort(all)
	q.value = all[max(0, int(math.Ceil(q.share*float64(len(all))))-1)]
	return q.value
}
