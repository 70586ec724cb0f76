package controllers

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// texts are all controllers with their defaults, and with parameters at their ends.
func texts() (list []string) {
	for _, e := range allocate.Registry.All() {
		if e.Serving {
			list = append(list, e.Name)
		}
	}
	return append(list, "pid(kp=100,ki=100,kd=100,step=1)", "bo(window=2,noise=0.001,grid=0.5)", "bo(step=0.04)",
		"milp(grid=0.3,step=0.1)", "balance(hysteresis=1,step=1,start=1)", "hindsight(grid=0.05)",
		"trees(oft=true)", "trees(oft=true,recovery=paper,oft_rate=1,step=1)",
		"hlem(adapter=false)", "hlem(recovery=off,replay=40)", "hlem(ppo=false,noise=1,range=1,rate=1,temperature=0.001)",
		"hlem(recovery=paper,burst_z=0,burst_step=1,hot_share=0,batch=1)")
}

func build(t rapid.TB, text string) allocate.Allocator {
	t.Helper()
	s := must.Get(allocate.Registry.Parse(text))(t)
	return must.Get(allocate.NewNumbered(s, []string{"embeddings", "users"}, testSeed, 0))(t)
}

// bowl is a forecast with its optimum at a ratio.
type bowl struct{ at, depth float64 }

func (b bowl) P99(r float64) float64                  { return 0.03 + b.depth*(r-b.at)*(r-b.at) }
func (b bowl) Hits(r float64) (emb, kv float64)       { return math.Sqrt(r), math.Sqrt(1 - r) }
func (b bowl) Best(least, most, step float64) float64 { return bestOf(b, least, most, step) }

// bestOf searches a grid.
func bestOf[F hlem.Forecast](f F, least, most, step float64) float64 {
	best, p99 := least, math.Inf(1)
	for i := 0; least+float64(i)*step <= most+1e-9; i++ {
		if r := min(most, least+float64(i)*step); f.P99(r) < p99 {
			best, p99 = r, f.P99(r)
		}
	}
	return best
}

const capacity = 320_000

// drawWindow draws what a node may measure, sensible or not, with the forecasts that the allocator needs.
func drawWindow(t *rapid.T, needs allocate.Needs, ratio float64) *hlem.Window {
	share := func(name string) float64 { return rapid.Float64Range(0, 1).Draw(t, name) }
	strange := rapid.SampledFrom([]float64{0, math.Inf(1), math.NaN(), 1e300})
	w := &hlem.Window{Requests: rapid.IntRange(0, 3000).Draw(t, "requests"), HotShare: share("hot"), Ratio: ratio,
		KVHit: share("kv"), EMBHit: share("emb"), Violations: share("violations"), SlowEMB: share("slow emb"),
		SlowKV: share("slow kv"), Objective: hlem.DefaultObjective(), SavedEMB: share("saved emb") / 30,
		SavedKV: share("saved kv") / 30}
	w.MeanTokens = rapid.Float64Range(0, 30000).Draw(t, "tokens")
	w.Rate = float64(w.Requests) / w.Objective.Epoch.Seconds()
	w.P99 = rapid.OneOf(rapid.Float64Range(0.001, 1), strange).Draw(t, "p99")
	w.Mean = w.P99 / 2
	if rapid.Bool().Draw(t, "bounds") {
		w.Least = rapid.Float64Range(0, 0.5).Draw(t, "least")
		w.Most = rapid.Float64Range(w.Least, 1).Draw(t, "most")
	}
	if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
		w.SlowEMB, w.SlowKV, w.HotShare = math.NaN(), math.NaN(), math.NaN()
	}
	depth := rapid.SampledFrom([]float64{0, 0.1, 10, math.Inf(1), math.NaN()}).Draw(t, "depth")
	forecast := bowl{share("optimum"), depth}
	if needs.Forecast && rapid.Bool().Draw(t, "forecast") {
		w.Forecast = forecast
	}
	if needs.Next && rapid.Bool().Draw(t, "next") {
		w.Next = forecast
	}
	return w
}

func drawPools(t *rapid.T, needs allocate.Needs, pools []allocate.Pool) {
	for i := range pools {
		p := &pools[i]
		p.Requests = rapid.Int64Range(0, 1000).Draw(t, "lookups")
		p.Hits = rapid.Int64Range(0, p.Requests).Draw(t, "hits")
		p.Curve = nil
		if needs.Curves == nil || rapid.Bool().Draw(t, "no curve") {
			continue
		}
		at, hits := int64(0), 0.0
		for range rapid.IntRange(1, 30).Draw(t, "points") {
			at += rapid.Int64Range(1, capacity/20).Draw(t, "further")
			hits += rapid.Float64Range(0.1, 50).Draw(t, "more")
			p.Curve = append(p.Curve, allocate.Point{Capacity: at, Hits: hits})
		}
	}
}

