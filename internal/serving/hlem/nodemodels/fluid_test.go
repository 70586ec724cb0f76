package nodemodels_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/hlem/nodemodels"
	"github.com/cachesim/cachesim/internal/serving/hlem/pools"
	recommended "github.com/cachesim/cachesim/internal/traces/recommender"
)

// TestFluid checks that the fluid model reports what the event model does, except for scores and batches, and about the
// same: its population is measured from the trace.
func TestFluid(t *testing.T) {
	tr := recommendations(t, 12000, 200)
	simulated := mustServe(t, tr, "recommender(router=hash)", models.Config{Warmup: 3000})
	v := mustServe(t, tr, "fluid", models.Config{Warmup: 3000})
	checkParts(t, v)
	for name := range simulated.Names() {
		apart := name == nodemodels.RoutingScore.Name || strings.Contains(name, "_batches[")
		if _, ok := v.Get(name); !ok && !apart {
			t.Errorf("no %s", name)
		}
	}
	for _, c := range []struct {
		metric.Metric
		tolerance float64
	}{{nodemodels.KVHitRatio, 0.03}, {nodemodels.EMBHitRatio, 0.05}, {nodemodels.NodeUtilisation, 0.03},
		{nodemodels.EMBRatio, 0.001},
		{nodemodels.SLOSatisfied, 0.05}} {
		if got, want := v.Float(c.Metric), simulated.Float(c.Metric); math.Abs(got-want) > c.tolerance {
			t.Errorf("%s is %v, simulated %v", c.Name, got, want)
		}
	}
	for _, m := range []metric.Metric{models.LatencyMean, models.LatencyP99, nodemodels.WindowP99, nodemodels.LatencyEMB,
		nodemodels.LatencyKV} {
		if got, want := v.Float(m), simulated.Float(m); !(math.Abs(got/want-1) < 0.25) {
			t.Errorf("%s is %v, simulated %v", m.Name, got, want)
		}
	}
	for _, m := range []metric.Metric{models.Throughput, nodemodels.MissBytes} {
		got, _ := v.Get(m.Name)
		if want, _ := simulated.Get(m.Name); !(math.Abs(got/want-1) < 0.2) {
			t.Errorf("%s is %v, simulated %v", m.Name, got, want)
		}
	}
	checkBestRatios(t, v)
	again := mustServe(t, tr, "fluid", models.Config{Warmup: 3000})
	for name := range v.Names() {
		a, _ := v.Get(name)
		if b, _ := again.Get(name); a != b && name != nodemodels.DecisionTime.Name {
			t.Errorf("%s is %v, then %v", name, a, b)
		}
	}
}

// TestParametersOfFluid: each of them changes a result.
func TestParametersOfFluid(t *testing.T) {
	tr := recommendations(t, 4000, 200)
	base := mustServe(t, tr, "fluid", models.Config{})
	for _, p := range []string{"rate=1.1", "layers=3", "scale=0.7", "pcie_gbs=20", "tflops=200", "efficiency=0.3",
		"hit_share=0.3", "base_ms=2", "slo_ms=20", "epoch_s=2", "optimum=off"} {
		v, same := mustServe(t, tr, "fluid("+p+")", models.Config{}), true
		for name := range base.Names() {
			a, _ := base.Get(name)
			if b, ok := v.Get(name); (!ok || a != b) && name != nodemodels.DecisionTime.Name {
				same = false
			}
		}
		if same {
			t.Errorf("%s changes nothing", p)
		}
	}
	v := mustServe(t, tr, "fluid(rate=20)", models.Config{})
	if v.Int(nodemodels.UnstableWindows) == 0 || v.Float(models.Throughput) > 3000 {
		t.Errorf("an overload has %d unstable windows, throughput %v", v.Int(nodemodels.UnstableWindows),
			v.Float(models.Throughput))
	}
}

// TestClockOfFluid compares the two models where the last epoch is cut off early, where the whole trace is shorter than
// an epoch, and where nothing arrives for many epochs after an overload.
func TestClockOfFluid(t *testing.T) {
	for name, c := range map[string]struct {
		requests  int
		rate      float64
		pause     time.Duration
		tolerance float64
	}{
		"cut off":    {6300, 300, 0, 0.15},
		"overloaded": {6500, 1200, 0, 0.2}, // by the hash, a node has less to do
		"short":      {400, 300, 0, 0.55},  // with cold caches
		"pause":      {6000, 600, time.Hour, 0.25},
	} {
		tr := recommendations(t, c.requests, c.rate)
		for i := range tr.Times[len(tr.Times)/2:] {
			tr.Times[len(tr.Times)/2+i] += int64(c.pause)
		}
		simulated := mustServe(t, tr, "recommender(router=hash)", models.Config{})
		v := mustServe(t, tr, "fluid", models.Config{})
		for _, m := range []metric.Metric{models.Throughput, models.LatencyMean, nodemodels.NodeUtilisation,
			nodemodels.MissBytes} {
			got, _ := v.Get(m.Name)
			if want, _ := simulated.Get(m.Name); !(math.Abs(got/want-1) < c.tolerance) {
				t.Errorf("%s: %s is %v, simulated %v", name, m.Name, got, want)
			}
		}
	}
}

