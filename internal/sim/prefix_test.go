package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/traces"
)

// promptTrace makes a trace of prompts out of texts in which each letter is a block. A block is an object together with
// all before it.
func promptTrace(blockTokens int, texts ...string) *traces.Trace {
	t := &traces.Trace{Name: "prompts", SampleRate: 1, Prompts: &traces.Prompts{BlockTokens: blockTokens}}
	numbers := map[string]uint32{}
	for i, text := range texts {
		t.Groups = append(t.Groups, len(t.Objects))
		t.Prompts.InputTokens = append(t.Prompts.InputTokens, int32(blockTokens*len(text)))
		t.Prompts.Arrivals = append(t.Prompts.Arrivals, int64(i)*1e9)
		parent := int32(-1)
		for end := range len(text) {
			o, ok := numbers[text[:end+1]]
			if !ok {
				o = uint32(len(numbers))
				numbers[text[:end+1]] = o
				t.Prompts.Parents = append(t.Prompts.Parents, parent)
			}
			t.Objects = append(t.Objects, o)
			t.Times = append(t.Times, int64(i)*1e9)
			parent = int32(o)
		}
	}
	t.NumObjects = len(numbers)
	return t
}

// randomPrompts is a trace of n prompts of up to length blocks, each a letter out of a few.
func randomPrompts(rng *rand.Rand, n, length, letters int) *traces.Trace {
	texts := make([]string, n)
	for i := range texts {
		text := make([]byte, 1+rng.IntN(length))
		for k := range text {
			text[k] = byte('a' + rng.IntN(1+rng.IntN(letters)))
		}
		texts[i] = string(text)
	}
	return promptTrace(16, texts...)
}

// prefixCell is a cell of the prefix cache, with a predictor where the policy asks one.
func prefixCell(tb testing.TB, cache, policy, predictor string, capacity int64) Cell {
	tb.Helper()
	spec, err := ParseCache(cache)
	if err != nil {
		tb.Fatal(err)
	}
	chosen, err := policies.ParseSpec(policy)
	if err != nil {
		tb.Fatal(err)
	}
	c := Cell{Policy: chosen, Cache: spec, Capacity: Capacity{Amount: capacity, Simulated: capacity}, Seed: 3}
	if c.Policy.Entry.Predicts {
		p, err := predict.Parse(predictor)
		if err != nil {
			tb.Fatal(err)
		}
		c.Predictor = &p
	}
	return c
}

// replayPrompts replays t and returns the counts.
func replayPrompts(tb testing.TB, t *traces.Trace, c Cell) Counts {
	tb.Helper()
	r := NewReplayer(t, ReplayerOptions{})
	if err := r.Check(c); err != nil {
		tb.Fatal(err)
	}
	out, err := r.replayOne(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	return out[0].counts
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
		tr := promptTrace(16, test.texts...)
		got := replayPrompts(t, tr, prefixCell(t, test.cache, "lru", "", test.capacity))
		if got.Hits != test.hits || got.HitTokens != 16*test.hits {
			t.Errorf(
				"%s of %d blocks, prompts %q: %d hits, %d tokens; want %d hits",
				test.cache,
				test.capacity,
				test.texts,
				got.Hits,
				got.HitTokens,
				test.hits,
			)
		}
	}
}

func TestPrefixTokens(t *testing.T) {
	tr := promptTrace(512, "abc", "abc", "ab", "ax")
	tr.Prompts.InputTokens = []int32{1030, 1030, 1024, 700}
	got := replayPrompts(t, tr, prefixCell(t, "prefix", "lru", "", 10))
	want := Counts{Requests: 10, Hits: 3 + 2 + 1, Prompts: 4, Tokens: 1030 + 1030 + 1024 + 700,
		HitTokens: 1030 + 1024 + 512}
	if got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	tr.Prompts.InputTokens[2] = 1000 // its second block is not full
	if got := replayPrompts(t, tr, prefixCell(t, "prefix", "lru", "", 10)); got.HitTokens != 1030+1000+512 {
		t.Errorf("%d tokens hit, want those of the prompts at most", got.HitTokens)
	}
	r := NewReplayer(tr, ReplayerOptions{Warmup: 2})
	out, err := r.replayOne(t.Context(), prefixCell(t, "prefix", "lru", "", 10))
	if err != nil {
		t.Fatal(err)
	}
	if n := out[0].counts; n.Prompts != 2 || n.Requests != 4 || n.HitTokens != 1512 {
		t.Errorf("after a warm-up of two prompts: %+v", n)
	}
}

