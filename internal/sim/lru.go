package sim

import (
	"context"
	"fmt"
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
	alone := c.Model == nil && c.Allocator == nil && c.Prefetcher == nil
	if !inPass || !alone || c.Series.Asked() || !cache.IsExact(c.Cache) {
		return ""
	}
	v := r.view(c.Capacity)
	if len(v.trace.Removals) > 0 || v.trace.Ops != nil {
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

// replayStack replays the trace once for LRU cells of one unit of capacity, in ascending order, with one
// key of passOf. Each part of the trace has a stack that newStack returns. The time per request is the pass's,
// which serves all of them.
func (r *Replayer) replayStack(ctx context.Context, cells []Cell,
	newStack func(*traces.Trace) (lruStack, error)) ([]outcome, error) {
	v := r.view(cells[0].Capacity)
	sums := make([]outcome, len(cells))
	for _, part := range v.trace.Parts() {
		stack, err := newStack(part)
		if err != nil {
			return nil, err
		}
		outcomes, err := r.stackPart(ctx, stack, cells, part, v.warmup)
		if err != nil {
			return nil, err
		}
		for k := range sums {
			sums[k].add(outcomes[k])
		}
	}
	return sums, nil
}

func (r *Replayer) stackPart(ctx context.Context, stack lruStack, cells []Cell, t *traces.Trace,
	warmup int) ([]outcome, error) {
	start := time.Now()
	if err := r.serveStack(ctx, stack, t.Objects[:warmup], false); err != nil {
		return nil, err
	}
	before := stack.resident()
	if err := r.serveStack(ctx, stack, t.Objects[warmup:], true); err != nil {
		return nil, err
	}
	after := stack.resident()
	hits, hitBytes, err := stack.hits()
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	counts := cache.Counts{Requests: int64(len(t.Objects) - warmup)}
	if cells[0].Capacity.Bytes {
		for pos := warmup; pos < len(t.Objects); pos++ {
			counts.Bytes += t.Size(pos)
		}
	}
	outcomes := make([]outcome, len(cells))
	for k := range cells {
		n := counts
		n.Hits, n.HitBytes = hits[k], hitBytes[k]
		n.Evictions = n.Misses() - (after[k] - before[k]) // every miss loads an object, which is resident or was evicted
		outcomes[k] = outcome{values: n.Values(cells[k].Cache.Entry, cells[k].Capacity.Bytes), served: int64(len(t.Objects)),
			elapsed: elapsed}
	}
	return outcomes, nil
}

// serveStack passes requests to the stack, and checks ctx from time to time.
func (r *Replayer) serveStack(ctx context.Context, stack lruStack, objects []uint32, counted bool) error {
	for len(objects) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(objects), stack.window())
		if err := stack.serve(objects[:n], counted); err != nil {
			return err
		}
		if r.options.Progress != nil {
			r.options.Progress(int64(n))
		}
		objects = objects[n:]
	}
	return nil
}

// newLRUStack returns the stack for a part of a trace on the CPU.
func newLRUStack(t *traces.Trace, cells []Cell) (lruStack, error) {
	if !cells[0].Capacity.Bytes {
		return &objectStack{oracle.NewLRUStack(t.NumObjects), simulated(cells)}, nil
	}
	stack, err := oracle.NewLRUByteStack(t.ObjectSizes, simulated(cells))
	return byteStack{stack}, err
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
	all := oracle.HitsOf(distances)
	hits := make([]int64, len(capacities))
	for k, c := range capacities {
		hits[k] = all[min(c, int64(len(all)-1))]
	}
	return hits
}

type byteStack struct{ *oracle.LRUByteStack }

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
