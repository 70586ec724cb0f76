package trainer

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/neural/ppo"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/controllers"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// TestRewardIsOfTheNextWindow follows an episode by hand: the state is that of the last window, an action changes the
// ratio of the next one, and the reward belongs to that.
func TestRewardIsOfTheNextWindow(t *testing.T) {
	e := &episode{epochs: 20}
	state := make([]float64, hlem.Features)
	e.Begin(random.Stream(3, 3), state)
	if shown := e.window.State(); !slices.Equal(state, shown[:]) || e.at != 1 {
		t.Fatalf("epoch %d begins with the state %v, want that of the first window, %v", e.at, state, shown)
	}
	w := draw(random.Stream(3, 3))
	node, reference := w.model().NewNode(), w.model().NewNode()
	loads := w.loads(21)
	ratio := e.ratio
	node.Step(loads[0], ratio)
	best := bests(w, w.calm().loads(21))
	reference.Step(loads[0], best[0])
	for k := 1; k < 20; k++ {
		action := k % len(controllers.Actions)
		ratio = min(hlem.MostRatio, max(hlem.LeastRatio, ratio+controllers.Actions[action]))
		window := node.Step(loads[k], ratio)
		other := reference.Step(loads[k], best[k])
		reward, ended := e.Step(action, state)
		shown := window.State()
		if want := window.Reward(1) - other.Reward(1); reward != want || ended || !slices.Equal(state, shown[:]) {
			t.Fatalf("epoch %d: reward %v, ended %v, state %v; want %v and %v", k, reward, ended, state, want, shown)
		}
	}
}

// TestEpisodesVary checks that all regimes and own shares are drawn, and hot shares and ratios over their ranges.
func TestEpisodesVary(t *testing.T) {
	bits := random.Stream(1, 1)
	regimes, own := map[recommender.Regime]int{}, map[float64]int{}
	least, most := 1.0, 0.0
	for range 300 {
		w := draw(bits)
		regimes[w.Regime]++
		own[w.Own]++
		least, most = min(least, w.Hot), max(most, w.Hot)
	}
	if len(regimes) != 3 || len(own) != 3 || least < 0.05 || least > 0.08 || most > 0.60 || most < 0.57 {
		t.Errorf("regimes %v, own shares %v, hot shares from %v to %v", regimes, own, least, most)
	}
	for r, n := range regimes {
		if n < 70 {
			t.Errorf("regime %s was drawn %d times of 300", r, n)
		}
	}
}

// TestTrainingIsDeterministic trains with one and with two goroutines, and with another seed.
func TestTrainingIsDeterministic(t *testing.T) {
	brief.Long(t, "trains twice")
	result := func(seed uint64, jobs int) (string, []float64) {
		o := Options{Seed: seed, Episodes: brief.Of(2, 1), Jobs: jobs}
		policy, curve := must.Get2(o.learn(t.Context(), func(int) {}))(t)
		var b bytes.Buffer
		must.Do(t, policy.Write(&b, o.String(), seed))
		return b.String(), curve
	}
	one, curve := result(1, 1)
	if two, again := result(1, 2); one != two || !slices.Equal(curve, again) {
		t.Error("two goroutines give another policy than one")
	}
	if testing.Short() {
		return // an episode takes a second
	}
	if other, _ := result(2, 0); one == other {
		t.Error("two seeds give the same policy")
	}
}

// builtIn returns the policy that is part of the program, its file, and the command that made it.
func builtIn(t *testing.T) (policy *ppo.ActorCritic, text []byte, made string) {
	t.Helper()
	text = unpacked(t, policyFile)
	policy, made = must.Get2(controllers.ReadPolicy(bytes.NewReader(text)))(t)
	return policy, text, made
}

