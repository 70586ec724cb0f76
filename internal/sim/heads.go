package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/kv"
	"github.com/cachesim/cachesim/internal/clock/decode"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// replayHeads replays cells of the cache of a language model, in one pass over its heads. The CPU computes full
// attention if full is nil.
func (r *Replayer) replayHeads(ctx context.Context, cells []Cell, full []kv.Attention) ([]outcome, error) {
	config := kv.Config{Trace: attention.Of(r.trace.Kind), Jobs: r.options.Jobs, Memory: r.options.Memory,
		Life: policies.LifeOf(ctx), Progress: r.progress(), Steps: slices.ContainsFunc(cells, asksSteps), Attention: full}
	for _, c := range cells { // all of a trace have the same windows
		if c.Series.Named(kv.QueryCosines.Name) {
			config.MapEvery = int(c.Series.Requests)
		}
	}
	once, servedBy := servedOnce(cells)
	for _, c := range once {
		cell := headsCell(c)
		cell.Share = c.Capacity.Share(r.trace.NumObjects)
		config.Cells = append(config.Cells, cell)
	}
	served, err := kv.Replay(ctx, config)
	if err != nil {
		return nil, err
	}
	outcomes := make([]outcome, len(cells))
	for i, c := range cells {
		s := served[servedBy[i]]
		values := s.Counts.Values(c.Cache.Entry, false).Merge(s.Values)
		if c.Model != nil {
			timed, err := r.timeHeads(ctx, c, s.Steps)
			if err != nil {
				return nil, err
			}
			values = values.Merge(timed)
		}
		if c.Predictor != nil {
			values = values.Merge(s.Predicting.Values())
		}
		outcomes[i] = outcome{values: values, served: int64(len(r.trace.Objects)), elapsed: s.Elapsed,
			predicting: s.Predicting.Elapsed}
		if c.Series.IsSet() {
			outcomes[i].series = seriesOfHeads(c.Series, config.Trace.Shape, s)
		}
	}
	return outcomes, nil
}

// servedOnce returns one of the cells that differ by nothing but their models of time, and for each cell the place of
// that one.
func servedOnce(cells []Cell) (once []Cell, place []int) {
	known := map[string]int{}
	for _, c := range cells {
		untimed := c
		untimed.Model = nil
		key := untimed.Key()
		if _, ok := known[key]; !ok {
			known[key] = len(once)
			once = append(once, c)
		}
		place = append(place, known[key])
	}
	return once, place
}

// asksSteps reports whether a cell needs counts per step.
func asksSteps(c Cell) bool { return c.Series.IsSet() || c.Model != nil }

// headsCell returns a cell of the cache of a language model without its capacity.
func headsCell(c Cell) kv.Cell {
	return kv.Cell{Params: c.Cache.Params, Rule: c.Reuse, Policy: c.Policy, Predictor: c.Predictor, Retriever: c.Retriever,
		Seed: c.Seed}
}

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
	return append(rows, rowsOfQueries(window, shape, o.QueryMap)...)
}

// rowsOfQueries returns the cosines of the queries of all pairs of steps that end a window.
func rowsOfQueries(window series.Window, shape *attention.Shape, cosines []float64) (rows []series.Row) {
	if !window.Named(kv.QueryCosines.Name) {
		return nil
	}
	every := int(window.Requests)
	n := shape.Steps / every
	for i, x := range cosines {
		rows = append(rows, series.Row{Time: float64((i/n + 1) * every), Name: kv.QueryCosines.Name,
			Label: strconv.Itoa((i%n + 1) * every), Value: x})
	}
	return rows
}

// checkSeriesOfHeads refuses a series that a replay of an attention trace cannot have.
func checkSeriesOfHeads(window series.Window, shape *attention.Shape) error {
	if window.Span > 0 {
		return fmt.Errorf("series %s: the steps of the cache %s have no times; give a number of steps instead", window,
			kv.Name)
	}
	if n := int64(shape.Steps) / window.Requests; window.Named(kv.QueryCosines.Name) && n*n > series.MaxWindows {
		return fmt.Errorf("series %s: the queries of %d steps make more than %d pairs; give windows of at least %d steps",
			window, n, series.MaxWindows, int64(math.Ceil(float64(shape.Steps)/math.Sqrt(series.MaxWindows))))
	}
	return window.CheckRequests(int64(shape.Steps))
}

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
