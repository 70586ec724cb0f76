package sim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/capacity"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/traces"
)

// byPass groups LRU cells that one pass over reuse distances can serve, those of one unit and seed in ascending order;
// the other cells are replayed.
func (r *Replayer) byPass(cells []Cell) (shared [][]Cell, single []Cell) {
	sorted := slices.SortedStableFunc(slices.Values(cells),
		func(a, b Cell) int { return cmp.Compare(a.Capacity.Simulated, b.Capacity.Simulated) })
	type pass struct {
		bytes bool
		seed  uint64
	}
	index := map[pass]int{}
	for _, c := range sorted {
		if !r.onePass(c.Capacity) {
			single = append(single, c)
			continue
		}
		key := pass{c.Capacity.Bytes, c.Seed}
		at, ok := index[key]
		if !ok {
			at = len(shared)
			index[key] = at
			shared = append(shared, nil)
		}
		shared[at] = append(shared[at], c)
	}
	return shared, single
}

// onePass reports whether one pass over reuse distances gives LRU's counts at c: always if c counts objects; if it
// counts bytes, only if no object changes its size or is larger than the cache.
func (r *Replayer) onePass(c capacity.Capacity) bool {
	return !c.Bytes || r.sizedOnly().trace.RequestSizes == nil && c.Simulated >= r.sizedOnly().largest
}

// lruStack gives LRU's counts at many capacities in one pass.
type lruStack interface {
	serve(objects []uint32, counted bool)
	// resident returns the number of objects in the cache at each capacity now.
	resident() []int64
	// hits returns the counted hits at each capacity, and their bytes if the capacities count bytes.
	hits() (hits, hitBytes []int64)
}

// replayStack replays the trace once for LRU cells of one unit of capacity, in ascending order, for all of which
// onePass is true. The time per request is that of the pass, which serves all of them.
func (r *Replayer) replayStack(ctx context.Context, cells []Cell) ([]outcome, error) {
	v := r.view(cells[0].Capacity)
	sums := make([]outcome, len(cells))
	for _, part := range v.trace.Parts() {
		outcomes, err := r.stackPart(ctx, cells, part, v.warmup)
		if err != nil {
			return nil, err
		}
		for k := range sums {
			sums[k].add(outcomes[k])
		}
	}
	return sums, nil
}

func (r *Replayer) stackPart(ctx context.Context, cells []Cell, t *traces.Trace, warmup int) ([]outcome, error) {
	stack, err := newLRUStack(t, cells)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := r.serveStack(ctx, stack, t.Objects[:warmup], false); err != nil {
		return nil, err
	}
	before := stack.resident()
	if err := r.serveStack(ctx, stack, t.Objects[warmup:], true); err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	after := stack.resident()
	hits, hitBytes := stack.hits()
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
	for window := range slices.Chunk(objects, longestWindow) {
		if err := ctx.Err(); err != nil {
			return err
		}
		stack.serve(window, counted)
		if r.options.Progress != nil {
			r.options.Progress(int64(len(window)))
		}
	}
	return nil
}

func newLRUStack(t *traces.Trace, cells []Cell) (lruStack, error) {
	capacities := make([]int64, len(cells))
	for k, c := range cells {
		capacities[k] = c.Capacity.Simulated
	}
	if !cells[0].Capacity.Bytes {
		return &objectStack{oracle.NewLRUStack(t.NumObjects), capacities}, nil
	}
	stack, err := oracle.NewLRUByteStack(t.ObjectSizes, capacities)
	return byteStack{stack}, err
}

type objectStack struct {
	*oracle.LRUStack
	capacities []int64
}

func (s *objectStack) serve(objects []uint32, counted bool) { s.Serve(objects, counted) }

func (s *objectStack) resident() []int64 {
	resident := make([]int64, len(s.capacities))
	for k, c := range s.capacities {
		resident[k] = min(c, int64(s.Seen()))
	}
	return resident
}

func (s *objectStack) hits() (hits, hitBytes []int64) {
	all := s.Hits()
	hits = make([]int64, len(s.capacities))
	for k, c := range s.capacities {
		hits[k] = all[min(c, int64(len(all)-1))]
	}
	return hits, make([]int64, len(hits))
}

type byteStack struct{ *oracle.LRUByteStack }

func (s byteStack) serve(objects []uint32, counted bool) { s.Serve(objects, counted) }
func (s byteStack) resident() []int64                    { return s.Resident() }
func (s byteStack) hits() (hits, hitBytes []int64)       { return s.Hits() }
