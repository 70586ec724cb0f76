package prefix_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// chat is a turn of a conversation: a prompt and its answer, in tokens.
type chat struct {
	session        int
	prompt, answer []int
}

// written returns the tokens that a server has when the answer is complete.
func (c chat) written() []int {
	return slices.Concat(c.prompt, c.answer[:max(0, len(c.answer)-1)])
}

// randomChats draws conversations whose turns follow each other, fork from earlier ones, and are asked again. With
// strips, some turns drop the answer before, as templates do with what was thought, and others continue one that was
// asked again: then lengths alone do not tell which answer is meant.
func randomChats(rng *rand.Rand, n, page, vocabulary int, strips bool) (all []chat) {
	draw := func(tokens []int, most int) []int {
		for range 1 + rng.IntN(most) {
			tokens = append(tokens, rng.IntN(vocabulary))
		}
		return slices.Clip(tokens)
	}
	system := draw(nil, 4*page)
	for len(all) < n {
		c := chat{session: len(all)}
		old := chat{prompt: system}
		switch rng.IntN(8) {
		case 0:
		case 1: // asked again; only the last one is continued
			if len(all) > 0 {
				c = all[len(all)-1]
				c.answer = draw(nil, 6*page)
				all = append(all, c)
				continue
			}
		default:
			if len(all) > 0 {
				old = all[len(all)-1-rng.IntN(min(6, len(all)))]
				for _, again := range all {
					if !strips && slices.Equal(again.prompt, old.prompt) {
						old = again
					}
				}
				c.session = old.session
			}
		}
		history := slices.Concat(old.prompt, old.answer)
		if strips && rng.IntN(4) == 0 {
			history = old.prompt
		}
		c.prompt = draw(slices.Clone(history), 3*page)
		for !strips && len(c.prompt) < len(history)+page { // so that no other prompt has the same full blocks
			c.prompt = draw(c.prompt, page)
		}
		c.answer = draw(nil, 6*page)
		if len(c.prompt) < 60*page {
			all = append(all, c)
		}
	}
	return all
}

// traceOfChats builds the trace as a reader would. The log has the tokens of the answers, or only their lengths, and
// perhaps last blocks that are not full.
func traceOfChats(t must.TB, chats []chat, page int, stated, partial bool, mode string) *traces.Trace {
	kind := prompts.Kind{BlockTokens: page, Sessions: true, Answers: stated}
	units := must.Get(kind.Units(false))(t).(stream.NumberingUnits)
	units.NumberOnly()
	columns := kind.NewColumns(stream.Fields{Kind: kind})
	tr := &traces.Trace{Name: "chats", SampleRate: 1}
	for _, c := range chats {
		ids := blockIDs(c.prompt, page)
		head := prompts.Head{InputTokens: int32(len(c.prompt)), OutputTokens: int32(len(c.answer)),
			Session: uint64(c.session)}
		full := len(ids)
		if stated {
			head.Answer = blockIDs(c.written(), page)[full:]
		}
		if tail := len(c.prompt) % page; tail > 0 && partial {
			ids = append(ids, stream.HashText(fmt.Appendf(nil, "partial %v", c.prompt)))
		}
		if len(ids) == 0 {
			ids = []uint64{uint64(len(tr.Objects)) + 1<<60}
		}
		head.Blocks, head.IDs = len(ids), ids
		tr.Groups = append(tr.Groups, len(tr.Objects))
		for i, id := range ids {
			rec := stream.Record{Num: id, Begins: i == 0}
			if i == 0 {
				rec.Extra = &head
			}
			must.Do(t, units.Take(&rec))
			tr.Objects = append(tr.Objects, units.Number())
			must.Do(t, columns.Add(&rec, units.Number()))
		}
	}
	tr.NumObjects, tr.Kind = units.Objects(), columns.Finish()
	return must.Get(tr.WithAnswers(mode))(t)
}

// blockIDs returns an id for each full block, which stands for all tokens up to its end.
func blockIDs(tokens []int, page int) (ids []uint64) {
	for end := page; end <= len(tokens); end += page {
		ids = append(ids, stream.HashText([]byte(fmt.Sprint(tokens[:end]))))
	}
	return ids
}

