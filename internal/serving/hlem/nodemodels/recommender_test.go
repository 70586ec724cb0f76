package nodemodels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/hlem/nodemodels"
	"github.com/cachesim/cachesim/internal/serving/hlem/pools"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	recommended "github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// recommendations returns a trace of n requests, so many per second, of 200 users with 10 shards each.
func recommendations(t testing.TB, n int, rate float64) *traces.Trace {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("time,user,tokens,shards\n")
	at := 0.0
	for range n {
		user := min(rng.IntN(200), rng.IntN(200))
		fmt.Fprintf(&text, "%.6f,%d,%d,", at, user, 5000+50*user)
		for shard := range 10 {
			fmt.Fprintf(&text, "%d:12000 ", (user*7+shard*shard)%1500)
		}
		text.WriteString("\n")
		at += rng.ExpFloat64() / rate
	}
	return tracetest.MustLoadText(t, text.String(), read.Options{
		Selection: read.Selection{Format: "recommender:rows-per-shard=16384"},
		Needs:     traces.Needs{Times: true, Kind: true}})
}

// memory returns the memory of two nodes with two GPUs.
func memory(t testing.TB, tr *traces.Trace) *pools.Cache {
	t.Helper()
	lru := must.Get(policies.Registry.Parse("lru"))(t)
	return must.Get(pools.New(pools.Config{Nodes: 2, GPUs: 2, Memory: 8e9, Start: 0.4, Least: 0.1, Most: 0.9,
		Embeddings: lru, Users: lru, Seed: 1, Requests: recommended.Of(tr.Kind), Count: tr.NumObjects}))(t)
}

func serve(t testing.TB, tr *traces.Trace, text string, c models.Config) (metric.Values, error) {
	t.Helper()
	spec, err := models.Registry.Parse(text)
	if err != nil {
		return metric.Values{}, err
	}
	if err := spec.Entry.Check(spec.Params, tr); err != nil {
		return metric.Values{}, err
	}
	c.Trace, c.Cache, c.Params = tr, memory(t, tr), spec.Params
	if c.EndWarmup == nil {
		c.EndWarmup = func() {}
	}
	return spec.Entry.Run(t.Context(), c)
}

func mustServe(t testing.TB, tr *traces.Trace, text string, c models.Config) metric.Values {
	t.Helper()
	return must.Get(serve(t, tr, text, c))(t)
}

// checkParts checks that the parts of the mean latency sum up to it: the rest is 0.8 ms for every request.
func checkParts(t *testing.T, v metric.Values) {
	t.Helper()
	emb, mean := v.Float(nodemodels.LatencyEMB), v.Float(models.LatencyMean)
	sum := emb + v.Float(nodemodels.LatencyKV) + v.Float(nodemodels.LatencyQueue)
	if !(emb > 0) || math.Abs(sum+0.8-mean) > 1e-3*mean {
		t.Errorf("the parts of the latency sum up to %v ms, want 0.8 ms less than %v", sum, mean)
	}
	if got := v.Float(nodemodels.EMBShare); math.Abs(got-emb/mean) > 1e-9 {
		t.Errorf("transfers are %v of the latency, want %v", got, emb/mean)
	}
}

// TestRecommender checks that a run reports every metric, with consistent values.
func TestRecommender(t *testing.T) {
	tr := recommendations(t, 6000, 200)
	v := mustServe(t, tr, "recommender", models.Config{Warmup: 600})
	for _, m := range []metric.Metric{models.LatencyMean, models.LatencyP99, models.Throughput, nodemodels.SLOSatisfied,
		nodemodels.WindowP99, nodemodels.KVHitRatio, nodemodels.EMBHitRatio, nodemodels.EMBRatio,
		nodemodels.RatioMoved, nodemodels.RefillBytes,
		nodemodels.MissBytes, nodemodels.LinkPeak,
		nodemodels.RoutingScore, nodemodels.NodeUtilisation, nodemodels.DecisionTime, nodemodels.BestRatio,
		nodemodels.RatioGap,
	} {
		if !v.Has(m) {
			t.Errorf("no %s", m.Name)
		}
	}
	for _, m := range []metric.Metric{nodemodels.SLOSatisfied, nodemodels.KVHitRatio, nodemodels.EMBHitRatio,
		nodemodels.EMBRatio,
		nodemodels.RoutingScore, nodemodels.NodeUtilisation} {
		if x := v.Float(m); !(x > 0 && x < 1) {
			t.Errorf("%s is %v", m.Name, x)
		}
	}
	checkBestRatios(t, v)
	if got := v.Float(models.Throughput); math.Abs(got-200) > 10 {
		t.Errorf("throughput %v, want about 200", got)
	}
	if math.Abs(v.Float(nodemodels.EMBRatio)-0.4) > 0.01 || v.Float(nodemodels.RatioMoved) != 0 {
		t.Errorf("ratio %v, moved by %v", v.Float(nodemodels.EMBRatio), v.Float(nodemodels.RatioMoved))
	}
	checkParts(t, v)
	twice := mustServe(t, tr, "recommender", models.Config{Warmup: 600})
	for name := range v.Names() {
		a, _ := v.Get(name)
		if b, _ := twice.Get(name); a != b && name != nodemodels.DecisionTime.Name {
			t.Errorf("%s is %v, then %v", name, a, b)
		}
	}
}

