package fluid

import (
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// TestLatencies checks that the latencies of equal epochs are those of each, and those of a mixture between.
func TestLatencies(t *testing.T) {
	m := anchored(0.96)
	l := hlem.Load{HotShare: 0.38, Rate: m.Rate(0.38, 0.85, 0.4)}
	n := m.NewNode()
	n.Latencies = new(Latencies)
	var w hlem.Window
	for range 5 {
		w = n.Step(l, 0.6)
	}
	if got := n.Latencies.Above(0.01); math.Abs(got/w.P99-1) > 0.005 {
		t.Errorf("P99 of %v s, that of each epoch is %v", got, w.P99)
	}
	if got := n.Latencies.Mean(); math.Abs(got/w.Mean-1) > 1e-9 {
		t.Errorf("mean of %v s, that of each epoch is %v", got, w.Mean)
	}
	if got := n.Latencies.Above(w.Violations); math.Abs(got/0.030-1) > 0.005 {
		t.Errorf("%v of the requests take longer than %v s, want the objective", w.Violations, got)
	}
	n.Step(l, 0.2)
	worst := n.Step(l, 0.2)
	if got := n.Latencies.Above(0.01); !(got > w.P99 && got < worst.P99) {
		t.Errorf("P99 of %v s of epochs with %v and %v", got, w.P99, worst.P99)
	}
}

// TestLatenciesOfAnySize: of very fast nodes, and of overloaded ones, whose queues are long.
func TestLatenciesOfAnySize(t *testing.T) {
	p := recommender.DefaultPopulation()
	p.Users, p.Shards = 200, 10_000
	for _, scale := range []float64{1e-6, 1, 1e6} {
		c := hlem.DefaultCosts()
		c.Scale = scale
		m := NewModel(p, c, 2, 20*gigabyte)
		for _, utilisation := range []float64{0.5, 3} {
			n := m.NewNode()
			n.Latencies = new(Latencies)
			l := hlem.Load{HotShare: 0.4, Rate: utilisation * m.Rate(0.4, 1, 0.4)}
			if scale == 1e6 {
				l.Rate = utilisation * 2 / 1e4
			}
			w := n.Step(l, 0.4)
			if got := n.Latencies.Above(0.01); math.Abs(got/w.P99-1) > 0.03 {
				t.Errorf("scale %v, utilisation %v: P99 of %v s, that of the epoch is %v", scale, utilisation, got, w.P99)
			}
		}
	}
}
