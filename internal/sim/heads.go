package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/cache/kv"
	"github.com/cachesim/cachesim/internal/results/series"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// replayHeads replays cells of the cache of a language model, in one pass over its heads. The CPU computes full
// attention if full is nil.
func (r *Replayer) replayHeads(ctx context.Context, cells []Cell, full []kv.Attention) ([]outcome, error) {
	config := kv.Config{Trace: attention.Of(r.trace.Kind), Jobs: r.options.Jobs, Memory: r.options.Memory,
		Progress: r.progress(), Steps: slices.ContainsFunc(cells, asksSeries), Attention: full}
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
		if window := cells[i].Series; window.Asked() {
			outcomes[i].series = seriesOfHeads(window, config.Trace.Shape, s)
		}
	}
	return outcomes, nil
}

func asksSeries(c Cell) bool { return c.Series.Asked() }

// seriesOfHeads returns the series of a cell whose windows are numbers of steps, in which all layers count.
func seriesOfHeads(window series.Window, shape *attention.Shape, o kv.Outcome) (rows []series.Row) {
	for from := 0; from < shape.Steps; {
		to := int(min(int64(from)+window.Requests, int64(shape.Steps)))
		var counts kv.StepCounts
		var quality kv.StepQuality
		for layer := range shape.Layers {
			for step := from; step < to; step++ {
				counts.Add(o.Steps[layer*shape.Steps+step])
				quality.Add(o.Quality[layer*shape.Steps+step])
			}
		}
		values := kv.SeriesOf(counts, quality)
		for _, m := range kv.SeriesMetrics {
			if values.Has(m) && window.Wants(m.Name) {
				rows = append(rows, series.Row{Time: float64(to), Name: m.Name, Value: values.Float(m)})
			}
		}
		from = to
	}
	return rows
}

// checkSeriesOfHeads refuses a series that a replay of an attention trace cannot have.
func checkSeriesOfHeads(window series.Window, shape *attention.Shape) error {
	if window.Span > 0 {
		return fmt.Errorf("series %s: the steps of the cache %s have no times; give a number of steps instead", window,
			kv.Name)
	}
	return window.CheckRequests(int64(shape.Steps))
}