// TestRefillOfFluid moves the border up and down, and compares what is refilled in each way.
func TestRefillOfFluid(t *testing.T) {
	tr := recommendations(t, 8000, 200)
	refilled := map[string]int64{}
	peak := map[string]float64{}
	for _, refill := range []string{"throttled", "naive", "off"} {
		spec := must.Get(models.Registry.Parse("fluid(refill=" + refill + ")"))(t)
		v := must.Get(spec.Entry.Run(t.Context(), models.Config{Trace: tr, Params: spec.Params, EndWarmup: func() {},
			Cache: divided(t, recommended.Of(tr.Kind), tr.NumObjects, "bo")}))(t)
		if v.Float(nodemodels.RatioMoved) == 0 {
			t.Error("the border does not move")
		}
		refilled[refill], peak[refill] = v.Int(nodemodels.RefillBytes), v.Float(nodemodels.LinkPeak)
	}
	if refilled["off"] != 0 || refilled["throttled"] == 0 || refilled["naive"] < refilled["throttled"] ||
		peak["naive"] < 12.5 || peak["throttled"] > 20 {
		t.Errorf("refilled %v bytes with peaks of %v GB/s", refilled, peak)
	}
}

// divided returns the memory of two nodes with an allocator.
func divided(t testing.TB, columns *recommended.Columns, users int, text string) *pools.Cache {
	t.Helper()
	lru := must.Get(policies.Registry.Parse("lru"))(t)
	spec := must.Get(allocate.Registry.Parse(text))(t)
	return must.Get(pools.New(pools.Config{Nodes: 2, GPUs: 2, Memory: 8e9, Start: 0.4, Least: 0.1, Most: 0.9,
		Embeddings: lru, Users: lru, Seed: 1, Allocator: &spec, Requests: columns, Count: users}))(t)
}

// TestSeriesOfFluid checks that windows cover the whole trace, in time and in requests.
func TestSeriesOfFluid(t *testing.T) {
	tr := recommendations(t, 6000, 200) // 30 s
	for _, windows := range []models.Windows{{Span: 5 * time.Second}, {Span: 12 * time.Second}, {Span: time.Second},
		{Requests: 500}, {Requests: 2500}, {Requests: 100000}} {
		asked, rows, requests, ends := int64(0), 0, 0.0, time.Duration(0)
		windows.End = func(w models.Window) error {
			if w.Asked <= asked || windows.Span > 0 && (w.Ends <= ends || w.Ends%windows.Span != 0) {
				t.Errorf("%+v: a window until %d, %v after %d, %v", windows, w.Asked, w.Ends, asked, ends)
			}
			for _, v := range w.Values {
				if v.Name == nodemodels.ArrivalRate.Name && v.Label == "" {
					requests += v.Value * 5
				}
			}
			asked, ends = w.Asked, w.Ends
			rows++
			return nil
		}
		mustServe(t, tr, "fluid", models.Config{Windows: windows})
		if asked != 6000 || rows == 0 {
			t.Errorf("%+v: %d windows with %d requests", windows, rows, asked)
		}
		if windows.Span == 5*time.Second && math.Abs(requests-6000) > 250 {
			t.Errorf("%v requests in all windows", requests)
		}
	}
	stop := errors.New("stop")
	_, err := serve(t, tr, "fluid", models.Config{Windows: models.Windows{Span: time.Second,
		End: func(models.Window) error { return stop }}})
	if !errors.Is(err, stop) {
		t.Errorf("error %v of a series", err)
	}
}

// TestSeriesOfFluidWithPauses: rates are those of whole windows, with the time in which nothing arrives.
func TestSeriesOfFluidWithPauses(t *testing.T) {
	const span = 20 * time.Second
	tr := recommendations(t, 6000, 200) // 30 s, then pauses of 10 s and of a minute
	for i := range tr.Times {
		tr.Times[i] += int64(10*time.Second) * (int64(i) / 2000)
		tr.Times[i] += int64(time.Minute) * (int64(i) / 4000)
	}
	asked := int64(0)
	mustServe(t, tr, "fluid", models.Config{Windows: models.Windows{Span: span, End: func(w models.Window) error {
		requests := float64(w.Asked - asked)
		for _, v := range w.Values {
			if want := requests / span.Seconds(); v.Name == nodemodels.ArrivalRate.Name && v.Label == "" && w.Asked < 6000 &&
				math.Abs(v.Value-want) > 0.01*want {
				t.Errorf("window to %v with %v requests: rate %v, want %v", w.Ends, requests, v.Value, want)
			}
		}
		asked = w.Asked
		return nil
	}}})
	if asked != 6000 {
		t.Errorf("%d requests in all windows", asked)
	}
}

// TestHitsOfRareRequests: where an epoch has one request of each node, its hits are no whole number, but those of all
// epochs must be as many as the hit ratio says.
func TestHitsOfRareRequests(t *testing.T) {
	tr := recommendations(t, 400, 200)
	for i := range tr.Times {
		tr.Times[i] = int64(time.Duration(i) * 3 * time.Second)
	}
	spec := must.Get(models.Registry.Parse("fluid"))(t)
	cache := memory(t, tr)
	v := must.Get(spec.Entry.Run(t.Context(), models.Config{Trace: tr, Cache: cache, Params: spec.Params,
		EndWarmup: func() {}}))(t)
	want := 400 * v.Float(nodemodels.KVHitRatio)
	if got := float64(cache.Counts().Hits); want < 40 || want > 360 || math.Abs(got-want) > 2 {
		t.Errorf("%v hits of 400 requests, want %v", got, want)
	}
}

func TestFluidRefuses(t *testing.T) {
	tr := recommendations(t, 400, 200)
	spec := must.Get(models.Registry.Parse("fluid"))(t)
	run := func(ctx context.Context, cache any) error {
		_, err := spec.Entry.Run(ctx, models.Config{Trace: tr, Cache: cache, Params: spec.Params, EndWarmup: func() {}})
		return err
	}
	must.Fail(t, run(t.Context(), 1), "has no nodes", "another cache")
	columns := recommended.Of(tr.Kind)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, divided(t, columns, tr.NumObjects, "milp")); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}
