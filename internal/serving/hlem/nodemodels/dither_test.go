package nodemodels_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/pools"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// dither is an allocator that knows nothing: its ratio goes up and down by an amplitude.
type dither struct {
	centre, amplitude float64
	epochs            int
	p99               []float64
}

func (*dither) Needs() allocate.Needs { return allocate.Needs{} }

func (d *dither) Allocate(s *allocate.State, capacities []int64) {
	d.Decide(s, &hlem.Window{}, capacities)
}

// Decide implements hlem.Controller.
func (d *dither) Decide(s *allocate.State, w *hlem.Window, capacities []int64) {
	if w.Requests > 0 {
		d.p99 = append(d.p99, w.P99)
	}
	ratio := d.centre + d.amplitude
	if d.epochs++; d.epochs%2 == 0 {
		ratio = d.centre - d.amplitude
	}
	capacities[0] = int64(math.Round(ratio * float64(s.Capacity)))
	capacities[1] = s.Capacity - capacities[0]
}

// p99 returns the P99 of each epoch of a trace under a ratio that goes up and down.
func p99(t *testing.T, tr *traces.Trace, model string, centre, amplitude float64) []float64 {
	t.Helper()
	d := &dither{centre: centre, amplitude: amplitude}
	spec := allocate.Spec{Entry: allocate.Entry{Name: "dither", Serving: true,
		New: func(allocate.Config) (allocate.Allocator, error) { return d, nil }}}
	lru := must.Get(policies.Registry.Parse(policies.Recency()))(t)
	cache := must.Get(pools.New(pools.Config{Nodes: 1, GPUs: 8, Memory: 20e9, Start: hlem.StartRatio,
		Least: hlem.LeastRatio, Most: hlem.MostRatio, Embeddings: lru, Users: lru, Allocator: &spec,
		Requests: recommender.Of(tr.Kind), Count: tr.NumObjects}))(t)
	m := must.Get(models.Registry.Parse(model))(t)
	must.Get(m.Entry.Run(t.Context(), models.Config{Trace: tr, Cache: cache, Params: m.Params, EndWarmup: func() {}}))(t)
	return d.p99
}

// TestDitherGainsNothing checks that a ratio that moves blindly is not better than one that stays, beyond the interval
// of the difference: refill gives a moving border nothing that a fixed one has not. Both serve the same requests.
func TestDitherGainsNothing(t *testing.T) {
	brief.Long(t, "simulates for seconds")
	tr := simtest.Generated(t, "recommender(nodes=1,users=7650,shards=585937,memory-gb=20,epochs=120)", requestsAndTimes)
	for _, model := range []string{"fluid(optimum=off)", "recommender(optimum=off)"} {
		for _, centre := range []float64{0.4, 0.6} {
			fixed, moved := p99(t, tr, model, centre, 0), p99(t, tr, model, centre, 0.01)
			const warmup, batch = 24, 8
			var gains []float64 // of the fixed ratio, in batches whose means hardly depend on each other
			for i := warmup; i+batch <= min(len(fixed), len(moved)); i += batch {
				gains = append(gains, 1e3*(stat.Mean(moved[i:i+batch], nil)-stat.Mean(fixed[i:i+batch], nil)))
			}
			mean, deviation := stat.MeanStdDev(gains, nil)
			// 2.26 is Student's t at 97.5% for ten batches or more.
			interval := 2.26 * stat.StdErr(deviation, float64(len(gains)))
			t.Logf("%s at %v: a dither of 1%% is %.2f ± %.2f ms slower than %.2f ms", model, centre, mean, interval,
				1e3*stat.Mean(fixed[warmup:], nil))
			if len(gains) < 10 || !(mean > -interval-0.02) {
				t.Errorf("%s at %v: a dither of 1%% gains %.2f ms in %d batches", model, centre, -mean, len(gains))
			}
		}
	}
}
