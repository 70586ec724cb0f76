package adversary

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

var quick = Options{Length: 24, Requests: 300, Tries: 1500, Seed: 1}

func policy(t *testing.T, text string) policies.Spec {
	t.Helper()
	return must.Get(policies.Registry.Parse(text))(t)
}

func TestExactPredictionsMakeSomeOptimal(t *testing.T) {
	for _, name := range brief.Sample(2, "fpb", "laru", "laru(decay=k/32)", "guard") {
		for _, capacity := range brief.Sample(2, 1, 2, 3, 5) {
			f, err := Exact(t.Context(), policy(t, name), capacity, quick)
			if err != nil || f.Ratio != 1 {
				t.Errorf("%s, capacity %d: ratio %v on %s, %v", name, capacity, f.Ratio, f.Trace, err)
			}
		}
	}
}

func TestFindsWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		policy      string
		capacity    int
		least, most float64
	}{
		{"lru", 2, 1.95, 2},
		{"lru", 5, 4.5, 5}, // a loop over 6 objects
		{"lru", 1, 1, 1},
		{"fpb", 2, 4, math.Inf(1)}, // no bound
		{"laru", 2, 1.9, 5},
		{"laru", 5, 4, 5 + math.Log2(5) + 2},
		{"marker", 2, 1.4, 3},
	} {
		f, err := Any(t.Context(), policy(t, c.policy), c.capacity, quick)
		if err != nil || f.Ratio < c.least || f.Ratio > c.most {
			t.Errorf("%s, capacity %d: worst ratio %v, want %v to %v; %v", c.policy, c.capacity, f.Ratio, c.least, c.most, err)
		}
	}
}

// TestFoundCanBeReplayed: what is reported gives the same misses to whoever runs it.
func TestFoundCanBeReplayed(t *testing.T) {
	for _, name := range brief.Sample(3, "fpb", "lru", "laru") {
		spec := policy(t, name)
		f := must.Get(Any(t.Context(), spec, 3, quick))(t)
		w := must.Get(workload.Generated(f.Trace, 0))(t)
		tr := must.Get(w.Load(t.Context(), nil, read.Options{}))(t)
		cell := sim.Cell{Parts: sim.Parts{Policy: spec, Cache: cache.ExactSpec()}, Capacity: capacity.Of(3, false)}
		if f.Predictor != "" {
			predictor := must.Get(sim.PredictorKind.Parse(f.Predictor))(t)
			predictor.Into(&cell.Parts)
		}
		replayer := sim.NewReplayer(tr, sim.ReplayerOptions{})
		var recs []records.Record
		for _, c := range append([]sim.Cell{cell}, sim.References(cell)...) {
			recs = append(recs, must.Get(replayer.Replay(t.Context(), c))(t).Record)
		}
		sim.HoldAgainst(&recs[0], recs[1])
		r := recs[0]
		misses, optimal := r.Int(metric.Misses), r.Int(metric.OptMisses)
		if float64(misses) != f.Misses || optimal != f.OptMisses || r.Float(metric.CompetitiveRatio) != f.Ratio {
			t.Errorf("%s: %d misses of %d, found %v of %d", name, misses, optimal, f.Misses, f.OptMisses)
		}
	}
}

func TestTableDoesNotDependOnJobs(t *testing.T) {
	specs := must.Get(policies.Registry.ParseList("laru,marker,lru"))(t)
	options := Options{Length: 12, Requests: 100, Tries: brief.Of(300, 60), Seed: 4}
	run := func(specs []policies.Spec, jobs int) []Row {
		ended := make(chan bool, 100)
		rows := must.Get(Table(t.Context(), specs, []int{2, 3}, options, jobs, func() { ended <- true }))(t)
		if want := Searches(specs, []int{2, 3}); len(ended) != want {
			t.Errorf("%d searches ended, want %d", len(ended), want)
		}
		return rows
	}
	one, four := run(specs, 1), run(specs, 4)
	if len(one) != 6 {
		t.Fatalf("%d rows, want 6", len(one))
	}
	alone := run(specs[:1], 2)
	for i := range one {
		if !reflect.DeepEqual(one[i].Any, four[i].Any) || !reflect.DeepEqual(one[i].Exact, four[i].Exact) {
			t.Errorf("row %d: %+v, with four jobs %+v", i, one[i], four[i])
		}
		if i < len(alone) && !reflect.DeepEqual(one[i].Any, alone[i].Any) {
			t.Errorf("row %d: %+v, without other policies %+v", i, one[i].Any, alone[i].Any)
		}
	}
}

func stated(consistency, robustness string) policies.Guarantee {
	return policies.Guarantee{Consistency: consistency, Robustness: robustness}
}

func TestStated(t *testing.T) {
	for _, c := range []struct {
		policy   string
		capacity int
		want     policies.Guarantee
	}{
		{"lru", 4, stated("", "k = 4")},
		{"marker", 3, stated("", "2H_k = 3.67")},
		{"fpb", 3, stated("1", "unbounded")},
		{"laru", 8, stated("1", "k+log_b k+2 = 13")},
		{"laru(b=4)", 64, stated("1", "k+log_b k+2 = 69")},
		{"laru(decay=k/32)", 8, stated("1", "O(k)")},
		{"laru(mode=async)", 2, stated("", "k+log_b k+2 = 5")},
		{"laru(marks=bitset,decay=3)", 2, stated("", "O(k)")},
		{"blindoracle-lru", 4, stated("2", "2k = 8")},
		{"blindoracle-lru(bound=3)", 4, policies.Guarantee{}},
		{"lnonmarker", 4, stated("", "no bound")},
		{"lnonmarker(robust=true)", 4, policies.Guarantee{}},
		{"predictive-marker", 3, stated("2", "4H_k = 7.33")},
		{"guard", 3, stated("1", "2H_(k-1)+2 = 5")},
		{"guard", 1, stated("1", "2H_(k-1)+2 = 2")},
		{"s3fifo", 8, policies.Guarantee{}},
	} {
		if got := Stated(policy(t, c.policy), c.capacity); got != c.want {
			t.Errorf("%s, capacity %d: %+v, want %+v", c.policy, c.capacity, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, want := range map[string]string{
		"opt": "only online policies", "infinite": "only online policies", "pfoo-l": "only online policies",
		"ttl": "needs a clock", "lru": "",
	} {
		err := Check(policy(t, name).Entry)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
