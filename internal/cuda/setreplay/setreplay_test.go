package setreplay_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/cuda/setreplay"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }

// randomTrace returns a trace with popular objects, with predictions that depend on positions alone: infinite ones, NaN
// and ties among them.
func randomTrace(rng *rand.Rand, n, objects int) setreplay.Trace {
	t := setreplay.Trace{Objects: make([]uint32, n), Count: objects, Hashes: make([]uint32, objects),
		Keys: make([]uint64, objects), Batch: 1}
	for i := range t.Objects {
		t.Objects[i] = uint32(float64(objects) * rng.Float64() * rng.Float64() * rng.Float64())
	}
	for o := range t.Hashes {
		t.Hashes[o], t.Keys[o] = rng.Uint32(), rng.Uint64()
	}
	for seed := range uint64(2) {
		t.Predict = append(t.Predict, func(from int, next []uint64) {
			for i := range next {
				next[i] = setreplay.Order(predictionAt(seed, from+i))
			}
		})
	}
	return t
}

func predictionAt(seed uint64, pos int) float64 {
	rng := rand.New(rand.NewPCG(seed, uint64(pos)))
	switch rng.IntN(8) {
	case 0:
		return math.Inf(1)
	case 1:
		return math.Inf(-1)
	case 2:
		return math.NaN()
	}
	return float64(rng.IntN(20)) - 5
}

// predictor has the predictions of setreplay.Trace.Predict, for the caches on the CPU.
type predictor struct {
	seed  uint64
	last  []int // per object: position of its last request
	calls int64
	asked int64
}

func (p *predictor) Observe(o uint32, pos int) { p.last[o] = pos }

func (p *predictor) Predict(objects []uint32, _ int, next []float64) {
	p.calls++
	p.asked += int64(len(objects))
	for i, o := range objects {
		next[i] = predictionAt(p.seed, p.last[o])
	}
}

func (p *predictor) Steady() bool { return true }

// onCPU replays a cell without a Confidence in the caches of package slabs.
func onCPU(t setreplay.Trace, c setreplay.Cell) (r setreplay.Result) {
	g := &slabs.Geometry{Sets: c.Sets, Ways: c.Ways, Slabs: c.Slabs, Lanes: c.Lanes, Home: make([]uint32, t.Count)}
	for o := range g.Home {
		g.Home[o] = t.Hashes[o]%uint32(c.Sets)*uint32(c.Slabs) + uint32(t.Keys[o]%uint64(c.Slabs))
	}
	type cache interface {
		LookUp(objects []uint32, first int, times []int64) int
		Load(end int) int
	}
	var served cache = slabs.NewLRU(g)
	p := &predictor{seed: uint64(c.Predictor), last: make([]int, t.Count)}
	if c.Candidates != nil {
		served = slabs.NewRanked(g, p, slabs.Among(c.Candidates[0]))
	}
	for pos := range t.Objects {
		if misses := served.LookUp(t.Objects[pos:pos+1], pos, nil); pos >= t.Warmup {
			r.Misses += int64(misses)
		}
		end := pos + 1
		if t.Groups == nil && end%t.Batch == 0 || slices.Contains(t.Groups, end) || end == len(t.Objects) {
			if evictions := served.Load(end); end > t.Warmup {
				r.Evictions += int64(evictions)
			}
		}
	}
	r.Calls, r.Predictions = p.calls, p.asked
	return r
}

// drawCell draws a cell of which no set is larger than the cache.
func drawCell(t *rapid.T) setreplay.Cell {
	c := setreplay.Cell{Sets: rapid.IntRange(1, 9).Draw(t, "sets"), Slabs: rapid.IntRange(1, 4).Draw(t, "slabs")}
	c.Lanes = rapid.IntRange(1, 64/c.Slabs).Draw(t, "lanes")
	c.Ways = c.Slabs * c.Lanes
	if c.Sets == 1 { // the last slabs may have fewer lanes, or none
		c.Ways -= rapid.IntRange(0, c.Lanes*c.Slabs-1).Draw(t, "missing")
		c.Lanes = (c.Ways + c.Slabs - 1) / c.Slabs
	}
	if n := rapid.IntRange(0, 70).Draw(t, "candidates"); n > 0 {
		c.Candidates = []int{n}
		c.Predictor = rapid.IntRange(0, 1).Draw(t, "predictor")
	}
	return c
}

