package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// setsCell returns a cell in a set-associative cache.
func setsCell(t rapid.TB, policy, sets, predictor string, size int64, seed uint64) sim.Cell {
	t.Helper()
	c := simtest.Cell(t, policy, capacity.Of(size, false), "cache="+sets, "predictor="+predictor)
	c.Seed = seed
	return c
}

// drawSetsTrace draws a trace with a few popular objects, whose requests are in groups or not, and in one part or two.
func drawSetsTrace(t *rapid.T) *traces.Trace {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "trace"), 1))
	n := rapid.SampledFrom([]int{1, 31, 32, 33, 100, 300}).Draw(t, "requests")
	objects := rapid.SampledFrom([]int{1, 2, 40, 150}).Draw(t, "objects")
	tr := &traces.Trace{Name: "random", NumObjects: objects, Objects: make([]uint32, n)}
	for i := range tr.Objects {
		tr.Objects[i] = uint32(float64(objects) * rng.Float64() * rng.Float64() * rng.Float64())
	}
	if rapid.Bool().Draw(t, "groups") {
		longest := rapid.SampledFrom([]int{1, 5, 70}).Draw(t, "longest group")
		for at := 0; at < n; at += 1 + rng.IntN(longest) {
			tr.Groups = append(tr.Groups, at)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "parts") == 0 && tr.Groups == nil && n > 1 {
		tr.Starts = []int{0, 1 + rng.IntN(n-1)}
	}
	return tr
}

var setsPolicies = []string{
	"lru", "fpb", "hf", "hf(candidates=1)", "hf(candidates=40)", "laru", "laru(b=1.5,decay=2)", "laru(marks=bitset)",
	"laru(decay=k/4)",
}

func drawSetsCell(t *rapid.T, batch int) sim.Cell {
	slabs := rapid.IntRange(1, 3).Draw(t, "slabs")
	ways := slabs * rapid.SampledFrom([]int{1, 2, 5, 11, 21}).Draw(t, "lanes")
	predictor := rapid.SampledFrom([]string{"noisy(p=0.3)", "oracle", "popu", "ewma", "none"}).Draw(t, "predictor")
	size := rapid.Int64Range(1, 80).Draw(t, "capacity")
	sets := fmt.Sprintf("sets(ways=%d,slabs=%d,batch=%d)", ways, slabs, batch)
	return setsCell(t, rapid.SampledFrom(setsPolicies).Draw(t, "policy"), sets, predictor, size,
		rapid.Uint64Range(1, 2).Draw(t, "seed"))
}

// TestSetsOnDevice replays random cells in the interpreter, and compares their records with those of the CPU.
func TestSetsOnDevice(t *testing.T) {
	device := cuda.Share(cudatest.Device(t, ptxrun.Options{Seed: 1}))
	sim.ReplaySetsUntested(t) // a hundred self-tests would take longer than the replays
	rapid.Check(t, func(t *rapid.T) {
		tr := drawSetsTrace(t)
		options := sim.ReplayerOptions{}
		if tr.Starts == nil {
			options.Warmup = rapid.IntRange(0, len(tr.Objects)-1).Draw(t, "warmup")
		}
		batch := rapid.SampledFrom([]int{1, 2, 7, 50}).Draw(t, "batch")
		var cells []sim.Cell
		for range rapid.IntRange(1, 4).Draw(t, "cells") {
			cells = append(cells, drawSetsCell(t, batch))
		}
		sameOnDevice(t, tr, options, device, cells)
	})
}

// TestWaysOnDevice replays lru with many numbers of ways at one number of sets, which is one pass on the device.
func TestWaysOnDevice(t *testing.T) {
	tr := policytest.Trace(3, 700, 120)
	var cells []sim.Cell
	for _, ways := range []int64{1, 2, 7, 30, 64} {
		cells = append(cells, setsCell(t, "lru", fmt.Sprintf("sets(ways=%d,slabs=1,batch=1)", ways), "", 3*ways, 1))
	}
	sameOnDevice(t, tr, sim.ReplayerOptions{Warmup: 50}, cuda.Share(cudatest.Device(t, ptxrun.Options{})), cells)
}

