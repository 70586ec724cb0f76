package prefix_test

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// numbers returns the tokens from one to another.
func numbers(from, to int) (tokens []int) {
	for ; from <= to; from++ {
		tokens = append(tokens, from)
	}
	return tokens
}

// TestStatesByHand: where SGLang keeps states, with a grid of 4 tokens and an interval of 8.
func TestStatesByHand(t *testing.T) {
	forked := slices.Concat(numbers(1, 6), []int{50})
	for _, test := range []struct {
		why   string
		slots int
		chats []chat
		hits  []int64
	}{
		{"at the last multiple of the grid, and of the interval of an answer", 12, []chat{
			{0, numbers(1, 9), numbers(10, 19)}, {0, numbers(1, 19), nil}}, []int64{0, 16}},
		{"nothing of what is computed behind it", 12, []chat{{0, numbers(1, 9), nil}, {1, numbers(1, 12), nil}},
			[]int64{0, 8}},
		{"where a prompt parts, for the next one", 12, []chat{{0, numbers(1, 9), nil}, {1, forked, nil},
			{2, forked, nil}}, []int64{0, 0, 4}},
		{"a running prompt needs three slots, and one for what is kept", 4, []chat{{0, numbers(1, 9), nil},
			{1, numbers(20, 29), nil}, {2, numbers(1, 9), nil}}, []int64{0, 0, 0}},
		{"with one slot more a state stays", 5, []chat{{0, numbers(1, 9), nil}, {1, numbers(20, 29), nil},
			{2, numbers(1, 9), nil}}, []int64{0, 0, 8}},
		{"too few slots for a prompt", 2, []chat{{0, numbers(1, 9), nil}, {0, numbers(1, 9), nil}}, []int64{0, 0}},
	} {
		tr := traceOfChats(t, test.chats, 1, true, false, prompts.AnswersKept)
		ours := prefix.NewStated(configOf(t, tr, "sglang-lru", 100),
			prefix.States{Slots: test.slots, Grid: 4, Interval: 8, Chunk: 64})
		var n cache.Counts
		var got []int64
		for i := range test.chats {
			got = append(got, ours.Begin(i, &n))
			ours.Finish(i)
		}
		if !slices.Equal(got, test.hits) {
			t.Errorf("%s: %d tokens hit, want %d", test.why, got, test.hits)
		}
	}
}
