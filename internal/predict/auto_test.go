package predict

import (
	"math/rand/v2"
	"testing"
)

// follow observes all requests and returns how long each predictor was asked.
func follow(t *testing.T, text string, c Config) map[string]int64 {
	t.Helper()
	p := mustNew(t, text, c)
	for pos, o := range c.Objects {
		p.Observe(o, pos)
	}
	picks, _ := Picks(&Counted{Predictor: p})
	asked := map[string]int64{}
	for _, pick := range picks {
		asked[pick.Name] = pick.Requests
	}
	return asked
}

// steady returns requests by a popularity that stays, of which averages over the whole trace say most.
func steady(requests int, seed uint64) Config {
	bits := rand.New(rand.NewPCG(seed, 0))
	c := Config{Count: 100_000, Seed: seed}
	for range requests {
		c.Objects = append(c.Objects, Object(bits.ExpFloat64()*bits.ExpFloat64()*300))
	}
	return c
}

func TestAutoPicksWhatFitsTheTrace(t *testing.T) {
	const n = 30_000
	if asked := follow(t, "auto", steady(n, 1)); asked["popu"] < n/10 {
		t.Errorf("a popularity that stays: asked %v, want popu often, which averages over the trace", asked)
	}
	asked := follow(t, "auto", mixed(n/10, 1))
	if sum := asked["ewma"] + asked["popu"] + asked["gbm"]; sum != n/10 {
		t.Errorf("asked %v, want %d in all", asked, n/10)
	}
}

func TestAutoIsAsGoodAsWhatItPicks(t *testing.T) {
	c := steady(4_000, 2)
	// With a margin that nothing reaches it is gbm for ever.
	a, b := predictions(mustNew(t, "auto(margin=1)", c), c.Objects), predictions(mustNew(t, "gbm", c), c.Objects)
	for pos := range a {
		if a[pos] != b[pos] {
			t.Fatalf("request %d: auto says %v, gbm %v", pos, a[pos], b[pos])
		}
	}
}

func TestATrialCountsWhatComesBackBeforeTheVictim(t *testing.T) {
	ts := trials{of: make([]int32, 10)}
	ts.begin(trial{objects: [trialObjects]Object{1, 2, 3}, count: 3, victims: [3]int8{0, 1, 2}}, 0)
	var errors [3]float64
	judge := func(tr *trial, _ int) {
		for i := range errors {
			errors[i] = tr.error(tr.victims[i])
		}
	}
	for i, o := range []Object{2, 2, 1} {
		ts.observe(o, 1+i, judge)
	}
	ts.observe(9, trialLength, judge)
	if want := [3]float64{0.5, 1, 0}; errors != want {
		t.Errorf("errors %v, want %v: 2 came back first, then 1, and 3 never", errors, want)
	}
	if ts.ended != 1 || ts.of[3] != 0 {
		t.Error("the trial has not ended")
	}
}

func TestAutoChangesToWhatErrsLess(t *testing.T) {
	c := mixed(100, 1)
	p := mustNew(t, "auto", c).(*auto)
	wrong := &trial{count: 3, rank: [trialObjects]int8{1, 2}, victims: [3]int8{2, 0, 0}} // ewma alone names what never comes back
	for ended := 1; ended < fewestTrials; ended++ {
		if p.judge(wrong, ended); p.chosen != 2 {
			t.Fatalf("changed after %d trials, want at least %d", ended, fewestTrials)
		}
	}
	before := p.Generation()
	p.judge(wrong, fewestTrials)
	if p.chosen != 0 || p.Generation() == before {
		t.Errorf("chosen is %d, want ewma, and all kept predictions void", p.chosen)
	}
	right := &trial{count: 3, rank: wrong.rank, victims: [3]int8{2, 2, 2}}
	for ended := range 1000 {
		p.judge(right, fewestTrials+ended)
	}
	if p.chosen != 0 {
		t.Errorf("changed to %d, though it errs no less by the margin", p.chosen)
	}
}
