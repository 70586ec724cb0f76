package controllers

import (
	"fmt"
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/fluid"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// Whatever node it serves, hlem2 is about as good as the best fixed ratio for that very load, on the fluid model; no
// training has seen these nodes.
func TestHLEM2OnManyNodes(t *testing.T) {
	for _, node := range []struct {
		tables, layers, users int
		hot, own              float64
	}{{5, 6, 30600, 0.38, 0.96}, {10, 3, 30600, 0.18, 0.96}, {25, 6, 8000, 0.6, 0.96}, {100, 6, 30600, 0.38, 0.6},
		{10, 6, 30600, 0.05, 0}} {
		p, c := recommender.DefaultPopulation(), hlem.DefaultCosts()
		p.Tables, p.Users, p.OwnShare, c.Layers = node.tables, node.users, node.own, node.layers
		m := fluid.NewCached(p, c, 8, 80e9)
		x := newScenario(m, recommender.Trend, node.hot, 1)
		best := math.Inf(1)
		for r := 0.1; r < 0.91; r += 0.05 {
			best = min(best, x.serve(t, fmt.Sprintf("static(r=%.2f)", r)).p99)
		}
		if got := x.serve(t, "hlem2").p99; got > 1.02*best {
			t.Errorf("%+v: P99 %.2f ms, the best fixed ratio has %.2f", node, 1e3*got, 1e3*best)
		}
	}
}

// Shards of nearly equal popularity: what the slowest requests wait for says nothing of what else they would miss. Both
// assumptions together are within 5% of the best fixed ratio there, and the inferred one alone is 24% behind.
func TestHLEM2DistrustsItsGuess(t *testing.T) {
	p := recommender.DefaultPopulation()
	p.ShardAlpha = 0.4
	x := newScenario(fluid.NewCached(p, hlem.DefaultCosts(), 8, 80e9), recommender.Steady, 0.38, 1)
	best := min(x.serve(t, "static(r=0.3)").p99, x.serve(t, "static(r=0.35)").p99, x.serve(t, "static(r=0.4)").p99)
	if got := x.serve(t, "hlem2").p99; got > 1.05*best {
		t.Errorf("P99 %.2f ms, the best fixed ratio has %.2f", 1e3*got, 1e3*best)
	}
}

// The queue of a single kind of requests has the P99 of M/D/c with an exponential tail, and an overload costs more the
// larger it is.
func TestTailQueue(t *testing.T) {
	w := &hlem.Window{Lengths: []float64{1000}, Rows: 0, Node: hlem.Node{Costs: hlem.DefaultCosts(), Servers: 1}}
	var q tailQueue
	q.fill(w, 0, 1, 1)
	service := q.mean
	if want := w.Node.Costs.Overhead() + w.Node.Costs.Compute(1000, false); math.Abs(service-want) > 1e-12 {
		t.Fatalf("service of %v s, want %v", service, want)
	}
	if got := q.p99(1e-6 / service); math.Abs(got-service) > 1e-6*service {
		t.Errorf("P99 of %v s without load, want the service time %v", got, service)
	}
	// Half loaded: busy half of the time, and then a wait with the mean service/(2(1-0.5)).
	if want, got := service+service*math.Log(0.5/0.01), q.p99(0.5/service); math.Abs(got-want) > 1e-6*want {
		t.Errorf("P99 of %v s at half load, want %v", got, want)
	}
	if a, b := q.p99(1.2/service), q.p99(1.5/service); !(b > a) {
		t.Errorf("P99 of %v and %v s in overloads of 1.2 and 1.5", a, b)
	}
}
