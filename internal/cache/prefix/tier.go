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

// Swapper returns the policy of its blocks, if that is one.
func (t *Tier) Swapper() (s policies.Swapper, ok bool) {
	s, ok = t.tree.policy.(policies.Swapper)
	return s, ok
}

// Loading calls f before there is room for a block that will be loaded, in a tier with a policy that follows prompts. f
// must not call the tier.
func (t *Tier) Loading(f func(o policies.Object)) { t.tree.loading = f }

// Pool returns the pool of its blocks.
func (t *Tier) Pool() *cache.Pool { return t.tree.pool }

// Run returns the length of the leading run of a prompt's blocks that are resident at a time.
func (t *Tier) Run(blocks []policies.Object, now int64) int { return t.tree.run(blocks, now) }

// Prompt is a prompt that comes to a tier.
type Prompt struct {
	Blocks   []policies.Object // that the tier may keep
	First    int               // the position of the first one
	Now      int64             // nanoseconds
	Priority int32
	Run      int  // how many of the first are resident
	Hits     int  // of these, those that hit
	Apart    bool // the block behind these takes room while the prompt runs, and is not kept
}

func (p Prompt) arrival() arrival {
	return arrival{blocks: p.Blocks, first: p.First, now: p.Now, priority: p.Priority,
		Limits: Limits{Kept: len(p.Blocks), Reusable: p.Hits, Apart: p.Apart}}
}

// Lock holds as much of a prompt as fits. Load must follow.
func (t *Tier) Lock(p Prompt) Held { return t.tree.lock(p.arrival(), p.Hits, p.Run) }

// Load requests the blocks that Lock holds, and loads those that are not resident. It returns how many are now resident
// and held until Finish, which are fewer if the policy refuses one, and how many were resident before.
func (t *Tier) Load(p Prompt, h Held) (now Held, before int) {
	held, before := t.tree.load(p.arrival(), p.Hits, p.Run, int(h.Blocks))
	return Held{int32(held), h.Apart}, before
}

// Has reports whether a block is resident, or held and about to be.
func (t *Tier) Has(o policies.Object) bool { return t.tree.nodes[o].isHeld() || t.tree.pool.Has(o) }

// Locked returns how many blocks running prompts hold.
func (t *Tier) Locked() int { return t.tree.locks() }

// Finish releases what a prompt holds of its blocks.
func (t *Tier) Finish(blocks []policies.Object, h Held) { t.tree.finish(blocks[:h.Blocks], h.Apart) }
