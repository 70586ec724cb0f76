package sim_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// The textbook string of Belady's anomaly (Belady, Nelson, Shedler, CACM 1969): FIFO misses 9 times with 3 frames and
// 10 with 4.
func TestRunBeladysAnomaly(t *testing.T) {
	recs := simtest.Run(t, simtest.FromKeys("123412512345"), simtest.Options{Policies: "fifo,lru,opt",
		Capacities: simtest.Objects(3, 4)})
	want := []int64{9, 10, 7, 10, 8, 6}
	for i, rec := range recs {
		if rec.Int(metric.Misses) != want[i] {
			t.Errorf("%s at %d: %d misses, want %d", rec.Label, rec.Capacity, rec.Int(metric.Misses), want[i])
		}
		opt := recs[i/3*3+2].Int(metric.Misses)
		if rec.Int(metric.OptMisses) != opt ||
			rec.Float(metric.CompetitiveRatio) != float64(rec.Int(metric.Misses))/float64(opt) || rec.Optimum != "opt" {
			t.Errorf("%s at %d: against %s with %d misses, ratio %v; want opt with %d", rec.Label, rec.Capacity,
				rec.Optimum, rec.Int(metric.OptMisses), rec.Float(metric.CompetitiveRatio), opt)
		}
	}
	if recs[0].Best != true || recs[1].Best || recs[2].Best || !recs[4].Best {
		t.Errorf("best online policies are marked wrongly: %+v", recs)
	}
}

func TestRunUsesTheOptimumOfTheSameRules(t *testing.T) {
	recs := simtest.Run(t, policytest.Trace(1, 3000, 200), simtest.Options{
		Policies:   "uniform,opt-bypass,opt,lru,infinite",
		Capacities: simtest.Objects(20)})
	names := []string{"opt-bypass", "opt-bypass", "opt", "opt", "compulsory"}
	for i, rec := range recs {
		if rec.Optimum != names[i] || rec.Float(metric.CompetitiveRatio) < 1 {
			t.Errorf("%s is compared with %s (ratio %v), want %s", rec.Label, rec.Optimum, rec.Float(metric.CompetitiveRatio),
				names[i])
		}
	}
	if recs[2].Int(metric.OptMisses) <= recs[0].Int(metric.OptMisses) {
		t.Errorf("opt misses %d, opt-bypass %d: passing by should pay here", recs[2].Int(metric.OptMisses),
			recs[0].Int(metric.OptMisses))
	}
	if recs[4].Float(metric.CompetitiveRatio) != 1 {
		t.Errorf("infinite has ratio %v", recs[4].Float(metric.CompetitiveRatio))
	}
}

func TestRunSizedInterval(t *testing.T) {
	tr := policytest.Trace(2, 3000, 200)
	recs := simtest.Run(t, tr, simtest.Options{Policies: "lru,belady-size,pfoo-l",
		Capacities: []capacity.Capacity{{Amount: 300, Bytes: true, Simulated: 300}}})
	lru, feasible, bound := recs[0], recs[1], recs[2]
	if !(lru.Float(metric.CompetitiveRatio) >= 1 &&
		lru.Float(metric.CompetitiveRatioMax) >= lru.Float(metric.CompetitiveRatio)) {
		t.Errorf("interval [%v, %v] of lru", lru.Float(metric.CompetitiveRatio), lru.Float(metric.CompetitiveRatioMax))
	}
	want := float64(lru.Int(metric.Misses)) / lru.Float(metric.LowerBoundMisses)
	if lru.Float(metric.CompetitiveRatioMax) != want {
		t.Errorf("upper end of lru's ratio is %v, want %v", lru.Float(metric.CompetitiveRatioMax), want)
	}
	if lru.Int(metric.OptMisses) != feasible.Int(metric.Misses) ||
		lru.Float(metric.LowerBoundMisses) != bound.Float(metric.LowerBoundMisses) ||
		bound.Int(metric.Misses) > feasible.Int(metric.Misses) {
		t.Errorf("feasible schedule misses %d, bound %d; lru was compared with %d and %v", feasible.Int(metric.Misses),
			bound.Int(metric.Misses), lru.Int(metric.OptMisses), lru.Float(metric.LowerBoundMisses))
	}
	var bytes, misses int64
	for i := range tr.Objects {
		bytes += tr.Size(i)
	}
	misses = bytes - lru.Int(metric.HitBytes)
	if lru.Int(metric.RequestedBytes) != bytes ||
		math.Abs(lru.Float(metric.ByteHitRatio)-(1-float64(misses)/float64(bytes))) > 1e-12 {
		t.Errorf("lru: %d bytes requested, ratio %v; want %d", lru.Int(metric.RequestedBytes),
			lru.Float(metric.ByteHitRatio), bytes)
	}
}