const ownWords = 1 << 40 // so many that no answer comes twice

// TestAnswersAgainstNaive: in an unlimited cache a prompt hits as many tokens as earlier prompts and answers had before
// it, in full blocks and without its last token, whether the log has the answers or the next turn repeats them.
func TestAnswersAgainstNaive(t *testing.T) {
	test := t
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 47))
		page, stated := rapid.IntRange(1, 9).Draw(t, "page"), rapid.Bool().Draw(t, "stated")
		words := rapid.SampledFrom([]int{2, ownWords}).Draw(t, "words")
		if !stated {
			words = ownWords
		}
		chats := randomChats(rng, rapid.IntRange(1, 40).Draw(t, "turns"), page, words, stated)
		tr := traceOfChats(t, chats, page, stated, rng.IntN(2) == 0, prompts.AnswersKept)
		ours := newEngine(test, tr, "vllm", 1<<20)
		known := map[uint64]bool{}
		for i, c := range chats {
			var n cache.Counts
			want := 0
			for _, id := range blockIDs(c.prompt[:len(c.prompt)-1], page) {
				if !known[id] {
					break
				}
				want += page
			}
			if got := ours.Begin(i, &n); got != int64(want) {
				t.Fatalf("prompt %d hits %d tokens, want %d", i, got, want)
			}
			ours.Finish(i)
			for _, id := range blockIDs(c.written(), page) {
				known[id] = true
			}
		}
	})
}

// forChats calls f with random conversations and a capacity in pages.
func forChats(words int, f func(seed uint64, chats []chat, tr *traces.Trace, page, capacity int,
	ends func() bool)) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		for seed := range brief.Of[uint64](600, 150) {
			rng := rand.New(rand.NewPCG(seed, 48))
			page, stated := []int{1, 16, 3}[seed%3], seed%2 == 0 || words != ownWords
			chats := randomChats(rng, 50, page, words, stated)
			often := 1 + rng.IntN(3)
			tr := traceOfChats(t, chats, page, stated, seed%4 < 2, prompts.AnswersKept)
			f(seed, chats, tr, page, 1+rng.IntN(150), func() bool { return rng.IntN(often) == 0 })
		}
	}
}

// TestAnswersInBlockPool: vLLM's pool of blocks, in which decoding fills blocks, computes the same tokens of each
// prompt again, whichever prompts run at the same time.
func TestAnswersInBlockPool(t *testing.T) {
	reused, evicted := 0, int64(0)
	forChats(ownWords, func(seed uint64, chats []chat, tr *traces.Trace, page, capacity int, ends func() bool) {
		if page != 16 {
			// vLLM has no smaller blocks. An answer that is decoded twice leaves two copies there, of which ours keeps one;
			// with blocks of 1 and 3 tokens, two of 400 seeds differ by a block.
			return
		}
		pool, ours := newBlockPool(page, capacity), newEngine(t, tr, "vllm", capacity)
		running := map[int][]*poolBlock{}
		var n cache.Counts
		for i, c := range chats {
			want, run := pool.decode(c.written(), len(c.prompt))
			if got := ours.Begin(i, &n); got != int64(want) {
				t.Fatalf("seed %d, blocks of %d, capacity %d: prompt %d has %d cached tokens, want %d", seed, page, capacity, i,
					got, want)
			}
			reused += want
			running[i] = run
			for k := range i + 1 {
				if running[k] != nil && ends() {
					pool.end(running[k])
					ours.Finish(k)
					delete(running, k)
				}
			}
			if int(ours.Used()) != len(pool.cached) {
				t.Fatalf("seed %d, blocks of %d, capacity %d: %d blocks after prompt %d, want %d", seed, page, capacity,
					ours.Used(), i, len(pool.cached))
			}
		}
		evicted += n.Evictions
	})(t)
	if reused == 0 || evicted == 0 {
		t.Errorf("%d tokens used again, %d evictions: nothing is tested of one", reused, evicted)
	}
}

