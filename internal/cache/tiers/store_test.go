package tiers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// naiveStore is vllm-arc with lists that are searched, each the oldest block first.
type naiveStore struct {
	capacity                      int
	target                        float64
	fresh, again, lost, lostAgain []policies.Object // T1, T2, B1, B2
	runs                          map[int]*naiveRun
	learnt                        int // blocks that moved the target
}

// naiveRun is a prompt that runs: its blocks that it has written to the store, and those that it has used.
type naiveRun struct{ blocks, written, used []policies.Object }

func newNaiveStore(capacity int64) *naiveStore {
	return &naiveStore{capacity: int(capacity), runs: map[int]*naiveRun{}}
}

func (s *naiveStore) has(o policies.Object) bool {
	return slices.Contains(s.fresh, o) || slices.Contains(s.again, o)
}

func without(list []policies.Object, o policies.Object) []policies.Object {
	return slices.DeleteFunc(list, func(other policies.Object) bool { return other == o })
}

// begin serves a prompt that has its first blocks from above, and returns up to which block it has all.
func (s *naiveStore) begin(prompt int, blocks []policies.Object, above int) (hits int) {
	run := &naiveRun{blocks: blocks}
	s.runs[prompt] = run
	for hits = above; hits < len(blocks) && s.has(blocks[hits]); hits++ {
		run.used = append(run.used, blocks[hits])
	}
	offered := blocks
	if hits > above {
		offered = blocks[hits:]
	}
	var missing []policies.Object
	for _, o := range offered {
		if s.has(o) {
			run.used = append(run.used, o)
		} else {
			missing = append(missing, o)
		}
	}
	for _, o := range slices.Backward(missing) {
		s.learn(o)
	}
	if s.makeRoom(len(missing)+len(s.fresh)+len(s.again)-s.capacity, offered) {
		for _, o := range missing {
			s.lost, s.lostAgain = without(s.lost, o), without(s.lostAgain, o)
			s.fresh = append(s.fresh, o)
		}
		run.written = missing
	}
	return hits
}

func (s *naiveStore) learn(o policies.Object) {
	b1, b2 := float64(len(s.lost)), float64(len(s.lostAgain))
	switch {
	case slices.Contains(s.lost, o):
		s.target = min(float64(s.capacity), s.target+max(1, b2/b1))
		s.lost = append(without(s.lost, o), o)
	case slices.Contains(s.lostAgain, o):
		s.target = max(0, s.target-max(1, b1/b2))
		s.lostAgain = append(without(s.lostAgain, o), o)
	default:
		return
	}
	s.learnt++
}

// makeRoom evicts n blocks that are not offered, if there are as many.
func (s *naiveStore) makeRoom(n int, offered []policies.Object) bool {
	spared := func(o policies.Object) bool { return slices.Contains(offered, o) }
	fresh, again := slices.DeleteFunc(slices.Clone(s.fresh), spared), slices.DeleteFunc(slices.Clone(s.again), spared)
	if n > len(fresh)+len(again) {
		return false
	}
	for range n {
		if len(fresh) > 0 && (len(s.fresh) >= int(s.target) || len(again) == 0) {
			s.lost, s.fresh, fresh = append(s.lost, fresh[0]), without(s.fresh, fresh[0]), fresh[1:]
		} else {
			s.lostAgain, s.again, again = append(s.lostAgain, again[0]), without(s.again, again[0]), again[1:]
		}
	}
	s.lost = s.lost[max(0, len(s.lost)-s.capacity):]
	s.lostAgain = s.lostAgain[max(0, len(s.lostAgain)-s.capacity):]
	return true
}

func (s *naiveStore) finish(prompt int) {
	run := s.runs[prompt]
	delete(s.runs, prompt)
	for _, o := range slices.Backward(run.blocks) {
		switch {
		case !s.has(o):
		case slices.Contains(run.used, o):
			s.fresh, s.again = without(s.fresh, o), append(without(s.again, o), o)
		case slices.Contains(run.written, o) && slices.Contains(s.fresh, o):
			s.fresh = append(without(s.fresh, o), o)
		case slices.Contains(run.written, o):
			s.again = append(without(s.again, o), o)
		}
	}
}

