package predictors

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// follow observes all requests and returns how long each predictor was asked.
func follow(t *testing.T, text string, c predict.Config) map[string]int64 {
	t.Helper()
	p := mustNew(t, text, c)
	for pos, o := range c.Objects {
		p.Observe(o, pos)
	}
	picks := predict.Report(&predict.Counted{Predictor: p})
	asked := map[string]int64{}
	for _, name := range []string{"ewma", "popu", "gbm"} {
		asked[name] = picks.Int(askedMetric(name))
	}
	return asked
}

// steady returns requests by a popularity that stays, of which averages over the whole trace say most.
func steady(requests int, seed uint64) predict.Config {
	bits := rand.New(rand.NewPCG(seed, 0))
	c := predict.Config{Count: 100_000, Seed: seed}
	for range requests {
		c.Objects = append(c.Objects, predict.Object(bits.ExpFloat64()*bits.ExpFloat64()*300))
	}
	return c
}

func TestAutoPicksWhatFitsTheTrace(t *testing.T) {
	const n = 30_000
	if asked := follow(t, "auto", steady(n, 1)); asked["ewma"] > n/4 || asked["ewma"]+asked["popu"]+asked["gbm"] != n {
		t.Errorf("a popularity that stays: asked %v of %d, want ewma rarely, which looks at the last intervals", asked, n)
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

func TestAutoChangesToWhatHitsMore(t *testing.T) {
	c := mixed(100, 1)
	p := mustNew(t, "auto", c).(*auto)
	before := p.Generation()
	p.entrants[0].hits, p.entrants[2].hits = 0.5, 0.495
	if p.judge(); p.chosen != 2 || p.Generation() != before {
		t.Errorf("changed to %s for less than the margin", p.entrants[p.chosen].name)
	}
	p.entrants[2].hits = 0.48
	if p.judge(); p.chosen != 0 || p.Generation() == before {
		t.Errorf("chosen is %s, want ewma, and all kept predictions void", p.entrants[p.chosen].name)
	}
}
