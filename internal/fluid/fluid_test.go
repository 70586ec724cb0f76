package fluid

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/serving"
)

const gigabyte = 1_000_000_000

// anchored is the node of the anchors in the specification: 640 GB, 8 servers, times before they are scaled.
func anchored(own float64) *Model {
	p, c := serving.DefaultPopulation(), serving.DefaultCosts()
	p.Nodes, p.OwnShare, c.Scale = 1, own, 1
	return NewCached(p, c, 8, 80*gigabyte)
}

func TestAnchors(t *testing.T) {
	for _, a := range []struct {
		own, hot, best float64
		stated         string
	}{
		{0.96, 0.18, 0.8, "unstable 102 70.2 57.9 52.2 49.4 47.7 47.5 48.7, r* .8, hits 82/14"},
		{0.96, 0.38, 0.6, "unstable 112 66.4 53.2 49.3 47.2 47.7 50.4 58.2, r* .6, hits 81/32"},
		{0.96, 0.60, 0.5, "unstable 472 55.9 44.0 43.0 46.6 59.5 121 unstable, r* .5, hits 86/55"},
		{0.60, 0.18, 0.7, "best 55.2, r* .7, hits 71/18"},
		{0.60, 0.38, 0.6, "best 54.4, r* .6, hits 71/32"},
		{0.60, 0.60, 0.5, "best 48.8, r* .5, hits 72/55"},
		{0, 0.18, 0.6, "best 61.9, r* .6, hits 62/22"},
		{0, 0.38, 0.5, "best 61.5, r* .5, hits 59/36"},
		{0, 0.60, 0.4, "best 55.6, r* .4, hits 57/60"},
	} {
		m := anchored(a.own)
		l := serving.Load{HotShare: a.hot, Rate: m.Rate(a.hot, 0.85, 0.4)}
		var row strings.Builder
		for r := 1; r <= 9; r++ {
			fmt.Fprintf(&row, " %.1f", 1e3*m.Predict(l, float64(r)/10).P99)
		}
		best := m.Best(l, 0.1, 0.9, 0.1)
		p := m.Predict(l, best)
		t.Logf("own %.2f hot %.2f: %s; r* %.1f (fine %.2f), hits %.0f/%.0f%%, rate %.1f", a.own, a.hot, row.String(), best,
			m.Best(l, 0.1, 0.9, 0.02), 100*p.EMBHit, 100*p.KVHit, l.Rate)
		t.Logf("                 stated: %s", a.stated)
	}
}

func BenchmarkPredict(b *testing.B) {
	m := anchored(0.96)
	l := serving.Load{HotShare: 0.38, Rate: m.Rate(0.38, 0.85, 0.4)}
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
		NewModel(serving.DefaultPopulation(), serving.DefaultCosts(), 8, 80*gigabyte)
	}
}

// TestNodeSettles checks that a node under a steady load does what the model predicts, after any ratio.
func TestNodeSettles(t *testing.T) {
	m := anchored(0.96)
	l := serving.Load{HotShare: 0.38, Rate: m.Rate(0.38, 0.85, 0.4)}
	n := m.NewNode()
	check := func(when string, ratio float64, epochs int) {
		t.Helper()
		var w serving.Window
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
	l := serving.Load{HotShare: 0.38, Rate: m.Rate(0.38, 0.85, 0.4)}
	n := m.NewNode()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n.Step(l, 0.4+0.02*float64(i%10))
	}
}
