package sim

import (
	"context"
	"errors"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/kv"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/attend"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// headsOnDevice computes full attention for the cache of a language model. Sets, stores and metrics stay on the CPU.
var headsOnDevice = &deviceReplay{
	computes: "full attention",
	group: func(c Cell) (key, why string) {
		if !cache.ServesHeads(c.Cache) {
			return "", ""
		}
		return "heads", ""
	},
	test: attend.SelfTest,
	bytes: func(r *Replayer, job []Cell) int64 {
		return r.needOfHeads(job, shapeOnDevice(attention.Of(r.trace.Kind).Shape).Longest())
	},
	replay: replayHeadsOnDevice,
}

func shapeOnDevice(s *attention.Shape) attend.Shape {
	return attend.Shape{Tokens: s.Tokens(), Steps: s.Steps, Group: s.Group(), Dim: s.Dim, Scale: float32(s.Scale)}
}

func replayHeadsOnDevice(ctx context.Context, r *Replayer, d cuda.Device, job []Cell) (outcomes []outcome, err error) {
	shape := attention.Of(r.trace.Kind).Shape
	most := min(parallel.Jobs(r.options.Jobs), shape.Heads())
	workers, err := attend.Open(d, shapeOnDevice(shape), most)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, workers.Close()) }()
	var all []kv.Attention
	for _, w := range workers.All {
		all = append(all, w)
	}
	return r.replayHeads(ctx, job, all)
}
