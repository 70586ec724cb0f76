package sim

import (
	"context"

	"github.com/cachesim/cachesim/internal/cache/kv"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// replayHeads replays cells of the cache of a language model, in one pass over its heads.
func (r *Replayer) replayHeads(ctx context.Context, cells []Cell) ([]outcome, error) {
	config := kv.Config{Trace: attention.Of(r.trace.Kind), Jobs: r.options.Jobs, Memory: r.options.Memory,
		Progress: r.progress()}
	for _, c := range cells {
		config.Cells = append(config.Cells, kv.Cell{Params: c.Cache.Params, Share: c.Capacity.Share(r.trace.NumObjects),
			Rule: c.Reuse, Policy: c.Policy, Seed: c.Seed})
	}
	served, err := kv.Replay(ctx, config)
	if err != nil {
		return nil, err
	}
	outcomes := make([]outcome, len(cells))
	for i, s := range served {
		values := s.Counts.Values(cells[i].Cache.Entry, false).Merge(s.Values)
		outcomes[i] = outcome{values: values, served: int64(len(r.trace.Objects)), elapsed: s.Elapsed}
	}
	return outcomes, nil
}