// TestAnswersInRadixTree: likewise SGLang's tree, in which an answer becomes a node behind its prompt.
func TestAnswersInRadixTree(t *testing.T) {
	reused := 0
	forChats(ownWords, func(seed uint64, chats []chat, tr *traces.Trace, page, capacity int, _ func() bool) {
		name := []string{"sglang-lru", "sglang-fifo", "sglang-mru", "sglang-filo"}[seed/6%4]
		theirs := &radixTree{root: &radixNode{}, page: page, capacity: capacity, before: radixOrders[name]}
		ours := newEngine(t, tr, name, capacity)
		var n cache.Counts
		for i, c := range chats {
			if len(c.written())/page+1 >= capacity { // ours reserves the room of an answer before its prompt is loaded
				return
			}
			want, run := theirs.begin(c.prompt, 0)
			theirs.answer(run, c.written())
			if got := ours.Begin(i, &n); got != int64(want) {
				t.Fatalf("seed %d, %s, pages of %d, capacity %d: prompt %d has %d cached tokens, want %d", seed, name, page,
					capacity, i, got, want)
			}
			reused += want
			theirs.end(run)
			ours.Finish(i)
			if int(ours.Used()) != theirs.used {
				t.Fatalf("seed %d, %s, pages of %d, capacity %d: %d pages after prompt %d, want %d", seed, name, page, capacity,
					ours.Used(), i, theirs.used)
			}
		}
	})(t)
	if reused == 0 {
		t.Error("nothing was used again")
	}
}

// TestNothingBeatsTheOptimumWithAnswers: opt is a bound for every policy and every kind of eviction, also if answers
// write again what the cache had, and no answer is a compulsory miss.
func TestNothingBeatsTheOptimumWithAnswers(t *testing.T) {
	rewritten := 0
	for _, words := range []int{2, ownWords} {
		forChats(words, func(seed uint64, _ []chat, tr *traces.Trace, _, capacity int, _ func() bool) {
			if prompts.Of(tr.Kind).Rewritten {
				rewritten++
			}
			for _, name := range []string{"prefix", "prefix(evict=node)", "prefix(evict=any)", "prefix(concurrency=3)",
				"prefix(last=computed)", "prefix(evict=chunk,answers=kept)"} {
				most := replayPrompts(t, tr, prefixCell(t, name, "opt", "", int64(capacity))).Hits
				for _, policy := range []string{"lru", "lfu", "fifo"} {
					if got := replayPrompts(t, tr, prefixCell(t, name, policy, "", int64(capacity))); got.Hits > most {
						t.Fatalf("seed %d, %d words, %s, capacity %d: %s hits %d blocks, opt %d", seed, words, name, capacity, policy,
							got.Hits, most)
					}
				}
			}
		})(t)
	}
	if rewritten == 0 {
		t.Error("no answer was written again")
	}
}

// TestLRUWithAnswersInOnePass compares one pass with a replay at each capacity, as for prompts alone.
func TestLRUWithAnswersInOnePass(t *testing.T) {
	for _, words := range []int{3, ownWords} {
		forChats(words, func(seed uint64, _ []chat, tr *traces.Trace, _, _ int, _ func() bool) {
			if seed%10 > 0 {
				return
			}
			capacities := []int64{1, 2, 5, 13, 40, 100, int64(tr.NumObjects)}
			for _, kind := range []string{"prefix", "prefix(evict=any)", "prefix(concurrency=3)"} {
				r := sim.NewReplayer(tr, sim.ReplayerOptions{Blocks: true, Warmup: int(seed) % 30})
				got, _ := inOnePass(t, r, kind, capacities)
				for k, c := range capacities {
					want := simtest.Replay(t, r, prefixCell(t, kind, "lru", "", c))
					if !reflect.DeepEqual(got[k].Record, want.Record) || !reflect.DeepEqual(got[k].Blocks, want.Blocks) {
						t.Fatalf("seed %d, %s at %d:\none pass %+v\nreplayed %+v", seed, kind, c, got[k].Record, want.Record)
					}
				}
			}
		})(t)
	}
}

