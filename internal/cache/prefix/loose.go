package prefix

import (
	"math"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// looseBlocks keeps blocks in a pool that ignores their chaining: the first block of a prompt is requested first, and
// any block can be evicted, so that blocks after it use room but cannot hit. A prompt that is longer than the cache
// evicts its own first blocks.
//
// Belady's policy does not have the most hits here, because it ignores the chaining too. But it finds at least as many
// resident blocks, leading or not, as any schedule has hits. In the optima each of them counts as a hit, which makes
// them a bound.
type looseBlocks struct {
	unheld
	pool     *cache.Pool
	bound    bool
	follower policies.GroupFollower // nil where the policy does not ask where prompts begin
	// fit is the number of blocks of a prompt that are requested at most; the others bypass the cache.
	fit int
}

func newLooseBlocks(c cache.Config) (*looseBlocks, error) {
	p, err := c.Policy.Entry.New(c.PolicyConfig())
	if err != nil {
		return nil, err
	}
	b := &looseBlocks{pool: cache.NewPool(p, c.Capacity, c.Trace.NumObjects),
		bound: c.Policy.Entry.Kind == policies.Offline, fit: math.MaxInt}
	b.follower, _ = p.(policies.GroupFollower)
	return b, nil
}

func (b *looseBlocks) Pool() *cache.Pool { return b.pool }

func (b *looseBlocks) begin(p Prompt, n *cache.Counts) (hits int, h Held) {
	blocks := p.Blocks[:min(len(p.Blocks), b.fit)]
	n.Oversized += int64(len(p.Blocks) - len(blocks))
	for hits < len(blocks) && b.pool.Resident(blocks[hits]) { // first, because serving evicts and loads blocks
		hits++
	}
	if b.follower != nil {
		b.follower.BeginGroup(p.First)
	}
	evictions, found := b.pool.Evictions(), 0
	r := policies.Request{Size: 1, Time: p.Now}
	for i, o := range blocks {
		r.Object, r.Query, r.Pos = o, o, p.First+i
		if b.pool.Request(r) {
			found++
		}
	}
	n.Evictions += b.pool.Evictions() - evictions
	if b.bound {
		hits = found
	}
	return min(hits, p.Reusable), Held{}
}
