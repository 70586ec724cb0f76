package prompts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// chained returns prompts over a tree, as texts in which each letter is a block: texts equal to a letter share it.
func chained(blockTokens int, texts ...string) (p *Columns, objects []uint32, groups []int) {
	p = &Columns{BlockTokens: blockTokens}
	numbers := map[string]uint32{}
	for _, text := range texts {
		groups = append(groups, len(objects))
		parent := int32(-1)
		for i := range text {
			prefix := text[:i+1]
			o, ok := numbers[prefix]
			if !ok {
				o = uint32(len(numbers))
				numbers[prefix] = o
				p.Parents = append(p.Parents, parent)
			}
			objects, parent = append(objects, o), int32(o)
		}
		p.InputTokens = append(p.InputTokens, int32(blockTokens*len(text)))
	}
	return p, objects, groups
}

func TestJoinByHand(t *testing.T) {
	p, objects, groups := chained(16, "abcd", "abce", "abc", "abcd", "ab")
	p.InputTokens[2] = 40 // its third block is partial
	j := must.Get(p.Join(32, objects, groups, nil))(t)
	// ab cd | ab ce | ab c | ab cd | ab
	if want := []uint32{0, 1, 0, 2, 0, 3, 0, 1, 0}; !slices.Equal(j.Objects, want) {
		t.Errorf("objects %v, want %v", j.Objects, want)
	}
	if want := []int{0, 2, 4, 6, 8}; !slices.Equal(j.Groups, want) {
		t.Errorf("groups %v, want %v", j.Groups, want)
	}
	if want := []int32{-1, 0, 0, 0}; !slices.Equal(j.Columns.Parents, want) {
		t.Errorf("parents %v, want %v", j.Columns.Parents, want)
	}
	// The second prompt shares abc, of which c is lost, and the third all of its 40 tokens, of which 32 are found.
	if want := []int32{0, 16, 8, 0, 0}; !slices.Equal(j.Columns.Rounded, want) {
		t.Errorf("rounded %v, want %v", j.Columns.Rounded, want)
	}
	if n := j.Columns.EmptyTokens(2, 2); n != 24 {
		t.Errorf("%d tokens are empty behind 40 in two blocks of 32, want 24", n)
	}
	if p.BlockTokens != 16 || p.Rounded != nil || len(p.Parents) != 5 {
		t.Errorf("joining has changed the original: %+v", p)
	}
	for _, tokens := range []int{0, 8, 24, -32} {
		if _, err := p.Join(tokens, objects, groups, nil); err == nil || !strings.Contains(err.Error(), "a multiple of 16") {
			t.Errorf("blocks of %d: %v", tokens, err)
		}
	}
}

// TestJoinAgreesWithTexts: joining blocks is cutting the texts into longer pieces, whatever the prompts are.
func TestJoinAgreesWithTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.IntRange(1, 5).Draw(t, "blocks in one")
		var texts []string
		for range rapid.IntRange(1, 30).Draw(t, "prompts") {
			text := ""
			if len(texts) > 0 && rng.IntN(3) > 0 {
				earlier := texts[rng.IntN(len(texts))]
				text = earlier[:rng.IntN(len(earlier)+1)]
			}
			for range rng.IntN(7) {
				text += string(rune('a' + rng.IntN(3)))
			}
			texts = append(texts, text+"z"[:max(0, 1-len(text))])
		}
		p, objects, groups := chained(4, texts...)
		starts := []int{0}
		if len(texts) > 2 && rapid.Bool().Draw(t, "files") {
			starts = append(starts, groups[len(texts)/2])
		}
		j, err := p.Join(4*n, objects, groups, starts)
		if err != nil {
			t.Fatal(err)
		}
		numbers, known, knownHere := map[string]uint32{}, map[string]bool{}, map[string]bool{}
		at := 0
		for i, text := range texts {
			if slices.Contains(starts, groups[i]) {
				clear(known)
				clear(knownHere)
			}
			if j.Groups[i] != at {
				t.Fatalf("prompt %d begins at %d, want %d", i, j.Groups[i], at)
			}
			var before, whole int
			for k := range text {
				if before == k && known[text[:k+1]] {
					before++
				}
			}
			for from := 0; from < len(text); from += n {
				prefix := text[:min(from+n, len(text))]
				number, ok := numbers[prefix]
				if !ok {
					number = uint32(len(numbers))
					numbers[prefix] = number
				}
				if j.Objects[at] != number {
					t.Fatalf("%q of %q is block %d, want %d", prefix, texts, j.Objects[at], number)
				}
				if whole == from && knownHere[prefix] {
					whole = len(prefix)
				}
				at++
			}
			for k := range text {
				known[text[:k+1]] = true
			}
			for from := 0; from < len(text); from += n {
				knownHere[text[:min(from+n, len(text))]] = true
			}
			if want := int32(4 * (before - whole)); j.Columns.Rounded[i] != want {
				t.Fatalf("prompt %d of %q: %d tokens rounded, want %d", i, texts, j.Columns.Rounded[i], want)
			}
		}
		if len(j.Starts) != len(starts) || len(j.Lasts) != len(numbers) {
			t.Fatalf("%d files and %d blocks, want %d and %d", len(j.Starts), len(j.Lasts), len(starts), len(numbers))
		}
	})
}

