package all_test

import (
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/engines"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// What a policy can do is read off the type that its entry names, so the entry must name what New makes.
func TestSuiteEntriesNameTheirTypes(t *testing.T) {
	all := policies.Registry.All()
	for _, e := range engines.Entries {
		_, _, inside := e.ShortFor(params.Defaults(e.Params))
		all = append(all, inside.Entry)
	}
	tr := policytest.Trace(1, 100, 20)
	for _, e := range all {
		if e.New == nil {
			continue
		}
		c := policytest.ConfigOf(t, e, tr, 1<<20, e.Units != policies.UnitsBytes)
		c.Holds = policies.Can[policies.Holder](e)
		made := must.Get(e.New(c))(t)
		_, holds := made.(policies.Holder)
		_, stores := made.(policies.PromptStore)
		if e.Type == nil && (holds || stores) || e.Type != nil && reflect.TypeOf(e.Type) != reflect.TypeOf(made) {
			t.Errorf("%s makes a %T, and its entry says %T", e.Name, made, e.Type)
		}
	}
}