// TestStoreIsVLLMs compares a store below the GPUs with the naive one, prompt by prompt and block by block.
func TestStoreIsVLLMs(t *testing.T) {
	below, gaps, learnt := int64(0), 0, 0
	for seed := range brief.Of[uint64](600, 120) {
		rng := rand.New(rand.NewPCG(seed, 47))
		tr, hbm, host := partialPrompts(rng), 1+rng.Int64N(25), 1+rng.Int64N(40)
		gpu := insideOf(t, "vllm", policies.Values{})
		both := newRunning(t, tr, fmt.Sprintf("tiers(hbm=%d,host=%d,mode=write-through,last=computed,policies=/vllm-arc)",
			hbm, host), gpu, hbm)
		first, second := newRunning(t, tr, "prefix(last=computed)", gpu, hbm), newNaiveStore(host)
		levels := both.(*chains).levels
		var n, ofFirst cache.Counts
		serveBoth(tr, rng, func(prompt int) {
			got, alone := both.Begin(prompt, &n), first.Begin(prompt, &ofFirst)
			blocks, _ := tr.Group(prompt)
			tokens := int(prompts.Of(tr.Kind).InputTokens[prompt])
			hits := second.begin(prompt, blocks[:tokens/16], int(alone)/16)
			if want := int64(min(hits, (tokens-1)/16)) * 16; got != want {
				t.Fatalf("seed %d, tiers of %d and %d, prompt %d: %d tokens hit, want %d", seed, hbm, host, prompt, got, want)
			}
			below += got - alone
			for i, o := range blocks {
				if i > 0 && second.has(o) && !second.has(blocks[i-1]) {
					gaps++
				}
			}
		}, func(prompt int) {
			both.Finish(prompt)
			first.Finish(prompt)
			second.finish(prompt)
			for o := range policies.Object(tr.NumObjects) {
				if got, want := levels[1].pool.Has(o), second.has(o); got != want {
					t.Fatalf("seed %d, prompt %d: the host has block %d: %v, want %v", seed, prompt, o, got, want)
				}
			}
		})
		if got, want := levels[0].hitTokens, ofFirst.HitTokens; got != want {
			t.Fatalf("seed %d: %d tokens hit in the first tier, want %d", seed, got, want)
		}
		learnt += second.learnt
	}
	if below == 0 || gaps == 0 || learnt == 0 {
		t.Errorf("%d tokens hit in the host, which had %d gaps, and %d blocks that it had evicted came again: too few to "+
			"test", below, gaps, learnt)
	}
}

// TestStoreOfObjects: elsewhere the policy of a store sees each request as a prompt of one block.
func TestStoreOfObjects(t *testing.T) {
	spec := must.Get(policies.Registry.Parse("vllm-arc"))(t)
	for seed := range brief.Of[uint64](60, 12) {
		tr, capacity := policytest.Trace(seed, 1500, 60), int64(1+seed)
		exact := cache.NewExact(policytest.Build(t, spec.Entry, tr, capacity, true), capacity, tr.NumObjects)
		naive := newNaiveStore(capacity)
		var n cache.Counts
		for i, o := range tr.Objects {
			hits := n.Hits
			exact.Serve(cache.WindowOf(tr, i, i+1, false, nil), &n)
			if want := naive.begin(i, []policies.Object{o}, 0); int(n.Hits-hits) != want {
				t.Fatalf("seed %d, request %d: %d hits, want %d", seed, i, n.Hits-hits, want)
			}
			naive.finish(i)
		}
	}
}

// TestStoreBelowAStore: with three tiers, a prompt hits across the gaps of two stores. What does not move up is not
// written above, and an admission keeps single blocks out.
func TestStoreBelowAStore(t *testing.T) {
	shared, refused := 0, int64(0)
	for seed := range brief.Of[uint64](200, 40) {
		rng := rand.New(rand.NewPCG(seed, 53))
		tr, promote := partialPrompts(rng), rng.IntN(3)
		kind := fmt.Sprintf("tiers(hbm=%d,host=%d,ssd=%d,mode=write-through,promote=%d,policies=lru/vllm-arc/vllm-arc)",
			1+rng.IntN(15), 1+rng.IntN(20), 1+rng.IntN(40), promote)
		config := configOf(t, tr, kind, "lru", 1, true)
		if rng.IntN(2) == 0 {
			second := must.Get(admit.Registry.Parse("second"))(t)
			config.Admission = &second
		}
		c := must.Get(must.Get(cache.Registry.Parse(kind))(t).Entry.New(config))(t).(*chains)
		var n cache.Counts
		serveBoth(tr, rng, func(prompt int) {
			blocks, _ := tr.Group(prompt)
			want, before := 0, [3]int64{}
			for want < len(blocks) && c.find(blocks[want]) >= 0 {
				want++
			}
			for i, l := range c.levels {
				before[i] = l.hits
			}
			hits := n.Hits
			if c.Begin(prompt, &n); int(n.Hits-hits) != want {
				t.Fatalf("seed %d, %s, prompt %d: %d hits, want %d", seed, kind, prompt, n.Hits-hits, want)
			}
			if c.levels[1].hits > before[1] && c.levels[2].hits > before[2] {
				shared++
			}
			if promote == 0 && c.levels[1].promoted+c.levels[2].promoted > 0 {
				t.Fatalf("seed %d, %s: blocks moved up", seed, kind)
			}
		}, c.Finish)
		for _, l := range c.levels {
			if l.pool.Used() > l.pool.Capacity() || int64(l.pool.Len()) != l.written-l.evicted {
				t.Fatalf("seed %d, %s: %d blocks in a tier of %d, after %d writes and %d evictions", seed, kind, l.pool.Len(),
					l.pool.Capacity(), l.written, l.evicted)
			}
		}
		refused += c.levels[2].refused
	}
	if shared == 0 || refused == 0 {
		t.Errorf("%d prompts hit in both stores, %d blocks were refused: too few to test", shared, refused)
	}
}