// checkBestRatios checks that the mean of the best ratios is between the smallest and the largest, which differ, and
// that the distance from a fixed ratio below or above all of them is the distance from their mean.
func checkBestRatios(t *testing.T, v metric.Values) {
	t.Helper()
	least, mean, most := v.Float(nodemodels.LeastBest), v.Float(nodemodels.BestRatio), v.Float(nodemodels.MostBest)
	if !(0.1 <= least && least < mean && mean < most && most <= 0.9) {
		t.Errorf("best ratios %v to %v, mean %v", least, most, mean)
	}
	r := v.Float(nodemodels.EMBRatio)
	if (r <= least || r >= most) && math.Abs(v.Float(nodemodels.RatioGap)-math.Abs(mean-r)) > 1e-9 {
		t.Errorf("a ratio of %v is %v from the best ones, whose mean is %v", r, v.Float(nodemodels.RatioGap), mean)
	}
}

// TestParametersOfRecommender: the last one of each list changes a result, compared with the ones before it.
func TestParametersOfRecommender(t *testing.T) {
	tr := recommendations(t, 6000, 220)
	results := map[string]metric.Values{"": mustServe(t, tr, "recommender", models.Config{})}
	differs := func(base, v metric.Values) bool {
		for name := range base.Names() {
			a, _ := base.Get(name)
			if b, ok := v.Get(name); (!ok || a != b) && name != nodemodels.DecisionTime.Name {
				return true
			}
		}
		return false
	}
	for _, p := range []string{"router=kv", "router=embeddings", "router=least-loaded", "router=hash", "weights=kappa",
		"weights=fixed", "weights=fixed,w_kv=0.1", "weights=fixed,w_emb=0.9", "weights=fixed,w_load=5", "theta=0.3",
		"bonus=0.9", "slots=1", "sent=off", "prefetch=0.3", "prefetch=0.3,accuracy=0.1", "rate=1.1", "layers=3",
		"optimum=off", "scale=0.7", "pcie_gbs=20", "tflops=200", "efficiency=0.3", "hit_share=0.3", "base_ms=2",
		"slo_ms=20", "epoch_s=2"} {
		results[p] = mustServe(t, tr, "recommender("+p+")", models.Config{})
		base, ok := results[p[:max(0, strings.LastIndex(p, ","))]]
		if !ok {
			t.Fatalf("%s follows no list without its last parameter", p)
		}
		if !differs(base, results[p]) {
			t.Errorf("%s changes nothing", p)
		}
	}
	if results["prefetch=0.3"].Int(nodemodels.EMBPrefetchBytes) == 0 || results[""].Has(nodemodels.EMBPrefetchBytes) {
		t.Error("bytes are to be prefetched with prefetch=0.3 only")
	}
}

func TestRateOfArrivals(t *testing.T) {
	tr := recommendations(t, 4000, 200)
	v := mustServe(t, tr, "recommender(rate=0.5)", models.Config{})
	if got := v.Float(models.Throughput); math.Abs(got-100) > 5 {
		t.Errorf("throughput %v, want about 100", got)
	}
	tr = recommendations(t, 16000, 200)
	slow, fast := mustServe(t, tr, "recommender(rate=8)", models.Config{}),
		mustServe(t, tr, "recommender(rate=16)", models.Config{})
	if a, b := slow.Float(models.Throughput), fast.Float(models.Throughput); a > 1500 || math.Abs(a-b) > 0.2*a {
		t.Errorf("overloads have the throughputs %v and %v", a, b)
	}
	if slow.Int(nodemodels.UnstableWindows) == 0 {
		t.Error("an overload has no unstable windows")
	}
}

func TestSeriesOfRecommender(t *testing.T) {
	tr := recommendations(t, 3000, 200)
	seen := map[string]int{}
	windows := 0
	mustServe(t, tr, "recommender", models.Config{Windows: models.Windows{Span: 5 * time.Second,
		End: func(w models.Window) error {
			windows++
			for _, v := range w.Values {
				seen[v.Name+" "+v.Label]++
			}
			return nil
		}}})
	for _, name := range []string{"p99_ms", "ratio", "hot_share", "kv_hit_ratio", "emb_hit_ratio", "refill_gbs",
		"miss_gbs", "slo_satisfied", "rate"} {
		for _, label := range []string{"", "node 0", "node 1"} {
			if n := seen[name+" "+label]; n != windows {
				t.Errorf("%s of %q is in %d of %d windows", name, label, n, windows)
			}
		}
	}
}

func TestRecommenderRefuses(t *testing.T) {
	tr := recommendations(t, 10, 200)
	for text, want := range map[string]string{
		"recommender(epoch_s=0.25)":                          "epoch_s=0.25: want a multiple of the 0.1 s",
		"recommender(weights=fixed,w_kv=0,w_emb=0,w_load=0)": "w_kv, w_emb and w_load of 0",
		"recommender(w_kv=0.9)": "w_kv=0.9 has no effect with weights=profile; " +
			"add weights=fixed",
		"recommender(weights=kappa,w_load=0)": "w_load=0 has no effect with weights=kappa",
		"recommender(router=best)":            "router",
		"recommender(accuracy=0.9)": "accuracy=0.9 has no effect with prefetch=0; leave it out, or write " +
			"prefetch=0.2",
		"recommender(router=hash,theta=0.5)":         "theta=0.5 has no effect with router=hash",
		"recommender(router=least-loaded,bonus=0.1)": "bonus=0.1 has no effect with router=least-loaded",
	} {
		must.NotGet(serve(t, tr, text, models.Config{}))(t, want, text)
	}
	plain := tracetest.MustLoadText(t, "a\nb\n", read.Options{Selection: read.Selection{Format: "plain"}})
	untimed, sample := *tr, *tr
	untimed.Times, sample.SampleRate = nil, 0.5
	for want, tr := range map[string]*traces.Trace{"has no recommender requests": plain, "has no times": &untimed,
		"--limit": &sample} {
		must.NotGet(serve(t, tr, "recommender", models.Config{}))(t, want)
	}
	if !slices.Contains(models.Registry.Names(), "recommender") {
		t.Error("it is in no list")
	}
}
