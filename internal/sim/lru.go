package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/traces"
)

// passOf returns a key if one pass over reuse distances can serve a cell and others: those with the same key. It has
// LRU's counts at capacities in objects and, if no object changes its size, at those in bytes that hold any object.
func (r *Replayer) passOf(c Cell) string {
	if c.Cache.Entry.Attention {
		return "heads"
	}
	inPass := c.Policy.Entry.ReuseDistances || c.OnePass && c.Policy.Entry.OnePass
	alone := c.Model == nil && c.Allocator == nil && c.Prefetcher == nil && c.Router == nil
	if !inPass || !alone || c.Series.Asked() {
		return ""
	}
	v := r.view(c.Capacity)
	if !cache.IsExact(c.Cache) {
		return v.promptPassOf(c)
	}
	if len(v.trace.Removals) > 0 {
		return ""
	}
	if c.Capacity.Bytes && (v.trace.RequestSizes != nil || c.Capacity.Simulated < v.largest) {
		return ""
	}
	return fmt.Sprintf("reuse distances in %s, seed %d", c.Capacity.Unit(), c.Seed)
}

// lruStack gives LRU's counts at many capacities in one pass.
type lruStack interface {
	// window returns how many requests to serve at a time.
	window() int
	serve(objects []uint32, counted bool) error
	// resident returns the number of objects in the cache at each capacity now.
	resident() []int64
	// hits returns the counted hits at each capacity, and their bytes if the capacities count bytes.
	hits() (hits, hitBytes []int64, err error)
}

// apartStack is a stack that counts requests that write apart.
type apartStack interface {
	lruStack
	// turn says whether the next requests write.
	turn(write bool)
	// writeHits is hits of the requests that write.
	writeHits() (hits, hitBytes []int64)
}

// replayStack replays the trace once for LRU cells of one unit of capacity, in ascending order, with one
// key of passOf. Each part of the trace has a stack that newStack returns. The time per request is the pass's,
// which serves all of them.
func (r *Replayer) replayStack(ctx context.Context, cells []Cell,
	newStack func(*traces.Trace) (lruStack, error)) ([]outcome, error) {
	v := r.view(cells[0].Capacity)
	sums := make([]outcome, len(cells))
	var marks *stackMarks
	for _, part := range v.trace.Parts() {
		stack, err := newStack(part)
		if err != nil {
			return nil, err
		}
		_, apart := stack.(apartStack)
		_, grouped := stack.(groupedStack)
		if marks == nil && (apart || grouped && warmup(cells[0], part, v.warmup) == v.warmup) {
			marks = r.newStackMarks(cells)
		}
		outcomes, err := r.stackPart(ctx, stack, cells, part, warmup(cells[0], part, v.warmup), marks)
		if err != nil {
			return nil, err
		}
		for k := range sums {
			sums[k].add(outcomes[k])
		}
	}
	for k, c := range cells {
		sums[k].blocks = marks.blocks(v, c, k)
	}
	return sums, nil
}

func (r *Replayer) stackPart(ctx context.Context, stack lruStack, cells []Cell, t *traces.Trace,
	warmup int, marks *stackMarks) ([]outcome, error) {
	start := time.Now()
	if err := r.serveStack(ctx, stack, t, 0, warmup, false); err != nil {
		return nil, err
	}
	before := stack.resident()
	for from := warmup; from < len(t.Objects); {
		to := marks.next(from, len(t.Objects))
		if err := r.serveStack(ctx, stack, t, from, to, true); err != nil {
			return nil, err
		}
		marks.served(to, stack, t)
		from = to
	}
	marks.endPart(stack, t)
	after := stack.resident()
	tallies, err := talliesOf(stack, cells, t, warmup)
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	outcomes := make([]outcome, len(cells))
	for k := range cells {
		n := tallies[k]
		n.Reads.Evictions -= after[k] - before[k] // what was loaded is resident or was evicted
		n.sum(t)
		outcomes[k] = outcome{values: n.Values(cells[k].Cache.Entry, cells[k].Capacity.Bytes), served: int64(len(t.Objects)),
			elapsed: elapsed}
		n.addTo(&outcomes[k].values, t)
	}
	return outcomes, nil
}