// Whatever a node measures, the ratio stays within its bounds, both pools together have the whole memory, the same
// windows give the same ratios, and windows without requests change nothing.
func TestSuite(t *testing.T) {
	for _, text := range texts() {
		t.Run(text, func(t *testing.T) {
			foresees := strings.HasPrefix(text, "hindsight")
			rapid.Check(t, func(t *rapid.T) {
				a, twin := build(t, text), build(t, text)
				s := &allocate.State{Capacity: rapid.SampledFrom([]int64{0, 1, 7, capacity, 1 << 45}).Draw(t, "capacity"),
					Pools: make([]allocate.Pool, pools)}
				var w *hlem.Window
				before := make([]int64, pools)
				for range rapid.IntRange(1, 30).Draw(t, "epochs") {
					ratio := float64(before[embeddings]) / float64(max(1, s.Capacity))
					if w = nil; s.Epoch > 0 || rapid.Bool().Draw(t, "begins with a window") {
						w = drawWindow(t, a.Needs(), ratio)
					}
					drawPools(t, a.Needs(), s.Pools)
					got, again := slices.Clone(before), slices.Clone(before)
					hlem.Divide(a, s, w, got)
					if hlem.Divide(twin, s, w, again); !slices.Equal(got, again) {
						t.Fatalf("epoch %d: %v, and %v the second time", s.Epoch, got, again)
					}
					checkDivision(t, s, w, got)
					empty := w != nil && w.Requests == 0 && !foresees
					if empty && s.Epoch > 0 && w.Least == 0 && w.Most == 0 && within(before, s) &&
						!slices.Equal(got, before) {
						t.Fatalf("epoch %d: a window without requests moves %v to %v", s.Epoch, before, got)
					}
					copy(before, got)
					for i := range s.Pools {
						s.Pools[i].Capacity = got[i]
					}
					s.Epoch++
				}
			})
		})
	}
}

// within reports whether a division is within the default bounds; after a window with others it may not be.
func within(capacities []int64, s *allocate.State) bool {
	r := float64(capacities[embeddings]) / float64(max(1, s.Capacity))
	return r > hlem.LeastRatio && r < hlem.MostRatio
}

func checkDivision(t *rapid.T, s *allocate.State, w *hlem.Window, got []int64) {
	if got[embeddings] < 0 || got[users] < 0 || got[embeddings]+got[users] != s.Capacity {
		t.Fatalf("epoch %d: %v of %d", s.Epoch, got, s.Capacity)
	}
	least, most := hlem.LeastRatio, hlem.MostRatio
	if w != nil {
		least, most = w.Bounds()
	}
	unit := 1 / float64(max(1, s.Capacity))
	if r := float64(got[embeddings]) * unit; r < least-unit || r > most+unit {
		t.Fatalf("epoch %d: the ratio %v is not from %v to %v", s.Epoch, r, least, most)
	}
}

// Entries say that they are for serving nodes, and what they need agrees with what they say they know.
func TestEntries(t *testing.T) {
	for _, text := range texts() {
		s := must.Get(allocate.Registry.Parse(text))(t)
		if e := s.Entry; !e.Serving || e.Summary == "" || e.Source == "" {
			t.Errorf("%s: an empty field", text)
		}
		if needs := build(t, text).Needs(); needs.Next != s.Entry.Future || needs.Every != 0 || needs.Period != 0 {
			t.Errorf("%s: needs %+v", text, needs)
		}
		must.NotGet(allocate.New(s, []string{"a", "b", "c"}))(t, "3 pools", text)
	}
}

// run feeds a controller with windows of a node whose P99 is a bowl, and returns the ratios.
func run(t *testing.T, text string, epochs int, window func(epoch int, r float64) hlem.Window) (ratios []float64) {
	t.Helper()
	a := build(t, text)
	s := &allocate.State{Capacity: capacity, Pools: make([]allocate.Pool, pools)}
	capacities := make([]int64, pools)
	for epoch := range epochs {
		r := float64(capacities[embeddings]) / capacity
		w := window(epoch, r)
		w.Ratio, w.Objective = r, hlem.DefaultObjective()
		if s.Epoch = epoch; epoch == 0 {
			w.Requests = 0
		}
		hlem.Divide(a, s, &w, capacities)
		ratios = append(ratios, float64(capacities[embeddings])/capacity)
	}
	return ratios
}

func inBowl(b bowl, r float64) hlem.Window {
	emb, kv := b.Hits(r)
	share := 0.5 + (b.at - r) // of transfer in the slowest requests: as large as that of computation at the optimum
	return hlem.Window{Requests: 2000, P99: b.P99(r), EMBHit: emb, KVHit: kv, SlowEMB: share, SlowKV: 1 - share,
		Forecast: b, Next: b, HotShare: 0.2, MeanTokens: 8000}
}

