package recency

import (
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestLRUProbAtItsEnds(t *testing.T) {
	policytest.CheckRanked(t, "lru-prob(prob=1)", func(o *policytest.NaiveObject) int { return o.Last })
	policytest.CheckRanked(t, "lru-prob(prob=0)", func(o *policytest.NaiveObject) int { return o.Loaded })
}

// Of two objects the older one is requested, and then a third: the older one stays if the request has moved it.
func TestLRUProbMovesAsOftenAsItSays(t *testing.T) {
	const runs = 4000
	stays := 0
	for seed := range runs {
		c := policies.Config{Capacity: 2, Unit: true, Objects: 3, Requests: 4, Seed: uint64(seed)}
		if victims := policytest.Drive(t, "lru-prob(prob=0.3)", c).ServeAll(0, 1, 0, 2); victims[0] == 1 {
			stays++
		}
	}
	// Four standard deviations.
	if limit := 4 * math.Sqrt(runs*0.3*0.7); math.Abs(float64(stays)-runs*0.3) > limit {
		t.Errorf("moved in %d of %d runs, want 30%%", stays, runs)
	}
}
