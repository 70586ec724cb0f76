package turns

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/random"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// TestThreadsAsBruteForce compares with all earlier prompts, one by one.
func TestThreadsAsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 3, 64, 70}).Draw(t, "block")
		found := New(size)
		type earlier struct {
			tokens       []uint64
			whole        int
			conversation uint64
		}
		var all []earlier
		begun := uint64(0)
		for range rapid.IntRange(1, 30).Draw(t, "prompts") {
			var tokens []uint64
			if len(all) > 0 && rapid.Bool().Draw(t, "continues") {
				tokens = slices.Clone(all[rapid.IntRange(0, len(all)-1).Draw(t, "earlier")].tokens)
			}
			tokens = append(tokens, rapid.SliceOfN(rapid.Uint64Range(0, 1), 1, 2*size+3).Draw(t, "more")...)
			whole := len(tokens) - rapid.IntRange(0, 1).Draw(t, "of a text")
			best := -1
			for i, e := range all {
				fits := e.whole >= size && e.whole <= len(tokens) && slices.Equal(e.tokens[:e.whole], tokens[:e.whole])
				last := fits && !slices.ContainsFunc(all[i+1:], func(other earlier) bool {
					return other.whole == e.whole && slices.Equal(other.tokens[:e.whole], e.tokens[:e.whole])
				})
				if last && len(e.tokens) < len(tokens) && (best < 0 || e.whole > all[best].whole) {
					best = i
				}
			}
			want := begun
			if best >= 0 {
				want = all[best].conversation
			} else {
				begun++
			}
			hashes := make([]uint64, len(tokens))
			hash := uint64(0)
			for i, token := range tokens {
				hash = random.Scramble(hash ^ random.Scramble(token))
				hashes[i] = hash
			}
			if got := found.Of(hashes, whole, 0); got != want {
				t.Fatalf("prompt %v of %v belongs to %d, want %d", tokens, all, got, want)
			}
			all = append(all, earlier{tokens, whole, want})
		}
	})
}