// Every controller that looks for the optimum, or for the balance that is the optimum here, finds it and stays there;
// bo leaves it now and then to explore, because it forgets what it tried.
func TestControllersFindTheOptimum(t *testing.T) {
	tolerances := map[string]float64{"pid(setpoint=0)": 0.02, "bo": 0.02, "milp": 0.006, "hindsight": 0.006}
	for text, tolerance := range tolerances {
		for _, at := range []float64{0.2, 0.55, 0.8} {
			ratios := run(t, text, 60, func(_ int, r float64) hlem.Window { return inBowl(bowl{at, 2}, r) })
			far := 0
			for _, r := range ratios[20:] {
				if math.Abs(r-at) > tolerance {
					far++
				}
			}
			if far > 0 && text != "bo" || far > 12 {
				t.Errorf("%s: %d of the last 40 epochs are not at %v: %.2f", text, far, at, ratios)
			}
		}
	}
}

func TestHindsightKnowsTheFirstEpoch(t *testing.T) {
	got := run(t, "hindsight", 1, func(_ int, r float64) hlem.Window { return inBowl(bowl{0.7, 1}, r) })
	if got[0] != 0.7 {
		t.Errorf("ratio %v in the first epoch, want 0.7", got[0])
	}
}

func TestControllersBeginWithTheirStart(t *testing.T) {
	for _, text := range []string{"pid(start=0.3)", "milp(start=0.3)", "bo(start=0.3)", "balance(start=0.3)"} {
		got := run(t, text, 1, func(_ int, r float64) hlem.Window { return inBowl(bowl{0.7, 1}, r) })
		if got[0] != 0.3 {
			t.Errorf("%s: ratio %v in the first epoch", text, got[0])
		}
	}
}

// The integral does not wind up: after a long time at the bound, the ratio leaves it in the epoch after the error has
// changed its sign.
func TestPIDDoesNotWindUp(t *testing.T) {
	ratios := run(t, "pid(setpoint=0)", 110, func(epoch int, _ float64) hlem.Window {
		share := 0.9
		if epoch >= 100 {
			share = 0.3
		}
		return hlem.Window{Requests: 2000, P99: 0.03, SlowEMB: share, SlowKV: 1 - share}
	})
	if ratios[99] != 0.9 {
		t.Fatalf("ratio %v after 100 epochs in which transfer dominates, want 0.9", ratios[99])
	}
	if ratios[100] > 0.9-0.039 {
		t.Errorf("ratio %v, want it to leave its bound by a whole step at once", ratios[100])
	}
}

// A step by hand: kp e + ki e, and nothing for the change of the first error.
func TestPIDStep(t *testing.T) {
	ratios := run(t, "pid(kp=0.1,ki=0.01,kd=0.2,step=1,setpoint=0.1)", 3, func(epoch int, _ float64) hlem.Window {
		return hlem.Window{Requests: 1, P99: 0.03, SlowEMB: []float64{0, 0.3, 0.6}[epoch], SlowKV: 0.2}
	})
	first := 0.4 + 0.1*0.1 + 0.01*0.1 // (0.3 - 0.2)/(0.3 + 0.2) less the setpoint
	second := first + 0.1*0.4 + 0.01*0.5 + 0.2*0.3
	if math.Abs(ratios[1]-first) > 1e-5 || math.Abs(ratios[2]-second) > 1e-5 {
		t.Errorf("ratios %v, want %v and %v", ratios[1:], first, second)
	}
}

// Expected improvement against a numerical integral.
func TestImprovement(t *testing.T) {
	for _, c := range []struct{ mean, deviation float64 }{{0, 1}, {0.5, 0.2}, {-1, 0.7}, {2, 0.1}} {
		want := 0.0
		const width = 1e-4
		for z := -8.0; z < 8; z += width {
			want += max(0, c.mean+z*c.deviation) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * width
		}
		if got := improvement(c.mean, c.deviation); math.Abs(got-want) > 1e-4 {
			t.Errorf("%+v: %v, want %v", c, got, want)
		}
	}
	if improvement(-1, 0) != 0 || improvement(1, 0) != 1 {
		t.Error("without a deviation the improvement is the mean, if it is one")
	}
}

// The process goes through what it has seen as far as the noise allows, and returns to its prior far away.
func TestProcess(t *testing.T) {
	b := &bo{length: 0.05, noise: 1e-3, ratios: []float64{0.2, 0.5}, values: []float64{-1, 1}}
	p, ok := b.fit()
	if !ok {
		t.Fatal("no process")
	}
	for i, r := range b.ratios {
		if mean, deviation := p.at(r); math.Abs(mean-b.values[i]) > 0.01 || deviation > 0.05 {
			t.Errorf("at %v: %v ± %v, want %v", r, mean, deviation, b.values[i])
		}
	}
	if mean, deviation := p.at(0.9); math.Abs(mean) > 0.01 || math.Abs(deviation-1) > 0.01 {
		t.Errorf("far away: %v ± %v, want the prior", mean, deviation)
	}
}

