package prefix

import (
	"math"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// chunks keeps blocks as LMCache keeps chunks of tokens (local_cpu_backend.py): in a store that does not know how they
// are chained. A prompt looks up its blocks up to the first missing one, and requests those from the last to the first,
// so that the first stay longest. Then it makes room for all other blocks at once, even for those that the store has,
// and loads the missing ones from the first to the last. The blocks that it has found may be evicted for that: the
// engine has read them by then.
type chunks struct {
	unheld
	pool     *cache.Pool
	policy   policies.Holder
	follower policies.PromptHolder // nil where the policy does not follow prompts as wholes
	quota    *quota                // nil where the capacity is never exceeded
}

func newChunks(c cache.Config) (blockStore, error) {
	if c.Policy.Entry.Kind == policies.Offline {
		return newBound(c)
	}
	s := &chunks{}
	if c.Sweep != nil {
		s.quota = &quota{Sweep: *c.Sweep, limit: c.Capacity}
		c.Capacity = int64(c.Trace.NumObjects) // whatever comes between two sweeps
	}
	config := c.PolicyConfig()
	config.Holds = true
	p, err := c.Policy.Entry.New(config)
	if err != nil {
		return nil, err
	}
	s.policy = p.(policies.Holder)
	s.follower, _ = p.(policies.PromptHolder)
	s.pool = cache.NewPool(s.policy, c.Capacity, c.Trace.NumObjects)
	return s, nil
}

// newBound returns loose blocks for a reference. They are a bound, because their schedules include all that load the
// missing blocks of a prompt, as many as fit. A tree needs it if answers write blocks again: to keep a block until its
// next request, a tree keeps those before it, too, although an answer may write them before.
func newBound(c cache.Config) (blockStore, error) {
	b, err := newLooseBlocks(c)
	if err == nil {
		b.fit = int(min(c.Capacity, int64(len(c.Trace.Objects))))
	}
	return b, err
}

func (s *chunks) contents() contents { return s.pool }

func (s *chunks) begin(p Prompt, n *cache.Counts) (hits int, h Held) {
	evictions := s.pool.Evictions()
	if s.quota != nil {
		s.quota.sweep(s.pool, p.Now)
	}
	blocks := p.Blocks[:p.own()]
	for hits < len(blocks) && s.pool.Has(blocks[hits]) {
		hits++
	}
	r := policies.Request{Size: 1, Time: p.Now, Pos: p.First}
	for i := hits - 1; i >= 0; i-- {
		r.Object, r.Query = blocks[i], blocks[i]
		if s.policy.Hold(r.Object); s.follower == nil {
			s.policy.Hit(r)
		}
		r.Pos++
	}
	if s.follower != nil {
		s.follower.Begin(p.begins(blocks[:hits], len(p.Blocks)))
	}
	for i := hits - 1; i >= 0; i-- {
		s.policy.Release(blocks[i])
	}
	fit := hits + min(len(blocks)-hits, int(s.pool.Capacity()))
	n.Oversized += int64(len(blocks) - fit)
	s.load(blocks[hits:fit], r)
	for i := p.own(); i < len(p.Blocks); i++ { // chunk by chunk, as decoding fills them
		r.Pos = p.First + i
		s.load(p.Blocks[i:i+1], r)
	}
	n.Evictions += s.pool.Evictions() - evictions
	return min(hits, p.Reusable), Held{}
}

// load makes room for some blocks, also for those that the store has, and loads the others.
func (s *chunks) load(blocks []policies.Object, r policies.Request) {
	if s.quota != nil {
		s.loadReversed(blocks, r)
		return
	}
	s.pool.MakeRoom(int64(len(blocks)))
	for _, o := range blocks {
		if r.Object, r.Query = o, o; !s.pool.Has(o) {
			s.pool.Miss(r)
			s.policy.Release(o)
		}
		r.Pos++
	}
}

// unheld is a store whose blocks running prompts do not hold.
type unheld struct{}

func (unheld) Finish([]policies.Object, Held) {}
func (unheld) Locked() int                    { return 0 }

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
	fit  int
	hits cache.HitObserver // of the blocks that prompts hit; may be nil
}

// comings is an observer without the hits of a pool: a block that is resident may not hit.
type comings struct{ cache.LoadObserver }

func newLooseBlocks(c cache.Config) (*looseBlocks, error) {
	p, err := c.Policy.Entry.New(c.PolicyConfig())
	if err != nil {
		return nil, err
	}
	b := &looseBlocks{pool: cache.NewPool(p, c.Capacity, c.Trace.NumObjects),
		bound: c.Policy.Entry.Kind == policies.Offline, fit: math.MaxInt}
	b.follower, _ = p.(policies.GroupFollower)
	if loads, ok := c.Observer.(cache.LoadObserver); ok {
		b.pool.Observe(comings{loads})
		b.hits, _ = c.Observer.(cache.HitObserver)
	}
	return b, nil
}

func (b *looseBlocks) contents() contents { return b.pool }

func (b *looseBlocks) begin(p Prompt, n *cache.Counts) (hits int, h Held) {
	blocks := p.Blocks[:min(len(p.Blocks), b.fit)]
	n.Oversized += int64(len(p.Blocks) - len(blocks))
	for hits < len(blocks) && b.pool.Resident(blocks[hits]) { // first, because serving evicts and loads blocks
		hits++
	}
	if b.hits != nil {
		for _, o := range blocks[:hits] {
			b.hits.Hit(o)
		}
	}
	if b.follower != nil {
		b.follower.BeginGroup(p.First)
	}
	evictions, found := b.pool.Evictions(), 0
	r := policies.Request{Size: 1, Time: p.Now}
	for i, o := range blocks {
		r.Object, r.Query, r.Pos = o, o, p.First+i
		if b.pool.Request(r) && i < p.own() {
			found++
		}
	}
	n.Evictions += b.pool.Evictions() - evictions
	if b.bound {
		hits = found
	}
	return min(hits, p.Reusable), Held{}
}