func TestPrefixOfPassingBlocks(t *testing.T) {
	tr := promptTrace(16, "abcde", "ab", "xyz")
	got := replayPrompts(t, tr, prefixCell(t, "prefix", "lru", "", 3))
	if got.Oversized != 2 || got.Hits != 2 || got.Evictions != 3 {
		t.Errorf("%+v: want 2 blocks passing by, 2 hits and 3 evictions", got)
	}
}

// checkTree fails where the accounts of a tree contradict each other.
func checkTree(tb testing.TB, tree *prefixTree) {
	tb.Helper()
	used, locked := 0, 0
	children := make([]uint32, len(tree.nodes))
	for o, node := range tree.nodes {
		parent := tree.parents[o]
		if node.locks > 0 {
			locked++
		}
		if node.locks > 0 && !node.resident {
			tb.Fatalf("block %d is held and not resident", o)
		}
		if !node.resident {
			continue
		}
		used++
		if parent < 0 {
			continue
		}
		children[parent]++
		if !tree.nodes[parent].resident {
			tb.Fatalf("block %d is resident, the one before it is not", o)
		}
	}
	for o, node := range tree.nodes {
		if node.children != children[o] {
			tb.Fatalf("block %d has %d blocks behind it and counts %d", o, children[o], node.children)
		}
	}
	if used != tree.used || used > tree.capacity || locked != tree.locked {
		tb.Fatalf(
			"%d blocks resident, %d held; counted %d and %d, of a capacity of %d",
			used,
			locked,
			tree.used,
			tree.locked,
			tree.capacity,
		)
	}
}

// forEachPrefixPolicy runs f for every policy in every kind of tree.
func forEachPrefixPolicy(t *testing.T, f func(t *testing.T, cache, policy string)) {
	for _, cache := range []string{"prefix", "prefix(evict=node)", "prefix(concurrency=3)", "prefix(evict=node,concurrency=4)"} {
		forEachPolicy(t, false, func(t *testing.T, e policies.Entry) {
			if e.Similar {
				t.Skip("knows what hits in other caches")
			}
			t.Run(cache, func(t *testing.T) { f(t, cache, e.Name) })
		})
	}
}

func newPrefix(tb testing.TB, tr *traces.Trace, c Cell) *Prefix {
	tb.Helper()
	next := nextUse(tr)
	config := CacheConfig{
		Trace:    tr,
		Capacity: c.Capacity.Simulated,
		Unit:     true,
		Params:   c.Cache.Params,
		Policy:   c.Policy,
		Seed:     c.Seed,
		NextUse:  func() []uint32 { return next },
	}
	if c.Policy.Entry.Unbounded {
		config.Capacity = int64(tr.NumObjects)
	}
	if c.Policy.Entry.Relates {
		config.Relations = &policies.Relations{HitFrom: identityOnly}
	}
	if c.Predictor != nil {
		config.Predictor = noisy(tb, tr, c.Capacity.Simulated) // with labels of the exact cache
	}
	p, err := NewPrefix(config)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestPrefixSuiteKeepsToTheTree(t *testing.T) {
	forEachPrefixPolicy(t, func(t *testing.T, cache, policy string) {
		for seed := range uint64(12) {
			rng := rand.New(rand.NewPCG(seed, 4))
			tr := randomPrompts(rng, 120, 8, 4)
			p := newPrefix(t, tr, prefixCell(t, cache, policy, "noisy(p=0.3)", 1+int64(seed*seed)))
			var n Counts
			for i := range tr.Groups {
				w := Window{Groups: tr.Groups[i : i+1]}
				before := p.store.(*prefixTree).used
				evicted := n.Evictions
				p.Serve(w, &n)
				checkTree(t, p.store.(*prefixTree))
				if n.Evictions-evicted > int64(before) {
					t.Fatalf("prompt %d: %d evictions of %d residents", i, n.Evictions-evicted, before)
				}
			}
			if n.Requests != int64(len(tr.Objects)) || n.HitTokens != 16*n.Hits {
				t.Fatalf("%+v of %d blocks", n, len(tr.Objects))
			}
		}
	})
}

// A model may finish prompts in any order.
func TestPrefixBeginFinish(t *testing.T) {
	forEachPrefixPolicy(t, func(t *testing.T, cache, policy string) {
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(seed, 5))
			tr := randomPrompts(rng, 150, 8, 4)
			p := newPrefix(t, tr, prefixCell(t, cache, policy, "noisy(p=0.3)", 5+int64(5*seed)))
			tree := p.store.(*prefixTree)
			var n Counts
			var running []int
			for i := range tr.Groups {
				p.Begin(i, &n)
				running = append(running, i)
				for len(running) > 0 && rng.IntN(2) == 0 {
					k := rng.IntN(len(running))
					p.Finish(running[k])
					running = slices.Delete(running, k, k+1)
				}
				checkTree(t, tree)
			}
			for _, i := range running {
				p.Finish(i)
			}
			if tree.locked != 0 {
				t.Fatalf("%d blocks are held when no prompt runs", tree.locked)
			}
		}
	})
}