func TestBORemembersItsWindow(t *testing.T) {
	b := &bo{grid: 0.01, window: 5, length: 0.2, noise: 0.1, step: 1}
	w := &hlem.Window{Requests: 1, P99: 0.03, Objective: hlem.DefaultObjective()}
	for epoch := range 20 {
		w.Ratio = float64(epoch) / 20
		b.next(&allocate.State{}, w)
	}
	if !slices.Equal(b.ratios, []float64{0.75, 0.8, 0.85, 0.9, 0.95}) || len(b.values) != 5 {
		t.Errorf("remembers %v", b.ratios)
	}
}

// A hand-made pair of curves: of 100 units, users gain much up to 40, embeddings gain a little everywhere.
func TestBalance(t *testing.T) {
	emb, kv := allocate.Curve{}, allocate.Curve{}
	for i := range 100 {
		emb = append(emb, allocate.Point{Capacity: int64(i+1) * capacity / 100, Hits: float64(i + 1)})
		if i < 40 {
			kv = append(kv, allocate.Point{Capacity: int64(i+1) * capacity / 100, Hits: float64(5 * (i + 1))})
		}
	}
	for _, start := range []float64{0.2, 0.8} {
		a := build(t, fmt.Sprintf("balance(start=%v)", start))
		s := &allocate.State{Capacity: capacity, Pools: make([]allocate.Pool, pools)}
		s.Pools[embeddings] = allocate.Pool{Requests: 1000, Curve: emb}
		s.Pools[users] = allocate.Pool{Requests: 1000, Curve: kv}
		capacities := make([]int64, pools)
		a.Allocate(s, capacities)
		for range 30 {
			w := &hlem.Window{Requests: 1000, SavedEMB: 0.01, SavedKV: 0.01, Objective: hlem.DefaultObjective(),
				Ratio: float64(capacities[embeddings]) / capacity}
			hlem.Divide(a, s, w, capacities)
		}
		if r := float64(capacities[embeddings]) / capacity; math.Abs(r-0.6) > 0.021 {
			t.Errorf("from %v the ratio ends at %v, want 0.6", start, r)
		}
	}
}

// Without curves, balance uses the hit ratios of the forecast: where both save the same, the best is the half.
func TestBalanceWithForecasts(t *testing.T) {
	for _, text := range []string{"balance(start=0.2,hysteresis=1)", "balance(start=0.8,hysteresis=1)"} {
		ratios := run(t, text, 30, func(_ int, r float64) hlem.Window {
			w := inBowl(bowl{0.9, 1}, r)
			w.SavedEMB, w.SavedKV = 0.02, 0.02
			return w
		})
		if last := ratios[29]; math.Abs(last-0.5) > 0.011 {
			t.Errorf("%s: the ratio ends at %v, want 0.5", text, last)
		}
	}
}

// A difference within the hysteresis moves nothing.
func TestBalanceHysteresis(t *testing.T) {
	for text, want := range map[string]float64{"balance(start=0.5)": 0.5, "balance(start=0.5,hysteresis=1)": 0.54} {
		ratios := run(t, text, 2, func(_ int, r float64) hlem.Window {
			return hlem.Window{Requests: 1, P99: 0.03, SavedEMB: 1.1, SavedKV: 1, Forecast: line{}}
		})
		if math.Abs(ratios[1]-want) > 1e-5 {
			t.Errorf("%s: ratio %v, want %v", text, ratios[1], want)
		}
	}
}

type line struct{}

func (line) P99(float64) float64                    { return 1 }
func (line) Hits(r float64) (emb, kv float64)       { return r, 1 - r }
func (line) Best(least, most, step float64) float64 { return bestOf(line{}, least, most, step) }

// A decision of a controller without a model of the load allocates nothing.
func TestAllocations(t *testing.T) {
	for _, text := range []string{"pid", "milp", "balance", "hindsight"} {
		a := build(t, text)
		w := inBowl(bowl{0.6, 1}, 0.4)
		w.Objective, w.Ratio = hlem.DefaultObjective(), 0.4
		s := &allocate.State{Capacity: capacity, Pools: make([]allocate.Pool, pools)}
		capacities := make([]int64, pools)
		if n := testing.AllocsPerRun(100, func() { hlem.Divide(a, s, &w, capacities) }); n != 0 {
			t.Errorf("%s: %v allocations in a decision, want none", text, n)
		}
	}
}
