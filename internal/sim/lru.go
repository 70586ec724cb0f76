package sim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

func isLRU(s policies.Spec) bool { return s.Entry.Name == "lru" }

// lruCells returns the cells of options.LRUCapacities: those that share one pass, in ascending order, and those to be replayed.
func (r *runner) lruCells() (shared [2][]cell, single []cell) {
	capacities := slices.SortedFunc(slices.Values(r.options.LRUCapacities), func(a, b Capacity) int { return cmp.Compare(a.Amount, b.Amount) })
	for _, capacity := range capacities {
		c := cell{mustSpec("lru"), capacity}
		switch {
		case !r.onePass(capacity):
			single = append(single, c)
		case capacity.Bytes:
			shared[1] = append(shared[1], c)
		default:
			shared[0] = append(shared[0], c)
		}
	}
	return shared, single
}

// onePass reports whether LRU's counts at c can be read off one pass over reuse distances: always where c counts objects;
// where it counts bytes, as long as no object changes its size or is larger than the cache.
func (r *runner) onePass(c Capacity) bool {
	return !c.Bytes || r.sized.RequestSizes == nil && (len(r.sized.ObjectSizes) == 0 || c.Simulated >= slices.Max(r.sized.ObjectSizes))
}

// lruStack gives LRU's counts at many capacities from one pass.
type lruStack interface {
	serve(objects []uint32, counted bool)
	// resident returns the number of objects in the cache of each capacity now.
	resident() []int64
	// hits returns the counted hits at each capacity, and their bytes where the capacities count bytes.
	hits() (hits, hitBytes []int64)
}

// runLRU replays the trace once for lru cells of one unit of capacity, in ascending order, for all of which onePass holds.
// The time per request is that of the pass, which serves all of them.
func (r *runner) runLRU(ctx context.Context, cells []cell) ([]outcome, error) {
	t, warmup, _ := r.traceFor(cells[0])
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
	counts := Counts{Requests: int64(len(t.Objects) - warmup)}
	if cells[0].capacity.Bytes {
		for pos := warmup; pos < len(t.Objects); pos++ {
			counts.Bytes += t.Size(pos)
		}
	}
	outcomes := make([]outcome, len(cells))
	for k := range cells {
		n := counts
		n.Hits, n.HitBytes = hits[k], hitBytes[k]
		n.Evictions = n.Misses() - (after[k] - before[k]) // every miss loads an object, and it is here or was evicted
		outcomes[k] = outcome{counts: n, elapsed: elapsed}
	}
	return outcomes, nil
}

// serveStack hands requests to the stack, with an eye on ctx.
func (r *runner) serveStack(ctx context.Context, stack lruStack, objects []uint32, counted bool) error {
	for window := range slices.Chunk(objects, windowLen) {
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

func newLRUStack(t *traces.Trace, cells []cell) (lruStack, error) {
	capacities := make([]int64, len(cells))
	for k, c := range cells {
		capacities[k] = c.capacity.Simulated
	}
	if !cells[0].capacity.Bytes {
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
