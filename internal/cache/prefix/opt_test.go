package prefix_test

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// schedules finds the most hits that any schedule has on a tiny trace of prompts, by following all sets of resident
// blocks.
type schedules struct {
	trace    *traces.Trace
	capacity int
	closed   bool // only sets that have with each block the one before it
	bypass   bool // a missing block may pass by
}

func (s schedules) most() (hits int) {
	reached := map[uint32]int{0: 0}
	for i := range s.trace.Groups {
		next := map[uint32]int{}
		for resident, hits := range reached {
			s.serve(promptOf(s.trace, i), resident, hits, next)
		}
		reached = next
	}
	for _, n := range reached {
		hits = max(hits, n)
	}
	return hits
}

// serve adds all sets that resident may become by a prompt.
func (s schedules) serve(blocks []uint32, resident uint32, hits int, next map[uint32]int) {
	leading := true
	var prompt, must uint32
	for i, o := range blocks {
		leading = leading && resident>>o&1 != 0
		if leading {
			hits++
		}
		prompt |= 1 << o
		if i < s.capacity {
			must |= 1 << o
		}
	}
	if s.bypass {
		must = 0
	} else {
		prompt = must // the rest passes by
	}
	all := resident | prompt
	for kept := all; ; kept = (kept - 1) & all {
		if kept&must == must && bits.OnesCount32(kept) <= s.capacity && (!s.closed || s.isClosed(kept)) {
			if n, ok := next[kept]; !ok || n < hits {
				next[kept] = hits
			}
		}
		if kept == 0 {
			return
		}
	}
}

func (s schedules) isClosed(kept uint32) bool {
	for o, parent := range prompts.Of(s.trace.Kind).Parents {
		if kept>>o&1 != 0 && parent >= 0 && kept>>parent&1 == 0 {
			return false
		}
	}
	return true
}

// tinyPrompts is a trace of a few prompts over at most 10 blocks.
func tinyPrompts(seed uint64) *traces.Trace {
	rng := rand.New(rand.NewPCG(seed, 8))
	for {
		if tr := policytest.RandomPrompts(rng, 3+rng.IntN(6), 4, 3); tr.NumObjects <= 10 {
			return tr
		}
	}
}

func TestPrefixOptimumAgainstBruteForce(t *testing.T) {
	for seed := range uint64(300) {
		tr := tinyPrompts(seed)
		for capacity := 1; capacity <= 5; capacity++ {
			got := replayPrompts(t, tr, prefixCell(t, "prefix", "opt", "", int64(capacity)))
			bypass := replayPrompts(t, tr, prefixCell(t, "prefix", "opt-bypass", "", int64(capacity)))
			for _, closed := range []bool{true, false} {
				if want := (schedules{trace: tr, capacity: capacity, closed: closed}).most(); got.Hits != int64(want) {
					t.Fatalf("seed %d, capacity %d, closed %v: opt has %d hits of %d", seed, capacity, closed, got.Hits, want)
				}
				if want := (schedules{trace: tr, capacity: capacity, closed: closed,
					bypass: true}).most(); bypass.Hits != int64(want) {
					t.Fatalf("seed %d, capacity %d, closed %v: opt-bypass has %d hits of %d", seed, capacity, closed,
						bypass.Hits, want)
				}
			}
		}
	}
}

// looseOptimum returns the most hits where blocks are loaded one by one and any other one may leave for them.
func looseOptimum(tr *traces.Trace, capacity int) (hits int) {
	reached := map[uint32]int{0: 0}
	for i := range tr.Groups {
		blocks := promptOf(tr, i)
		begun := map[uint32]int{}
		for resident, n := range reached {
			run := 0
			for run < len(blocks) && resident>>blocks[run]&1 != 0 {
				run++
			}
			begun[resident] = n + run
		}
		reached = begun
		for _, o := range blocks {
			reached = loadLoose(reached, o, capacity)
		}
	}
	for _, n := range reached {
		hits = max(hits, n)
	}
	return hits
}

func loadLoose(reached map[uint32]int, o uint32, capacity int) map[uint32]int {
	next := map[uint32]int{}
	add := func(set uint32, n int) {
		if have, ok := next[set]; !ok || have < n {
			next[set] = n
		}
	}
	for resident, n := range reached {
		if resident>>o&1 != 0 || bits.OnesCount32(resident) < capacity {
			add(resident|1<<o, n)
			continue
		}
		for rest := resident; rest != 0; rest &= rest - 1 {
			add(resident&^(rest&-rest)|1<<o, n)
		}
	}
	return next
}

func TestLooseOptimumIsABound(t *testing.T) {
	for seed := range uint64(300) {
		tr := tinyPrompts(seed)
		for capacity := 1; capacity <= 5; capacity++ {
			bound := replayPrompts(t, tr, prefixCell(t, "prefix(evict=any)", "opt", "", int64(capacity)))
			most := looseOptimum(tr, capacity)
			lru := replayPrompts(t, tr, prefixCell(t, "prefix(evict=any)", "lru", "", int64(capacity)))
			if bound.Hits < int64(most) || int64(most) < lru.Hits {
				t.Fatalf("seed %d, capacity %d: opt finds %d blocks, the most hits are %d, lru has %d", seed, capacity,
					bound.Hits, most, lru.Hits)
			}
		}
	}
}
