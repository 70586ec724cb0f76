package replicas

import (
	"math"

	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
)

// mostHits returns the most hits of blocks for any router and any policies, given the order in which the prompts began.
// They are those of Belady's optimum in one cache with the capacity of the most nodes together, and of the tiers that
// they share.
//
// It is a bound. The blocks on all nodes, each counted once, fit into that cache, which may bypass blocks without room
// on a node. A block that hits is resident. And the optimum has the most hits on a sequence of requests, whatever
// prompts they belong to. Requests of the warm-up do not count, so the optimum must not spend room on them: of the
// requests to a block that no counted one separates, only the last is left, which can load the block.
func (k *Cluster) mostHits() int64 {
	sequence, objects := k.sequence()
	next := oracle.NextUse(sequence, objects)
	entry, _ := policies.Registry.Find(policies.Optimum(policies.Rules{Bypass: true}))
	capacity := min(int64(objects), k.whole())
	optimum, err := entry.New(policies.Config{Capacity: capacity, Unit: true, Objects: objects, Requests: len(sequence),
		Params: policies.Values{}, NextUse: next, Sequence: sequence})
	if err != nil {
		panic("replicas: " + err.Error()) // it has no parameters
	}
	most, _ := optimum.(policies.UnitReplayer).ReplayUnit(sequence, 0)
	return int64(most)
}

// whole returns the capacity of the most nodes together.
func (k *Cluster) whole() int64 {
	switch {
	case k.Together != nil:
		return k.Together.Whole(k.most)
	case k.Capacity < math.MaxInt64/int64(k.most):
		return k.Capacity * int64(k.most)
	}
	return math.MaxInt64
}

// sequence returns the requested blocks in the order in which prompts began, without those of the warm-up that are
// followed by another such one, and how many objects they are. A block that an answer writes is another object from
// then on, so that the write is no hit, and what is kept until then is worth nothing.
func (k *Cluster) sequence() (inOrder []policies.Object, objects int) {
	inOrder, objects = make([]policies.Object, 0, len(k.Trace.Objects)), k.Trace.NumObjects
	lives := map[policies.Object]policies.Object{} // what answers have written
	for _, i := range k.order {
		blocks, _ := k.Trace.Group(int(i))
		full := k.columns.Full(int(i), blocks)
		for b, o := range blocks {
			if b >= full && b < full+k.columns.AnswerBlocks(int(i)) {
				lives[o] = policies.Object(objects)
				objects++
			}
			if life, ok := lives[o]; ok {
				o = life
			}
			inOrder = append(inOrder, o)
		}
	}
	if k.Warmup == 0 {
		return inOrder, objects
	}
	uncounted := make([]bool, objects) // per block: its next request does not count
	at, kept := len(inOrder), len(inOrder)
	for p := len(k.order) - 1; p >= 0; p-- {
		i := int(k.order[p])
		blocks, _ := k.Trace.Group(i)
		counts := k.counts(i)
		for b := len(blocks) - 1; b >= 0; b-- {
			at--
			o := inOrder[at]
			if !counts && uncounted[o] {
				continue
			}
			kept--
			inOrder[kept] = o
			uncounted[o] = !counts
		}
	}
	return inOrder[kept:], objects
}
