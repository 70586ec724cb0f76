package all_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/oracle/predictors"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/policies/suite"
)

// TestSuiteChecks makes the checks with which users judge policies of their own. Those that are a part of another one
// are left out.
func TestSuiteChecks(t *testing.T) {
	for _, c := range suite.Checks {
		if c.Part {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			for _, unit := range []bool{true, false} {
				if c.In(unit, policies.Entry{}) {
					t.Run(fmt.Sprintf("bytes=%t", !unit), func(t *testing.T) { checkAll(t, c, unit) })
				}
			}
		})
	}
}

// checkAll makes a check of every policy, with a unit of capacity.
func checkAll(t *testing.T, c suite.Check, unit bool) {
	policytest.ForEach(t, !unit, func(t *testing.T, e policies.Entry) {
		p := suite.Subject{Spec: must.Get(policies.Registry.Parse(policytest.Spec(e)))(t)}
		if e.Bypass != p.Entry.Bypasses(p.Params) {
			t.Fatalf("bypasses: %t, want %t", p.Entry.Bypasses(p.Params), e.Bypass)
		}
		rapid.Check(t, func(t *rapid.T) {
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			script := suite.Random(rng, unit, c.Mix)
			if err := p.Hold(t.Context(), c, script); err != nil {
				script, err = suite.Shorten(script, err, 200, func(s suite.Script) error { return p.Hold(t.Context(), c, s) })
				t.Fatalf("%v\n%s", err, script)
			}
		})
	})
}
