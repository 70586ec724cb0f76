package experiment

import (
	"context"
	"fmt"
	"github.com/cachesim/cachesim/internal/cache"
	"time"

	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Cost is an estimate of the time that cells take, in seconds.
type Cost struct {
	Cells map[string]float64 // by hash: the replay alone
	Loads float64            // for all traces together
}

// Total returns the estimated time in seconds with the given number of jobs.
func (c Cost) Total(cells []Cell, jobs int) float64 {
	var replays float64
	for _, cell := range cells {
		replays += c.Cells[cell.Hash]
	}
	return c.Loads + replays/float64(jobs)
}

// An estimate replays measuredRequests at the start of a trace, or measuredSteps of an attention trace; each step reads
// all keys.
const (
	measuredRequests = 100_000
	measuredSteps    = 8
)

// EstimateCost estimates the time that cells take. It loads the first requests or steps of each trace, once for all of
// its variants, replays them under each policy at the first of its capacities, and scales the time to the length of the
// trace. A cache fills up during the replay, and a large one does not fit into the processor's caches, so the estimate
// is rough.
func EstimateCost(ctx context.Context, cells []Cell, dirs []string) (Cost, error) {
	cost := Cost{Cells: map[string]float64{}}
	samples := map[string]*sample{} // by the trace's name
	for _, same := range ByWorkload(WithoutRepetitions(cells)) {
		name := same[0].TraceName()
		if samples[name] == nil {
			s, err := takeSample(ctx, same, dirs)
			if err != nil {
				return cost, fmt.Errorf("trace %s: %w", name, err)
			}
			samples[name] = s
		}
		cost.Loads += samples[name].loading
		if err := samples[name].replayAll(ctx, same, cost.Cells); err != nil {
			return cost, err
		}
	}
	return cost, nil
}

type sample struct {
	trace    *traces.Trace
	scale    float64            // requests of the whole trace per request of the sample
	loading  float64            // seconds for the whole trace
	measured map[string]float64 // seconds for the whole trace under a policy
}

func takeSample(ctx context.Context, cells []Cell, dirs []string) (*sample, error) {
	w := cells[0].Workload
	if w.IsAttention(ctx, dirs) {
		return takeSteps(ctx, w, dirs)
	}
	whole, err := w.EstimateRequests(dirs)
	if err != nil {
		return nil, err
	}
	loading := traces.LoadOptions{Needs: needs(cells), BadLines: 1, Progress: func(_, total int64) {
		if w.Generator != "" {
			whole = float64(total)
		}
	}}
	limit := w.Limit
	w.Checksum, w.Limit = "", measuredRequests // the checksum would have the whole file read
	if limit > 0 {
		w.Limit = min(limit, measuredRequests)
	}
	start := time.Now()
	t, err := w.Load(ctx, dirs, loading)
	if err != nil {
		return nil, err
	}
	s := &sample{trace: t, scale: 1, measured: map[string]float64{}}
	if w.SampleRate > 0 {
		whole *= w.SampleRate
	}
	if limit > 0 {
		whole = min(whole, float64(limit))
	}
	if len(t.Objects) == w.Limit {
		s.scale = max(1, whole/float64(w.Limit))
	}
	s.loading = time.Since(start).Seconds() * s.scale
	return s, nil
}

// takeSteps is takeSample for an attention trace. Loading reads only the dimensions.
func takeSteps(ctx context.Context, w workload.Workload, dirs []string) (*sample, error) {
	opened, err := w.OpenAttention(ctx, dirs, nil, attention.Options{})
	if err != nil {
		return nil, err
	}
	steps := opened.Shape().Steps
	if err := opened.Close(); err != nil {
		return nil, err
	}
	w.Checksum, w.Limit = "", min(steps, measuredSteps)
	t, err := w.Load(ctx, dirs, traces.LoadOptions{Needs: traces.Needs{Attention: true}})
	if err != nil {
		return nil, err
	}
	return &sample{trace: t, scale: float64(steps) / float64(w.Limit), measured: map[string]float64{}}, nil
}

// replayAll stores, by hash, the seconds that each full cell would take.
func (s *sample) replayAll(ctx context.Context, cells []Cell, seconds map[string]float64) error {
	sharing := map[string]float64{} // by key: cells that share one pass over the trace
	for _, c := range cells {
		if c.sharesPass() {
			sharing[c.costKey()]++
		}
	}
	for _, c := range cells {
		if _, ok := s.measured[c.costKey()]; !ok {
			took, err := s.replay(ctx, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			s.measured[c.costKey()] = took * s.scale
		}
		seconds[c.Hash] = s.measured[c.costKey()] / max(1, sharing[c.costKey()])
	}
	return nil
}

// sharesPass reports whether one pass over the trace serves the cell and others with the same costKey.
func (c Cell) sharesPass() bool {
	return cache.ServesHeads(c.Parts.Cache) || c.Parts.Policy.Entry.ReuseDistances && c.Parts.Allocator == nil
}

// costKey is equal for cells that are assumed to cost the same on one trace. Full attention is by far the largest cost
// in the cache of a language model, so its cells differ little.
func (c Cell) costKey() string {
	if cache.ServesHeads(c.Parts.Cache) {
		return c.Parts.Cache.Entry.Name
	}
	return fmt.Sprintf("%s|%t", c.Parts.texts.Policy, c.Capacity.CountsBytes(c.Sizes))
}

// replay returns the seconds that c takes for the sample.
func (s *sample) replay(ctx context.Context, c Cell) (float64, error) {
	c.Warmup = 0 // counted or not, a request takes the same time
	one, err := c.on(s.trace)
	if err != nil {
		return 0, err
	}
	replayer := sim.NewReplayer(s.trace, sim.ReplayerOptions{})
	if err := replayer.Check(one); err != nil {
		return 0, err
	}
	start := time.Now()
	_, err = replayer.Replay(ctx, one)
	return time.Since(start).Seconds(), err
}
