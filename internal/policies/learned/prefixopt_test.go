package learned

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
)

// Belady's schedule is optimal for every prefix of a trace, so the optimum of the past hits where it does.
func TestPrefixOptimumHitsWhereBeladyDoes(t *testing.T) {
	for seed := range uint64(300) {
		objects := randomObjects(seed, 400, 2+int(seed)%30)
		capacity := 1 + int64(seed)%9
		c := config(objects, capacity)
		c.NextUse = nextUses(objects)
		opt := must.Get(named("opt")(c))(t)
		past := newPrefixOptimum(c)
		for pos, o := range objects {
			hits, _ := opt.(policies.UnitReplayer).ReplayUnit(objects[pos:pos+1], pos)
			if hit := past.request(o); hit != (hits == 1) {
				t.Fatalf("seed %d, capacity %d, request %d: hit is %t, of Belady %t", seed, capacity, pos, hit, hits == 1)
			}
		}
	}
}

// randomObjects is a random trace of n requests to at most m objects of unequal popularity.
func randomObjects(seed uint64, n, m int) []policies.Object {
	bits := rand.New(rand.NewPCG(seed, 0))
	objects := make([]policies.Object, n)
	for i := range objects {
		objects[i] = policies.Object(float64(m) * bits.Float64() * bits.Float64())
	}
	return objects
}

func config(objects []policies.Object, capacity int64) policies.Config {
	n := 0
	for _, o := range objects {
		n = max(n, int(o)+1)
	}
	return policies.Config{Capacity: capacity, Unit: true, Objects: n, Requests: len(objects), Seed: 7}
}

func nextUses(objects []policies.Object) []uint32 {
	next := make([]uint32, len(objects))
	last := map[policies.Object]uint32{}
	for i := len(objects) - 1; i >= 0; i-- {
		next[i] = policies.Never
		if at, ok := last[objects[i]]; ok {
			next[i] = at
		}
		last[objects[i]] = uint32(i)
	}
	return next
}
