// Package policytest checks a policy by the tests that every policy of the simulator passes: never above the capacity,
// only residents are evicted, the same every time, tiny caches, huge objects, removals, changes of the capacity, and
// batches that do what calls one by one do. Run is for the tests of the package that registers the policy.
package policytest

import (
	"fmt"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all" // predictors, and what policies are compared with
	"github.com/cachesim/cachesim/internal/policies/suite"
)

// cases is how many traces each check tries in each unit of capacity, attempts how often one that fails is shortened.
const cases, attempts = 50, 400

// Run checks a registered policy, with parameters as in "mine(k=2)", each property in a subtest. A failure shows the
// shortest trace that was found. The traces are the same in every run.
func Run(t *testing.T, policy string) {
	spec, err := policies.Registry.Parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	subject, err := suite.SubjectOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	err = suite.Judge(t.Context(), subject, suite.Options{Cases: cases, Attempts: attempts, Done: func(v suite.Verdict) {
		t.Run(v.Check, func(t *testing.T) { report(t, v) })
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func report(t *testing.T, v suite.Verdict) {
	t.Helper()
	switch {
	case v.Cases == 0:
		t.Skip("it does not apply to the policy")
	case v.Err != nil:
		t.Error(fmt.Errorf("%w\n%s", v.Err, v.Script))
	}
}
