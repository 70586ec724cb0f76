package prefix_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// inOrder returns a trace with its prompts in another order, and the same blocks.
func inOrder(t *traces.Trace, order []int) *traces.Trace {
	other, columns := *t, *prompts.Of(t.Kind)
	other.Objects, other.Groups, columns.InputTokens, other.Kind = nil, nil, nil, &columns
	for _, i := range order {
		other.Groups = append(other.Groups, len(other.Objects))
		other.Objects = append(other.Objects, promptOf(t, i)...)
		columns.InputTokens = append(columns.InputTokens, prompts.Of(t.Kind).InputTokens[i])
	}
	return &other
}

// inKinds are the kinds of the cache in which policies are compared. Engines' policies have their own.
var inKinds = []string{"prefix", "prefix(evict=node)", "prefix(evict=any)", "prefix(evict=chunk)"}

// policyIn returns a policy for a kind of the cache; ok is false if it does not work there.
func policyIn(t *testing.T, name string, kind cache.Spec) (spec policies.Spec, params policies.Values, ok bool) {
	spec = must.Get(policies.Registry.Parse(name))(t)
	params = policies.Values{}
	maps.Copy(params, kind.Params)
	if short := spec.Entry.ShortFor; short != nil {
		_, own, inner := short(spec.Params)
		if evict, has := own["evict"]; has && evict != params["evict"] {
			return spec, params, false
		}
		maps.Copy(params, own)
		spec = inner
	}
	e := spec.Entry
	return spec, params,
		e.New != nil && e.Kind == policies.Online && !policies.Can[policies.PredictorUser](e) && !e.Relates &&
			!policies.Can[policies.PriorityFollower](e) &&
			!policies.NeedsClock(spec) && (policies.Can[policies.Holder](e) || params["evict"] != "chunk")
}

// TestPromptsInAnyOrder: on several nodes a prompt may begin after later ones, because its first node was removed. What
// counts for every policy is the order in which prompts begin, not where they are in the trace.
func TestPromptsInAnyOrder(t *testing.T) {
	compared := map[string]bool{}
	for seed := range brief.Of[uint64](6, 2) {
		rng := rand.New(rand.NewPCG(seed, 8))
		tr := policytest.RandomPrompts(rng, 120, 7, 4)
		order := rng.Perm(120)
		for _, text := range inKinds {
			kind := must.Get(cache.Registry.Parse(text))(t)
			for _, e := range policytest.Ready() {
				name := e.Name
				spec, params, ok := policyIn(t, name, kind)
				if !ok {
					continue
				}
				compared[name] = true
				node := func(tr *traces.Trace) cache.Replica {
					return must.Get(kind.Entry.New(cache.Config{Trace: tr, Capacity: 20, Unit: true, Seed: 5, Params: params,
						AnyOrder: true, Policy: spec}))(t).(cache.Replica)
				}
				if at := firstDifference(node(tr), node(inOrder(tr, order)), order); at >= 0 {
					t.Errorf("seed %d, %s in %s: the %d-th prompt differs from that of a trace in this order", seed, name, text, at)
				}
			}
		}
	}
	for _, name := range []string{"lru", "fifo", "lhd", "hyperbolic", "length-aware", "sglang-lru", "lmcache-lfu"} {
		if !compared[name] {
			t.Errorf("%s was not compared", name)
		}
	}
}

// firstDifference serves prompts of one node in an order, and of another one, whose trace has them so, as they come. It
// returns the first whose counts differ, -1 if none does.
func firstDifference(node, sorted cache.Replica, order []int) int {
	var counts, want cache.Counts
	for i, prompt := range order {
		node.Begin(prompt, &counts)
		node.Finish(prompt)
		sorted.Begin(i, &want)
		sorted.Finish(i)
		if counts != want {
			return i
		}
	}
	return -1
}
