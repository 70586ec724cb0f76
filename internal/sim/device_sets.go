package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/setreplay"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/traces"
)

// setsOnDevice replays set-associative caches. Cells with the same batches are one job, whatever their capacities,
// policies and predictors.
var setsOnDevice = &deviceReplay{group: groupSets, test: setreplay.SelfTest, bytes: bytesOfSets, replay: replaySets}

func groupSets(c Cell) (key, why string) {
	if c.Cache.Entry.Associative == nil || c.Policy.Entry.DescribeInSets == nil {
		return "", ""
	}
	if c.Predictor != nil && c.Predictor.Entry.Trains {
		return "", "predictions change between the requests to an object"
	}
	d, why := describeSets(c)
	if why != "" {
		return "", why
	}
	return fmt.Sprintf("sets in batches of %d", d.Batch), ""
}

func describeSets(c Cell) (d cache.AssociativeCache, why string) {
	return c.Cache.Entry.Associative.Describe(c.Capacity.Simulated, c.Cache.Params, c.Policy)
}

// bytesOfSets estimates the host's memory for a job: where the objects belong, the columns of a chunk, and predictors.
func bytesOfSets(r *Replayer, job []Cell) int64 {
	objects, requests := int64(r.trace.NumObjects), int64(len(r.trace.Objects))
	need := 12*objects + 8*requests
	seen := map[predictorOfSets]bool{}
	for _, c := range job {
		if p, ok := predictorIn(c); ok && !seen[p] {
			seen[p] = true
			need += formulaBytes * objects
		}
	}
	if len(seen) > 0 {
		need += 8 * requests
	}
	return need
}

// predictorOfSets identifies a predictor of a job. Predictors without random choices are the same for every seed.
type predictorOfSets struct {
	name string
	seed uint64
}

// predictorIn returns the predictor of a cell; ok is false if it has none.
func predictorIn(c Cell) (p predictorOfSets, ok bool) {
	if c.Predictor == nil {
		return p, false
	}
	p.name = c.Predictor.String()
	if c.Predictor.Entry.Random {
		p.seed = c.Seed
	}
	return p, true
}

func replaySets(ctx context.Context, r *Replayer, d cuda.Device, job []Cell) ([]outcome, error) {
	v := r.view(job[0].Capacity)
	sums := make([]outcome, len(job))
	first, progress := 0, r.progressOfAll(len(job))
	for i, part := range v.trace.Parts() {
		next := first + len(part.Objects)
		cells := make([]Cell, len(job))
		for k, c := range job {
			c.Seed = partSeed(c.Seed, i)
			cells[k] = c
		}
		outcomes, err := r.setsPart(ctx, d, cells, part, v.warmup, func() []uint32 { return v.nextUse()[first:next] },
			progress)
		if err != nil {
			return nil, err
		}
		for k := range sums {
			sums[k].add(outcomes[k])
		}
		first = next
	}
	return sums, nil
}

// progressOfAll returns a function that receives the requests that some of all cells have served. It passes on their
// average over the cells, because a job counts as one pass over the trace.
func (r *Replayer) progressOfAll(all int) func(requests, cells int) {
	var done, told int64
	return func(requests, cells int) {
		done += int64(requests) * int64(cells)
		if mean := done / int64(all); r.options.Progress != nil && mean > told {
			r.options.Progress(mean - told)
			told = mean
		}
	}
}

// setsPart replays a part of the trace in all cells at once. If their state does not fit into the device, it replays
// one half of the cells after the other.
func (r *Replayer) setsPart(ctx context.Context, d cuda.Device, cells []Cell, t *traces.Trace, warmup int,
	nextUse func() []uint32, progress func(requests, cells int)) ([]outcome, error) {
	start := time.Now()
	j, err := newSetsJob(cells, t, warmup, nextUse)
	if err != nil {
		return nil, err
	}
	results, err := setreplay.Replay(ctx, d, j.replayed, j.onDevice,
		setreplay.Options{Progress: func(n int) { progress(n, len(cells)) }})
	switch half := len(cells) / 2; {
	case errors.Is(err, cuda.ErrOutOfMemory) && half > 0:
		low, err := r.setsPart(ctx, d, cells[:half], t, warmup, nextUse, progress)
		if err != nil {
			return nil, err
		}
		high, err := r.setsPart(ctx, d, cells[half:], t, warmup, nextUse, progress)
		return append(low, high...), err
	case err != nil:
		return nil, err
	}
	return j.outcomes(results, time.Since(start)), nil
}

