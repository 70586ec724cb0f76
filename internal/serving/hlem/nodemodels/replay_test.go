package nodemodels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/serving/hlem/nodemodels"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// requestsAndTimes are what models of nodes need of a trace.
var requestsAndTimes = traces.Needs{Times: true, Kind: true}

// TestFluidAgainstEvents holds the error of the fluid model: on a quarter of a node, its hit ratios, utilisation and
// latencies are those of the event model, apart from how much work this sample of few users happens to bring.
func TestFluidAgainstEvents(t *testing.T) {
	brief.Long(t, "simulates for seconds")
	for _, load := range []struct {
		args   string
		ratios []string
	}{{"tables=25,hot=0.18", []string{"0.4", "0.8"}}, {"tables=25,hot=0.6", []string{"0.5"}},
		{"shared=0.9,groups=250", []string{"0.4"}}} {
		tr := simtest.Generated(t, "recommender(nodes=1,users=7650,shards=585937,memory-gb=20,epochs=24,"+load.args+")",
			requestsAndTimes)
		r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: len(tr.Objects) / 2})
		var cells []sim.Cell
		var all []records.Record
		for _, ratio := range load.ratios {
			for _, model := range []string{"fluid", "recommender(optimum=off)"} {
				c := simtest.Cell(t, "lru", capacity.Capacity{}, "cache=pools(nodes=1,memory=20GB,r="+ratio+")", "model="+model)
				cells, all = append(cells, c), append(all, simtest.Replay(t, r, c).Record)
			}
		}
		for i := 0; i < len(all); i += 2 {
			fluid, events := all[i], all[i+1]
			at := fmt.Sprintf("%s, %s", load.args, cells[i].Cache)
			for _, m := range []struct {
				name     string
				relative bool
				most     float64
			}{
				{nodemodels.EMBHitRatio.Name, false, 0.015}, {nodemodels.KVHitRatio.Name, false, 0.015},
				{nodemodels.NodeUtilisation.Name, false, 0.03}, {nodemodels.SLOSatisfied.Name, false, 0.06},
				{nodemodels.WindowP99.Name, true, 0.15}, {models.LatencyMean.Name, true, 0.15},
			} {
				got, ok := fluid.Get(m.name)
				want, also := events.Get(m.name)
				t.Logf("%s: %s %.4g, simulated %.4g", at, m.name, got, want)
				off := math.Abs(got - want)
				if m.relative {
					off /= want
				}
				if !ok || !also || off > m.most {
					t.Errorf("%s: %s is %v, simulated %v, want a difference of at most %v", at, m.name, got, want, m.most)
				}
			}
		}
	}
}

// TestLayersOfTheTrace checks that models serve a generated trace with as many layers as its rate is meant for, unless
// they are told otherwise: with other layers, the utilisation is another one.
func TestLayersOfTheTrace(t *testing.T) {
	spec := "recommender(nodes=1,users=2000,shards=100000,gpus=2,memory-gb=40,epochs=8,layers=3)"
	r := sim.NewReplayer(simtest.Generated(t, spec, requestsAndTimes), sim.ReplayerOptions{})
	for _, model := range []string{"fluid", "recommender"} {
		utilisation := func(parameters string) float64 {
			rec := simtest.Replay(t, r, simtest.Cell(t, "lru", capacity.Capacity{}, "cache=pools(nodes=1,gpus=2,memory=40GB)",
				"model="+model+parameters))
			if rec.Has(metric.HitsInFlight) {
				t.Errorf("%s: something is in flight, although what a request misses is resident at once", model)
			}
			return rec.Float(nodemodels.NodeUtilisation)
		}
		own, three, six := utilisation(""), utilisation("(layers=3)"), utilisation("(layers=6)")
		if own != three || !(six > 1.05*own) {
			t.Errorf("%s: utilisation %.3f, with 3 layers %.3f, with 6 %.3f", model, own, three, six)
		}
	}
}

// TestBatches checks that both models report batches of a run whose mean is that of the run, and that they are of the
// same requests whatever the ratio: a batch that is slow at one is slow at another.
func TestBatches(t *testing.T) {
	spec := "recommender(nodes=1,users=2000,shards=100000,gpus=2,memory-gb=40,epochs=60,regime=burst)"
	r := sim.NewReplayer(simtest.Generated(t, spec, requestsAndTimes), sim.ReplayerOptions{Warmup: 1000})
	for model, names := range map[string][]string{
		"fluid": {nodemodels.WindowP99.Name, nodemodels.RatioGap.Name, nodemodels.SLOSatisfied.Name},
		"recommender": {nodemodels.WindowP99.Name, nodemodels.RatioGap.Name, nodemodels.SLOSatisfied.Name,
			models.LatencyMean.Name, models.LatencyP99.Name},
	} {
		replay := func(ratio string) records.Record {
			return simtest.Replay(t, r, simtest.Cell(t, "lru", capacity.Capacity{},
				"cache=pools(nodes=1,gpus=2,memory=40GB,r="+ratio+")", "model="+model)).Record
		}
		low, high := replay("0.4"), replay("0.5")
		for _, name := range names {
			batches := low.InBatches(name)
			if len(batches) != metric.Batches {
				t.Fatalf("%s: %s has %d batches, want %d", model, name, len(batches), metric.Batches)
			}
			whole, _ := low.Get(name)
			if mean := statistics.Mean(batches); name != models.LatencyP99.Name && math.Abs(mean-whole) > 0.03*whole {
				t.Errorf("%s: the batches of %s have the mean %.4g, the run %.4g", model, name, mean, whole)
			}
		}
		like := statistics.Correlation(low.InBatches(nodemodels.WindowP99.Name), high.InBatches(nodemodels.WindowP99.Name))
		if like < 0.8 {
			t.Errorf("%s: batches at two ratios have the correlation %.2f: they are not of the same requests", model, like)
		}
	}
}
