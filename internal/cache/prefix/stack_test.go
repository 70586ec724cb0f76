package prefix_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// inOnePass returns the results of lru at capacities from one pass, and how many passes that took.
func inOnePass(t testing.TB, r *sim.Replayer, kind string, capacities []int64) (results []sim.Result, jobs int) {
	var cells []sim.Cell
	for _, c := range capacities {
		cell := prefixCell(t, kind, "lru", "", c)
		cell.OnePass = true
		cells = append(cells, cell)
	}
	at := map[int64]sim.Result{}
	all := r.Jobs(cells)
	for _, job := range all {
		for k, result := range must.Get(r.ReplayJob(t.Context(), job))(t) {
			at[job.Cells()[k].Capacity.Amount] = result
		}
	}
	for _, c := range capacities {
		results = append(results, at[c])
	}
	return results, len(all)
}

// TestPrefixLRUInOnePass compares one pass with a replay at each capacity: all values of the records, and the blocks
// behind intervals, with a warm-up, with files that each begin empty, with prompts longer than the cache, and with
// partial last blocks.
func TestPrefixLRUInOnePass(t *testing.T) {
	shared := 0
	for seed := range brief.Of[uint64](40, 8) {
		rng := rand.New(rand.NewPCG(seed, 3))
		tr := policytest.RandomPrompts(rng, 50+int(seed)*20, 4+rng.IntN(8), 3)
		for i := range prompts.Of(tr.Kind).InputTokens {
			prompts.Of(tr.Kind).InputTokens[i] -= int32(rng.IntN(prompts.Of(tr.Kind).BlockTokens))
		}
		options := sim.ReplayerOptions{Blocks: true}
		switch seed % 4 {
		case 1:
			options.Warmup = 1 + rng.IntN(len(tr.Groups)-1)
		case 2:
			tr.Starts = []int{0, tr.Groups[len(tr.Groups)/3], tr.Groups[len(tr.Groups)/2]}
		}
		capacities := []int64{1, 2, 3, 5, 8, 13, 21, 40, 100, int64(tr.NumObjects), int64(tr.NumObjects) + 7}
		for _, kind := range []string{"prefix", "prefix(evict=any)", "prefix(concurrency=2)", "prefix(concurrency=5)",
			"prefix(evict=node)"} {
			r := sim.NewReplayer(tr, options)
			got, jobs := inOnePass(t, r, kind, capacities)
			if jobs < len(capacities) {
				shared++
			}
			for k, c := range capacities {
				want := simtest.Replay(t, r, prefixCell(t, kind, "lru", "", c))
				if !reflect.DeepEqual(got[k].Record, want.Record) {
					t.Fatalf("seed %d, %s at %d:\none pass %+v\nreplayed %+v", seed, kind, c, got[k].Record, want.Record)
				}
				if !reflect.DeepEqual(got[k].Blocks, want.Blocks) {
					t.Fatalf("seed %d, %s at %d: blocks\none pass %+v\nreplayed %+v", seed, kind, c, got[k].Blocks, want.Blocks)
				}
			}
		}
	}
	if shared < 20 {
		t.Errorf("only %d passes served several capacities", shared)
	}
}

// tinyTexts are prompts over a small tree: forks, prompts that end within others, and one that shares nothing.
var tinyTexts = []string{"a", "ab", "abc", "abd", "ae", "xyz"}

// eachTinyTrace calls do for every sequence of so many prompts of tinyTexts.
func eachTinyTrace(length int, do func(texts []string)) {
	texts := make([]string, length)
	var fill func(at int)
	fill = func(at int) {
		if at == length {
			do(texts)
			return
		}
		for _, text := range tinyTexts {
			texts[at] = text
			fill(at + 1)
		}
	}
	fill(0)
}

// residents returns the blocks that a naive LRU holds at the end, and its hits.
func residents(tr *traces.Trace, capacity, concurrency int) (held map[uint32]int, hits int64) {
	naive := &naiveTree{trace: tr, capacity: capacity}
	hits = naive.replay(concurrency, naiveLRU{})
	return naive.last, hits
}

// TestPrefixLRUHasTheStackProperty goes through all short sequences of prompts: what a naive leaves-first LRU holds is
// held by every larger one, also where prompts are longer than the cache, and one pass has its hits. With prompts that
// run at the same time, that is so from the capacity on that holds those.
func TestPrefixLRUHasTheStackProperty(t *testing.T) {
	for concurrency := 1; concurrency <= 2; concurrency++ {
		kind := fmt.Sprintf("prefix(concurrency=%d)", concurrency)
		traces := 0
		eachTinyTrace(brief.Of(5, 4), func(texts []string) {
			traces++
			tr := policytest.Prompts(16, texts...)
			least := 1
			if concurrency > 1 {
				least = 6 // two of the longest prompts
			}
			var before map[uint32]int
			var capacities, hits []int64
			for capacity := least; capacity <= 8; capacity++ {
				held, n := residents(tr, capacity, concurrency)
				for o := range before {
					if _, ok := held[o]; !ok {
						t.Fatalf("%q, %s: block %d is held by %d blocks, not by %d", texts, kind, o, capacity-1, capacity)
					}
				}
				before = held
				capacities, hits = append(capacities, int64(capacity)), append(hits, n)
			}
			got, jobs := inOnePass(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), kind, capacities)
			if jobs != 1 {
				t.Fatalf("%q, %s: %d passes", texts, kind, jobs)
			}
			for k := range got {
				if n := simtest.Counts(got[k].Values).Hits; n != hits[k] {
					t.Fatalf("%q, %s at %d: %d hits in one pass, naively %d", texts, kind, capacities[k], n, hits[k])
				}
			}
		})
		if traces < 1000 {
			t.Fatalf("only %d traces", traces)
		}
	}
}

// TestEvictingNodesIsNoStackAlgorithm: where whole nodes are evicted while prompts run, a smaller cache may hold a
// block that a larger one does not. Of z, abcde, ab, z and w, two at a time, 2 blocks keep a and w, and 3 keep z and w.
func TestEvictingNodesIsNoStackAlgorithm(t *testing.T) {
	const kind = "prefix(evict=node,concurrency=2)"
	texts := []string{"z", "abcde", "ab", "z", "w"}
	last := func(capacity int64) int64 {
		hits := func(texts ...string) int64 {
			cell := prefixCell(t, kind, "lru", "", capacity)
			return replayPrompts(t, policytest.Prompts(16, texts...), cell).Hits
		}
		return hits(append(slices.Clone(texts), "a")...) - hits(texts...)
	}
	if small, large := last(2), last(3); small != 1 || large != 0 {
		t.Errorf("a hits %d times with 2 blocks and %d times with 3, want 1 and 0", small, large)
	}
	r := sim.NewReplayer(policytest.Prompts(16, texts...), sim.ReplayerOptions{})
	if _, jobs := inOnePass(t, r, kind, []int64{2, 3, 40}); jobs != 3 {
		t.Errorf("%d passes, want a replay of each capacity", jobs)
	}
}
