package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/sim/onepass"
	"github.com/cachesim/cachesim/internal/sim/ontrace"
	"github.com/cachesim/cachesim/internal/sim/windows"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// InOnePass reports whether one pass over reuse distances can serve a cell of LRU together with others.
func (r *Replayer) InOnePass(c Cell) bool { return !cache.ServesHeads(c.Cache) && r.passOf(c) != "" }

// passOf returns a key if one pass over reuse distances can serve a cell and others: those with the same key. It has
// LRU's counts at capacities in objects and, if no object changes its size, at those in bytes that hold any object.
func (r *Replayer) passOf(c Cell) string {
	switch {
	case policies.Can[policies.Outsider](c.Policy.Entry):
		return "" // if it fails, others must not
	case cache.ServesHeads(c.Cache):
		return "heads"
	}
	inPass := c.Policy.Entry.ReuseDistances || c.OnePass && c.Policy.Entry.OnePass
	alone := c.Model == nil && c.Allocator == nil && c.Prefetcher == nil && c.Router == nil &&
		c.Admission == nil
	if !inPass || !alone || c.Series.IsSet() || r.trace.Labels != nil {
		return ""
	}
	v := r.view(c.Capacity)
	if !cache.IsExact(c.Cache) {
		return v.promptPassOf(c)
	}
	if len(v.trace.Removals) > 0 || v.trace.Written.Passing > 0 {
		return ""
	}
	if c.Capacity.Bytes && (v.trace.RequestSizes != nil || c.Capacity.Simulated < v.largest) {
		return ""
	}
	return fmt.Sprintf("reuse distances in %s, seed %d", c.Capacity.Unit(), c.Seed)
}

// replayStack replays the trace once for LRU cells of one unit of capacity, in ascending order, with one
// key of passOf. Each part of the trace has a stack that newStack returns. The time per request is the pass's,
// which serves all of them.
func (r *Replayer) replayStack(ctx context.Context, cells []Cell,
	newStack func(*traces.Trace) (onepass.Stack, error)) ([]outcome, error) {
	v := r.view(cells[0].Capacity)
	sums := make([]outcome, len(cells))
	var marked *windows.Marks
	for _, part := range v.trace.Parts() {
		stack, err := newStack(part)
		if err != nil {
			return nil, err
		}
		_, apart := stack.(onepass.Apart)
		_, grouped := stack.(onepass.Grouped)
		if marked == nil && (apart || grouped && warmup(cells[0], part, v.warmup) == v.warmup) {
			marked = r.newStackMarks(cells)
		}
		outcomes, err := r.stackPart(ctx, stack, cells, part, warmup(cells[0], part, v.warmup), marked)
		if err != nil {
			return nil, err
		}
		for k := range sums {
			sums[k].add(outcomes[k])
		}
	}
	sizes := sync.OnceValue(func() []int64 { return ontrace.SizesOf(v.trace, marked.At) })
	for k, c := range cells {
		sums[k].blocks = blocksOfStack(marked, v, c, k, sizes)
	}
	return sums, nil
}

func (r *Replayer) stackPart(ctx context.Context, stack onepass.Stack, cells []Cell, t *traces.Trace,
	warmup int, marked *windows.Marks) ([]outcome, error) {
	start := time.Now()
	if err := r.serveStack(ctx, stack, t, 0, warmup, false); err != nil {
		return nil, err
	}
	before := stack.Resident()
	hits := func() []cache.Counts { return onepass.HitsSoFar(stack, t) }
	for from := warmup; from < len(t.Objects); {
		to := marked.Cut(from, len(t.Objects))
		if err := r.serveStack(ctx, stack, t, from, to, true); err != nil {
			return nil, err
		}
		marked.Served(to, hits)
		from = to
	}
	marked.EndPart(len(t.Objects), hits)
	after := stack.Resident()
	tallies, err := talliesOf(stack, cells, t, warmup)
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	outcomes := make([]outcome, len(cells))
	for k := range cells {
		n := tallies[k]
		n.Reads.Evictions -= after[k] - before[k] // what was loaded is resident or was evicted
		n.Sum(t)
		outcomes[k] = outcome{values: n.Values(cells[k].Cache.Entry, cells[k].Capacity.Bytes), served: int64(len(t.Objects)),
			elapsed: elapsed}
		n.AddTo(&outcomes[k].values, t)
	}
	return outcomes, nil
}

