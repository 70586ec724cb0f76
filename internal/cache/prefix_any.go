package cache

import "github.com/cachesim/cachesim/internal/policies"

// looseBlocks keeps blocks in an exact cache, which does not know that they are chained: the first block of a prompt is
// requested first, and any may leave, so that blocks behind it take room and cannot hit. A prompt that is longer than
// the cache drives its own first blocks out.
//
// Belady's policy does not have the most hits here, since it does not know either. But the blocks that it finds
// resident, leading or not, are as many as any schedule finds, and so no fewer than any has hits: in the optima each of
// them counts as a hit, which makes them a bound.
type looseBlocks struct {
	exact  *Exact
	bound  bool
	served Counts
	times  []int64
}

func newLooseBlocks(c Config) (*looseBlocks, error) {
	p, err := c.Policy.Entry.New(c.PolicyConfig())
	if err != nil {
		return nil, err
	}
	return &looseBlocks{exact: NewExact(p, c.Capacity, c.Trace.NumObjects),
		bound: c.Policy.Entry.Kind == policies.Offline}, nil
}

func (b *looseBlocks) Counters() []policies.Counter { return b.exact.Counters() }

func (b *looseBlocks) begin(blocks []policies.Object, first int, now int64, n *Counts) (hits, held int) {
	for hits < len(blocks) && b.exact.Resident(blocks[hits]) {
		hits++
	}
	b.times = b.times[:0]
	for range blocks {
		b.times = append(b.times, now)
	}
	before := b.served
	b.exact.Serve(Window{Objects: blocks, Times: b.times, First: first}, &b.served)
	served := b.served.Minus(before)
	n.Evictions += served.Evictions
	if b.bound {
		hits = int(served.Hits)
	}
	return hits, 0
}

func (b *looseBlocks) finish([]policies.Object) {}