// TestMoreHotUsersLowerTheRatio checks that the built-in policy gives EMB no more memory the more requests are of hot
// users, as the best ratio does.
func TestMoreHotUsersLowerTheRatio(t *testing.T) {
	policy, _, _ := builtIn(t)
	for _, own := range ownShares {
		last, lastBest := 1.0, 1.0
		for _, hot := range []float64{0.10, 0.35, 0.60} {
			w := Workload{Own: own, Hot: hot, Regime: recommender.Steady, Seed: 1}
			e := &episode{epochs: 60}
			e.begin(w, hlem.StartRatio)
			d, best := follow(policy), bests(w, e.loads[:1])[0]
			for e.at < len(e.loads) {
				e.ratio = bounded(d(&e.window, 0))
				e.serve()
			}
			t.Logf("own share %.2f, hot share %.2f: ratio %.2f, best %.2f", own, hot, e.ratio, best)
			if e.ratio > last || best > lastBest {
				t.Errorf("own share %v: at the hot share %v the ratio is %.2f after %.2f, the best one %.2f after %.2f", own,
					hot, e.ratio, last, best, lastBest)
			}
			last, lastBest = e.ratio, best
		}
	}
}

// TestTheBuiltInPolicy checks the weights that are part of the program: who made them, and that the policy beats every
// static ratio in each regime, although it begins at 0.40 and knows neither the regime nor the users.
func TestTheBuiltInPolicy(t *testing.T) {
	policy, text, made := builtIn(t)
	want := Options{Seed: 1, Episodes: DefaultEpisodes}.String()
	if made != want || policy.Params() != 9734 {
		t.Errorf("%v made by %q, want 9734 parameters and %q", policy, made, want)
	}
	if len(text) > 300_000 {
		t.Errorf("the file has %d bytes, want at most 300 kB", len(text))
	}
	if testing.Short() {
		t.Skip("-short leaves out the comparison with fixed ratios")
	}
	results := must.Get(evaluate(t.Context(), 0, []string{"built in"}, []*ppo.ActorCritic{policy}))(t)
	for _, regime := range recommender.Regimes() {
		ours := results[0].Regimes[regime]
		t.Logf("%-6s reward %.4f, P99 %.1f ms, gap %.3f", regime, ours.Reward, 1e3*ours.P99, ours.Gap)
		for _, r := range results[1:] {
			s := r.Regimes[regime]
			t.Logf("       %-14s %.4f, %.1f ms, gap %.3f", r.Name, s.Reward, 1e3*s.P99, s.Gap)
			if strings.HasPrefix(r.Name, "static") && (s.Reward > ours.Reward || s.Gap < ours.Gap) {
				t.Errorf("%s: the policy has the reward %.4f and the gap %.3f, %s has %.4f and %.3f", regime, ours.Reward,
					ours.Gap, r.Name, s.Reward, s.Gap)
			}
		}
	}
}

// TestStaticGapIdentity checks the identity behind Table III: below every best ratio, a higher static ratio has a
// smaller gap by as much, and hindsight has none.
func TestStaticGapIdentity(t *testing.T) {
	if testing.Short() {
		t.Skip("replays every workload; package controllers has the identity for one")
	}
	results := must.Get(evaluate(t.Context(), 0, nil, nil))(t)
	for _, regime := range recommender.Regimes() {
		gap := func(i int) float64 { return results[i].Regimes[regime].Gap }
		if math.Abs(gap(0)-gap(1)-0.1) > 1e-9 {
			t.Errorf("%s: gaps %v and %v of the static ratios 0.1 and 0.2", regime, gap(0), gap(1))
		}
		if got := gap(len(statics)); results[len(statics)].Name != "hindsight" || got != 0 {
			t.Errorf("%s: %s has the gap %v, want 0", regime, results[len(statics)].Name, got)
		}
		best := results[len(statics)+1]
		for i := range statics {
			if best.Regimes[regime].Reward < results[i].Regimes[regime].Reward {
				t.Errorf("%s: the best static ratio of each workload is worse than %s", regime, results[i].Name)
			}
		}
	}
}

