package adaptive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// naiveLIRS is section 3.3 of the LIRS paper, with the authors' two rules: the queue has at least two places, and an
// object requested twice in a row stays what it is.
type naiveLIRS struct {
	capacity, lirLimit int
	stack, queue       []policies.Object
	lir                map[policies.Object]bool
}

func newNaiveLIRS(capacity int) *naiveLIRS {
	return &naiveLIRS{capacity: capacity, lirLimit: capacity - max(1, min(2, capacity-1)), lir: map[policies.Object]bool{}}
}

func (c *naiveLIRS) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	inStack := slices.Contains(c.stack, o)
	hit = c.lir[o] || slices.Contains(c.queue, o)
	if !hit && len(c.lir)+len(c.queue) == c.capacity {
		victims = append(victims, c.queue[0])
		c.queue = c.queue[1:]
	}
	switch {
	case hit && !c.lir[o] && inStack && c.stack[len(c.stack)-1] == o:
		return true, nil
	case c.lir[o]:
	case inStack, !hit && len(c.lir) < c.lirLimit:
		c.lir[o] = true
		c.queue = policytest.Without(c.queue, o)
	default:
		c.queue = append(policytest.Without(c.queue, o), o)
	}
	c.stack = append(policytest.Without(c.stack, o), o)
	c.prune()
	for len(c.lir) > c.lirLimit {
		delete(c.lir, c.stack[0])
		c.queue = append(c.queue, c.stack[0])
		c.prune()
	}
	return hit, victims
}

func (c *naiveLIRS) prune() {
	for len(c.stack) > 0 && !c.lir[c.stack[0]] {
		c.stack = c.stack[1:]
	}
}

func TestLIRSEqualsNaive(t *testing.T) {
	type server interface {
		Serve(o policies.Object, size int64, now int) (hit bool, victims []policies.Object)
	}
	for spec, naive := range map[string]func(capacity int) server{
		"lirs": func(capacity int) server { return newNaiveLIRS(capacity) },
	} {
		t.Run(spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := policytest.DrawUnitWorkload(t)
				w.SameVictims(t, policytest.Drive(t, spec, w.Config), naive(int(w.Config.Capacity)))
			})
		})
	}
}
