package sim

import (
	"testing"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
)

// entry returns the policy with a name.
func entry(tb testing.TB, name string) policies.Entry {
	tb.Helper()
	e, ok := policies.Find(name)
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
		spec, err := predict.Parse("noisy(p=0.3)")
		if err != nil {
			t.Fatal(err)
		}
		c.Predictor = &spec
	}
	return c
}
