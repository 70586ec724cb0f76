package prefix_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// TestEnginesThatAreOtherPolicies: which engines' policies are nothing but a policy of ours in a cache of ours, and
// which are not: SGLang's LRU renews a node that a prompt divides, also behind the prompt's end.
func TestEnginesThatAreOtherPolicies(t *testing.T) {
	const vllm, sglang = "prefix(last=computed)", "prefix(evict=node,last=computed)"
	const tensorRT, lmcache = "prefix(last=kept)", "prefix(evict=chunk,last=full)"
	differ := map[string]int{}
	for seed := range brief.Of[uint64](150, 40) {
		rng := rand.New(rand.NewPCG(seed, 11))
		page := 1 + rng.IntN(4)
		tr := randomTokens(rng, 80, 4*page, page).trace
		capacity := int64(1 + rng.IntN(60))
		for _, test := range []struct {
			engine, cache, policy string
			same                  bool
		}{
			{"vllm", vllm, "lru", true},
			{"tensorrt-llm", tensorRT, "lru", true},
			{"tensorrt-llm(ranges=0-9:35/12-:35)", tensorRT, "lru", true},
			{"lmcache-lru", lmcache, "lru", true},
			{"lmcache-lfu", lmcache, "lfu", true},
			{"lmcache-fifo", lmcache, "fifo", true},
			{"sglang-lru", sglang, "lru", false},
			{"sglang-lfu", sglang, "lfu", false},
			{"sglang-fifo", sglang, "fifo", true},
		} {
			engine := replayPrompts(t, tr, prefixCell(t, "prefix", test.engine, "", capacity))
			if alone := replayPrompts(t, tr, prefixCell(t, "exact", test.engine, "", capacity)); alone != engine {
				t.Fatalf("seed %d: %s in the cache prefix %+v, without a cache %+v", seed, test.engine, engine, alone)
			}
			other := replayPrompts(t, tr, prefixCell(t, test.cache, test.policy, "", capacity))
			if engine.Hits != other.Hits {
				differ[test.engine]++
			}
			if test.same && engine != other {
				t.Fatalf("seed %d, capacity %d: %s %+v, %s with %s %+v", seed, capacity, test.engine, engine, test.cache,
					test.policy, other)
			}
		}
	}
	for _, engine := range []string{"sglang-lru", "sglang-lfu"} {
		if differ[engine] == 0 {
			t.Errorf("%s never differs from ours; if it is the same, say so in docs/policies-engines.md", engine)
		}
	}
}

// TestLengthAwareOutOfOrder: a node may begin prompts in another order than that of the trace, if they waited on a node
// that is gone.
func TestLengthAwareOutOfOrder(t *testing.T) {
	tr := policytest.Prompts(16, "ab", "cde", "f")
	c := newEngine(t, tr, "length-aware", 5)
	var n cache.Counts
	for _, prompt := range []int{1, 0, 2} {
		c.Begin(prompt, &n)
		c.Finish(prompt)
	}
	if blocks := tr.Objects; c.Has(blocks[4]) || !c.Has(blocks[1]) {
		t.Errorf("ab: %v, cde: %v; want ab and cd, since e is the farthest from the beginning of its prompt",
			c.Has(blocks[1]), c.Has(blocks[4]))
	}
}

// Which of the last blocks of prompts are kept, hit and take room.
func TestLastBlock(t *testing.T) {
	for _, test := range []struct {
		last     string
		tokens   []int32 // of the prompts abc, abc, ab
		capacity int64
		hits     int64
		tokenHit int64
	}{
		{"any", []int32{40, 40, 32}, 10, 3 + 2, 40 + 32},
		{"full", []int32{40, 40, 32}, 10, 2 + 2, 32 + 32},
		{"computed", []int32{40, 40, 32}, 10, 2 + 1, 32 + 16},
		{"full", []int32{48, 48, 32}, 10, 3 + 2, 48 + 32},
		{"computed", []int32{48, 48, 32}, 10, 2 + 1, 32 + 16},
		{"kept", []int32{40, 40, 32}, 10, 2 + 1, 32 + 16},
		{"kept", []int32{48, 48, 32}, 10, 2 + 1, 32 + 16},
		{"full", []int32{40, 40, 32}, 2, 2 + 2, 32 + 32},
		{"computed", []int32{40, 40, 32}, 3, 2 + 1, 32 + 16}, // a, b and the room of c
		{"computed", []int32{40, 40, 32}, 2, 2 + 1, 32 + 16}, // no room for c, which is computed all the same
		{"computed", []int32{48, 48, 32}, 3, 2 + 1, 32 + 16}, // no room to compute c again: it is not renewed
	} {
		tr := policytest.Prompts(16, "abc", "abc", "ab")
		prompts.Of(tr.Kind).InputTokens = test.tokens
		c := prefixCell(t, "prefix(last="+test.last+")", "lru", "", test.capacity)
		if got := replayPrompts(t, tr, c); got.Hits != test.hits || got.HitTokens != test.tokenHit {
			t.Errorf("last=%s, %d tokens, capacity %d: %d hits and %d tokens, want %d and %d", test.last, test.tokens,
				test.capacity, got.Hits, got.HitTokens, test.hits, test.tokenHit)
		}
	}
}