func replay(t rapid.TB, d cuda.Device, tr setreplay.Trace, cells []setreplay.Cell, chunk int) []setreplay.Result {
	t.Helper()
	served := 0
	results := must.Get(setreplay.Replay(context.Background(), d, tr, cells,
		setreplay.Options{Chunk: chunk, Progress: func(n int) { served += n }}))(t)
	if served != len(tr.Objects) {
		t.Fatalf("progress of %d requests, want %d", served, len(tr.Objects))
	}
	return results
}

// TestReplay compares several caches at once, with traces in one or several chunks, with those on the CPU.
func TestReplay(t *testing.T) {
	d := cudatest.Device(t, ptxrun.Options{Seed: 1})
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "trace"), 1))
		n := rapid.SampledFrom([]int{0, 1, 31, 32, 33, 200, 500}).Draw(t, "requests")
		tr := randomTrace(rng, n, rapid.SampledFrom([]int{1, 3, 100, 400}).Draw(t, "objects"))
		tr.Warmup = rapid.IntRange(0, n).Draw(t, "warmup")
		tr.Batch = rapid.SampledFrom([]int{1, 2, 33, 100}).Draw(t, "batch")
		if rapid.Bool().Draw(t, "groups") {
			for at := 0; at < n; at += 1 + rng.IntN(2*tr.Batch) {
				tr.Groups = append(tr.Groups, at)
			}
		}
		var cells []setreplay.Cell
		for range rapid.IntRange(1, 4).Draw(t, "cells") {
			cells = append(cells, drawCell(t))
		}
		results := replay(t, d, tr, cells, rapid.SampledFrom([]int{0, 200, 301}).Draw(t, "chunk"))
		for k, c := range cells {
			if want := onCPU(tr, c); results[k] != want {
				t.Fatalf("%+v: %+v, want %+v", c, results[k], want)
			}
		}
	})
}

// TestWideSets has sets of more than 32 ways that are full, in batches whose loads tie.
func TestWideSets(t *testing.T) {
	brief.Long(t, "interprets kernels")
	d := cudatest.Device(t, ptxrun.Options{})
	tr := randomTrace(rand.New(rand.NewPCG(8, 9)), 1500, 600)
	tr.Batch = 40
	var cells []setreplay.Cell
	for _, candidates := range brief.Sample(2, 1, 20, 37) {
		for _, slabs := range brief.Sample(2, 1, 4, 30) {
			c := setreplay.Cell{Sets: 2, Ways: 60, Slabs: slabs, Lanes: 60 / slabs}
			c.Candidates = []int{candidates}
			cells = append(cells, c)
		}
	}
	results := replay(t, d, tr, cells, 0)
	for k, c := range cells {
		if want := onCPU(tr, c); results[k] != want || want.Evictions == 0 {
			t.Errorf("%+v: %+v, want %+v", c, results[k], want)
		}
	}
}

// TestStacks compares all numbers of ways at once with each of them on the CPU, in chunks and after a warm-up.
func TestStacks(t *testing.T) {
	d := cudatest.Device(t, ptxrun.Options{Seed: 2})
	for _, objects := range brief.Sample(2, 1, 40, 300) {
		tr := randomTrace(rand.New(rand.NewPCG(7, uint64(objects))), 1200, objects)
		tr.Warmup = 100 + objects
		var cells []setreplay.Cell
		for _, sets := range []int{1, 3} {
			for _, ways := range brief.Sample(2, 1, 2, 3, 31, 32, 33, 48, 63, 64) {
				cells = append(cells, setreplay.Cell{Sets: sets, Ways: ways, Slabs: 1, Lanes: ways})
			}
		}
		results := replay(t, d, tr, cells, 500)
		for k, c := range cells {
			if want := onCPU(tr, c); results[k] != want {
				t.Errorf("%d objects, %+v: %+v, want %+v", objects, c, results[k], want)
			}
		}
	}
}

// laruCells are caches whose confidence changes.
func laruCells() (cells []setreplay.Cell) {
	for k := range 4 {
		c := setreplay.Cell{Sets: 2 + k, Ways: 8, Slabs: 2, Lanes: 4, Predictor: k & 1}
		c.Candidates = []int{8, 4, 1}
		c.Confidence = &slabs.Confidence{Fallbacks: 1 + k>>1, Bits: k&1 == 1, Base: 1.5}
		cells = append(cells, c)
	}
	return cells
}

