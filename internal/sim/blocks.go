package sim

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/sim/onepass"
	"github.com/cachesim/cachesim/internal/traces"
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

// marks keeps the counts of a replay at some positions. Its methods do nothing without marks.
type marks struct {
	at     []int // ascending
	counts []cache.Counts
	offset int          // position at which the current part of the trace begins
	before cache.Counts // of earlier parts
}

// newMarks returns nil if a cell has none: nothing asks for them, or a model serves requests in an order of its own.
func (r *Replayer) newMarks(c Cell) *marks {
	v := r.view(c.Capacity)
	if !r.options.Blocks || c.Model != nil || c.Policy.Entry.Kind == policies.Bound || cache.ServesHeads(c.Cache) ||
		warmup(c, v.trace, v.warmup) != v.warmup {
		return nil
	}
	ends := v.blockEnds()
	m := &marks{at: ends}
	if len(v.trace.Starts) == 0 {
		_, from := v.filledAt(c)
		m.at = append(slices.Clone(ends), from)
		slices.Sort(m.at)
		m.at = slices.Compact(m.at)
	}
	for len(m.counts) < len(m.at) && m.at[len(m.counts)] == 0 {
		m.counts = append(m.counts, cache.Counts{})
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

// cut returns where a run of requests must end so that no mark is inside it.
func (m *marks) cut(from, to int) int {
	if m == nil || len(m.counts) == len(m.at) {
		return to
	}
	if next := m.at[len(m.counts)] - m.offset; next > from {
		return min(to, next)
	}
	return to
}

// served keeps the counts of the part so far, if there is a mark.
func (m *marks) served(to int, total cache.Counts) {
	if m == nil {
		return
	}
	for len(m.counts) < len(m.at) && m.at[len(m.counts)] <= m.offset+to {
		m.counts = append(m.counts, m.before.Plus(total))
	}
}

// endPart ends a part of the trace with that many requests.
func (m *marks) endPart(requests int, total cache.Counts) {
	if m != nil {
		m.offset += requests
		m.before = m.before.Plus(total)
	}
}

// countsAt returns the counts at a mark.
func (m *marks) countsAt(pos int) cache.Counts {
	i, _ := slices.BinarySearch(m.at, pos)
	return m.counts[i]
}

// blocks returns the blocks of a cell; nil without marks.
func (m *marks) blocks(v *view, c Cell) *blocks.Blocks {
	if m == nil {
		return nil
	}
	ends := v.blockEnds()
	b := &blocks.Blocks{Restarts: len(v.trace.Starts) > 0}
	for i := range len(ends) - 1 {
		n := m.countsAt(ends[i+1]).Minus(m.countsAt(ends[i]))
		b.Each = append(b.Each, blocks.Block{Requests: n.Requests, Misses: n.Misses(), MissedBytes: n.Bytes - n.HitBytes})
	}
	if b.Restarts {
		return b
	}
	if at, from := v.filledAt(c); from < ends[len(ends)-1] {
		n := m.countsAt(ends[len(ends)-1]).Minus(m.countsAt(from))
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

// stackMarks keeps LRU's hits at many capacities at the ends of blocks. Its methods do nothing without marks.
type stackMarks struct {
	ends           []int     // of whole groups, if the stack serves these
	hits, hitBytes [][]int64 // per end and capacity, since the warm-up; of the first end, none
	sizes          []int64   // bytes requested in each block
	offset         int       // position at which the current part of the trace begins
	before         [2][]int64
}

// hitsSoFar returns the hits that were counted so far, also those of writes unless these only fill the cache.
func hitsSoFar(stack onepass.Stack, t *traces.Trace) (hits, hitBytes []int64) {
	hits, hitBytes, _ = stack.Hits() // only a device fails, whose stack has no marks
	if t.Ops == nil || t.Fills() {
		return hits, hitBytes
	}
	writes, written := stack.(onepass.Apart).WriteHits()
	return plus(hits, writes), plus(hitBytes, written)
}

// newStackMarks returns nil if nothing asks for blocks.
func (r *Replayer) newStackMarks(cells []Cell) *stackMarks {
	if !r.options.Blocks {
		return nil
	}
	v := r.view(cells[0].Capacity)
	ends := v.blockEnds()
	if cells[0].Cache.Entry.GroupOrder != nil {
		for i := range ends {
			ends[i] = feed.GroupEnd(v.trace, ends[i])
		}
	}
	none := make([]int64, len(cells))
	return &stackMarks{ends: ends, hits: [][]int64{none}, hitBytes: [][]int64{none}, before: [2][]int64{none, none}}
}

// next returns where the requests from a position of the part must end so that a block ends there.
func (m *stackMarks) next(from, to int) int {
	if m == nil || len(m.hits) == len(m.ends) {
		return to
	}
	return min(to, max(from, m.ends[len(m.hits)]-m.offset))
}

// served keeps the hits before a position of the part, if a block ends there.
func (m *stackMarks) served(to int, stack onepass.Stack, t *traces.Trace) {
	if m == nil {
		return
	}
	for len(m.hits) < len(m.ends) && m.ends[len(m.hits)] == m.offset+to {
		hits, bytes := hitsSoFar(stack, t)
		m.hits, m.hitBytes = append(m.hits, plus(m.before[0], hits)), append(m.hitBytes, plus(m.before[1], bytes))
	}
}

// endPart ends a part of the trace.
func (m *stackMarks) endPart(stack onepass.Stack, t *traces.Trace) {
	if m != nil {
		hits, bytes := hitsSoFar(stack, t)
		m.offset, m.before = m.offset+len(t.Objects), [2][]int64{plus(m.before[0], hits), plus(m.before[1], bytes)}
	}
}

func plus(a, b []int64) []int64 {
	sums := slices.Clone(a)
	for i, n := range b {
		sums[i] += n
	}
	return sums
}

// blocks returns the blocks of cell k; nil without marks.
func (m *stackMarks) blocks(v *view, c Cell, k int) *blocks.Blocks {
	if m == nil {
		return nil
	}
	if m.sizes == nil && c.Capacity.Bytes {
		m.sizes = v.sizesOf(m.ends)
	}
	b := &blocks.Blocks{Restarts: len(v.trace.Starts) > 0}
	for i := range len(m.ends) - 1 {
		n := int64(v.trace.Counted(m.ends[i], m.ends[i+1]))
		e := blocks.Block{Requests: n, Misses: n - (m.hits[i+1][k] - m.hits[i][k])}
		if c.Capacity.Bytes {
			e.MissedBytes = m.sizes[i] - (m.hitBytes[i+1][k] - m.hitBytes[i][k])
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
		misses := firsts.Until(from).Cold - firsts.Until(m.ends[0]).Cold
		b.Filled = blocks.Filled{At: int64(at) + 1, Requests: int64(v.trace.Counted(from, len(v.trace.Objects))),
			Misses: b.Sum().Misses - misses}
	}
	return b
}

// sizesOf returns the bytes that are requested in each block.
func (v *view) sizesOf(ends []int) []int64 {
	sizes := make([]int64, len(ends)-1)
	for i := range sizes {
		for pos := ends[i]; pos < ends[i+1]; pos++ {
			if !v.trace.Fills() || !v.trace.IsWrite(pos) {
				sizes[i] += v.trace.Size(pos)
			}
		}
	}
	return sizes
}
