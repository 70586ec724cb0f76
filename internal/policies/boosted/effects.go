package boosted

import (
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// mostEffectWords is the longest effect that is kept: that of 128 trees of 32 leaves.
const mostEffectWords = 64

// effects keep, for residents that were candidates, what the features that only a request changes do in the present
// model: the times between requests, their number within the window, and the size. Only the age and the counters are
// evaluated again. Predictions are those of whole rows, to the last bit. Memory: 4 bytes per object, and 8 per word of
// the effect, 128 with the default model, for each resident.
type effects struct {
	model   *gbm.Model // that they belong to
	window  int32
	partial *gbm.Partial // nil: whole rows are evaluated
	of      []uint32     // per object: its effect + 1, 0 if it has none
	pages   [][]uint64   // of pageSize effects each
	made    uint32
	unused  []uint32
}

func newEffects(objects int) effects { return effects{of: make([]uint32, objects)} }

// follow drops all effects if the model or the window is another one. residents are all objects that may have any.
func (e *effects) follow(model *gbm.Model, window int32, changing []int, residents []policies.Object) {
	if e.model == model && e.window == window {
		return
	}
	for _, o := range residents {
		e.of[o] = 0
	}
	words := 0
	if e.partial != nil {
		words = e.partial.Words()
	}
	e.model, e.window, e.partial = model, window, model.Partial(changing, mostEffectWords)
	e.made, e.unused = 0, e.unused[:0]
	if e.partial == nil || e.partial.Words() != words {
		e.pages = nil
	}
}

// kept returns the effect with a number + 1.
func (e *effects) kept(number uint32) []uint64 {
	words := e.partial.Words()
	return e.pages[(number-1)/pageSize][int((number-1)%pageSize)*words:][:words]
}

// allocate returns the number + 1 of an effect that is to be set.
func (e *effects) allocate() (number uint32) {
	if n := len(e.unused); n > 0 {
		number, e.unused = e.unused[n-1], e.unused[:n-1]
		return number
	}
	if int(e.made) == len(e.pages)*pageSize {
		e.pages = append(e.pages, make([]uint64, pageSize*e.partial.Words()))
	}
	e.made++
	return e.made
}

// drop forgets the effect of an object whose features have changed, or which leaves.
func (e *effects) drop(o policies.Object) {
	if number := e.of[o]; number != 0 {
		e.unused = append(e.unused, number)
		e.of[o] = 0
	}
}

func (e *effects) grow(objects int) { e.of = dense.Grown(e.of, objects) }
