package hlem

import (
	"math"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// TestCostsOfStatedRequests checks the times and sizes that the specification derives from the paper: at 15 000 tokens
// and 25 tables the embeddings take 30.7 ms and the computation 27.0 ms, at 20 480 tokens 41.9 and 49.6 ms.
func TestCostsOfStatedRequests(t *testing.T) {
	c := DefaultCosts()
	c.Scale = 1
	for _, want := range []struct{ tokens, transfer, compute float64 }{{15000, 30.7, 27.0}, {20480, 41.9, 49.6}} {
		transfer := 1e3 * c.Transfer(25*want.tokens, 0, c.PCIe)
		compute := 1e3 * c.Compute(want.tokens, false)
		if math.Abs(transfer-want.transfer) > 0.05 || math.Abs(compute-want.compute) > 0.05 {
			t.Errorf("%v tokens take %.2f ms and %.2f ms, want %v and %v", want.tokens, transfer, compute, want.transfer,
				want.compute)
		}
		if hit := 1e3 * c.Compute(want.tokens, true); math.Abs(hit-compute/10) > 1e-9 {
			t.Errorf("a hit takes %v ms, want a tenth of %v", hit, compute)
		}
	}
	if got := c.UserBytes(15000); got != 15000*12288 {
		t.Errorf("15 000 tokens need %d bytes, want 12 288 for each", got)
	}
	if got := c.Transfer(100, 100, c.PCIe) / c.Transfer(100, 0, c.PCIe); math.Abs(got-1.2) > 1e-12 {
		t.Errorf("remote rows take %v times as long, want 1.2", got)
	}
}

func TestRewardAndState(t *testing.T) {
	w := Window{Objective: DefaultObjective(), HotShare: 0.2, MeanTokens: 8192, Ratio: 0.4, P99: 0.030}
	if got := w.Reward(1); got != 1 {
		t.Errorf("all requests within the objective give %v, want 1", got)
	}
	w.P99, w.Violations = 0.045, 0.1
	if got := w.Reward(1); math.Abs(got-0.4) > 1e-12 {
		t.Errorf("reward %v, want 0.4", got)
	}
	w.P99 = time.Hour.Seconds()
	if got := w.Reward(1); math.Abs(got+0.1) > 1e-12 {
		t.Errorf("reward %v, want -0.1: the excess is cut at 1", got)
	}
	if got, want := w.State(), (State{0.2, 0, 0, 0.5, 0.1, 0.4, 1}); got != want {
		t.Errorf("state %v, want %v", got, want)
	}
}

func TestBounds(t *testing.T) {
	var w Window
	if least, most := w.Bounds(); least != LeastRatio || most != MostRatio {
		t.Errorf("bounds %v and %v without any given, want %v and %v", least, most, LeastRatio, MostRatio)
	}
	w.Most = 0.7
	if least, most := w.Bounds(); least != 0 || most != 0.7 {
		t.Errorf("bounds %v and %v, want 0 and 0.7 as given", least, most)
	}
}

func TestCostsAreChecked(t *testing.T) {
	if err := DefaultCosts().Check(); err != nil {
		t.Error(err)
	}
	for i, change := range []func(*Costs){
		func(c *Costs) { c.Layers = 0 }, func(c *Costs) { c.FLOPS = 0 }, func(c *Costs) { c.PCIe = math.NaN() },
		func(c *Costs) { c.Remote = 0.5 }, func(c *Costs) { c.HitShare = 2 },
	} {
		c := DefaultCosts()
		if change(&c); c.Check() == nil {
			t.Errorf("change %d is accepted", i)
		}
	}
}

func TestPages(t *testing.T) {
	c := DefaultCosts()
	page := c.PageBytes(recommender.DefaultPopulation().ShardRows)
	if page != 2<<20 || c.UserPages(15000, page) != 88 {
		t.Errorf("pages of %d bytes, of which 15 000 tokens need %d; want 2 MiB and 88", page, c.UserPages(15000, page))
	}
}
