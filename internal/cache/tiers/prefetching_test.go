package tiers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// listed proposes what is listed for each request, and wants back what was prefetched in vain once.
type listed struct {
	proposals  [][]policies.Object // per request
	persistent bool
}

func (p *listed) Request(a prefetch.Access, to []prefetch.Proposal) []prefetch.Proposal {
	for _, o := range p.proposals[a.Pos] {
		to = append(to, prefetch.Proposal{Object: o})
	}
	return to
}

func (p *listed) Loaded(prefetch.Proposal) {}

func (p *listed) Evicted(e prefetch.Eviction) (again bool) { return p.persistent && e.Unused == 1 }

// drawProposals draws up to three objects for each request.
func drawProposals(rng *rand.Rand, requests, objects int) [][]policies.Object {
	all := make([][]policies.Object, requests)
	for i := range all {
		for range rng.IntN(4) {
			all[i] = append(all[i], policies.Object(rng.IntN(objects)))
		}
	}
	return all
}

// prefetchingInto returns a hierarchy into which a prefetcher loads.
func prefetchingInto(tb must.TB, c cache.Config, p prefetch.Prefetcher) (cache.Cache, *objects) {
	tb.Helper()
	o := must.Get(build(c))(tb).(*objects)
	return o.withPrefetcher(c, p), o
}

// TestPrefetchingAgainstNaive: what is proposed comes to the first tier from wherever it is, as a hit would.
func TestPrefetchingAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
		tr := policytest.Trace(seed, 200, 40)
		n := naiveLRU{sizes: rapid.SliceOfN(rapid.IntRange(1, 9), 1, 4).Draw(t, "sizes")}
		n.tiers = make([][]uint32, len(n.sizes))
		text := "tiers("
		for i, size := range n.sizes {
			text += fmt.Sprintf("%s=%d,", []string{"memory", "flash", "disk", "remote"}[i], size)
		}
		p := &listed{proposals: drawProposals(rand.New(rand.NewPCG(seed, 47)), len(tr.Objects), tr.NumObjects)}
		c, o := prefetchingInto(t, configOf(t, tr, text+"mode=exclusive)", "lru", 1, true), p)
		hits, fetched := make([]int64, len(n.sizes)), make([]int64, len(n.sizes))
		serveEach(tr, c, false, func(i int, _ cache.Counts) {
			if at := n.request(tr.Objects[i]); at >= 0 {
				hits[at]++
			}
			for _, o := range p.proposals[i] {
				if !slices.Contains(n.tiers[0], o) {
					if at := n.request(o); at > 0 {
						fetched[at]++
					}
				}
			}
			compareTiers(t, i, tr.NumObjects, &o.hierarchy, n.tiers, hits)
		})
		for i, l := range o.levels {
			if l.fetched != fetched[i] {
				t.Fatalf("%s: %d objects were prefetched from tier %d, want %d", text, l.fetched, i, fetched[i])
			}
		}
	})
}

// TestPrefetchingConserves: with a prefetcher no tier is above its size, exclusive tiers have nothing twice, inclusive
// ones have all below that they have above, and what was loaded is resident or has been evicted.
func TestPrefetchingConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
		rng := rand.New(rand.NewPCG(seed, 53))
		tr := policytest.Trace(seed, 200, 40)
		unit := rapid.Bool().Draw(t, "unit")
		mode := rapid.SampledFrom([]string{exclusive, inclusive, writeThrough, writeBack}).Draw(t, "mode")
		policy := rapid.SampledFrom(append([]string{"opt", "s3fifo", "lfu", "fpb", "laru"}, keeping...)).Draw(t, "policy")
		text := "tiers(memory=5,flash=9,disk=20,mode=" + mode
		if !unit {
			text = "tiers(memory=60B,flash=90B,disk=200B,mode=" + mode
			policy = rapid.SampledFrom(keeping).Draw(t, "policy of sizes")
		}
		text += fmt.Sprintf(",promote=%d)", rapid.IntRange(0, 2).Draw(t, "promote"))
		p := &listed{drawProposals(rng, len(tr.Objects), tr.NumObjects), rapid.Bool().Draw(t, "persistent")}
		c, h := prefetchingInto(t, configOf(t, tr, text, policy, 5, unit), p)
		var evictions int64
		resident := map[policies.Object]bool{}
		serveEach(tr, c, !unit, func(i int, n cache.Counts) {
			lost := int64(0)
			for o := range policies.Object(tr.NumObjects) {
				copies := 0
				for k, l := range h.levels {
					if l.pool.Has(o) {
						copies++
					} else if mode == inclusive && k > 0 && h.levels[k-1].pool.Has(o) {
						t.Fatalf("%s, request %d: %d is above %s, and not in it", text, i, o, l.name)
					}
				}
				if mode == exclusive && copies > 1 {
					t.Fatalf("%s, request %d: %d is in %d tiers", text, i, o, copies)
				}
				if resident[o] && copies == 0 {
					lost++
				}
				resident[o] = copies > 0
			}
			for _, l := range h.levels {
				if l.pool.Used() > l.pool.Capacity() {
					t.Fatalf("%s, request %d: %s is above its size", text, i, l.name)
				}
			}
			if n.Evictions-evictions < lost {
				t.Fatalf("%s, %s, request %d: %d objects left, %d evictions", text, policy, i, lost, n.Evictions-evictions)
			}
			evictions = n.Evictions
		})
	})
}
