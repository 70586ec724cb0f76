package cache_test

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// departures counts what left a pool, by reason.
type departures map[cache.Departure]int

func (d departures) Hit(policies.Request) {}

func (d departures) Loaded(policies.Request) {}

func (d departures) Left(_ policies.Object, why cache.Departure) { d[why]++ }

// A pool shrinks to nothing and back, by hand: what was requested longest ago leaves first.
func TestPoolResizes(t *testing.T) {
	tr := policytest.Trace(1, 50, 20)
	spec, err := policies.ParseSpec("lru")
	if err != nil {
		t.Fatal(err)
	}
	pool := cache.NewPool(policytest.Build(t, spec.Entry, tr, 3, true), 3, tr.NumObjects)
	told := departures{}
	pool.Observe(told)
	ask := func(objects ...policies.Object) (hits []bool) {
		for i, o := range objects {
			hits = append(hits, pool.Request(policies.Request{Object: o, Query: o, Pos: i, Size: 1}))
		}
		return hits
	}
	ask(0, 1, 2, 0)
	pool.Resize(1)
	if got := ask(0); !got[0] || pool.Used() != 1 || told[cache.Shrunk] != 2 {
		t.Errorf("object 0 hits: %v, %d used, %d shrunk; want the last requested to stay alone", got, pool.Used(),
			told[cache.Shrunk])
	}
	pool.Resize(0)
	if got := ask(0); got[0] || pool.Used() != 0 || pool.Oversized() != 1 {
		t.Errorf("object 0 hits: %v, %d used, %d oversized; want nothing to fit", got, pool.Used(), pool.Oversized())
	}
	pool.Resize(2)
	if got := ask(0, 1, 0, 1); !slices.Equal(got, []bool{false, false, true, true}) {
		t.Errorf("after growing again: %v", got)
	}
	if pool.Load(policies.Request{Object: 1, Query: 1, Size: 1, Reason: policies.Prefetch}) {
		t.Error("a resident object was loaded")
	}
	if !pool.Drop(1) || pool.Drop(1) || pool.Len() != 1 {
		t.Errorf("dropping object 1 twice leaves %d", pool.Len())
	}
}
