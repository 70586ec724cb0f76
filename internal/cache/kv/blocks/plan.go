package blocks

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
)

// Plan is what all steps of a head will want, for policies that are offline. The wanted blocks do not depend on the
// policy, so one plan serves the stores of all of them.
//
// It numbers the wanted blocks so that opt, which evicts the block with the farthest number, has the fewest misses of
// all policies that load what they miss. Numbers follow the order of the steps and, within a step, the order of
// serving. All blocks of a step are looked up before any is loaded. So two blocks that are next wanted in the same step
// are equally far, but not equally good to keep: the one that is missed is loaded and cannot be evicted at once, the
// other may be evicted after its hit. It is better to miss the one that is wanted sooner after that step, so it has the
// larger number. For the same reason the misses of a step are not loaded in the order of the list: the last one cannot
// be evicted in the step, so it is the one that is wanted soonest.
type Plan struct {
	at       []uint32 // per wanted block of all steps: its number
	next     []uint32 // per number: that of the next step which wants the block, or policies.Never
	sequence []Block  // per number: the block
}

// NewPlan returns the plan for the wanted blocks of all steps, lists that end at ends. Every block is below blocks.
func NewPlan(wanted []Block, ends []int, blocks int) *Plan {
	p := &Plan{at: make([]uint32, len(wanted)), next: make([]uint32, len(wanted)),
		sequence: make([]Block, len(wanted))}
	later := slices.Repeat([]uint32{policies.Never}, blocks) // per block: the number of the next step which wants it
	var order []int
	for step := len(ends) - 1; step >= 0; step-- {
		first := 0
		if step > 0 {
			first = ends[step-1]
		}
		order = order[:0]
		for i := first; i < ends[step]; i++ {
			order = append(order, i)
		}
		slices.SortFunc(order, func(i, k int) int {
			return cmp.Or(cmp.Compare(later[wanted[k]], later[wanted[i]]), cmp.Compare(i, k))
		})
		for rank, i := range order {
			number, b := uint32(first+rank), wanted[i]
			p.at[i], p.sequence[number] = number, b
			p.next[number] = later[b]
			later[b] = number
		}
	}
	return p
}

// soonestLast sorts the misses of a step by when they are wanted next, the soonest last.
func (p *Plan) soonestLast(misses []lookup) {
	slices.SortStableFunc(misses, func(a, b lookup) int {
		return cmp.Compare(p.next[p.at[b.pos]], p.next[p.at[a.pos]])
	})
}