// TestAnswersOfKnownLength: they take room, and none hits.
func TestAnswersOfKnownLength(t *testing.T) {
	chats := []chat{{0, []int{1, 2}, []int{3, 4, 5}}, {0, []int{1, 2, 3, 4, 5, 6}, []int{7}}}
	for mode, want := range map[string]struct{ tokens, used int64 }{
		prompts.AnswersKept: {4, 6}, prompts.AnswersLengths: {2, 8}, prompts.AnswersOff: {2, 6},
	} {
		ours := newEngine(t, traceOfChats(t, chats, 1, false, false, mode), "vllm", 100)
		var n cache.Counts
		tokens := int64(0)
		for i := range chats {
			tokens += ours.Begin(i, &n)
			ours.Finish(i)
		}
		if tokens != want.tokens || ours.Used() != want.used {
			t.Errorf("%s: %d tokens hit and %d blocks are used, want %d and %d", mode, tokens, ours.Used(), want.tokens,
				want.used)
		}
	}
}

// TestEnginesRules: what each rule makes of answers, of pages that are kept free, and of what is found, by hand. Events
// are the numbers of prompts that begin, and -1 less of those that end; the last one hits some tokens.
func TestEnginesRules(t *testing.T) {
	for _, test := range []struct {
		why, policy    string
		page, capacity int
		chats          []chat
		events         []int
		hits           int64
	}{
		{"a page more is made free", "sglang-lru", 2, 4, []chat{{0, []int{1, 2, 3, 4}, nil}, {1, []int{5, 6, 7, 8}, nil},
			{2, []int{1, 2, 3, 4}, nil}}, []int{0, -1, 1, -2, 2}, 0},
		{"a token has no page more", "sglang-lru", 1, 4, []chat{{0, []int{1, 2}, nil}, {1, []int{3, 4}, nil},
			{2, []int{1, 2}, nil}}, []int{0, -1, 1, -2, 2}, 1},
		{"the last token of an answer takes the page", "sglang-lru", 2, 4, []chat{{0, []int{1, 2}, nil},
			{1, []int{3, 4, 5, 6}, []int{7, 8}}, {2, []int{1, 2, 3}, nil}}, []int{0, -1, 1, -2, 2}, 2},
		{"a prompt stays before its answer does", "sglang-priority", 1, 5, []chat{{0, []int{1, 2}, []int{3, 4}},
			{1, []int{5, 6}, nil}, {2, []int{7, 8, 9}, nil}, {3, []int{1, 2, 0}, nil}}, []int{0, -1, 1, -2, 2, -3, 3}, 2},
		{"an answer is as old as its end", "sglang-filo", 1, 6, []chat{{0, []int{1, 2}, []int{3, 4, 5}},
			{1, []int{6, 7}, nil}, {2, []int{8, 9}, nil}, {3, []int{6, 7}, nil}}, []int{0, 1, -2, -1, 2, -3, 3}, 1},
		{"an answer is a node", "sglang-tlru(threshold=2)", 1, 7, []chat{{0, []int{1, 2, 3}, nil},
			{1, []int{4, 5}, []int{6, 7, 8}}, {2, []int{9, 0}, nil}, {3, []int{1, 2, 3}, nil}},
			[]int{0, -1, 1, -2, 2, -3, 3}, 2},
		{"what a prompt found can be evicted for what it lacks", "lmcache-fifo", 1, 2, []chat{{0, []int{1, 2}, nil},
			{0, []int{1, 2, 3}, nil}, {0, []int{1, 2, 3}, nil}}, []int{0, -1, 1, -2, 2}, 0},
		{"a chunk that is stored again needs room", "lmcache-fifo", 1, 4, []chat{{0, []int{1}, []int{2, 3, 4}},
			{1, []int{7}, nil}, {2, []int{1}, []int{2, 9}}, {3, []int{1, 2}, nil}}, []int{0, -1, 1, -2, 2, -3, 3}, 0},
	} {
		tr := traceOfChats(t, test.chats, test.page, true, false, prompts.AnswersKept)
		prompts.Of(tr.Kind).Priorities = make([]int32, len(test.chats))
		ours, got := newEngine(t, tr, test.policy, test.capacity), int64(0)
		var n cache.Counts
		for _, event := range test.events {
			if event < 0 {
				ours.Finish(-1 - event)
			} else {
				got = ours.Begin(event, &n)
			}
		}
		if got != test.hits {
			t.Errorf("%s: %d tokens hit, want %d", test.why, got, test.hits)
		}
	}
}
