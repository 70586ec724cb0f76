package sim

import (
	"context"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/reuse"
	"github.com/cachesim/cachesim/internal/traces"
)

// lruOnDevice replays LRU at any number of capacities in objects, by reuse distances.
var lruOnDevice = &deviceReplay{
	group: func(c Cell) (key, why string) {
		lru := c.Policy.Entry.OnePass || c.Policy.Entry.ReuseDistances
		switch {
		case !lru || !cache.IsExact(c.Cache):
			return "", ""
		case c.Capacity.Bytes:
			return "", "the GPU counts reuse distances in objects, not in bytes"
		}
		return "reuse distances", ""
	},
	test:   reuse.SelfTest,
	bytes:  func(r *Replayer, _ []Cell) int64 { return 16 * int64(r.trace.NumObjects) }, // distances and hits
	replay: replayLRUOnDevice,
}

func replayLRUOnDevice(ctx context.Context, r *Replayer, d cuda.Device, job []Cell) (outcomes []outcome, err error) {
	v := r.view(job[0].Capacity)
	longest := 0
	for _, part := range v.trace.Parts() {
		longest = max(longest, v.warmup, len(part.Objects)-v.warmup)
	}
	stack, err := reuse.NewStack(d, v.trace.NumObjects, longest)
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := stack.Close(); err == nil {
			err = failed
		}
	}()
	return r.replayStack(ctx, job, func(*traces.Trace) (lruStack, error) {
		return deviceStack{stack, simulated(job)}, stack.Restart()
	})
}

type deviceStack struct {
	*reuse.Stack
	capacities []int64
}

func (s deviceStack) window() int                                { return s.Chunk() }
func (s deviceStack) serve(objects []uint32, counted bool) error { return s.Serve(objects, counted) }
func (s deviceStack) resident() []int64                          { return residentsIn(s.capacities, s.Seen()) }

func (s deviceStack) hits() (hits, hitBytes []int64, err error) {
	distances, err := s.Distances()
	if err != nil {
		return nil, nil, err
	}
	hits = hitsIn(s.capacities, distances)
	return hits, make([]int64, len(hits)), nil
}