// Layers with a window keep what a prompt can continue: a window before each end and each fork. All blocks together
// have exactly these bytes.
func TestBytesOfBlocksWithWindows(t *testing.T) {
	spec := must.Get(llm.Parse("layers=3,kv-heads=1,head-size=1,type=fp8,window=20,windowed-layers=1"))(t)
	k := must.Get(spec.KeyValues())(t)
	for _, test := range []struct {
		texts  []string
		within int // blocks of 10 tokens that the window keeps
		all    int
	}{
		{[]string{"abcdef"}, 2, 6},
		{[]string{"abcdef", "abcdef"}, 2, 6},
		{[]string{"abcdef", "abcxyz"}, 6, 9}, // ef, yz and bc before the fork
		{[]string{"abcdef", "abc"}, 4, 6},    // ef, bc
		{[]string{"a", "b"}, 2, 2},
		{[]string{"abcdef", "xbcdef"}, 4, 12}, // nothing is shared
	} {
		p, objects, groups := chained(10, test.texts...)
		must.Do(t, p.SetMemory(k, false, objects, groups))
		want := int64(10*4 + 0.5 + 10*2*float64(test.within)/float64(test.all))
		if p.Memory.BlockBytes != want || p.Memory.TokenBytes != 6 {
			t.Errorf("%q: %+v, want blocks of %d bytes", test.texts, p.Memory, want)
		}
		must.Do(t, p.SetMemory(k, true, objects, groups))
		if p.Memory.BlockBytes != 60 {
			t.Errorf("%q: %d bytes where windows keep all, want 60", test.texts, p.Memory.BlockBytes)
		}
	}
}

// A layer with a state keeps one at each end and each fork of prompts; all blocks together have exactly these bytes.
func TestBytesOfBlocksWithStates(t *testing.T) {
	k := llm.KeyValues{Full: 4, State: 600}
	for _, test := range []struct {
		texts  []string
		states int
		all    int
	}{
		{[]string{"abcdef"}, 1, 6},
		{[]string{"abcdef", "abcdef"}, 1, 6},
		{[]string{"abcdef", "abcxyz"}, 3, 9}, // f, z and c before the fork
		{[]string{"abcdef", "abc"}, 2, 6},    // f, c
		{[]string{"abcdef", "xbcdef"}, 2, 12},
	} {
		p, objects, groups := chained(10, test.texts...)
		must.Do(t, p.SetMemory(k, false, objects, groups))
		want := int64(0.5 + 40 + 600*float64(test.states)/float64(test.all))
		if p.Memory.BlockBytes != want || p.Memory.TokenBytes != 4 {
			t.Errorf("%q: %+v, want blocks of %d bytes", test.texts, p.Memory, want)
		}
		must.Do(t, p.SetMemory(k, true, objects, groups))
		if p.Memory.BlockBytes != want {
			t.Errorf("%q: %d bytes where windows keep all, want %d", test.texts, p.Memory.BlockBytes, want)
		}
	}
}

// TestWindowsAgainstBruteForce marks the blocks of windows one by one.
func TestWindowsAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		var texts []string
		for range 1 + rng.IntN(12) {
			text := ""
			for range 1 + rng.IntN(9) {
				text += string(rune('a' + rng.IntN(2)))
			}
			texts = append(texts, text)
		}
		window := rapid.IntRange(1, 60).Draw(t, "window")
		p, objects, groups := chained(10, texts...)
		children, kept := map[string]map[byte]bool{}, map[string]bool{}
		all := map[string]bool{}
		for _, text := range texts {
			for i := range text {
				all[text[:i+1]] = true
				if i > 0 {
					if children[text[:i]] == nil {
						children[text[:i]] = map[byte]bool{}
					}
					children[text[:i]][text[i]] = true
				}
			}
		}
		keep := func(end string) {
			for n, left := len(end), window; n > 0 && left > 0; n, left = n-1, left-10 {
				kept[end[:n]] = true
			}
		}
		for _, text := range texts {
			keep(text)
		}
		for prefix, next := range children {
			if len(next) > 1 {
				keep(prefix)
			}
		}
		if got, want := p.shareWithin(window, objects, groups), float64(len(kept))/float64(len(all)); got != want {
			t.Fatalf("%q, window %d: %v of the blocks, want %v", texts, window, got, want)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	spec := must.Get(llm.Parse("layers=10000,kv-heads=100000,head-size=100000,type=fp32"))(t)
	k := must.Get(spec.KeyValues())(t)
	p, objects, groups := chained(1<<20, "abcd")
	if err := p.SetMemory(k, false, objects, groups); err == nil || !strings.Contains(err.Error(), "want 1 byte to") {
		t.Errorf("%v, %s", err, fmt.Sprint(p.Memory.BlockBytes))
	}
}
