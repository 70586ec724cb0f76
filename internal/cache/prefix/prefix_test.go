package prefix_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// prefixCell is a cell of the prefix cache, with a predictor where the policy asks one.
func prefixCell(tb rapid.TB, kind, policy, predictor string, size int64) sim.Cell {
	tb.Helper()
	c := simtest.Cell(tb, policy, capacity.Of(size, false), "cache="+kind, "predictor="+predictor)
	c.Seed = 3
	return c
}

func replayPrompts(tb testing.TB, t *traces.Trace, c sim.Cell) cache.Counts {
	tb.Helper()
	return simtest.Counts(simtest.Replay(tb, sim.NewReplayer(t, sim.ReplayerOptions{}), c).Values)
}

func TestPrefixWorkedExample(t *testing.T) {
	for _, test := range []struct {
		cache    string
		capacity int64
		texts    []string
		hits     int64
	}{
		{"prefix", 4, []string{"abc", "abd", "abc"}, 2 + 3}, // all four blocks fit
		{"prefix", 3, []string{"abc", "abd", "abc"}, 2 + 2}, // c and d drive each other out
		// d takes the place of b, behind a, though c and d are younger
		{"prefix", 3, []string{"ab", "c", "d", "ab", "a"}, 1 + 1},
		{"prefix", 2, []string{"abcd", "abcd"}, 2},               // c and d pass by
		{"prefix(evict=any)", 2, []string{"abcd", "abcd"}, 0},    // the prompt drives its own beginning out
		{"prefix(evict=any)", 3, []string{"abc", "x", "abc"}, 0}, // x drives a out, and so b and c cannot hit
		{"prefix", 3, []string{"abc", "x", "abc"}, 2},
		{"prefix(evict=node)", 3, []string{"abc", "x", "abc"}, 0},       // a, b and c leave together
		{"prefix(evict=node)", 3, []string{"ab", "abc", "x", "abc"}, 4}, // split behind b: only c leaves
		{"prefix(evict=node)", 3, []string{"abc", "ab", "x", "abc"}, 4}, // split behind b though nothing was put in there
		{"prefix(evict=node)", 4, []string{"abc", "abd", "xy", "ab"}, 4},
		{"prefix(concurrency=2)", 4, []string{"ab", "cd", "ef", "ab", "cd"}, 0},
		{"prefix(concurrency=3)", 4, []string{"ab", "cd", "ef", "ab", "cd"}, 4}, // ef finds all held and passes by
		// there is room for c only, and it stays while ab runs
		{"prefix(concurrency=2)", 3, []string{"ab", "cd", "ab", "cde"}, 2 + 1},
	} {
		tr := policytest.Prompts(16, test.texts...)
		got := replayPrompts(t, tr, prefixCell(t, test.cache, "lru", "", test.capacity))
		if got.Hits != test.hits || got.HitTokens != 16*test.hits {
			t.Errorf("%s of %d blocks, prompts %q: %d hits, %d tokens; want %d hits", test.cache, test.capacity,
				test.texts, got.Hits, got.HitTokens, test.hits)
		}
	}
}

func TestPrefixTokens(t *testing.T) {
	tr := policytest.Prompts(512, "abc", "abc", "ab", "ax")
	prompts.Of(tr.Kind).InputTokens = []int32{1030, 1030, 1024, 700}
	got := replayPrompts(t, tr, prefixCell(t, "prefix", "lru", "", 10))
	want := cache.Counts{Requests: 10, Hits: 3 + 2 + 1, Prompts: 4, Tokens: 1030 + 1030 + 1024 + 700,
		HitTokens: 1030 + 1024 + 512}
	if got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	prompts.Of(tr.Kind).InputTokens[2] = 1000 // its second block is not full
	if got := replayPrompts(t, tr, prefixCell(t, "prefix", "lru", "", 10)); got.HitTokens != 1030+1000+512 {
		t.Errorf("%d tokens hit, want those of the prompts at most", got.HitTokens)
	}
	r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: 2})
	n := simtest.Counts(simtest.Replay(t, r, prefixCell(t, "prefix", "lru", "", 10)).Values)
	if n.Prompts != 2 || n.Requests != 4 || n.HitTokens != 1512 {
		t.Errorf("after a warm-up of two prompts: %+v", n)
	}
}