// TestEpisodeOfTheEventModel replays a short one: each state shows the ratio that the action before it set, each action
// but the last has a reward, and the same seed gives the same episode.
func TestEpisodeOfTheEventModel(t *testing.T) {
	w := Workload{Own: 0.96, Hot: 0.38, Regime: recommender.Steady, Seed: 1 << 20}
	policy := controllers.NewPolicy(1, hlem.Features)
	replay := func() ppo.Trajectory {
		e := &explorer{policy: policy, work: policy.NewWork(), bits: random.Stream(1, 1), ratio: 0.5, model: w.model()}
		must.Do(t, w.replay(t.Context(), 4, e))
		return must.Get(e.trajectory())(t)
	}
	got := replay()
	steps := len(got.Actions)
	if steps < 2 || len(got.Rewards) != steps || len(got.States) != (steps+1)*hlem.Features {
		t.Fatalf("%d actions, %d rewards, %d numbers of states", steps, len(got.Rewards), len(got.States))
	}
	const ratio = 5 // its place in a state
	want := 0.5
	for k := range steps + 1 {
		if r := got.States[k*hlem.Features+ratio]; math.Abs(r-want) > 1e-4 {
			t.Errorf("epoch %d has the ratio %v, want %v", k, r, want)
		}
		if k < steps {
			want = bounded(want + controllers.Actions[got.Actions[k]])
			if r := got.Rewards[k]; !(r >= -3 && r <= 2) {
				t.Errorf("epoch %d has the reward %v", k, r)
			}
		}
	}
	if testing.Short() {
		return // TestTrainingIsDeterministic trains twice
	}
	if again := replay(); !slices.Equal(again.States, got.States) || !slices.Equal(again.Rewards, got.Rewards) {
		t.Error("the same seed gives another episode")
	}
}

func TestConverged(t *testing.T) {
	curve := []float64{-1, -0.5}
	for range 30 {
		curve = append(curve, -0.1)
	}
	// The mean of ten has left both first episodes behind after the twelfth.
	if got := converged(curve); got != 12 {
		t.Errorf("converged after %d episodes, want 12", got)
	}
	if got := converged([]float64{1}); got != 1 {
		t.Errorf("one episode converges after %d", got)
	}
}

func TestOutput(t *testing.T) {
	dir := t.TempDir()
	weights := filepath.Join(dir, "weights.json")
	o := Options{Seed: 1, Episodes: 2}
	policy := controllers.NewPolicy(1, hlem.Features)
	policy.Round()
	s := &Summary{Parameters: 9606, Episodes: 2, Environments: 16, Curve: []float64{-0.5, -0.2, -0.3}, Converged: 2}
	out, err := Create(t.Context(), weights)
	must.Do(t, err)
	out.Abort()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("an aborted training leaves %v", left)
	}
	out = must.Get(Create(t.Context(), weights))(t)
	must.Do(t, out.Write(policy, s, o, func(w io.Writer, s *Summary) error {
		_, err := fmt.Fprint(w, s.Curve)
		return err
	}))
	out.Abort()
	text, err := os.ReadFile(weights)
	must.Do(t, err)
	if _, made, err := controllers.ReadPolicy(bytes.NewReader(text)); err != nil || made != o.String() {
		t.Errorf("the weights were made by %q, error %v", made, err)
	}
	curve, err := os.ReadFile(filepath.Join(dir, "weights.png"))
	if err != nil || string(curve) != "[-0.5 -0.2 -0.3]" {
		t.Errorf("the learning curve is %q, error %v", curve, err)
	}
	_, err = Create(t.Context(), filepath.Join(dir, "x.png"))
	must.Fail(t, err, "learning curve", "weights called x.png")
	if _, err := Create(t.Context(), filepath.Join(dir, "no", "x.json")); err == nil {
		t.Error("a folder that does not exist gives no error")
	}
}

func TestPrint(t *testing.T) {
	s := &Summary{Parameters: 9606, Episodes: 2, Environments: 16, Curve: []float64{-0.5, -0.2}, Converged: 2,
		Results: []Result{{"after training", map[recommender.Regime]Score{recommender.Steady: {0.25, 0.048, 0.03}}}}}
	for format, want := range map[string]string{
		"table":    "after training",
		"markdown": "| after training |",
		"csv":      "after training,steady,0.25,0.03,48\n",
		"json":     `"name":"after training","regimes":{"steady":{"reward":0.25,"p99_s":0.048,"gap":0.03}}`,
	} {
		var b bytes.Buffer
		if err := s.Print(&b, format); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %s, error %v; want %q in it", format, &b, err, want)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, episodes := range []int{0, -1, 2_000_000} {
		if _, _, err := Train(t.Context(), Options{Episodes: episodes}, func(int) {}); err == nil {
			t.Errorf("%d episodes are accepted", episodes)
		}
	}
}
