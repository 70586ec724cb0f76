package route

import (
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/serving/hlem"
	"pgregory.net/rapid"
)

// table is a state that is written down.
type table struct {
	holds    map[[2]int]bool
	coverage map[[2]int]float64
}

func (s table) Holds(node int, user uint32) bool       { return s.holds[[2]int{node, int(user)}] }
func (s table) Coverage(node int, user uint32) float64 { return s.coverage[[2]int{node, int(user)}] }

func config(kind Recommended, nodes int) RecommenderConfig {
	return RecommenderConfig{Kind: kind, Nodes: nodes, Users: 10, Bonus: 0.05, Overload: 0.85,
		Weights:  Weights{KV: 0.5, Embeddings: 0.3, Load: 0.2},
		Capacity: 20}
}

// TestRoutersDiffer: node 0 has the user's KV, node 1 the embeddings, node 2 half of both, node 3 nothing to do.
func TestRoutersDiffer(t *testing.T) {
	s := table{map[[2]int]bool{{0, 7}: true, {2, 7}: true}, map[[2]int]float64{{1, 7}: 1, {2, 7}: 0.5}}
	for kind, want := range map[Recommended]int{Joint: 2, KV: 0, Embeddings: 1, LeastLoaded: 3} {
		r := NewRecommender(config(kind, 4), s)
		for node := range 3 {
			r.Report(node, 4)
		}
		node, score := r.Route(7)
		if node != want {
			t.Errorf("%s routes to node %d, want %d", kind, node, want)
		}
		// By the weights of joint, whatever the router: 0.5, 0.3 x coverage, 0.2 x (1 - 4/20).
		if want := []float64{0.66, 0.46, 0.81, 0.2}[node]; math.Abs(score-want) > 1e-12 {
			t.Errorf("%s has the score %v, want %v", kind, score, want)
		}
	}
}

func TestHashIsFixedAndEven(t *testing.T) {
	c := config(Hash, 4)
	c.Users = 4000
	r := NewRecommender(c, table{})
	var counts [4]int
	for user := range uint32(4000) {
		node, _ := r.Route(user)
		r.Report(node, 1000) // an overload changes nothing
		if again, _ := r.Route(user); again != node {
			t.Fatalf("user %d is routed to %d, then to %d", user, node, again)
		}
		counts[node]++
	}
	for node, n := range counts {
		if n < 900 || n > 1100 {
			t.Errorf("node %d has %d of 4000 users", node, n)
		}
	}
}

func TestTiesAndBonus(t *testing.T) {
	r := NewRecommender(config(KV, 3), table{})
	if node, _ := r.Route(1); node != 0 {
		t.Errorf("a tie goes to node %d, want the lowest", node)
	}
	c := config(KV, 3)
	c.Bonus = 0
	r = NewRecommender(c, table{map[[2]int]bool{{0, 1}: true, {2, 1}: true}, nil})
	r.weights = Weights{KV: 1} // scores do not depend on the load
	r.Report(0, 5)
	if node, _ := r.Route(1); node != 2 {
		t.Errorf("a tie goes to node %d, want 2, with the lower load", node)
	}

	r = NewRecommender(config(KV, 3), table{})
	r.Report(0, 3)
	if node, _ := r.Route(1); node != 1 {
		t.Fatalf("node %d, want 1: it is the first without a load", node)
	}
	r.Report(0, 0)
	r.Report(1, 1) // costs 0.2/20, less than the bonus of 0.05
	if node, _ := r.Route(1); node != 1 {
		t.Errorf("node %d, want 1: it served the last request", node)
	}
	r.Report(1, 8) // costs more than the bonus
	if node, _ := r.Route(1); node != 0 {
		t.Errorf("node %d, want 0", node)
	}
}

func TestOverload(t *testing.T) {
	s := table{map[[2]int]bool{{0, 1}: true}, nil}
	r := NewRecommender(config(Joint, 3), s)
	r.Report(0, 17) // a load of 0.85
	r.Report(1, 12)
	r.Report(2, 9)
	if node, _ := r.Route(1); node != 0 {
		t.Errorf("node %d at the limit, want 0", node)
	}
	r.Report(0, 18)
	if node, _ := r.Route(1); node != 2 {
		t.Errorf("node %d above the limit, want 2, which has the least load", node)
	}
	r = NewRecommender(config(Joint, 3), s)
	for node, requests := range []int{19, 18, 30} {
		r.Report(node, requests)
	}
	if node, _ := r.Route(1); node != 0 {
		t.Errorf("node %d if all are above the limit, want 0, which has the user's KV", node)
	}
}