func TestRunInfiniteHasRoomForAll(t *testing.T) {
	tr := policytest.Trace(6, 3000, 200)
	for _, size := range []capacity.Capacity{{Amount: 5, Simulated: 5}, {Amount: 5, Simulated: 5, Bytes: true}} {
		recs := simtest.Run(t, tr, simtest.Options{Policies: "infinite,lru,mru", Capacities: []capacity.Capacity{size}})
		if infinite := recs[0]; infinite.Int(metric.Misses) != int64(tr.NumObjects) || infinite.Int(metric.Evictions) != 0 ||
			infinite.Best ||
			!recs[1].Best {
			t.Errorf("%+v: infinite %+v; want %d misses, and lru marked as the best", size, infinite, tr.NumObjects)
		}
	}
}

func TestRunUsesTheSeed(t *testing.T) {
	tr := policytest.Trace(7, 20000, 500)
	misses := map[int64]bool{}
	for seed := range uint64(5) {
		rec := simtest.Run(t, tr, simtest.Options{Policies: "random", Capacities: simtest.Objects(50), Seed: seed})[0]
		misses[rec.Int(metric.Misses)] = true
	}
	if len(misses) == 1 {
		t.Error("random misses the same under five seeds")
	}
}

// On a sample the share is that of the objects which were kept, in the cache that was replayed.
func TestRunCapacityShare(t *testing.T) {
	tr := policytest.Trace(8, 3000, 200)
	tr.SampleRate = 0.5
	recs := simtest.Run(t, tr, simtest.Options{Policies: "lru",
		Capacities: []capacity.Capacity{{Amount: 40, Simulated: 20}, {Amount: 600, Simulated: 300, Bytes: true}}})
	for i, want := range []float64{20 / float64(tr.NumObjects), 300 / float64(tr.Footprint())} {
		if got := *recs[i].CapacityShare; got != want {
			t.Errorf("%d %s: share %v, want %v", recs[i].Capacity, recs[i].CapacityUnit, got, want)
		}
	}
}

func TestRunSameOnAnyNumberOfJobs(t *testing.T) {
	tr := policytest.Trace(3, 20000, 500)
	run := func(jobs int) []records.Record {
		return simtest.Run(t, tr, simtest.Options{Policies: "lru,random,lhd,opt", Seed: 5, Jobs: jobs,
			Capacities: simtest.Objects(10, 50, 100)})
	}
	if one, many := run(1), run(8); !reflect.DeepEqual(one, many) {
		t.Errorf("records differ between 1 and 8 jobs:\n%+v\n%+v", one, many)
	}
}

func TestRunWarmup(t *testing.T) {
	tr := simtest.FromKeys("abcabcabcd")
	recs := simtest.Run(t, tr, simtest.Options{Policies: "lru", Capacities: simtest.Objects(3), Warmup: 3})
	if rec := recs[0]; rec.Int(metric.Requests) != 7 || rec.Int(metric.Hits) != 6 || rec.Warmup != 3 ||
		rec.Int(metric.OptMisses) != 1 {
		t.Errorf("after a warm-up of 3: %+v", rec)
	}
}

// Two shares of a sample may be the same whole number of objects of the trace, and not of the sample.
func TestRunTellsSimulatedCapacitiesApart(t *testing.T) {
	recs := simtest.Run(t, simtest.FromKeys("abcabcabc"), simtest.Options{
		Policies: "lru", Capacities: []capacity.Capacity{{Amount: 3, Simulated: 2}, {Amount: 3, Simulated: 3}},
	})
	if recs[0].Int(metric.Misses) != 9 || recs[1].Int(metric.Misses) != 3 {
		t.Errorf("a loop of 3 objects misses %d times in 2 places and %d times in 3, want 9 and 3",
			recs[0].Int(metric.Misses), recs[1].Int(metric.Misses))
	}
}