// setsJob is a part of the trace and the cells that the device replays it in.
type setsJob struct {
	cells      []Cell
	trace      *traces.Trace
	described  []cache.AssociativeCache // per cell
	predictors []*setsPredictor         // each once, whatever the number of its cells

	replayed setreplay.Trace
	onDevice []setreplay.Cell
}

func newSetsJob(cells []Cell, t *traces.Trace, warmup int, nextUse func() []uint32) (*setsJob, error) {
	j := &setsJob{cells: cells, trace: t, described: make([]cache.AssociativeCache, len(cells)),
		replayed: setreplay.Trace{Objects: t.Objects, Count: t.NumObjects, Groups: t.Groups, Warmup: warmup},
		onDevice: make([]setreplay.Cell, len(cells))}
	j.replayed.Hashes, j.replayed.Keys = cells[0].Cache.Entry.Associative.Places(t)
	at := map[predictorOfSets]int{}
	for k, c := range cells {
		d, _ := describeSets(c)
		j.described[k] = d
		j.replayed.Batch = d.Batch
		g := d.Geometry
		j.onDevice[k] = setreplay.Cell{Sets: g.Sets, Ways: g.Ways, Slabs: g.Slabs, Lanes: g.Lanes,
			Replacement: d.Replacement}
		id, predicts := predictorIn(c)
		if !predicts {
			continue
		}
		if _, known := at[id]; !known {
			p, err := newSetsPredictor(c, t, nextUse)
			if err != nil {
				return nil, fmt.Errorf("policy %s: %w", c.Policy, err)
			}
			at[id] = len(j.predictors)
			j.predictors = append(j.predictors, p)
			j.replayed.Predict = append(j.replayed.Predict, p.predict)
		}
		j.onDevice[k].Predictor = at[id]
	}
	return j, nil
}

// outcomes returns what a replay of the cells counted. They were replayed at once, so that each took the whole time.
func (j *setsJob) outcomes(results []setreplay.Result, elapsed time.Duration) []outcome {
	requests := len(j.trace.Objects)
	outcomes := make([]outcome, len(j.cells))
	for k, c := range j.cells {
		result := &results[k]
		n := cache.Counts{Requests: int64(requests - j.replayed.Warmup), Evictions: result.Evictions}
		n.Hits = n.Requests - result.Misses
		out := outcome{values: n.Values(c.Cache.Entry, false), served: int64(requests), elapsed: elapsed}
		batches := c.Cache.Entry.Associative.Batches(j.trace, c.Cache.Params)
		setCounters(&out.values, j.described[k].Counters(batches, result.Tally))
		if c.Predictor != nil {
			cost := predict.Cost{Calls: result.Calls, Predictions: result.Predictions}
			out.values = out.values.Merge(cost.Values())
			out.predicting = j.predictors[j.onDevice[k].Predictor].elapsed
		}
		outcomes[k] = out
	}
	return outcomes
}

// setsPredictor makes the predictions of a part of the trace in advance: a steady predictor's stay the same between two
// requests to an object, whatever a cache does.
type setsPredictor struct {
	predict.Predictor
	objects []uint32
	one     [1]uint32
	next    [1]float64
	elapsed time.Duration
}

func newSetsPredictor(c Cell, t *traces.Trace, nextUse func() []uint32) (*setsPredictor, error) {
	made, err := (&predictors{}).ofCell(c, t, nextUse, nil, nil)
	if err != nil {
		return nil, err
	}
	if !made.Steady() {
		return nil, fmt.Errorf("predictor %s: its predictions change between the requests to an object, which a device "+
			"does not follow; use --device cpu", c.Predictor)
	}
	return &setsPredictor{Predictor: made, objects: t.Objects}, nil
}

// predict observes requests, and writes the order of the prediction after each.
func (p *setsPredictor) predict(from int, next []uint64) {
	start := time.Now()
	for i := range next {
		pos := from + i
		p.one[0] = p.objects[pos]
		p.Observe(p.one[0], pos)
		p.Predict(p.one[:], pos+1, p.next[:])
		next[i] = setreplay.Order(p.next[0])
	}
	p.elapsed += time.Since(start)
}