// TestSetsBeyondMemory replays cells whose state fits into the device one after the other, and one that does not fit.
func TestSetsBeyondMemory(t *testing.T) {
	tr := policytest.Trace(3, 500, 400)
	var cells []sim.Cell
	for k := range brief.Of[int64](5, 2) {
		cells = append(cells, setsCell(t, "lru", "sets(ways=4,slabs=1,batch=10)", "", 30_000+k, 1))
	}
	device := cuda.Share(cudatest.Device(t, ptxrun.Options{Memory: 2 << 20}))
	sameOnDevice(t, tr, sim.ReplayerOptions{}, device, cells)
	large := setsCell(t, "lru", "sets(ways=4,slabs=1,batch=10)", "", 300_000, 1)
	_, err := sim.NewReplayer(tr, sim.ReplayerOptions{Device: device}).Replay(t.Context(), large)
	want := "caches of sets, 1 of them, need at least 4 MiB on the GPU, of which 1 MiB are free"
	must.Fail(t, err, want)
}

// sameOnDevice compares the records of cells, which are one job of the device, with those of the CPU.
func sameOnDevice(t rapid.TB, tr *traces.Trace, options sim.ReplayerOptions, device *cuda.Shared, cells []sim.Cell) {
	t.Helper()
	cpu := sim.NewReplayer(tr, options)
	options.Device = device
	served := int64(0)
	options.Progress = func(n int64) { served += n }
	gpu := sim.NewReplayer(tr, options)
	jobs := gpu.Jobs(cells)
	if len(jobs) != 1 || !jobs[0].OnDevice() || gpu.Need(jobs[0]) <= 0 {
		t.Fatalf("%d jobs of %d cells", len(jobs), len(cells))
	}
	got := must.Get(gpu.ReplayJob(context.Background(), jobs[0]))(t)
	if served != int64(len(tr.Objects)) {
		t.Fatalf("progress of %d requests, want %d", served, len(tr.Objects))
	}
	for k, c := range jobs[0].Cells() {
		want := must.Get(cpu.Replay(context.Background(), c))(t)
		if a, b := got[k].Record, want.Record; !reflect.DeepEqual(a, b) {
			t.Fatalf("%s on the device:\n%v\non the CPU:\n%v", c.Key(), a, b)
		}
	}
}

// BenchmarkGPUSets replays Zipf(1.0) over 1 M objects in sets of 64 ways: 1562 of them, or capacities up to that.
// Package setreplay measures what is left of the time if the trace is on the GPU already.
func BenchmarkGPUSets(b *testing.B) {
	device := cudatest.GPU(b)
	tr := simtest.Generated(b, "zipf(requests=20000000,objects=1000000)", traces.Needs{})
	for _, c := range []struct {
		policy, predictor string
		batch, capacities int
	}{
		{"lru", "", 1, 1}, {"lru", "", 1, 16}, {"lru", "", 128, 16}, {"fpb", "oracle", 128, 16}, {"hf", "oracle", 128, 16},
		{"laru", "oracle", 128, 1}, {"laru", "oracle", 128, 16},
	} {
		b.Run(fmt.Sprintf("%s/batch=%d/capacities=%d", c.policy, c.batch, c.capacities), func(b *testing.B) {
			var cells []sim.Cell
			for k := range c.capacities {
				sets := fmt.Sprintf("sets(ways=64,slabs=2,batch=%d)", c.batch)
				cells = append(cells, setsCell(b, c.policy, sets, c.predictor, int64(64*1562*(k+1)/c.capacities), 1))
			}
			compareOnGPU(b, tr, device, cells, 1)
		})
	}
}

// BenchmarkGPUWays replays lru with 1 to 64 ways at one number of sets.
func BenchmarkGPUWays(b *testing.B) {
	device := cudatest.GPU(b)
	var cells []sim.Cell
	for ways := range int64(64) {
		sets := fmt.Sprintf("sets(ways=%d,slabs=1,batch=1)", ways+1)
		cells = append(cells, setsCell(b, "lru", sets, "", 1562*(ways+1), 1))
	}
	compareOnGPU(b, simtest.Generated(b, "zipf(requests=20000000,objects=1000000)", traces.Needs{}), device, cells, 1)
}

// compareOnGPU compares the replay of cells with the device and without. Jobs are the cores of a replay that can use
// several.
func compareOnGPU(b *testing.B, tr *traces.Trace, device *cuda.Shared, cells []sim.Cell, jobs int) {
	replay := func(device *cuda.Shared) func() {
		r := sim.NewReplayer(tr, sim.ReplayerOptions{Device: device, Jobs: jobs})
		return func() {
			for _, job := range r.Jobs(cells) {
				must.Get(r.ReplayJob(b.Context(), job))(b)
			}
		}
	}
	cudatest.Compare(b, float64(len(tr.Objects)*len(cells)), replay(device), replay(nil))
}
