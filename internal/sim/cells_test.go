package sim

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/capacity"
)

// entry returns the policy with a name.
func entry(tb testing.TB, name string) policies.Entry {
	tb.Helper()
	e, ok := policies.Registry.Find(name)
	if !ok {
		tb.Fatalf("policy %s is not registered", name)
	}
	return e
}

// cellOf is a cell on the exact cache.
func cellOf(t *testing.T, policy string, size capacity.Capacity, seed uint64) Cell {
	t.Helper()
	c := Cell{Parts: Parts{Policy: specs(t, policy)[0], Cache: cache.ExactSpec()}, Capacity: size, Seed: seed}
	if c.Policy.Entry.Predicts {
		spec := must.Get(predict.Registry.Parse("noisy(p=0.3)"))(t)
		c.Predictor = &spec
	}
	return c
}

// A record has the time of predictions where a predictor made some, and only there.
func TestOnlyPredictionsHaveATime(t *testing.T) {
	tr := fromKeys(strings.Repeat("abcdefghij", 20) + strings.Repeat("ajbicd", 20))
	for policy, predicts := range map[string]bool{"laru": true, "fpb": true, "lru": false, "opt": false} {
		c := cellOf(t, policy, objects(4)[0], 1)
		times := must.Get(NewReplayer(tr, ReplayerOptions{}).Replay(t.Context(), c))(t).Times
		if times[metric.NsPerRequest.Name] <= 0 {
			t.Errorf("%s has no time per request", policy)
		}
		if ns, got := times[predict.NsMetric.Name]; got != predicts || predicts && ns <= 0 {
			t.Errorf("%s has a time of predictions: %v, %v ns, want %v", policy, got, ns, predicts)
		}
	}
}
