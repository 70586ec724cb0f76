package sim

import (
	"context"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/reuse"
	"github.com/cachesim/cachesim/internal/sim/onepass"
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
	return r.replayStack(ctx, job, func(*traces.Trace) (onepass.Stack, error) {
		return deviceStack{stack, simulated(job)}, stack.Restart()
	})
}

type deviceStack struct {
	stack      *reuse.Stack
	capacities []int64
}

func (s deviceStack) Window() int { return s.stack.Chunk() }
func (s deviceStack) Serve(objects []uint32, counted bool) error {
	return s.stack.Serve(objects, counted)
}
func (s deviceStack) Resident() []int64 { return onepass.ResidentsIn(s.capacities, s.stack.Seen()) }

func (s deviceStack) Hits() (hits, hitBytes []int64, err error) {
	distances, err := s.stack.Distances()
	if err != nil {
		return nil, nil, err
	}
	hits = onepass.HitsIn(s.capacities, distances)
	return hits, make([]int64, len(hits)), nil
}