func TestPrefixOfPassingBlocks(t *testing.T) {
	tr := policytest.Prompts(16, "abcde", "ab", "xyz")
	got := replayPrompts(t, tr, prefixCell(t, "prefix", "lru", "", 3))
	if got.Oversized != 2 || got.Hits != 2 || got.Evictions != 3 {
		t.Errorf("%+v: want 2 blocks passing by, 2 hits and 3 evictions", got)
	}
}

// checkTree fails where the accounts of a tree contradict each other.
// forEachPrefixPolicy runs f for every policy in every kind of tree.
// A model may finish prompts in any order.
func promptOf(tr *traces.Trace, i int) []uint32 {
	end := len(tr.Objects)
	if i+1 < len(tr.Groups) {
		end = tr.Groups[i+1]
	}
	return tr.Objects[tr.Groups[i]:end]
}

// Blocks of prompts of one block each are those of an exact cache.
func TestPrefixOfSingleBlocksIsExact(t *testing.T) {
	policytest.ForSample(t, false, func(t *testing.T, e policies.Entry) {
		if e.Random || e.Similar {
			t.Skip("draws other numbers where other objects may leave, or is of other caches")
		}
		for seed := range uint64(5) {
			exact := policytest.Trace(seed, 1500, 60)
			tr := *exact
			tr.ObjectSizes = nil
			tr.Kind = &prompts.Columns{BlockTokens: 1, Parents: slices.Repeat([]int32{-1}, tr.NumObjects)}
			for i := range tr.Objects {
				tr.Groups = append(tr.Groups, i)
				prompts.Of(tr.Kind).InputTokens = append(prompts.Of(tr.Kind).InputTokens, 1)
			}
			c := prefixCell(t, "prefix", policytest.Spec(e), "noisy(p=0.3)", 2+int64(seed*seed))
			got := replayPrompts(t, &tr, c)
			c.Cache = cache.ExactSpec()
			if want := replayPrompts(t, exact, c); got.Hits != want.Hits || got.Evictions != want.Evictions {
				t.Fatalf("seed %d: %d hits and %d evictions, in the exact cache %d and %d", seed, got.Hits,
					got.Evictions, want.Hits, want.Evictions)
			}
		}
	})
}

func TestPrefixRefuses(t *testing.T) {
	tr := policytest.Prompts(16, "abc", "abd", "abc")
	plain := *tr
	plain.Kind, plain.Groups = nil, nil
	model := must.Get(models.Registry.Parse("prefill"))(t)
	for _, test := range []struct {
		trace  *traces.Trace
		cache  string
		policy string
		model  *models.Spec
		want   string
	}{
		{&plain, "prefix", "lru", nil, "has none"},
		{tr, "prefix(evict=any,concurrency=2)", "lru", nil, "remove concurrency=2"},
		{tr, "prefix(concurrency=2)", "lru", &model, "remove the cache's concurrency"},
		{tr, "prefix", "pfoo-l", nil, "not in prefix"},
	} {
		c := prefixCell(t, test.cache, test.policy, "oracle", 2)
		c.Model = test.model
		if err := sim.NewReplayer(test.trace, sim.ReplayerOptions{}).Check(c); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %s: %v, want an error with %q", test.cache, test.policy, err, test.want)
		}
	}
	async := prefixCell(t, "prefix", "laru(mode=async)", "oracle", 2)
	if _, err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Replay(t.Context(), async); err == nil ||
		!strings.Contains(err.Error(), "write mode=sync") {
		t.Errorf("laru(mode=async): %v", err)
	}
}

// A policy that does not know of leaves hears of the last block of a prompt first. So clock, which evicts in order of
// arrival, names leaves by itself.
// Where a policy names a block with several behind it, the one requested longest ago leaves: mru names a, and ab leaves
// for d, not ac.
func TestPrefixNamedBlockKeepsItsRecentChildren(t *testing.T) {
	tr := policytest.Prompts(16, "ab", "ac", "d", "ac")
	if n := replayPrompts(t, tr, prefixCell(t, "prefix", "mru", "", 3)); n.Hits != 3 {
		t.Errorf("%d hits, want 3: a, then a and ac", n.Hits)
	}
}
