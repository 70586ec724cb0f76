package sim

import (
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
)

// Tables and figures know policies from what the simulator declares, by the names of their kinds.
func TestEveryPolicyHasARole(t *testing.T) {
	kinds := map[policies.Kind]string{
		policies.Online: records.Online, policies.Offline: records.Offline, policies.Bound: records.Bound,
	}
	references := 0
	for i, e := range policies.Registry.All() {
		if kinds[e.Kind] != e.Kind.String() {
			t.Errorf("%s: records call its kind %q, the policy %q", e.Name, kinds[e.Kind], e.Kind)
		}
		for _, name := range append([]string{e.Name}, e.Aliases...) {
			role, ok := records.RoleOf(name)
			if !ok || role.Rank != i || role.Color != int(e.Look.Color) || role.Unlimited != e.Unbounded ||
				role.Idle != e.Idle {
				t.Errorf("%s has the role %+v, want that of policy %d, %+v", name, role, i, e.Look)
			}
			if role.Reference {
				references++
			}
		}
	}
	if references != 1 || records.ReferencePolicy() != policies.Optimum(policies.Rules{}) {
		t.Errorf("%d policies look like the reference, among them %q", references, records.ReferencePolicy())
	}
}

// An online policy does not compete where the policy of a tier knows the future.
func TestTiersThatKnowTheFutureDoNotCompete(t *testing.T) {
	for kind, want := range map[string]bool{
		"tiers(host=10x)":                               true,
		"tiers(host=10x,policies=/s3fifo)":              true,
		"tiers(host=10x,policies=/opt)":                 false,
		"tiers(host=10x,ssd=20x,policies=//opt-bypass)": false,
	} {
		rec := records.Record{Kind: records.Online, Policy: "lru", Cache: kind}
		if got := rec.Competes(); got != want {
			t.Errorf("lru in %s: competes %v, want %v", kind, got, want)
		}
	}
}
