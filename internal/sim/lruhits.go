package sim

import (
	"cmp"
	"context"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/sim/onepass"
	"github.com/cachesim/cachesim/internal/traces"
)

// LRUHits is LRU's hits at many capacities: at thousands, for which records would take longer than the pass.
type LRUHits struct {
	replayer        *Replayer
	hits, writeHits []int64 // per capacity
	requests, reads int64   // that belong to hits and misses
}

// LRUHits counts LRU's hits in one pass over the trace, at capacities of so many objects, blocks or bytes in ascending
// order. InOnePass must be true of the cell at all of them.
func (r *Replayer) LRUHits(ctx context.Context, c Cell, units []int64) (*LRUHits, error) {
	simulated := make([]int64, len(units))
	in := r
	for k, n := range units {
		at := c
		at.Capacity = capacity.Simulating(n, c.Capacity, r.trace.SampleRate)
		other, at, err := r.inBlocks(at)
		if err != nil {
			return nil, err
		}
		in, simulated[k] = other, at.Capacity.Simulated
	}
	h := &LRUHits{replayer: in, hits: make([]int64, len(units)), writeHits: make([]int64, len(units))}
	return parallel.Await(ctx, func() (*LRUHits, error) {
		v := in.view(c.Capacity)
		for _, part := range v.trace.Parts() {
			if err := h.add(ctx, c, part, warmup(c, part, v.warmup), simulated); err != nil {
				return nil, err
			}
		}
		return h, nil
	})
}

// add adds a part of the trace.
func (h *LRUHits) add(ctx context.Context, c Cell, t *traces.Trace, warmup int, simulated []int64) error {
	stack, err := onepass.New(t, c.Cache, c.Capacity.Bytes, simulated, feed.LongestWindow)
	if err != nil {
		return err
	}
	err = cmp.Or(h.replayer.serveStack(ctx, stack, t, 0, warmup, false),
		h.replayer.serveStack(ctx, stack, t, warmup, len(t.Objects), true))
	if err != nil {
		return err
	}
	hits, _, _ := stack.Hits() // only a device fails
	h.hits = plus(h.hits, hits)
	if t.Ops != nil {
		writeHits, _ := stack.(onepass.Apart).WriteHits()
		h.writeHits = plus(h.writeHits, writeHits)
	}
	h.requests += int64(t.Counted(warmup, len(t.Objects)))
	for pos := warmup; pos < len(t.Objects); pos++ {
		if !t.IsWrite(pos) {
			h.reads++
		}
	}
	return nil
}

// Ratio returns the hit ratio at the k-th capacity, as a record has it.
func (h *LRUHits) Ratio(k int) float64 {
	hits := h.hits[k]
	if !h.replayer.trace.Fills() {
		hits += h.writeHits[k]
	}
	return h.replayer.ratioOf(h.requests, hits, h.requests-hits)
}

// OfReads returns the share of the requests that do not write which hit at the k-th capacity.
func (h *LRUHits) OfReads(k int) float64 {
	return ratio(h.hits[k], h.reads)
}
