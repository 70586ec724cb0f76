package sim

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/sim/windows"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// blockEnds returns the positions at which the blocks of a view begin, and the end. A short view is one block.
func (v *view) blockEnds() (ends []int) {
	n, count := len(v.trace.Objects)-v.warmup, blocks.Count
	if n < blocks.Count*blocks.Least {
		count = 1
	}
	for i := range count + 1 {
		ends = append(ends, v.warmup+int(int64(n)*int64(i)/int64(count)))
	}
	return ends
}

// newMarks returns nil if a cell has none: nothing asks for them, or a model serves requests in an order of its own.
func (r *Replayer) newMarks(c Cell) *windows.Marks {
	v := r.view(c.Capacity)
	if !r.options.Blocks || c.Model != nil || c.Policy.Entry.Kind == policies.Bound || cache.ServesHeads(c.Cache) ||
		warmup(c, v.trace, v.warmup) != v.warmup {
		return nil
	}
	at := v.blockEnds()
	if len(v.trace.Starts) == 0 {
		_, from := v.filledAt(c)
		at = append(at, from)
		slices.Sort(at)
		at = slices.Compact(at)
	}
	return windows.NewMarks(at, 1)
}

// newStackMarks returns the marks of cells that share a pass over reuse distances, which counts hits alone; nil if
// nothing asks for blocks. Nothing counts before the first mark.
func (r *Replayer) newStackMarks(cells []Cell) *windows.Marks {
	if !r.options.Blocks {
		return nil
	}
	v := r.view(cells[0].Capacity)
	at := v.blockEnds()
	if cells[0].Cache.Entry.GroupOrder != nil {
		for i := range at { // the stack serves whole groups
			at[i] = feed.GroupEnd(v.trace, at[i])
		}
	}
	m := windows.NewMarks(at, len(cells))
	if len(m.Counts) == 0 {
		m.Counts = append(m.Counts, make([]cache.Counts, len(cells)))
	}
	return m
}

// filledAt returns the position at which the cache of a cell is full, and the one from which requests count; both are
// the end of the trace if it never fills.
func (v *view) filledAt(c Cell) (at, from int) {
	if at = len(v.trace.Objects); !c.Policy.Entry.Unbounded {
		at = v.firsts().FilledAt(v.whole(c))
	}
	return at, max(v.warmup, at)
}

// whole returns the capacity of a cell with all of its tiers and nodes.
func (v *view) whole(c Cell) capacity.Capacity {
	if of := c.Cache.Entry.Whole; of != nil {
		if whole, err := of(cacheConfig(c, v.trace, v.nextUse)); err == nil { // an error also ends the replay
			c.Capacity.Simulated = whole
		}
	}
	if nodes := nodesOf(c); c.Capacity.Simulated > math.MaxInt64/nodes {
		c.Capacity.Simulated = math.MaxInt64
	} else {
		c.Capacity.Simulated *= nodes
	}
	return c.Capacity
}

// blocksOf returns the blocks of a cell; nil without marks.
func blocksOf(m *windows.Marks, v *view, c Cell) *blocks.Blocks {
	if m == nil {
		return nil
	}
	ends := v.blockEnds()
	b := &blocks.Blocks{Restarts: len(v.trace.Starts) > 0}
	for i := range len(ends) - 1 {
		n := m.CountsAt(ends[i+1]).Minus(m.CountsAt(ends[i]))
		b.Each = append(b.Each, blocks.Block{Requests: n.Requests, Misses: n.Misses(), MissedBytes: n.Bytes - n.HitBytes})
	}
	if b.Restarts {
		return b
	}
	if at, from := v.filledAt(c); from < ends[len(ends)-1] {
		n := m.CountsAt(ends[len(ends)-1]).Minus(m.CountsAt(from))
		b.Filled = blocks.Filled{At: int64(at) + 1, Requests: n.Requests, Misses: n.Misses()}
	}
	b.FirstsHit = cache.AnswersSimilar(c.Cache) || c.Prefetcher != nil || cache.HasStreams(c.Cache)
	v.addFirsts(b, ends)
	return b
}

// addFirsts adds the first requests to objects.
func (v *view) addFirsts(b *blocks.Blocks, ends []int) {
	firsts := v.firsts()
	begin := firsts.Until(ends[0])
	b.Before, b.BytesBefore = begin.Objects, begin.Bytes
	last := begin
	for half := range b.New {
		next := firsts.Until(ends[(half+1)*(len(ends)-1)/2])
		b.New[half], b.NewBytes[half] = next.Objects-last.Objects, next.Bytes-last.Bytes
		last = next
	}
	if !b.FirstsHit {
		b.Cold = last.Cold - begin.Cold
	}
}