// talliesOf returns what a stack has counted for each cell after the warm-up, with loads as evictions.
func talliesOf(stack lruStack, cells []Cell, t *traces.Trace, warmup int) ([]Tally, error) {
	if grouped, ok := stack.(groupedStack); ok {
		tallies := make([]Tally, len(cells))
		for k := range tallies {
			tallies[k].Counts = grouped.counts(k)
			tallies[k].Reads = tallies[k].Counts
		}
		return tallies, nil
	}
	hits, hitBytes, err := stack.hits()
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
		hits, hitBytes = stack.(apartStack).writeHits()
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
func (r *Replayer) serveStack(ctx context.Context, stack lruStack, t *traces.Trace, from, to int, counted bool) error {
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(to, from+stack.window())
		if _, ok := stack.(groupedStack); ok {
			end = groupEnd(t, end)
		}
		for at := from; at < end; {
			next := end
			if t.Ops != nil {
				next = endOfKind(t, at, end)
				stack.(apartStack).turn(t.IsWrite(at))
			}
			if err := stack.serve(t.Objects[at:next], counted); err != nil {
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

// newLRUStack returns the stack for a part of a trace on the CPU.
func newLRUStack(t *traces.Trace, cells []Cell) (lruStack, error) {
	if !cache.IsExact(cells[0].Cache) {
		return newPromptStack(t, cells), nil
	}
	if !cells[0].Capacity.Bytes {
		s := &objectStack{oracle.NewLRUStack(t.NumObjects), simulated(cells), nil}
		if t.Ops != nil {
			s.writes = make([]int64, t.NumObjects)
		}
		return s, nil
	}
	stack, err := oracle.NewLRUByteStack(t.ObjectSizes, simulated(cells))
	return byteStack{stack, oracle.NewByteHits(len(cells))}, err
}

func simulated(cells []Cell) []int64 {
	capacities := make([]int64, len(cells))
	for k, c := range cells {
		capacities[k] = c.Capacity.Simulated
	}
	return capacities
}

type objectStack struct {
	*oracle.LRUStack
	capacities []int64
	writes     []int64 // requests that write, per distance; nil if none do
}

func (s *objectStack) window() int { return longestWindow }

func (s *objectStack) serve(objects []uint32, counted bool) error {
	s.Serve(objects, counted)
	return nil
}

func (s *objectStack) resident() []int64 { return residentsIn(s.capacities, s.Seen()) }

func (s *objectStack) hits() (hits, hitBytes []int64, err error) {
	hits = hitsIn(s.capacities, s.Distances())
	return hits, make([]int64, len(hits)), nil
}

func (s *objectStack) turn(write bool) {
	if write {
		s.CountIn(s.writes)
	} else {
		s.CountIn(nil)
	}
}

func (s *objectStack) writeHits() (hits, hitBytes []int64) {
	hits = hitsIn(s.capacities, s.writes)
	return hits, make([]int64, len(hits))
}

// residentsIn returns how many of the objects seen are in caches of these capacities.
func residentsIn(capacities []int64, seen int) []int64 {
	resident := make([]int64, len(capacities))
	for k, c := range capacities {
		resident[k] = min(c, int64(seen))
	}
	return resident
}

// hitsIn returns the hits of caches of these capacities, of the number of requests at each distance.
func hitsIn(capacities, distances []int64) []int64 {
	ascending := make([]int, len(capacities))
	for k := range ascending {
		ascending[k] = k
	}
	slices.SortFunc(ascending, func(a, b int) int { return cmp.Compare(capacities[a], capacities[b]) })
	hits := make([]int64, len(capacities))
	at, sum := 0, int64(0)
	for _, k := range ascending {
		for ; at < len(distances) && int64(at) < capacities[k]; at++ {
			sum += distances[at]
		}
		hits[k] = sum
	}
	return hits
}

type byteStack struct {
	*oracle.LRUByteStack
	writes *oracle.ByteHits
}

func (s byteStack) window() int { return longestWindow }

func (s byteStack) serve(objects []uint32, counted bool) error {
	s.Serve(objects, counted)
	return nil
}

func (s byteStack) resident() []int64 { return s.Resident() }

func (s byteStack) hits() (hits, hitBytes []int64, err error) {
	hits, hitBytes = s.Hits()
	return hits, hitBytes, nil
}

func (s byteStack) turn(write bool) {
	if write {
		s.CountIn(s.writes)
	} else {
		s.CountIn(nil)
	}
}

func (s byteStack) writeHits() (hits, hitBytes []int64) { return s.writes.Hits() }
