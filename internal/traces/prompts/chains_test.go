package prompts

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// keyed returns the number and the key of each next block.
func keyed() func(id uint64, begins bool) (number uint32, key uint64) {
	u := &units{chains: newChains(), names: newNames()}
	return func(id uint64, begins bool) (uint32, uint64) {
		rec := stream.Record{Num: id, Begins: begins, Extra: &Head{}}
		if u.Take(&rec) != nil {
			panic("out of numbers")
		}
		return u.Number(), rec.Num
	}
}

// TestChainsAreTries: two blocks have the same number, and the same key, if and only if they end the same list of ids,
// whatever the ids are. Numbers are dense, in order of first appearance.
func TestChainsAreTries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prompts := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64Range(0, 4), 1, 6), 1, 8).Draw(t, "prompts")
		next := keyed()
		numberOf, keyOf, pathOf := map[string]uint32{}, map[string]uint64{}, map[uint64]string{}
		for _, ids := range prompts {
			path := ""
			for i, id := range ids {
				path += string(rune('a' + id))
				number, key := next(id, i == 0)
				want, ok := numberOf[path]
				if !ok {
					want = uint32(len(numberOf))
				}
				if number != want {
					t.Fatalf("%s has the number %d, want %d", path, number, want)
				}
				if known, ok := keyOf[path]; ok && known != key {
					t.Fatalf("%s has the keys %d and %d", path, known, key)
				}
				if known, ok := pathOf[key]; ok && known != path {
					t.Fatalf("%s and %s have the same key", known, path)
				}
				numberOf[path], keyOf[path], pathOf[key] = number, key, path
			}
		}
	})
}

// TestMadeKeysAreNoIDs: an id that equals a made key is another block.
func TestMadeKeysAreNoIDs(t *testing.T) {
	next := keyed()
	resolve := func(id uint64, begins bool) uint64 {
		_, key := next(id, begins)
		return key
	}
	if first := resolve(1, true); first != 1 {
		t.Errorf("the key of a new id is %d", first)
	}
	made := resolve(1, false)
	if other := resolve(made, true); other == made {
		t.Error("an id became a key that another block has")
	}
	resolve(1, true)
	if again := resolve(1, false); again != made {
		t.Errorf("the key %d of a block became %d", made, again)
	}
}

// TestOnlyForksAreInTheIndex: it has one entry per prompt at most, so that the memory per block is bounded.
func TestOnlyForksAreInTheIndex(t *testing.T) {
	next, rest := newChains(), []uint64{1, 2, 3, 4, 5, 6, 7, 8}
	for prompt := range uint64(10) {
		next.next(0, true)
		for _, id := range rest[:prompt/2] { // of all prompts
			next.next(id, false)
		}
		for _, id := range rest {
			next.next(100*prompt+id, false)
		}
	}
	if len(next.index) > 10 || next.ids.Len() < 80 {
		t.Errorf("%d of %d blocks are in the index, want one of each of 10 prompts", len(next.index), next.ids.Len())
	}
}

func TestDepthsCountTheTokensFromTheRoot(t *testing.T) {
	p := &Columns{BlockTokens: 16, Parents: []int32{-1, 0, 1, 1, -1, 3}}
	if got, want := p.Depths(), []int32{16, 32, 48, 48, 16, 64}; !slices.Equal(got, want) {
		t.Errorf("depths are %v, want %v", got, want)
	}
}