func promptOf(tr *traces.Trace, i int) []uint32 {
	end := len(tr.Objects)
	if i+1 < len(tr.Groups) {
		end = tr.Groups[i+1]
	}
	return tr.Objects[tr.Groups[i]:end]
}

// Blocks of prompts of one block each are those of an exact cache.
func TestPrefixOfSingleBlocksIsExact(t *testing.T) {
	forEachPolicy(t, false, func(t *testing.T, e policies.Entry) {
		if e.Random || e.Similar {
			t.Skip("draws other numbers where other objects may leave, or is of other caches")
		}
		for seed := range uint64(5) {
			exact := testTrace(seed, 1500, 60)
			tr := *exact
			tr.ObjectSizes = nil
			tr.Prompts = &traces.Prompts{BlockTokens: 1, Parents: slices.Repeat([]int32{-1}, tr.NumObjects)}
			for i := range tr.Objects {
				tr.Groups = append(tr.Groups, i)
				tr.Prompts.InputTokens = append(tr.Prompts.InputTokens, 1)
			}
			c := prefixCell(t, "prefix", e.Name, "noisy(p=0.3)", 2+int64(seed*seed))
			got := replayPrompts(t, &tr, c)
			c.Cache = ExactCache()
			if want := replayPrompts(t, exact, c); got.Hits != want.Hits || got.Evictions != want.Evictions {
				t.Fatalf(
					"seed %d: %d hits and %d evictions, in the exact cache %d and %d",
					seed,
					got.Hits,
					got.Evictions,
					want.Hits,
					want.Evictions,
				)
			}
		}
	})
}

func TestPrefixRefuses(t *testing.T) {
	tr := promptTrace(16, "abc", "abd", "abc")
	plain := *tr
	plain.Prompts, plain.Groups = nil, nil
	model, err := ParseModel("prefill")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		trace  *traces.Trace
		cache  string
		policy string
		model  *ModelSpec
		want   string
	}{
		{&plain, "prefix", "lru", nil, "has none"},
		{tr, "prefix(evict=any,concurrency=2)", "lru", nil, "leave out concurrency=2"},
		{tr, "prefix(concurrency=2)", "lru", &model, "leave out the concurrency of the cache"},
		{tr, "prefix", "pfoo-l", nil, "bound for the exact cache"},
	} {
		c := prefixCell(t, test.cache, test.policy, "oracle", 2)
		c.Model = test.model
		if err := NewReplayer(test.trace, ReplayerOptions{}).Check(c); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %s: %v, want an error with %q", test.cache, test.policy, err, test.want)
		}
	}
	async := prefixCell(t, "prefix", "laru(mode=async)", "oracle", 2)
	if _, err := NewReplayer(tr, ReplayerOptions{}).replayOne(t.Context(), async); err == nil ||
		!strings.Contains(err.Error(), "write mode=sync") {
		t.Errorf("laru(mode=async): %v", err)
	}
}

// A policy that does not know of leaves hears of the last block of a prompt first. So clock, which evicts in order of
// arrival, names leaves by itself.
func TestPrefixTellsOfTheDeepestFirst(t *testing.T) {
	tr := promptTrace(16, "abc", "def", "ghi", "abc", "jkl")
	p := newPrefix(t, tr, prefixCell(t, "prefix", "clock", "", 6))
	var n Counts
	for i := range tr.Groups {
		p.Begin(i, &n)
		p.Finish(i)
	}
	counters := p.Counters()
	if inner := counters[len(counters)-1]; n.Evictions != 9 || inner.Name != "inner_victims" || inner.Value != 0 {
		t.Errorf("%d evictions, counters %v; want 9 and no inner_victims", n.Evictions, counters)
	}
}

// Where a policy names a block with several behind it, the one requested longest ago leaves: mru names a, and ab leaves
// for d, not ac.
func TestPrefixNamedBlockKeepsItsRecentChildren(t *testing.T) {
	tr := promptTrace(16, "ab", "ac", "d", "ac")
	if n := replayPrompts(t, tr, prefixCell(t, "prefix", "mru", "", 3)); n.Hits != 3 {
		t.Errorf("%d hits, want 3: a, then a and ac", n.Hits)
	}
}
