package fluid

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

const gigabyte = 1_000_000_000

// anchored is the node of the anchors in the specification: 640 GB, 8 servers, times before they are scaled.
func anchored(own float64) *Model {
	p, c := recommender.DefaultPopulation(), hlem.DefaultCosts()
	p.Tables = 25 // as in the specification's numbers
	p.Nodes, p.OwnShare, c.Scale = 1, own, 1
	return NewCached(p, c, 8, 80*gigabyte)
}

// TestAnchors compares the model with the figures that the specification gives from another queueing model, which
// takes the mean misses for those of every request. Hits and the best ratio are the same within its digits. The P99 is
// up to a third higher where users own most of what they read: requests whose users are new then miss far more than
// others do, as the simulation has it, too.
func TestAnchors(t *testing.T) {
	inf := math.Inf(1)
	for _, a := range []struct {
		own, hot, best, p99, emb, kv float64
		stated                       []float64 // P99 in ms at 0.1 to 0.9
	}{
		{0.96, 0.18, 0.8, 47.5, 0.82, 0.14, []float64{inf, 102, 70.2, 57.9, 52.2, 49.4, 47.7, 47.5, 48.7}},
		{0.96, 0.38, 0.6, 47.2, 0.81, 0.32, []float64{inf, 112, 66.4, 53.2, 49.3, 47.2, 47.7, 50.4, 58.2}},
		{0.96, 0.60, 0.5, 43.0, 0.86, 0.55, []float64{inf, 472, 55.9, 44.0, 43.0, 46.6, 59.5, 121, inf}},
		{0.60, 0.18, 0.7, 55.2, 0.71, 0.18, nil},
		{0.60, 0.38, 0.6, 54.4, 0.71, 0.32, nil},
		{0.60, 0.60, 0.5, 48.8, 0.72, 0.55, nil},
		{0, 0.18, 0.6, 61.9, 0.62, 0.22, nil},
		{0, 0.38, 0.5, 61.5, 0.59, 0.36, nil},
		{0, 0.60, 0.4, 55.6, 0.57, 0.60, nil},
	} {
		m := anchored(a.own)
		l := hlem.Load{HotShare: a.hot, Rate: m.Rate(a.hot, 0.85, 0.4)}
		var ours, theirs strings.Builder
		for r := 1; r <= 9; r++ {
			p99 := 1e3 * m.Predict(l, float64(r)/10).P99
			fmt.Fprintf(&ours, " %.1f", p99)
			if a.stated == nil {
				continue
			}
			stated := a.stated[r-1]
			fmt.Fprintf(&theirs, " %.1f", stated)
			if math.IsInf(p99, 1) != math.IsInf(stated, 1) || r > 2 && !(p99 > 0.9*stated && p99 < 1.4*stated) &&
				!math.IsInf(stated, 1) {
				t.Errorf("own %v, hot %v, ratio 0.%d: P99 of %.1f ms, stated %v", a.own, a.hot, r, p99, stated)
			}
		}
		best := m.Best(l, 0.1, 0.9, 0.1)
		p := m.Predict(l, best)
		t.Logf("own %.2f hot %.2f:%s; best %.1f (%.2f on a finer grid), %.1f ms; EMB %.0f%%, KV %.0f%%; %.1f requests/s",
			a.own, a.hot, ours.String(), best, m.Best(l, 0.1, 0.9, 0.02), 1e3*p.P99, 100*p.EMBHit, 100*p.KVHit, l.Rate)
		t.Logf("             stated:%s; best %.1f, %.1f ms; EMB %.0f%%, KV %.0f%%", theirs.String(), a.best, a.p99,
			100*a.emb, 100*a.kv)
		if math.Abs(best-a.best) > 0.1+1e-9 {
			t.Errorf("own %v, hot %v: the best ratio is %v, stated %v", a.own, a.hot, best, a.best)
		}
		if p.P99 < 0.95e-3*a.p99 || p.P99 > 1.3e-3*a.p99 {
			t.Errorf("own %v, hot %v: P99 of %.1f ms at the best ratio, stated %v", a.own, a.hot, 1e3*p.P99, a.p99)
		}
		if p := m.Predict(l, a.best); math.Abs(p.EMBHit-a.emb) > 0.025 || math.Abs(p.KVHit-a.kv) > 0.025 {
			t.Errorf("own %v, hot %v: hit ratios %.3f and %.3f, stated %v and %v", a.own, a.hot, p.EMBHit, p.KVHit, a.emb, a.kv)
		}
	}
	for _, own := range []float64{0, 0.6, 0.96} {
		m := anchored(own)
		best := func(hot float64) float64 {
			return m.Best(hlem.Load{HotShare: hot, Rate: m.Rate(hot, 0.85, 0.4)}, 0.1, 0.9, 0.02)
		}
		if travel := best(0.18) - best(0.60); travel < 0.15 || travel > 0.35 {
			t.Errorf("own %v: the best ratio falls by %.2f from a hot share of 0.18 to one of 0.60", own, travel)
		}
	}
}

