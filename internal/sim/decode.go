package sim

import (
	"context"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/kv"
	"github.com/cachesim/cachesim/internal/clock/decode"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// timeHeads returns the metrics of a cell's model of time, from what the cell did in each step.
func (r *Replayer) timeHeads(ctx context.Context, c Cell, steps []kv.StepCounts) (metric.Values, error) {
	shape := attention.Of(r.trace.Kind).Shape
	replayed := &models.Decoded{Management: managementOf(c, steps), Replay: decode.Replay{
		Layers: len(shape.Layers), Heads: shape.KVHeads, Steps: shape.Steps, Prompt: shape.Prompt,
		Counts: make([]decode.Counts, len(steps)), Always: kv.AlwaysVisible(c.Cache.Params),
		Generated: kv.KeepsGenerated(c.Cache.Params), Share: c.Capacity.Share(r.trace.NumObjects)}}
	for i, n := range steps {
		counts := decode.Counts{Heads: n.Heads, Whole: n.Whole, Retrievals: n.Misses, Loaded: n.Loaded}
		if n.Heads > 0 {
			counts.Wanted = n.Wanted / (n.Heads + n.Whole) * n.Heads // all heads want equally many
		}
		if replayed.Management == decode.Blocks {
			counts.Retrievals, counts.Lookups = n.Heads, n.Lookups
			counts.Updates = n.Lookups - n.Hits + n.Evictions
			if !c.Policy.Entry.IgnoresHits {
				counts.Updates += n.Hits
			}
		}
		replayed.Counts[i] = counts
	}
	return c.Model.Entry.Run(ctx, models.Config{Trace: r.trace, Cache: replayed, Params: c.Model.Params})
}

// managementOf returns how the keys and values of a cell are managed.
func managementOf(c Cell, steps []kv.StepCounts) decode.Management {
	var partly int64 // heads
	for _, n := range steps {
		partly += n.Heads
	}
	switch {
	case partly == 0:
		return decode.Whole
	case c.Reuse == nil:
		return decode.Blocks
	case c.Reuse.Entry.Predicted:
		return decode.Predicted
	}
	return decode.Sets
}
