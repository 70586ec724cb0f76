package models

import (
	"context"
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/clock/sls"
	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// Ways in which batches share a memory.
const (
	memoryShared = "shared"
	memoryQueued = "queued"
)

var slsEntry = Entry{
	Name: "sls",
	Summary: "batches of embedding lookups: cached vectors are read from the memory of a GPU, the others from its " +
		"host's; throughput counts lookups",
	Source: "LCR (arXiv 2509.20979), section 4.1; constants in docs/models.md",
	Cache:  "sets",
	Params: []params.Param{
		{Name: "launch_us", Default: 50.0, Min: 0, Max: 1e9, Doc: "fixed cost of a batch, in microseconds"},
		{Name: "vector_bytes", Default: 512, Min: 1, Max: 1e9, Doc: "bytes of an embedding vector"},
		{Name: "hbm_gbs", Default: 600.0, Min: 1e-6, Max: 1e9, Doc: "bandwidth of the GPU's memory, in 10^9 bytes per " +
			"second"},
		{Name: "host_gbs", Default: 60.0, Min: 1e-6, Max: 1e9, Doc: "bandwidth of random reads from the host's memory, in " +
			"10^9 bytes per second"},
		{Name: "access_ns", Default: 1000.0, Min: 0, Max: 1e12, Doc: "time of one random access to the host's memory, in " +
			"nanoseconds"},
		{Name: "outstanding", Default: 1, Min: 1, Max: 1e9, Doc: "concurrent random accesses to the host's memory"},
		{Name: "predict_ns", Default: 80, Min: 0, Max: 1e12, Doc: "time of the prediction for one key, in nanoseconds"},
		{Name: "train_ns", Default: 0.0, Min: 0, Max: 1e9, Doc: "time of training per row, feature and tree, in " +
			"nanoseconds, during which there are no predictions; 0: training runs in parallel"},
		{Name: "inflight", Default: 1, Min: 1, Max: 1e6, Doc: "batches that run at the same time"},
		{Name: "memory", Default: memoryShared, Choices: []string{memoryShared, memoryQueued}, Doc: "how concurrent " +
			"batches use the bandwidth of a memory; shared: each gets an equal share; queued: first come, first served"},
		{Name: "rate", Default: 0.0, Min: 0, Max: 1e9, Doc: "batches that arrive per second, at random (Poisson); 0: each " +
			"arrives when the previous one is done"},
		{Name: "seed", Default: 1, Min: 0, Max: 1 << 53, Doc: "of the arrivals, the same for all policies"},
	},
	Metrics: []metric.Metric{DelayedHits, metric.HitsInFlight},
	Run:     runSLS,
}

// batchCache is a cache that serves the requests of a batch together. It is an interface because models of time import
// no cache.
type batchCache interface {
	// BatchStarts returns the positions at which the batches begin.
	BatchStarts() []int
	// Watch returns a function that returns the distinct misses of the last batch. It is called before the first request.
	Watch() (missed func() []predict.Object)
	// UseClock lets clock determine when predictions that the policy makes in the background are known. It returns false
	// if the policy waits for its predictions or makes none, and an error that names the policy's parameter that already
	// determines it. It is called before the first request.
	UseClock(clock predict.Worker) (background bool, err error)
}

func runSLS(ctx context.Context, c Config) (metric.Values, error) {
	batches, ok := c.Cache.(batchCache)
	if !ok {
		return metric.Values{}, fmt.Errorf("model sls: a cache of type %T does not serve batches", c.Cache)
	}
	replay := &slsReplay{groupReplay: &groupReplay{c, batches.BatchStarts()}, missed: batches.Watch()}
	var err error
	if replay.background, err = batches.UseClock(&replay.clock); err != nil {
		return metric.Values{}, fmt.Errorf("%w: the model sls determines how long predictions take; remove the parameter, "+
			"and use --model 'sls(predict_ns=80)'", err)
	}
	v := c.Params
	config := sls.Config{
		Launch:      microseconds(v.Float("launch_us")),
		VectorBytes: int64(v.Int("vector_bytes")),
		HBM:         1e9 * v.Float("hbm_gbs"),
		Host:        1e9 * v.Float("host_gbs"),
		Access:      time.Duration(v.Float("access_ns")),
		Outstanding: v.Int("outstanding"),
		PredictRow:  time.Duration(v.Int("predict_ns")),
		TrainUnit:   v.Float("train_ns"),
		InFlight:    v.Int("inflight"),
		Queued:      v.Text("memory") == memoryQueued,
		Rate:        v.Float("rate"),
		Seed:        uint64(v.Int("seed")),
	}
	served, err := sls.Run(ctx, len(replay.starts), replay, config)
	if err != nil {
		return metric.Values{}, fmt.Errorf("model sls: %w", err)
	}
	times := func(b sls.Served) waited { return waited{b.Arrived, b.Done, b.Done} }
	tell(replay.groupReplay, served, times)
	first := replay.firstCounted()
	lookups := len(c.Trace.Objects) - replay.starts[first]
	values := newLatency(served[first:], lookups, times).Values()
	if config.InFlight > 1 {
		delayed := int64(0)
		for _, b := range served {
			delayed += b.Delayed
		}
		values.SetInt(DelayedHits, delayed)
	}
	return values, nil
}

func microseconds(us float64) time.Duration { return time.Duration(us * float64(time.Microsecond)) }

// slsReplay is a cache in the form that package sls needs.
type slsReplay struct {
	*groupReplay
	missed     func() []predict.Object
	clock      clock
	background bool // the policy predicts with it; otherwise it waits for its predictions
}

// clock is the worker of a run, which exists once the run has started.
type clock struct{ *sls.Worker }

func (r *slsReplay) Worker(w *sls.Worker) { r.clock.Worker = w }

func (r *slsReplay) Lookup(i int) sls.Batch {
	keys, s := r.serve(i)
	b := sls.Batch{Keys: keys, Missing: r.missed(), Predicted: s.Cost.Predictions, Trained: s.Cost.Training.Work,
		Uncounted: min(max(0, r.Warmup-r.starts[i]), len(keys))}
	if r.background {
		// The batch waits for neither: both run on the worker.
		b.Predicted, b.Trained = 0, 0
		r.clock.Train(s.Cost.Training.Work)
	}
	return b
}
