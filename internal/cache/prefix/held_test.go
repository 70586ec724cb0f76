package prefix_test

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// heldSchedules finds the most hits that any schedule has on a tiny trace of prompts that hold their blocks, by
// following all states: what is resident, and what the last prompts hold.
type heldSchedules struct {
	trace       *traces.Trace
	capacity    int
	concurrency int
	bypass      bool // a prompt may load fewer blocks than fit
	warmup      int  // prompts that do not count
}

// heldState is a set of resident blocks, and those that the prompts in flight hold, the oldest first.
type heldState struct {
	resident uint32
	held     [4]uint32
}

func (s heldSchedules) most() (hits int) {
	reached := map[heldState]int{{}: 0}
	for i := range s.trace.Groups {
		next := map[heldState]int{}
		for state, hits := range reached {
			s.serve(i, state, hits, next)
		}
		reached = next
	}
	for _, n := range reached {
		hits = max(hits, n)
	}
	return hits
}

// serve adds all states that a prompt may lead to.
func (s heldSchedules) serve(i int, state heldState, hits int, next map[heldState]int) {
	blocks := promptOf(s.trace, i)
	copy(state.held[:], state.held[1:s.concurrency]) // the oldest prompt has ended
	state.held[s.concurrency-1] = 0
	var locked uint32
	for _, held := range state.held {
		locked |= held
	}
	run := 0
	for run < len(blocks) && state.resident>>blocks[run]&1 != 0 {
		locked |= 1 << blocks[run]
		run++
	}
	if i >= s.warmup {
		hits += run
	}
	fits := min(len(blocks), run+s.capacity-bits.OnesCount32(locked))
	least := fits
	if s.bypass {
		least = run
	}
	for loaded := least; loaded <= fits; loaded++ {
		held := uint32(0)
		for _, o := range blocks[:loaded] {
			held |= 1 << o
		}
		after, must := state, locked|held
		after.held[s.concurrency-1] = held
		all := state.resident | held
		for after.resident = all; ; after.resident = (after.resident - 1) & all {
			if kept := after.resident; kept&must == must && bits.OnesCount32(kept) <= s.capacity && s.isClosed(kept) {
				if n, ok := next[after]; !ok || n < hits {
					next[after] = hits
				}
			}
			if after.resident == 0 {
				break
			}
		}
	}
}

func (s heldSchedules) isClosed(kept uint32) bool {
	for o, parent := range prompts.Of(s.trace.Kind).Parents {
		if kept>>o&1 != 0 && parent >= 0 && kept>>parent&1 == 0 {
			return false
		}
	}
	return true
}

// forHeld calls f for tiny traces of prompts, capacities, and numbers of prompts that run at the same time.
func forHeld(f func(tr *traces.Trace, capacity, concurrency int)) {
	for seed := range brief.Of[uint64](300, 60) {
		tr := tinyPrompts(seed)
		for capacity := 1; capacity <= 5; capacity++ {
			for concurrency := 2; concurrency <= 4; concurrency++ {
				f(tr, capacity, concurrency)
			}
		}
	}
}

