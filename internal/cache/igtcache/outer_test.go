package igtcache

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// checkOuter checks that what is held is known, and that the shares of both members add up.
func checkOuter(t rapid.TB, x *outer) {
	t.Helper()
	for _, m := range x.race.Members() {
		check(t, m.system)
	}
	used := int64(0)
	x.residents.Each(func(o policies.Object) {
		if used += x.Charge(o); x.Charge(o) == 0 {
			t.Fatalf("object %d is known, but not resident", o)
		}
		if x.residents.IsHeld(o) != x.holds(o) {
			t.Fatalf("object %d: known to be held %v, held %v", o, x.residents.IsHeld(o), x.holds(o))
		}
	})
	if used != x.Used() || used > x.Capacity() {
		t.Fatalf("known objects are charged %d, all %d of %d", used, x.Used(), x.Capacity())
	}
}

// Files that are read from the last block to the first need one pool, as units keep what is never read again; random
// orders need units. The cache is near the better of both but for a change, which costs no more than its entries.
func TestOuterFollowsTheBetter(t *testing.T) {
	const files, blocks, pictures, room = 20, 120, 1500, 390
	random := rand.New(rand.NewPCG(8, 9))
	d := &dataset{}
	var backwards, training []block
	for file := range files {
		d.add(blocks, "layer%02d.bin", file)
		for number := blocks - 1; number >= 0; number-- {
			backwards = append(backwards, block{file, number})
		}
	}
	for range 2 {
		backwards = append(backwards, backwards...)
	}
	for i := range pictures {
		d.add(1, "train/%05d.jpg", i)
	}
	for range 6 {
		for _, i := range random.Perm(pictures) {
			training = append(training, block{files + i, 0})
		}
	}
	hits := func(requests []block, text string) (n cache.Counts) {
		c := configOf(t, d.trace(requests, 0), text, room, true)
		build(t, c).Serve(cache.WindowOf(c.Trace, 0, len(requests), false, nil), &n)
		return n
	}
	both := append(slices.Clone(training), backwards...)
	for name, requests := range map[string][]block{"backwards": backwards, "training": training, "both": both} {
		units, pool := hits(requests, "igtcache").Hits, hits(requests, "igtcache(allocate=shared)").Hits
		got := hits(requests, "igtcache(outer=true)").Hits
		if best := max(units, pool); got < best-best/50-room {
			t.Errorf("%s: %d hits, %d with units, %d with one pool", name, got, units, pool)
		}
		if name == "backwards" && 2*units > pool || name == "training" && 3*pool > 2*units {
			t.Errorf("%s: %d hits with units, %d with one pool: they should differ more", name, units, pool)
		}
	}
}
