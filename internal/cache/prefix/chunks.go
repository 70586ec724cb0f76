package prefix

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// chunks keeps blocks as LMCache keeps chunks of tokens (local_cpu_backend.py): in a store that does not know how they
// are chained. A prompt looks up its blocks up to the first missing one, and requests those from the last to the first,
// so that the first stay longest. Then it makes room for all other blocks at once, even for those that the store has,
// and loads the missing ones from the first to the last. The blocks that it has found stay meanwhile.
type chunks struct {
	unheld
	pool     *cache.Pool
	policy   policies.Holder
	follower policies.PromptHolder // nil where the policy does not follow prompts as wholes
}

func newChunks(c cache.Config) (blockStore, error) {
	if c.Policy.Entry.Kind == policies.Offline {
		return newBoundOfChunks(c)
	}
	config := c.PolicyConfig()
	config.Holds = true
	p, err := c.Policy.Entry.New(config)
	if err != nil {
		return nil, err
	}
	s := &chunks{policy: p.(policies.Holder)}
	s.follower, _ = p.(policies.PromptHolder)
	s.pool = cache.NewPool(s.policy, c.Capacity, c.Trace.NumObjects)
	return s, nil
}

// newBoundOfChunks returns loose blocks. A reference on them is a bound, because their schedules include all that load
// the missing blocks of a prompt, as many as fit.
func newBoundOfChunks(c cache.Config) (blockStore, error) {
	b, err := newLooseBlocks(c)
	if err == nil {
		b.fit = int(min(c.Capacity, int64(len(c.Trace.Objects))))
	}
	return b, err
}

func (s *chunks) Pool() *cache.Pool { return s.pool }

func (s *chunks) begin(p Prompt, n *cache.Counts) (hits int, h Held) {
	evictions := s.pool.Evictions()
	blocks := p.Blocks
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
		s.follower.Begin(policies.Prompt{Hits: blocks[:hits], First: p.First, Time: p.Now, Priority: p.Priority})
	}
	fit := min(len(blocks), int(s.pool.Capacity()))
	n.Oversized += int64(len(blocks) - fit)
	s.pool.MakeRoom(int64(fit - hits))
	for _, o := range blocks[hits:fit] {
		if r.Object, r.Query = o, o; !s.pool.Has(o) {
			s.pool.Miss(r)
			s.policy.Release(o)
		}
		r.Pos++
	}
	for _, o := range blocks[:hits] {
		s.policy.Release(o)
	}
	n.Evictions += s.pool.Evictions() - evictions
	return min(hits, p.Reusable), Held{}
}

// unheld is a store whose blocks running prompts do not hold.
type unheld struct{}

func (unheld) Finish([]policies.Object, Held) {}
func (unheld) Locked() int                    { return 0 }