// Capacities in bytes leave out the requests of size 0, but a warm-up counts the requests of the trace.
func TestRunWarmupOverZeroSizes(t *testing.T) {
	tr := simtest.FromKeys("abccad")
	tr.ObjectSizes = []int64{0, 0, 5, 5}
	options := simtest.Options{Policies: "lru,belady-size,infinite,pfoo-l",
		Capacities: []capacity.Capacity{{Amount: 10, Bytes: true, Simulated: 10}}}
	for warmup, want := range map[int]int64{0: 3, 2: 3, 3: 2, 5: 1} {
		options.Warmup = warmup
		for _, rec := range simtest.Run(t, tr, options) {
			if rec.Int(metric.Requests) != want || rec.Int(metric.Hits)+rec.Int(metric.Misses) != want {
				t.Errorf("%s after a warm-up of %d: %d requests, %d hits, %d misses; want %d requests", rec.Label,
					warmup, rec.Int(metric.Requests), rec.Int(metric.Hits), rec.Int(metric.Misses), want)
			}
		}
	}
	options.Warmup = 0
	tr.ObjectSizes = make([]int64, tr.NumObjects)
	if _, err := simtest.TryRun(t.Context(), tr, options); err == nil {
		t.Error("a trace without any size above 0 was replayed in bytes")
	}
}

// A share of the bytes is one of those that are replayed: an object that first comes with size 0 counts with its next
// size.
func TestByteSharesOverZeroSizes(t *testing.T) {
	tr := simtest.FromKeys("abacbd")
	tr.ObjectSizes = []int64{0, 40, 0, 0}
	tr.RequestSizes = []int64{0, 40, 50, 0, 40, 110}
	specified := must.Get(capacity.ParseList("1%,50%,100%"))(t)
	resolved := must.Get(capacity.Resolve(specified, capacity.Bytes, tr))(t)
	recs := simtest.Run(t, tr, simtest.Options{Policies: "infinite", Capacities: resolved})
	for i, want := range []struct {
		size  int64
		share float64
	}{{2, 0.01}, {100, 0.5}, {200, 1}} {
		if rec := recs[i]; rec.Capacity != want.size || *rec.CapacityShare != want.share || rec.Int(metric.Requests) != 4 {
			t.Errorf("%s: capacity %d, share %v, %d requests; want %d, %v, 4", rec.CapacityText, rec.Capacity,
				*rec.CapacityShare, rec.Int(metric.Requests), want.size, want.share)
		}
	}
}

func TestRunStopsAndKeepsFinishedRows(t *testing.T) {
	tr := policytest.Trace(4, 200_000, 500)
	ctx, cancel := context.WithCancel(t.Context())
	var served atomic.Int64
	options := simtest.Options{Policies: "lru,fifo", Capacities: simtest.Objects(1, 2, 3, 4, 5, 6), Jobs: 1}
	options.Progress = func(n int64) {
		// lru and its optimum have ended, fifo has not.
		if served.Add(n) > int64(len(tr.Objects))*5/2 {
			cancel()
		}
	}
	recs, err := simtest.TryRun(ctx, tr, options)
	if !errors.Is(err, context.Canceled) || len(recs) == 0 || len(recs) == 12 {
		t.Fatalf("%d rows and error %v; want some rows and %v", len(recs), err, context.Canceled)
	}
	if recs[0].Label != "lru" || recs[0].Int(metric.Requests) != int64(len(tr.Objects)) {
		t.Errorf("the finished row is %+v", recs[0])
	}
}