// TestWithoutQueueing shows the trap that the specification names: where nothing waits, the slowest requests miss KV
// whatever its size, and all memory should hold embeddings.
func TestWithoutQueueing(t *testing.T) {
	m := anchored(0.96)
	for _, hot := range []float64{0.18, 0.38, 0.60} {
		if best := m.Best(hlem.Load{HotShare: hot, Rate: 1}, 0.1, 0.9, 0.02); best < 0.89 {
			t.Errorf("hot %v: the best ratio is %v, want the largest", hot, best)
		}
	}
}

func TestProperties(t *testing.T) {
	for _, own := range []float64{0, 0.96, 1} {
		m := anchored(own)
		for _, hot := range []float64{0, 0.05, 0.333, 0.97, 1} {
			rate := m.Rate(hot, 0.85, 0.4)
			l := hlem.Load{HotShare: hot, Rate: rate}
			if u := m.Predict(l, 0.4).Utilisation; math.Abs(u-0.85) > 1e-4 {
				t.Errorf("own %v, hot %v: a utilisation of %v at the rate for 0.85", own, hot, u)
			}
			emb, kv := -1.0, 2.0
			for i := range 101 {
				r := float64(i) / 100
				p := m.Predict(l, r)
				switch {
				case !(p.EMBHit >= emb-1e-12 && p.EMBHit <= 1 && p.EMBHit >= 0):
					t.Fatalf("own %v, hot %v: EMB hits %v at %v after %v", own, hot, p.EMBHit, r, emb)
				case !(p.KVHit <= kv+1e-12 && p.KVHit <= 1 && p.KVHit >= 0):
					t.Fatalf("own %v, hot %v: KV hits %v at %v after %v", own, hot, p.KVHit, r, kv)
				case !(p.Mean > 0 && (p.P99 > p.Mean || math.IsInf(p.Mean, 1)) && p.Violations >= 0 && p.Violations <= 1):
					t.Fatalf("own %v, hot %v: %+v at %v", own, hot, p, r)
				case !math.IsInf(p.P99, 1) && !(p.SlowEMB >= 0 && p.SlowKV >= 0 && p.SlowEMB+p.SlowKV < 1):
					t.Fatalf("own %v, hot %v: %+v at %v", own, hot, p, r)
				}
				emb, kv = p.EMBHit, p.KVHit
			}
			last := 0.0
			for i := range 130 {
				l.Rate = rate * float64(i) / 100
				p := m.Predict(l, 0.4)
				if !(p.P99 >= last*(1-1e-9)) {
					t.Fatalf("own %v, hot %v: P99 of %v s at %v/s, after %v s", own, hot, p.P99, l.Rate, last)
				}
				last = p.P99
			}
			if !math.IsInf(last, 1) {
				t.Errorf("own %v, hot %v: P99 of %v s of an unstable load", own, hot, last)
			}
		}
	}
}