// TestNothingBeatsTheOptimumOfEngines: where last blocks are computed again, opt is a bound.
func TestNothingBeatsTheOptimumOfEngines(t *testing.T) {
	for seed := range brief.Of[uint64](200, 50) {
		rng := rand.New(rand.NewPCG(seed, 12))
		page := 1 + rng.IntN(3)
		tr := randomTokens(rng, 60, 4*page, page).trace
		capacity := int64(1 + rng.IntN(40))
		for _, policy := range []string{"vllm", "sglang-lru", "sglang-lfu", "lmcache-lru", "tensorrt-llm", "length-aware"} {
			c := prefixCell(t, "prefix", policy, "", capacity)
			opt := c
			opt.Parts = c.Replayed()
			opt.Policy = prefixCell(t, "prefix", "opt", "", capacity).Policy
			got, most := replayPrompts(t, tr, c), replayPrompts(t, tr, opt)
			if got.Hits > most.Hits {
				t.Fatalf("seed %d, capacity %d: %s hits %d blocks, opt %d", seed, capacity, policy, got.Hits, most.Hits)
			}
		}
	}
}

// naiveLengthAware replays length-aware in tables, in a tree whose last blocks are evicted or in a store of any blocks.
func naiveLengthAware(tr *traces.Trace, capacity int, leaves, keep bool) (hits int64) {
	type state struct{ count, depth, at int }
	resident := map[uint32]*state{}
	order := func(a, b uint32) int {
		x, y := resident[a], resident[b]
		depth := cmp.Compare(y.depth, x.depth)
		if keep {
			depth = -depth
		}
		return cmp.Or(cmp.Compare(x.count, y.count), depth, cmp.Compare(x.at, y.at))
	}
	clock := 0
	for i := range tr.Groups {
		blocks := promptOf(tr, i)
		run := 0
		for run < len(blocks) && resident[blocks[run]] != nil {
			run++
		}
		hits += int64(run)
		for depth, o := range blocks {
			if leaves && depth == capacity {
				break
			}
			if clock++; resident[o] != nil {
				resident[o].count++
				resident[o].at = clock
				continue
			}
			if len(resident) == capacity {
				inner := map[uint32]bool{}
				var free []uint32
				for v := range resident {
					if parent := prompts.Of(tr.Kind).Parents[v]; leaves && parent >= 0 {
						inner[uint32(parent)] = true
					}
				}
				for v := range resident {
					if !inner[v] && !(leaves && slices.Contains(blocks, v)) {
						free = append(free, v)
					}
				}
				delete(resident, slices.MinFunc(free, order))
			}
			resident[o] = &state{1, depth, clock}
		}
	}
	return hits
}

func TestLengthAwareAgainstNaive(t *testing.T) {
	for seed := range brief.Of[uint64](150, 40) {
		rng := rand.New(rand.NewPCG(seed, 13))
		tr := policytest.RandomPrompts(rng, 80, 6, 4)
		capacity := 1 + rng.IntN(40)
		for _, kind := range []string{"prefix", "prefix(evict=any)"} {
			for _, later := range []string{"evicted", "kept"} {
				c := prefixCell(t, kind, fmt.Sprintf("length-aware(later=%s)", later), "", int64(capacity))
				want := naiveLengthAware(tr, capacity, kind == "prefix", later == "kept")
				if got := replayPrompts(t, tr, c); got.Hits != want {
					t.Fatalf("seed %d, capacity %d, %s, later ones %s: %d hits, want %d", seed, capacity, kind, later, got.Hits, want)
				}
			}
		}
	}
}