// blocksOfStack returns the blocks of cell k of a pass over reuse distances; nil without marks. sizes returns the bytes
// that are requested in each block.
func blocksOfStack(m *windows.Marks, v *view, c Cell, k int, sizes func() []int64) *blocks.Blocks {
	if m == nil {
		return nil
	}
	b := &blocks.Blocks{Restarts: len(v.trace.Starts) > 0}
	for i := range len(m.At) - 1 {
		n, hit := int64(v.trace.Counted(m.At[i], m.At[i+1])), m.Counts[i+1][k].Minus(m.Counts[i][k])
		e := blocks.Block{Requests: n, Misses: n - hit.Hits}
		if c.Capacity.Bytes {
			e.MissedBytes = sizes()[i] - hit.HitBytes
		}
		b.Each = append(b.Each, e)
	}
	if b.Restarts {
		return b
	}
	v.addFirsts(b, v.blockEnds())
	if at, from := v.filledAt(c); from < len(v.trace.Objects) {
		// Until then nothing is evicted, so all but first requests hit. In the group that is served then, requests hit if
		// their object was resident when the group began.
		if c.Cache.Entry.GroupOrder != nil {
			from = feed.GroupEnd(v.trace, from)
		}
		firsts := v.firsts()
		misses := firsts.Until(from).Cold - firsts.Until(m.At[0]).Cold
		b.Filled = blocks.Filled{At: int64(at) + 1, Requests: int64(v.trace.Counted(from, len(v.trace.Objects))),
			Misses: b.Sum().Misses - misses}
	}
	return b
}

// blockTokens returns the tokens in the blocks of the cache of a cell; 0 for those of the trace.
func (r *Replayer) blockTokens(c Cell) int {
	p := prompts.Of(r.trace.Kind)
	if p == nil || c.Cache.Entry.BlockTokens == nil {
		return 0
	}
	if tokens := c.Cache.Entry.BlockTokens(c.Cache.Params); tokens != p.BlockTokens {
		return tokens
	}
	return 0
}

// checkBlocks rejects blocks of the cache that the trace's cannot be joined to, and capacities without room for one.
func (r *Replayer) checkBlocks(c Cell) error {
	tokens := r.blockTokens(c)
	if tokens == 0 {
		return nil
	}
	if err := prompts.Of(r.trace.Kind).CheckJoin(tokens); err != nil {
		return fmt.Errorf("cache %s: %w", c.Cache, err)
	}
	_, joined, err := r.inBlocks(c)
	if err == nil && joined.Capacity.Simulated < 1 {
		err = fmt.Errorf("cache %s: capacity %s has less room than a block of %d tokens", c.Cache, c.Capacity, tokens)
	}
	return err
}

// differs reports whether a cell is replayed on another trace, which inBlocks returns.
func (r *Replayer) differs(c Cell) bool {
	return cache.IgnoresAnswers(c.Cache, r.trace) || r.blockTokens(c) > 0
}

// inBlocks returns the replayer and the cell for a cache with larger blocks than the trace, or without its answers. The
// cell's capacity has the same bytes or, if these are unknown, at most as many tokens. For other cells, both are
// unchanged.
func (r *Replayer) inBlocks(c Cell) (*Replayer, Cell, error) {
	if cache.IgnoresAnswers(c.Cache, r.trace) {
		return r.withoutAnswers().inBlocks(c)
	}
	tokens := r.blockTokens(c)
	if tokens == 0 {
		return r, c, nil
	}
	r.joining.Lock()
	defer r.joining.Unlock()
	other := r.joined[tokens]
	if other == nil {
		t, err := r.trace.InBlocks(tokens)
		if err != nil {
			return nil, c, fmt.Errorf("cache %s: %w", c.Cache, err)
		}
		other = NewReplayer(t, r.options)
		r.joined[tokens] = other
	}
	c.Capacity = c.Capacity.InJoinedBlocks(prompts.Of(other.trace.Kind), r.trace.SampleRate)
	return other.WithProgress(r.scaled(len(other.trace.Objects))), c, nil
}

// scaled returns the function that is notified of the progress of a replay of so many requests that stand for those of
// the trace.
func (r *Replayer) scaled(requests int) func(n int64) {
	if r.options.Progress == nil {
		return nil
	}
	var served, told atomic.Int64
	return func(n int64) {
		now := int64(float64(served.Add(n)) / float64(requests) * float64(len(r.trace.Objects)))
		r.options.Progress(now - told.Swap(now))
	}
}

// joinedJob is a job in the blocks of its cells' cache.
func (r *Replayer) joinedJob(job Job) (*Replayer, Job, error) {
	other, joined := r, Job{}
	for _, c := range job.cells {
		var err error
		if other, c, err = r.inBlocks(c); err != nil {
			return nil, job, err
		}
		joined.cells = append(joined.cells, c)
	}
	return other, joined, nil
}
