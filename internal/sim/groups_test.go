package sim_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// TestPoliciesKnowTheGroups: background predictions come where the groups of the trace end.
func TestPoliciesKnowTheGroups(t *testing.T) {
	tr := policytest.Trace(4, 3000, 200)
	hits := func(policy string) int64 {
		rec := must.Get(sim.NewReplayer(tr, sim.ReplayerOptions{}).Replay(t.Context(),
			simtest.Cell(t, policy, capacity.Of(40, false))))(t)
		return rec.Int(metric.Hits)
	}
	modes := []string{"laru(mode=async", "fpb(mode=async", "hf(candidates=40,mode=async"}
	var alone, want []int64
	for _, policy := range modes {
		alone = append(alone, hits(policy+")"))
		want = append(want, hits(policy+",batch=30)"))
	}
	for at := 0; at < len(tr.Objects); at += 30 {
		tr.Groups = append(tr.Groups, at)
	}
	for i, policy := range modes {
		if got := hits(policy + ")"); got != want[i] || got == alone[i] {
			t.Errorf("%s): %d hits in groups of 30, want %d as with batch=30; %d without groups", policy, got, want[i], alone[i])
		}
	}
}