// TestRoomForEverything checks that caches with room for all shards and all users miss nothing, and that those without
// room hit nothing.
func TestRoomForEverything(t *testing.T) {
	p := recommender.DefaultPopulation()
	p.Users, p.Shards = 300, 5000
	m := NewModel(p, hlem.DefaultCosts(), 8, 80*gigabyte)
	l := hlem.Load{HotShare: 0.3, Rate: 100}
	for _, r := range []float64{0.1, 0.5, 0.9} {
		if p := m.Predict(l, r); p.EMBHit < 1-1e-9 || p.KVHit < 1-1e-6 {
			t.Errorf("ratio %v: hit ratios %v and %v, want 1", r, p.EMBHit, p.KVHit)
		}
	}
	if p := m.Predict(l, 1); p.KVHit != 0 {
		t.Errorf("without KV, %v of the requests hit it", p.KVHit)
	}
	if p := m.Predict(l, 0); p.EMBHit > 1e-12 {
		t.Errorf("without EMB, %v of the lookups hit it", p.EMBHit)
	}
}

// TestErlang compares with tabulated values of Erlang's C formula and with M/M/1.
func TestErlang(t *testing.T) {
	for _, c := range []struct {
		servers           int
		utilisation, want float64
	}{{1, 0.3, 0.3}, {1, 0.9, 0.9}, {2, 0.5, 1.0 / 3}, {8, 0, 0}, {8, 1, 1}, {8, 1.5, 1}, {3, 2.0 / 3, 4.0 / 9}} {
		if got := Erlang(c.servers, c.utilisation); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d servers at %v: %v, want %v", c.servers, c.utilisation, got, c.want)
		}
	}
}

// TestQuantile compares the quantile of a constant time and an exponential wait with the closed form: M/D/1 in heavy
// traffic.
func TestQuantile(t *testing.T) {
	var tl tail
	tl.mixtures[0].width = 0.001
	tl.mixtures[0].spread(1, 0.0499, 0.0501, 0, 0)
	tl.add(0, Queue{Busy: 0.8, Delay: 1, Wait: 0.1}, 1)
	tl.build()
	for _, share := range []float64{0.5, 0.1, 0.01, 0.0001} {
		want := 1 + 0.05 + 0.1*math.Log(0.8/share)
		if got := tl.quantile(share); math.Abs(got-want) > 0.001 {
			t.Errorf("%v of the requests take longer than %v, want %v", share, got, want)
		}
		if got := tl.above(want); math.Abs(got-share) > 0.01*share+1e-6 {
			t.Errorf("%v of the requests take longer than %v, want %v", got, want, share)
		}
	}
}

