package prefix

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// Tier is the blocks of prompts in one tier of a hierarchy, each with all blocks before it. It is the prefix cache
// without its counts: the hierarchy says which blocks of a prompt it gets.
type Tier struct{ tree *tree }

// NewTier returns an empty tier. gone is notified of each block that is no longer resident; it must not call the tier.
func NewTier(c cache.Config, gone func(o policies.Object, why cache.Departure)) (*Tier, error) {
	c.Params = params.Values{"evict": evictLeaf}
	t, err := newTree(c)
	if err != nil {
		return nil, err
	}
	t.gone = gone
	return &Tier{t}, nil
}

// Pool returns the pool of its blocks.
func (t *Tier) Pool() *cache.Pool { return t.tree.pool }

// Run returns the length of the leading run of a prompt's blocks that are resident at a time.
func (t *Tier) Run(blocks []policies.Object, now int64) int { return t.tree.run(blocks, now) }

// Lock holds as many blocks of a prompt as fit, the first `run` of which are resident, and returns how many. Load must
// follow with these.
func (t *Tier) Lock(blocks []policies.Object, run int) (held int) {
	t.tree.hold(blocks[:run])
	held = t.tree.fit(arrival{kept: len(blocks)}, run).blocks
	t.tree.lockAll(blocks[run:held])
	return held
}

// Load requests the blocks that Lock holds, and loads those after the first `run`. first is the position of the first
// block. It returns how many blocks are resident now, and held until Finish: fewer if the policy refuses one.
func (t *Tier) Load(blocks []policies.Object, run, first int, now int64) (held int) {
	return t.tree.request(blocks, run, run, first, now)
}

// Has reports whether a block is resident, or held and about to be.
func (t *Tier) Has(o policies.Object) bool { return t.tree.nodes[o].locks > 0 || t.tree.pool.Has(o) }

// Finish releases the blocks of a prompt that Load has left held.
func (t *Tier) Finish(blocks []policies.Object) { t.tree.finish(blocks, false) }