// TestHeldPromptsAgainstBruteForce: where prompts hold their blocks, opt is optimal if everything that fits is loaded.
// If blocks may be bypassed, no policy has more hits than the best schedule, and that has no more than the bound;
// opt-bypass is optimal in most cases.
func TestHeldPromptsAgainstBruteForce(t *testing.T) {
	cells, optimal, tight := 0, 0, 0
	forHeld(func(tr *traces.Trace, capacity, concurrency int) {
		kind := fmt.Sprintf("prefix(concurrency=%d)", concurrency)
		hits := func(policy string) int64 {
			return replayPrompts(t, tr, prefixCell(t, kind, policy, "", int64(capacity))).Hits
		}
		s := heldSchedules{trace: tr, capacity: capacity, concurrency: concurrency}
		if got, most := hits("opt"), s.most(); got != int64(most) {
			t.Fatalf("%v in %s, capacity %d: opt has %d hits of %d", tr.Objects, kind, capacity, got, most)
		}
		s.bypass = true
		most, bound := int64(s.most()), hits("opt-unheld")
		for _, policy := range []string{"opt-bypass", "uniform", "w-tinylfu", "opt", "lru"} {
			if got := hits(policy); got > most {
				t.Fatalf("%v in %s, capacity %d: %s has %d hits of %d", tr.Objects, kind, capacity, policy, got, most)
			}
		}
		if most > bound {
			t.Fatalf("%v in %s, capacity %d: %d hits, the bound is %d", tr.Objects, kind, capacity, most, bound)
		}
		cells++
		if hits("opt-bypass") == most {
			optimal++
		}
		if most == bound {
			tight++
		}
	})
	if optimal*100 < brief.Of(97, 96)*cells || tight*100 < 50*cells {
		t.Errorf("opt-bypass is optimal in %d of %d cases, the bound is reached in %d", optimal, cells, tight)
	}
	t.Logf("opt-bypass is optimal in %d of %d cases, the bound is reached in %d", optimal, cells, tight)
}

// TestBoundOfPromptsAfterAWarmup: the bound holds for the prompts after any warm-up, and where prompts hold nothing it
// is the optimum.
func TestBoundOfPromptsAfterAWarmup(t *testing.T) {
	forHeld(func(tr *traces.Trace, capacity, concurrency int) {
		for warmup := range len(tr.Groups) {
			c := prefixCell(t, "prefix", "opt-unheld", "", int64(capacity))
			bound := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup}), c).Int(metric.Hits)
			s := heldSchedules{trace: tr, capacity: capacity, concurrency: concurrency - 1, bypass: true, warmup: warmup}
			if most := int64(s.most()); most > bound || s.concurrency == 1 && most < bound {
				t.Fatalf("%v, %d at once, capacity %d, warm-up %d: %d hits, the bound is %d", tr.Objects, s.concurrency,
					capacity, warmup, most, bound)
			}
		}
	})
}

// TestHeldPromptsAreComparedWithABound: three prompts, of which the first would keep the place that the others need.
func TestHeldPromptsAreComparedWithABound(t *testing.T) {
	tr := policytest.Prompts(1, "a", "b", "b")
	for _, test := range []struct {
		cache, model, policy, optimum string
		bounded                       bool
	}{
		{"prefix", "", "uniform", "opt-bypass", false},
		{"prefix", "", "lru", "opt", false},
		{"prefix(concurrency=2)", "", "uniform", "opt-bypass", true},
		{"prefix(concurrency=2)", "", "lru", "opt", false},
		{"prefix", "prefill(model=qwen3-8b)", "uniform", "opt-bypass", true},
		{"prefix", "prefill(model=qwen3-8b)", "lru", "opt", true},
		{"prefix", "prefill(model=qwen3-8b,concurrency=1)", "lru", "opt", false},
		{"prefix(evict=any)", "prefill(model=qwen3-8b)", "lru", "opt", false},
	} {
		lists := []string{"cache=" + test.cache}
		if test.model != "" {
			lists = append(lists, "model="+test.model)
		}
		rec := simtest.Run(t, tr, simtest.Options{Policies: test.policy + ",opt-bypass", Parts: lists,
			Capacities: simtest.Objects(1)})
		if rec[0].Optimum != test.optimum || rec[0].Has(metric.CompetitiveRatioMax) != test.bounded ||
			test.bounded && rec[0].Float(metric.CompetitiveRatioMax) < 1 {
			t.Errorf("%+v: compared with %s, up to %v", test, rec[0].Optimum, rec[0].Values)
		}
		if test.model == "" && rec[1].Int(metric.Hits) != 1 {
			t.Errorf("%s: opt-bypass has %d hits, want 1", test.cache, rec[1].Int(metric.Hits))
		}
	}
}
