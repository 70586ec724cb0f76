package kv

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// TestComparisons compares what lookups under the rule exact show with plain cosines and sets of adjacent steps.
func TestComparisons(t *testing.T) {
	columns := columnsOf(t, small)
	shape := columns.Shape
	outcomes := must.Get(Replay(context.Background(), Config{Trace: columns, Jobs: 2, MapEvery: 5,
		Cells: []Cell{cellOf(t, nil, 0.1, "exact"), cellOf(t, nil, 0.1, "static")}}))(t)
	exact := outcomes[0]
	trace := must.Get(columns.Open(context.Background(), attention.Options{}))(t)
	var lags [9]mean
	pairs := 0.0
	for place := range shape.Heads() {
		var h attention.Head
		must.Do(t, trace.Next(&h))
		for i, lag := range attention.Lags {
			for step := lag; step < shape.Steps && lag <= shape.Steps/2; step++ {
				for _, x := range naiveCosines(h.Queries, shape, step, step-lag) {
					lags[i].add(x)
				}
			}
		}
		pairs += float64(shape.Steps - 1)
		if place != attention.MappedHead(shape) {
			continue
		}
		n := shape.Steps / 5
		for i, got := range exact.QueryMap {
			if want := naiveCosines(h.Queries, shape, i/n*5+4, i%n*5+4)[0]; math.Abs(got-want) > 1e-6 {
				t.Errorf("cosine of steps %d and %d is %v, want %v", i/n*5+4, i%n*5+4, got, want)
			}
		}
		if len(exact.QueryMap) != n*n {
			t.Errorf("%d cosines, want %d", len(exact.QueryMap), n*n)
		}
	}
	for i, lag := range attention.Lags {
		got, ok := exact.Values.Get(cosineByLag.Of(strconv.Itoa(lag)))
		if want := lags[i].sum / float64(max(1, lags[i].n)); ok != (lag <= shape.Steps/2) || math.Abs(got-want) > 1e-6 {
			t.Errorf("lag %d: cosine %v, want %v", lag, got, want)
		}
	}
	var lookups, overlap float64
	for bin := range attention.CosineBins {
		label := strconv.FormatFloat(attention.CosineFrom(bin), 'g', -1, 64)
		share, _ := exact.Values.Get(lookupsByCosine.Of(label))
		x, _ := exact.Values.Get(overlapByCosine.Of(label))
		lookups, overlap = lookups+share, overlap+share*x
	}
	// What the sets of adjacent steps share is what a load finds there; the first load of a head finds nothing.
	steps := float64(shape.Steps * shape.Heads())
	if want := (1 - exact.Values.Float(newPerSet)) * steps / pairs; math.Abs(overlap-want) > 1e-9 ||
		math.Abs(lookups-1) > 1e-12 {
		t.Errorf("lookups add up to %v, overlaps to %v, want 1 and %v", lookups, overlap, want)
	}
	r := exact.Values.Float(overlapCorrelation)
	if of := outcomes[1].Values.Float(overlapCorrelation); !(r > 0 && r < 1) || of == r {
		t.Errorf("correlations %v of adjacent steps, %v of the first step and each", r, of)
	}
}

// TestCorrelation compares with the definition by means and deviations.
func TestCorrelation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SliceOfN(rapid.Float64Range(0, 1), 2, 30)
		x := unit.Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float64Range(0, 1), len(x), len(x)).Draw(t, "y")
		var c comparison
		for i := range x {
			c.add(x[i], y[i])
		}
		got, ok := c.correlation()
		sx, sy := statistics.StdDev(x), statistics.StdDev(y)
		if !ok {
			if sx > 1e-5 && sy > 1e-5 {
				t.Fatalf("no correlation of %v and %v", x, y)
			}
			return
		}
		want := 0.0
		for i := range x {
			want += (x[i] - statistics.Mean(x)) * (y[i] - statistics.Mean(y))
		}
		want /= sx * sy * float64(len(x)-1)
		if math.Abs(got-want) > 1e-3 {
			t.Errorf("correlation %v, want %v", got, want)
		}
	})
	same := comparison{}
	for range 10 {
		same.add(0.3, 0.1)
	}
	if r, ok := same.correlation(); ok {
		t.Errorf("values that do not vary have the correlation %v", r)
	}
}

// TestBinsOfCosines: each cosine is in the bin that begins at or below it.
func TestBinsOfCosines(t *testing.T) {
	for bin := range attention.CosineBins {
		if from := attention.CosineFrom(bin); attention.CosineBin(from) != bin {
			t.Errorf("%v, where bin %d begins, is in bin %d", from, bin, attention.CosineBin(from))
		}
	}
	if got := []int{attention.CosineBin(-1), attention.CosineBin(-0.01), attention.CosineBin(1)}; !slices.Equal(got,
		[]int{0, 0, attention.CosineBins - 1}) {
		t.Errorf("-1, -0.01 and 1 are in bins %v", got)
	}
}