// talliesOf returns what a stack has counted for each cell after the warm-up, with loads as evictions.
func talliesOf(stack onepass.Stack, cells []Cell, t *traces.Trace, warmup int) ([]Tally, error) {
	if grouped, ok := stack.(onepass.Grouped); ok {
		tallies := make([]Tally, len(cells))
		for k, n := range grouped.Counts() {
			tallies[k].Reads = n
		}
		return tallies, nil
	}
	hits, hitBytes, err := stack.Hits()
	if err != nil {
		return nil, err
	}
	var all Tally
	for pos := warmup; pos < len(t.Objects); pos++ {
		n := &all.Reads
		if t.IsWrite(pos) {
			n = &all.Writes
		}
		n.Requests++
		if cells[0].Capacity.Bytes {
			n.Bytes += t.Size(pos)
		}
	}
	tallies := slices.Repeat([]Tally{all}, len(cells))
	for k := range tallies {
		tallies[k].Reads.Hits, tallies[k].Reads.HitBytes = hits[k], hitBytes[k]
	}
	if t.Ops != nil {
		hits, hitBytes = stack.(onepass.Apart).WriteHits()
		for k := range tallies {
			tallies[k].Writes.Hits, tallies[k].Writes.HitBytes = hits[k], hitBytes[k]
		}
	}
	for k := range tallies { // every miss loads an object
		tallies[k].Reads.Evictions = tallies[k].Reads.Misses() + tallies[k].Writes.Misses()
	}
	return tallies, nil
}

// serveStack passes the requests [from, to) to the stack, and checks ctx from time to time.
func (r *Replayer) serveStack(ctx context.Context, stack onepass.Stack, t *traces.Trace, from, to int,
	counted bool) error {
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(to, from+stack.Window())
		if _, ok := stack.(onepass.Grouped); ok {
			end = feed.GroupEnd(t, end)
		}
		for at := from; at < end; {
			next := end
			if t.Ops != nil {
				next = feed.EndOfKind(t, at, end)
				stack.(onepass.Apart).Turn(t.IsWrite(at))
			}
			if err := stack.Serve(t.Objects[at:next], counted); err != nil {
				return err
			}
			at = next
		}
		if r.options.Progress != nil {
			r.options.Progress(int64(end - from))
		}
		from = end
	}
	return nil
}

func simulated(cells []Cell) []int64 {
	capacities := make([]int64, len(cells))
	for k, c := range cells {
		capacities[k] = c.Capacity.Simulated
	}
	return capacities
}

// promptPassOf is passOf for cells of LRU in a cache that is not exact: those of prompts, if the blocks of all prompts
// that run at the same time fit.
func (v *view) promptPassOf(c Cell) string {
	if c.Cache.Entry.GroupOrder == nil || prompts.Of(v.trace.Kind) == nil {
		return ""
	}
	order, running := c.Cache.Entry.GroupOrder(c.Cache.Params)
	if order == cache.NoOrder || running > 1 && c.Capacity.Simulated < v.mostRunning(running) {
		return ""
	}
	return fmt.Sprintf("reuse distances in %s, cache %s, seed %d", c.Capacity.Unit(), c.Cache, c.Seed)
}

// mostRunning returns the most blocks that so many consecutive prompts have together, each counted by itself.
func (v *view) mostRunning(prompts int) int64 {
	if most, ok := v.running.Load(prompts); ok {
		return most.(int64)
	}
	most := ontrace.MostRunning(v.trace, prompts)
	v.running.Store(prompts, most)
	return most
}

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
	h.hits = onepass.Plus(h.hits, hits)
	if t.Ops != nil {
		writeHits, _ := stack.(onepass.Apart).WriteHits()
		h.writeHits = onepass.Plus(h.writeHits, writeHits)
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