func TestRunReportsProgressOfEveryRequest(t *testing.T) {
	tr := policytest.Trace(5, 100_000, 500)
	var served atomic.Int64
	options := simtest.Options{Policies: "lru,belady-size",
		Capacities: append(simtest.Objects(10), capacity.Of(100, true))}
	var planned int64
	options.Planned = func(n int64) { planned = n }
	options.Progress = func(n int64) { served.Add(n) }
	for _, zeros := range []int{0, 100} {
		for i := range zeros {
			tr.ObjectSizes[i] = 0
		}
		planned = 0
		served.Store(0)
		simtest.Run(t, tr, options)
		if planned == 0 || served.Load() != planned {
			t.Errorf("progress of %d requests, announced %d", served.Load(), planned)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	tr := simtest.FromKeys("abc")
	for list, size := range map[string]capacity.Capacity{
		"ttl": {Amount: 2, Simulated: 2},
	} {
		if _, err := simtest.TryRun(t.Context(), tr, simtest.Options{Policies: list,
			Capacities: []capacity.Capacity{size}}); err == nil {
			t.Errorf("%s ran on a trace that it cannot run on", list)
		}
	}
}

// The hit ratio of a sample is that of the requests it was expected to have, R times those of the whole trace: all but
// the misses are hits. It is never negative, and a warm-up takes its share of the expected requests.
func TestHitRatioOfASample(t *testing.T) {
	for _, c := range []struct {
		keys        string
		sampledFrom int
		warmup      int
		want        float64
	}{
		{"bcbcbc", 0, 0, 4.0 / 6},
		{"bcbcbc", 24, 0, 4.0 / 6},
		{"bcbcbc", 80, 0, 1 - 2.0/20},
		{"bcbcbc", 12, 0, 1 - 2.0/3},
		{"bcbcbc", 4, 0, 0},
		{"bcbcbc", 80, 3, 1},
		{"bcbbcd", 80, 3, 1 - 1.0/10},
	} {
		sample := simtest.FromKeys(c.keys)
		if sample.SampledFrom = c.sampledFrom; c.sampledFrom > 0 {
			sample.SampleRate = 0.25
		}
		rec := simtest.Run(t, sample, simtest.Options{Policies: "lru", Capacities: simtest.Objects(2), Warmup: c.warmup})[0]
		if math.Abs(rec.Float(metric.HitRatio)-c.want) > 1e-12 {
			t.Errorf("%+v: hit ratio %v", c, rec.Float(metric.HitRatio))
		}
	}
}

// The byte hit ratio of a sample is that of the bytes it was expected to request, R times those of the whole trace.
func TestByteHitRatioOfASample(t *testing.T) {
	for _, c := range []struct {
		bytesFrom int64
		warmup    int
		want      float64
	}{
		{0, 0, 1 - 30.0/90},
		{1200, 0, 1 - 30.0/300},
		{80, 0, 0},
		{1200, 3, 1},
	} {
		sample := simtest.FromKeys("bcbcbc") // 10 and 20 bytes
		sample.ObjectSizes = []int64{10, 20}
		sample.SampleRate, sample.SampledFrom, sample.BytesFrom = 0.25, 80, c.bytesFrom
		rec := simtest.Run(t, sample, simtest.Options{Policies: "lru", Capacities: []capacity.Capacity{
			capacity.Simulating(30, capacity.Of(120, true), 0.25)}, Warmup: c.warmup})[0]
		if math.Abs(rec.Float(metric.ByteHitRatio)-c.want) > 1e-12 {
			t.Errorf("%+v: byte hit ratio %v", c, rec.Float(metric.ByteHitRatio))
		}
	}
}

// A sample of conversations is a smaller trace of prompts: its hit ratio is that of its own blocks, as its token hit
// ratio is of its tokens.
func TestHitRatioOfSampledConversations(t *testing.T) {
	sample := simtest.Conversations(30)
	sample.SampleRate, sample.SampledFrom = 0.25, 40*len(sample.Objects)
	rec := simtest.Run(t, sample, simtest.Options{Policies: "lru", Parts: []string{"cache=prefix"},
		Capacities: simtest.Objects(40)})[0]
	want := float64(rec.Int(metric.Hits)) / float64(rec.Int(metric.Requests))
	if got := rec.Float(metric.HitRatio); got != want || rec.Float(prefix.BlockHitRatio) != want {
		t.Errorf("hit ratio %v, of blocks %v, want %v", got, rec.Float(prefix.BlockHitRatio), want)
	}
}
