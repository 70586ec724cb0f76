package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

func TestTopicsOf(t *testing.T) {
	keys := []stream.Key{{Text: "/a/b/x"}, {Text: "/a/b/y"}, {Num: 7}, {Text: "t1:x:y"}, {Text: "/a/x"}, {Text: "plain"},
		{Text: "t1:z"}, {Text: "s3://t1/x"}}
	if got, want := sim.TopicsOf(&traces.Trace{Keys: keys}), []int32{0, 0, -1, 1, 2, -1, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := sim.TopicsOf(&traces.Trace{Keys: keys[2:3]}); got != nil {
		t.Errorf("a trace without prefixes has topics %v", got)
	}
	if got := sim.TopicsOf(&traces.Trace{Keys: keys, Kind: &queries.Columns{Topics: []int32{5}}}); !slices.Equal(got,
		[]int32{5}) {
		t.Errorf("got %v, want the labels of the queries", got)
	}
}

// TestTopicsReachPolicies asks for topics where the keys have tenants: of two, the one with fewer requests loses its
// entries. The cache sets takes no such policy.
func TestTopicsReachPolicies(t *testing.T) {
	tr := &traces.Trace{Name: "tenants", SampleRate: 1}
	for i, text := range []string{"a:1", "a:2", "a:3", "b:1", "b:2"} {
		tr.Keys = append(tr.Keys, stream.Key{Text: text})
		tr.Objects = append(tr.Objects, uint32(i))
	}
	tr.NumObjects = len(tr.Keys)
	tr.Objects = append(tr.Objects, 0, 1, 2)
	for _, kind := range []string{"exact"} {
		spec := must.Get(cache.Registry.Parse(kind))(t)
		for policy, hits := range map[string]int64{"topic-lfu": 3, "lru": 0} {
			c := sim.Cell{Parts: sim.Parts{Policy: simtest.Policy(t, policy), Cache: spec},
				Capacity: capacity.Of(4, false)}
			rec := must.Get(sim.NewReplayer(tr, sim.ReplayerOptions{}).Replay(t.Context(), c))(t)
			if rec.Int(metric.Hits) != hits {
				t.Errorf("%s in %s: %d hits, want %d", policy, kind, rec.Int(metric.Hits), hits)
			}
		}
	}
}

// The keys of queries are often texts, and a colon in one is no tenant: without labels, queries have no topics, whether
// keys are loaded or not.
func TestQueriesHaveNoKeyPrefixes(t *testing.T) {
	tr := simtest.Queries(1, 20, 3, 0.3)
	queries.Of(tr.Kind).Topics = nil
	for o := range tr.NumObjects {
		tr.Keys = append(tr.Keys, stream.Key{Text: fmt.Sprintf("a: %d", o)})
	}
	_, err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Replay(t.Context(),
		simtest.Cell(t, "rac(routing=label)", capacity.Of(4, false), "cache=semantic"))
	must.Fail(t, err, "needs a trace with topic labels")
}

// TestRACIsHeldAgainstItsRules has the optimum that may turn entries away where rac does so, and rac never beats it.
func TestRACIsHeldAgainstItsRules(t *testing.T) {
	tr := policytest.Trace(11, 3000, 200)
	r := sim.NewReplayer(tr, sim.ReplayerOptions{})
	for policy, optimum := range map[string]string{
		"rac": "opt", "rac(strict=true)": "opt-bypass", "rac(protect-new=false)": "opt-bypass", "rac(variant=no-tp)": "opt",
		"topic-lru": "opt", "topic-lfu": "opt",
	} {
		c := sim.Cell{Parts: sim.Parts{Policy: simtest.Policy(t, policy), Cache: cache.ExactSpec()},
			Capacity: capacity.Of(30, false)}
		references := sim.References(c)
		if len(references) != 1 || references[0].Policy.String() != optimum {
			t.Errorf("%s is compared with %v, want %s", policy, references, optimum)
			continue
		}
		var misses [2]int64
		for i, cell := range []sim.Cell{c, references[0]} {
			rec := must.Get(r.Replay(t.Context(), cell))(t)
			misses[i] = rec.Int(metric.Misses)
		}
		if misses[0] < misses[1] {
			t.Errorf("%s has %d misses, its optimum %d", policy, misses[0], misses[1])
		}
	}
}
