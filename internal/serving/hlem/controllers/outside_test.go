package controllers

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// ofNode returns a window as a node of the paper measures it, with a number of tables instead of 10.
func ofNode(tables, r float64) *hlem.Window {
	w := window(r, 0.03)
	w.Violations = 0.05
	w.Node = hlem.Node{Costs: hlem.DefaultCosts(), Servers: 8, Memory: 640e9}
	w.Lengths, w.Rows = []float64{6000, 9000, 12000}, tables
	c := &w.Node.Costs
	w.SavedEMB = c.Transfer(w.MeanTokens*tables, 0, c.PCIe)
	w.SavedKV = c.Compute(w.MeanTokens, false) - c.Compute(w.MeanTokens, true)
	w.Forecast = bowl{0.7, 1}
	loaded(w, 0.85)
	return w
}

// loaded sets the rate with which the node is busy for a share of the time at the ratio to begin with.
func loaded(w *hlem.Window, busy float64) {
	var n Seen
	w.Rate = 1
	n.See(w)
	w.Rate = busy / (1 - n.Free)
}

// hits is a forecast of the same hits at any ratio.
type hits struct {
	bowl
	emb, kv float64
}

func (h hits) Hits(float64) (emb, kv float64) { return h.emb, h.kv }

// follow returns the ratios that an allocator chooses on nodes, and what it says of itself.
func follow(t *testing.T, text string, node func(epoch int, r float64) *hlem.Window) (ratios []float64,
	outside int64, why string) {
	t.Helper()
	a := build(t, text)
	s := &allocate.State{Capacity: capacity, Pools: make([]allocate.Pool, pools)}
	capacities := make([]int64, pools)
	r := 0.4
	for epoch := range 30 {
		hlem.Divide(a, s, node(epoch, r), capacities)
		s.Epoch++
		r = float64(capacities[embeddings]) / capacity
		ratios = append(ratios, r)
	}
	trained, ok := a.(hlem.Trained)
	if !ok {
		t.Fatalf("%s does not say on what it was trained", text)
	}
	outside, why, _ = trained.Outside()
	return ratios, outside, why
}

// On a node like those of the training, what was trained decides. On another one hlem2 does, each time, and it is said
// why; outside=policy leaves it to the policy.
func TestOutsideOfTheTraining(t *testing.T) {
	like := func(_ int, r float64) *hlem.Window { return ofNode(10, r) }
	unlike := func(_ int, r float64) *hlem.Window { return ofNode(300, r) }
	model, _, _ := follow(t, "hlem2", unlike)
	for _, name := range []string{"ppo", "hlem(adapter=off)", "trees"} {
		policy := strings.TrimSuffix(name, ")") + map[bool]string{true: ",", false: "("}[strings.HasSuffix(name, ")")] +
			"outside=policy)"
		inside, decisions, why := follow(t, name, like)
		if alone, _, _ := follow(t, policy, like); decisions != 0 || why != "" || !slices.Equal(inside, alone) {
			t.Errorf("%s: %d decisions of the model (%s), ratios %v, the policy's are %v", name, decisions, why, inside, alone)
		}
		other, decisions, why := follow(t, name, unlike)
		if decisions != 30 || !strings.Contains(why, "rows of a token") || !slices.Equal(other, model) {
			t.Errorf("%s: %d decisions of the model (%s), ratios %v, those of hlem2 are %v", name, decisions, why, other, model)
		}
		if alone, decisions, _ := follow(t, policy, unlike); decisions != 0 || slices.Equal(alone, model) {
			t.Errorf("%s: %d decisions of the model with outside=policy", name, decisions)
		}
	}
}

// A single window does not change who decides.
func TestOneStrangeWindowIsNotAnotherNode(t *testing.T) {
	_, decisions, why := follow(t, "ppo", func(epoch int, r float64) *hlem.Window {
		w := ofNode(10, r)
		if epoch == 20 {
			w.HotShare = 0.95
		}
		return w
	})
	if decisions != 0 {
		t.Errorf("%d decisions of the model: %s", decisions, why)
	}
}

// Each trait alone makes a node another one, and so does what is no number.
func TestTraits(t *testing.T) {
	for name, change := range map[string]func(w *hlem.Window){
		"GPUs":           func(w *hlem.Window) { w.Node.Servers = 32 },
		"tokens of":      func(w *hlem.Window) { w.MeanTokens = 20000 },
		"a KV hit saves": func(w *hlem.Window) { w.SavedKV = 0.1 },
		"from hot users": func(w *hlem.Window) { w.HotShare = 0.01 },
		"transfer all":   func(w *hlem.Window) { w.SavedEMB = 0 },
		"per cent of":    func(w *hlem.Window) { w.HotShare = math.NaN() },
		"layers":         func(w *hlem.Window) { w.Node.Costs.Layers = 1 },
		"rows of":        func(w *hlem.Window) { w.Rows = 2 },
		"would miss":     func(w *hlem.Window) { w.Forecast = hits{emb: 0.96, kv: 0.8} },
		"of KV hits":     func(w *hlem.Window) { w.Forecast = hits{emb: 0.8, kv: 0.15} },
		"of rows that":   func(w *hlem.Window) { w.Forecast = nil },
		"time free":      func(w *hlem.Window) { loaded(w, 0.6) },
		"of time free":   func(w *hlem.Window) { loaded(w, 0.95) },
	} {
		g := &guarded{}
		for i := range g.means {
			g.means[i].kept = averageKept
		}
		w := ofNode(10, 0.4)
		change(w)
		if at := g.unlike(w); at < 0 || !strings.Contains(Traits[at].Name, name) {
			t.Errorf("%s: it differs in trait %d", name, at)
		}
	}
}

// Parameters of a policy that is switched off are refused.
func TestOutsideWithoutPolicy(t *testing.T) {
	_, err := allocate.Registry.Parse("hlem(ppo=off,outside=policy)")
	must.Fail(t, err, "outside=policy has no effect with ppo=off", "outside without a policy")
}