// TestPredictAllocatesNothing also covers a node over time, which is what controllers train on.
func TestPredictAllocatesNothing(t *testing.T) {
	m := anchored(0.96)
	l := hlem.Load{HotShare: 0.38, Rate: m.Rate(0.38, 0.85, 0.4)}
	n := m.NewNode()
	r := 0.1
	for what, f := range map[string]func(){
		"Predict": func() { m.Predict(l, r) },
		"Best":    func() { m.Best(l, 0.4, 0.5, 0.1) },
		"Step":    func() { n.Step(l, r) },
	} {
		if n := testing.AllocsPerRun(50, func() { r = 1 - r; f() }); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	m := anchored(0.96)
	l := hlem.Load{HotShare: 0.38, Rate: m.Rate(0.38, 0.85, 0.4)}
	b.ReportAllocs()
	sum := 0.0
	for i := 0; b.Loop(); i++ {
		sum += m.Predict(l, 0.1+0.8*float64(i%100)/100).P99
	}
	if math.IsNaN(sum) {
		b.Fatal("NaN")
	}
}

func BenchmarkNewModel(b *testing.B) {
	for b.Loop() {
		NewModel(recommender.DefaultPopulation(), hlem.DefaultCosts(), 8, 80*gigabyte)
	}
}

// TestNodeSettles checks that a node under a steady load does what the model predicts, after any ratio.
func TestNodeSettles(t *testing.T) {
	m := anchored(0.96)
	l := hlem.Load{HotShare: 0.38, Rate: m.Rate(0.38, 0.85, 0.4)}
	n := m.NewNode()
	check := func(when string, ratio float64, epochs int) {
		t.Helper()
		var w hlem.Window
		for range epochs {
			w = n.Step(l, ratio)
		}
		p := m.Predict(l, ratio)
		for _, v := range [][2]float64{{w.P99, p.P99}, {w.Mean, p.Mean}, {w.Violations, p.Violations},
			{w.KVHit, p.KVHit}, {w.EMBHit, p.EMBHit}, {w.SlowEMB, p.SlowEMB}, {w.SlowKV, p.SlowKV}} {
			if !(math.Abs(v[0]-v[1]) <= 0.01*v[1]+1e-3*p.P99) {
				t.Errorf("%s: window %+v, predicted %+v", when, w, p)
				return
			}
		}
	}
	check("at the beginning", 0.4, 1)
	check("after growth of EMB", 0.7, 40)
	check("after growth of KV", 0.5, 40)
	var worst float64
	for range 10 {
		worst = n.Step(l, 0.1).P99 // unstable
	}
	if !(worst > 1 && worst < 60) {
		t.Errorf("P99 of %v s after 50 s of an unstable load", worst)
	}
	check("after an unstable load", 0.5, 60)
}

func BenchmarkStep(b *testing.B) {
	m := anchored(0.96)
	l := hlem.Load{HotShare: 0.38, Rate: m.Rate(0.38, 0.85, 0.4)}
	n := m.NewNode()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n.Step(l, 0.4+0.02*float64(i%10))
	}
}

// The search finds the best ratio of the whole grid.
func TestSearch(t *testing.T) {
	for _, own := range []float64{0, 0.96} {
		p := recommender.DefaultPopulation()
		p.OwnShare = own
		m := NewCached(p, hlem.DefaultCosts(), 8, 80e9)
		for _, hot := range []float64{0.1, 0.3, 0.5, 0.7} {
			for _, utilisation := range []float64{0.5, 0.85, 1.2} {
				l := hlem.Load{HotShare: hot, Rate: m.Rate(hot, utilisation, 0.4)}
				if got, want := m.Search(l, 0.1, 0.9, 0.01), m.Best(l, 0.1, 0.9, 0.01); math.Abs(got-want) > 1e-9 {
					t.Errorf("own %v, hot %v, utilisation %v: %v, want %v", own, hot, utilisation, got, want)
				}
			}
		}
	}
}

// A model of a population that takes turns is, in each, the model of that turn's tables.
func TestTurns(t *testing.T) {
	p := recommender.DefaultPopulation()
	p.Nodes, p.Tables, p.TurnTables = 1, 5, 25
	turns := NewModel(p, hlem.DefaultCosts(), 8, 80e9).With(hlem.DefaultObjective())
	for _, turned := range []bool{false, true} {
		one := p
		if one.TurnTables = 0; turned {
			one.Tables = p.TurnTables
		}
		alone := NewModel(one, hlem.DefaultCosts(), 8, 80e9)
		l := hlem.Load{Rate: alone.Rate(0.38, 0.85, 0.4), HotShare: 0.38}
		want := alone.Predict(l, 0.5)
		node := alone.NewNode()
		served := node.Step(l, 0.5)
		l.Turned = turned
		if got := turns.Predict(l, 0.5); got != want {
			t.Errorf("turned %v: %+v, want %+v", turned, got, want)
		}
		if got := turns.NewNode().Step(l, 0.5); got.P99 != served.P99 || got.EMBHit != served.EMBHit {
			t.Errorf("turned %v: a node has %v and %v, want %v and %v", turned, got.P99, got.EMBHit, served.P99, served.EMBHit)
		}
		steps := []recommender.Step{{Base: 0.38, HotShare: 0.38, Turned: turned}}
		if got := turns.Loads(steps, 0.85, 0.4)[0]; got != l {
			t.Errorf("turned %v: the load is %+v, want %+v", turned, got, l)
		}
	}
}