// TestSent: between two reports requests spread over the nodes only if the router counts what it has sent.
func TestSent(t *testing.T) {
	for _, sent := range []bool{false, true} {
		c := config(LeastLoaded, 4)
		c.Sent = sent
		r := NewRecommender(c, table{})
		var counts [4]int
		for range 40 {
			node, _ := r.Route(0)
			counts[node]++
		}
		want := [4]int{40}
		if sent {
			want = [4]int{10, 10, 10, 10}
		}
		if counts != want {
			t.Errorf("sent %v: %v, want %v", sent, counts, want)
		}
		for node := range 4 {
			r.Report(node, 5)
		}
		for node := range 4 {
			if got := r.Load(node); got != 0.25 {
				t.Errorf("load %v after all reports, want 0.25", got)
			}
		}
	}
}

// TestScores: weights add up to 1 and scores are from 0 to 1, whatever the reports.
func TestScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 1)
		s := table{map[[2]int]bool{}, map[[2]int]float64{}}
		c := config(Recommended(rapid.SampledFrom(Recommenders()).Draw(t, "kind")), rapid.IntRange(1, 5).Draw(t, "nodes"))
		c.Weights = Weights{share.Draw(t, "kv"), share.Draw(t, "emb"), share.Draw(t, "load")}
		c.Sent = rapid.Bool().Draw(t, "sent")
		r := NewRecommender(c, s)
		if w := r.RecommenderConfig.Weights; math.Abs(w.KV+w.Embeddings+w.Load-1) > 1e-12 {
			t.Fatalf("weights %v", w)
		}
		for node := range c.Nodes {
			s.holds[[2]int{node, 3}] = rapid.Bool().Draw(t, "holds")
			s.coverage[[2]int{node, 3}] = share.Draw(t, "coverage")
			r.Report(node, rapid.IntRange(0, 60).Draw(t, "requests"))
		}
		for range 3 {
			node, score := r.Route(3)
			if node < 0 || node >= c.Nodes || !(score >= 0 && score <= 1+1e-12) {
				t.Fatalf("node %d with the score %v", node, score)
			}
			if l := r.Load(node); !(l >= 0 && l <= 1) {
				t.Fatalf("load %v", l)
			}
		}
	})
}

// TestProfiledWeights compares the weights with the costs computed by hand, for one request of 10 000 tokens whose
// 250 000 rows take 20.48 ms x 0.8, and whose computation takes 12.40 ms x 0.8.
func TestProfiledWeights(t *testing.T) {
	costs := hlem.DefaultCosts()
	p := Profile{Tokens: []int32{10000}, Rows: 250000, GPUs: 8}
	c := config(Joint, 4)
	c.Capacity = 24
	compute := 0.8 * 6 * (8e4*512*512 + 4e8*512) / (0.35 * 312e12)
	transfer := 0.8 * 250000 * 2048 / 25e9
	service := 0.8e-3 + transfer/2 + 0.55*compute
	kv, load := 0.9*compute, (0.85-0.5)*24/8*service
	want := Weights{kv, transfer, load}.normalised()
	got := ProfiledWeights(p, costs, c)
	if math.Abs(got.KV-want.KV) > 1e-9 || math.Abs(got.Embeddings-want.Embeddings) > 1e-9 {
		t.Errorf("weights %v, want %v", got, want)
	}
	p.Remote = 1
	if remote := ProfiledWeights(p, costs, c); remote.Embeddings <= got.Embeddings {
		t.Errorf("embeddings on other hosts count for %v, on the own one for %v", remote.Embeddings, got.Embeddings)
	}
	if w := KappaWeights(12.5); math.Abs(w.KV-12.5/14.5) > 1e-12 {
		t.Errorf("kappa 12.5 gives %v", w)
	}
}

func BenchmarkRoute(b *testing.B) {
	r := NewRecommender(config(Joint, 4), table{})
	b.ReportAllocs()
	for b.Loop() {
		r.Route(3)
	}
}