// TestChunks compares a replay in chunks of different lengths: the state of the sets stays between them, also where
// tiles of the sort and of sums are several.
func TestChunks(t *testing.T) {
	tr := randomTrace(rand.New(rand.NewPCG(5, 6)), 2500, 300)
	tr.Warmup, tr.Batch = 1000, 20
	cells := append(laruCells(), setreplay.Cell{Sets: 40, Ways: 3, Slabs: 1, Lanes: 3})
	d := cudatest.Device(t, ptxrun.Options{})
	want := replay(t, d, tr, cells, 0)
	for _, r := range want[:4] {
		tally := r.Tally
		if r.Misses == 0 || tally.Phases < 2 || tally.ByPrediction == 0 || tally.Fallbacks == 0 || tally.ByRecency == 0 {
			t.Errorf("the trace does not try everything: %+v", r)
		}
	}
	for _, chunk := range brief.Sample(2, 777, 2060) {
		if got := replay(t, d, tr, cells, chunk); !reflect.DeepEqual(got, want) {
			t.Errorf("chunks of %d: %+v, want %+v", chunk, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	tr := randomTrace(rand.New(rand.NewPCG(5, 6)), 3000, 100)
	cells := laruCells()
	check := func(memory int64, chunk int, want string) {
		t.Helper()
		d := cudatest.Device(t, ptxrun.Options{Memory: memory})
		results, err := setreplay.Replay(t.Context(), d, tr, cells, setreplay.Options{Chunk: chunk})
		if results != nil || !errors.Is(err, cuda.ErrOutOfMemory) || !strings.Contains(err.Error(), want) {
			t.Errorf("results %v, error %v, want %q", results, err, want)
		}
	}
	check(1<<16, 0, "caches of sets, 4 of them, need at least 2 MiB on the GPU, of which 0 MiB are free")
	tr.Batch = 1000
	check(0, 999, "a batch of 1000 requests, at position 0, needs")
	tr.Groups = []int{0, 10, 2000}
	check(0, 999, "a batch of 1990 requests, at position 10, needs")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := cudatest.Device(t, ptxrun.Options{})
	if _, err := setreplay.Replay(ctx, d, tr, cells, setreplay.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a replay that was cancelled", err)
	}
}

// TestCoarseMemory has a device that takes more memory for an allocation than it has bytes, as drivers do: chunks
// become shorter, and it is cuda.ErrOutOfMemory if that does not help.
func TestCoarseMemory(t *testing.T) {
	tr := randomTrace(rand.New(rand.NewPCG(5, 6)), 8200, 100)
	for i := range tr.Objects { // mostly repeats, which are quick
		tr.Objects[i] = uint32(i / 64 % 100)
	}
	tr.Batch = 4
	var cells []setreplay.Cell
	for sets := range 20 {
		cells = append(cells, setreplay.Cell{Sets: 2 + sets, Ways: 2, Slabs: 1, Lanes: 2})
	}
	o, served := ptxrun.Options{Memory: 11 << 19, Granule: 16 << 10}, []int(nil)
	results, err := setreplay.Replay(t.Context(), cudatest.Device(t, o), tr, cells,
		setreplay.Options{Progress: func(n int) { served = append(served, n) }})
	if err != nil || !slices.Equal(served, []int{4100, 4100}) {
		t.Fatalf("chunks of %d requests, error %v", served, err)
	}
	for k, c := range cells {
		if want := onCPU(tr, c); results[k] != want {
			t.Errorf("%+v: %+v, want %+v", c, results[k], want)
		}
	}
	o.Granule = 64 << 10
	_, err = setreplay.Replay(t.Context(), cudatest.Device(t, o), tr, cells, setreplay.Options{})
	if !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("error %v where chunks of any length do not fit", err)
	}
}

// TestLostDevice loses the device at every call that can fail: there is an error each time, and never a result.
func TestLostDevice(t *testing.T) {
	tr := randomTrace(rand.New(rand.NewPCG(5, 6)), 40, 10)
	tr.Batch = 3
	for n := 1; ; n += 1 + n/8 {
		results, err := setreplay.Replay(t.Context(), cudatest.Device(t, ptxrun.Options{Fail: n}), tr, laruCells()[:2],
			setreplay.Options{Chunk: 30})
		if err == nil {
			if n < 50 {
				t.Fatalf("no error when call %d failed", n)
			}
			return
		}
		if results != nil {
			t.Fatalf("results %v beside error %v", results, err)
		}
	}
}

// Order keeps the order of predictions.
func TestOrder(t *testing.T) {
	values := []float64{math.NaN(), math.Inf(-1), -3, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1,
		math.MaxFloat64, math.Inf(1)}
	for i := range values[1:] {
		if setreplay.Order(values[i]) >= setreplay.Order(values[i+1]) {
			t.Errorf("%v is not before %v", values[i], values[i+1])
		}
	}
	if setreplay.Order(math.Copysign(0, -1)) != setreplay.Order(0) {
		t.Error("-0 differs from 0")
	}
}
