package trainer

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/controllers"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// Trees and searches get 1280 episodes of 128 epochs of the fluid model, a third of those of the policy of ppo, which
// needs more.
const (
	budget = 80 * Environments
	// treesSeed draws the episodes of trees. Training a policy draws other ones.
	treesSeed = 1 << 32
	// jumps is after how many epochs the ratio jumps, on average, so that all states are seen.
	jumps = 16
)

// features are the names of the values of a state.
var features = []string{"hot_share", "kv_hit", "emb_hit", "tokens", "violations", "ratio", "p99", "saved_emb",
	"saved_kv"}

// sample is a state, and the best ratio for the epoch that follows it.
type sample struct {
	state hlem.State
	best  float64
}

// explore serves a random workload at a ratio that wanders.
func explore(number uint64) []sample {
	bits := random.Stream(treesSeed, number)
	w := draw(bits)
	loads := w.loads(epochs + 1)
	m, node, ratio := w.model(), w.model().NewNode(), 0.0
	best, of := 0.0, hlem.Load{}
	all := make([]sample, 0, epochs)
	for k, load := range loads[:epochs] {
		if jump, _ := random.Below(bits, jumps); k == 0 || jump == 0 {
			ratio = hlem.LeastRatio + float64((hlem.MostRatio-hlem.LeastRatio)*random.Unit(bits))
		}
		action, _ := random.Below(bits, len(controllers.Actions))
		ratio = bounded(ratio + controllers.Actions[action])
		window := node.Step(load, ratio)
		if next := loads[k+1]; next != of {
			of, best = next, m.Search(next, hlem.LeastRatio, hlem.MostRatio, 0.01)
		}
		all = append(all, sample{window.State(), best})
	}
	return all
}

const treesFile = "../controllers/trees.txt.zst"

// TestTheBuiltInTrees compares the trees that are part of the program with every fixed ratio, on workloads that they
// were not trained on.
func TestTheBuiltInTrees(t *testing.T) {
	text := unpacked(t, treesFile)
	if len(text) > 500_000 {
		t.Errorf("the file has %d bytes, want at most 500 kB", len(text))
	}
	model := must.Get(gbm.Read(bytes.NewReader(text), treesFile))(t)
	follow := func(w *hlem.Window, _ float64) float64 {
		state := w.State()
		return w.Ratio + min(0.04, max(-0.04, model.Predict(state[:])-w.Ratio))
	}
	for _, regime := range brief.Sample(3, recommender.Regimes()...) {
		ours, best := Score{}, Score{Gap: math.Inf(1), Reward: math.Inf(-1)}
		fixed := make([]Score, len(statics))
		for _, w := range workloads() {
			if w.Regime != regime {
				continue
			}
			optimal := bests(w, w.loads(evaluated))
			ours.add(score(w, optimal, hlem.StartRatio, follow), 1.0/9)
			for i, r := range statics {
				fixed[i].add(score(w, optimal, r, func(*hlem.Window, float64) float64 { return r }), 1.0/9)
			}
		}
		for _, s := range fixed {
			best.Gap, best.Reward = min(best.Gap, s.Gap), max(best.Reward, s.Reward)
		}
		t.Logf("%-6s reward %.4f, P99 %.1f ms, gap %.3f", regime, ours.Reward, 1e3*ours.P99, ours.Gap)
		if !(ours.Gap < best.Gap && ours.Reward > best.Reward) {
			t.Errorf("%s: reward %.4f and gap %.3f, the best fixed ratios have %.4f and %.3f", regime, ours.Reward, ours.Gap,
				best.Reward, best.Gap)
		}
	}
}

// trainTrees returns the file of trees that were trained in a number of episodes.
func trainTrees(t *testing.T, number, jobs int) []byte {
	t.Helper()
	episodes := make([][]sample, number)
	must.Do(t, parallel.For(t.Context(), parallel.Jobs(jobs), number, func(_ context.Context, _, i int) error {
		episodes[i] = explore(uint64(i))
		return nil
	}))
	data := must.Get(gbm.NewData(features, number*epochs))(t)
	for _, all := range episodes {
		for _, s := range all {
			must.Do(t, data.Add(s.state[:], s.best))
		}
	}
	o := gbm.Defaults()
	o.Seed = 1
	trainer := must.Get(gbm.NewTrainer(o))(t)
	model := must.Get(trainer.Train(data))(t)
	var b bytes.Buffer
	must.Get(model.WriteTo(&b))(t)
	return b.Bytes()
}
