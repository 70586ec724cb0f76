package retrieve

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

// drawn is a head with what its steps ask for.
type drawn struct {
	head  Head
	steps []Step
}

// drawHead draws a head whose numbers are small integers, so that ties are common and sums exact.
func drawHead(t *rapid.T) drawn {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "numbers"), 0))
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(random.IntN(7) - 3)
		}
		return x
	}
	dim := rapid.IntRange(1, 12).Draw(t, "dim")
	from := rapid.IntRange(0, 9).Draw(t, "from")
	to := from + rapid.IntRange(1, 90).Draw(t, "candidates")
	steps := rapid.IntRange(1, 6).Draw(t, "steps")
	group := rapid.IntRange(1, 4).Draw(t, "group")
	d := drawn{head: Head{Keys: numbers((to + 3*steps) * dim), Dim: dim, From: from, To: to, Scale: 0.25, Seed: 7}}
	for range steps {
		d.steps = append(d.steps, Step{Queries: numbers(group * dim), Sums: numbers(to), To: to,
			K: rapid.IntRange(1, to-from).Draw(t, "k")})
		to += rapid.IntRange(0, 3).Draw(t, "new tokens")
	}
	return d
}

// naiveBest returns n of the numbers in [from,to), the greatest score first; ties go to the lower number.
func naiveBest(from, to, n int, score func(i int) float64) []int32 {
	all := consecutive(nil, from, max(0, to-from))
	slices.SortStableFunc(all, func(a, b int32) int { return cmp.Compare(score(int(b)), score(int(a))) })
	return all[:min(n, len(all))]
}

// everyKind has each retriever in all its forms, with blocks that are small enough for small heads.
var everyKind = []string{"exact", "exact(rule=unit)", "blocks(size=3)", "quest(page=3)", "hashes(bits=70)",
	"hashes(bits=5)", "clusters(size=4)", "clusters(size=3,by=centroid,segment=20)"}

func retriever(t must.TB, text string) Retriever {
	return New(must.Get(Registry.Parse(text))(t))
}

func retrieverName(text string) string {
	name, _, _ := strings.Cut(text, "(")
	return name
}

// TestRetrievers has what holds for all: tokens are candidates in ascending order, each once, and K of them unless they
// come in blocks; a step does not depend on keys and sums that are no candidates yet, nor on the head before; and
// what a Divided ranks is what it retrieves.
func TestRetrievers(t *testing.T) {
	for _, text := range everyKind {
		t.Run(text, rapid.MakeCheck(func(t *rapid.T) {
			used, fresh := retriever(t, text), retriever(t, text)
			for range 2 {
				checkRetriever(t, drawHead(t), used, fresh)
				fresh = retriever(t, text)
			}
		}))
	}
	for _, e := range Registry.All() {
		if !slices.ContainsFunc(everyKind, func(text string) bool { return retrieverName(text) == e.Name }) {
			t.Errorf("retriever %s is not tested", e.Name)
		}
		if _, ok := e.New(params.Defaults(e.Params)).(Divided); ok != e.Divided {
			t.Errorf("retriever %s: finds whole blocks: %v, but the entry says %v", e.Name, ok, e.Divided)
		}
	}
}

func checkRetriever(t *rapid.T, d drawn, used, fresh Retriever) {
	used.Begin(d.head)
	past := d.head
	past.Keys = slices.Clone(past.Keys)
	for i := d.head.To * d.head.Dim; i < len(past.Keys); i++ {
		past.Keys[i] = 99
	}
	fresh.Begin(past)
	for i, s := range d.steps {
		got := used.Retrieve([]int32{-1}, s)
		copy(past.Keys, d.head.Keys[:s.To*d.head.Dim])
		if again := fresh.Retrieve([]int32{-1}, s); !slices.Equal(got, again) {
			t.Fatalf("step %d: %v, without a past and a future %v", i, got, again)
		}
		got = got[1:]
		if _, ok := used.(Divided); !ok && len(got) != s.K {
			t.Fatalf("step %d: %d tokens, want %d", i, len(got), s.K)
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("step %d: tokens %v", i, got)
		}
		if len(got) > 0 && (int(got[0]) < d.head.From || int(got[len(got)-1]) >= s.To) {
			t.Fatalf("step %d: tokens %v of the candidates from %d to %d", i, got, d.head.From, s.To)
		}
		if divided, ok := used.(Divided); ok {
			checkDivided(t, divided, s, got)
		}
	}
}

func checkDivided(t *rapid.T, d Divided, s Step, tokens []int32) {
	blocks := d.Rank(nil, s)
	if again := Tokens(nil, d, blocks); !slices.Equal(tokens, again) {
		t.Fatalf("tokens %v, but %v in the ranked blocks", tokens, again)
	}
	for _, b := range blocks {
		size := d.Size()
		if size == 0 {
			size = d.Sizes()[b]
		}
		if n := len(d.Tokens(nil, b)); n != size {
			t.Fatalf("block %d has %d tokens, want %d", b, n, size)
		}
	}
}

// TestBytesOfASeed compares what all retrievers find with what they found on the machine on which they were written. A
// seed changes that if the entry says so.
func TestBytesOfASeed(t *testing.T) {
	found := func(text string, seed uint64) []byte {
		head := normalKeys(600, 24, 1)
		head.From, head.To, head.Seed = 4, 500, seed
		queries, hash := normalKeys(5*3, 24, 2).Keys, fnv.New64a()
		r := retriever(t, text)
		r.Begin(head)
		for step := range 5 {
			s := Step{Queries: queries[step*3*24:][:3*24], To: 500 + 20*step, K: 50}
			p := make([]float32, 3*s.To)
			softmax.Probabilities(p, s.Queries, head.Keys[:s.To*24], 24, 0.4)
			s.Sums = make([]float32, s.To)
			softmax.SumQueries(s.Sums, p)
			must.Do(t, binary.Write(hash, binary.LittleEndian, r.Retrieve(nil, s)))
		}
		return hash.Sum(nil)
	}
	var all []byte
	for _, text := range everyKind {
		random := must.Get(Registry.Parse(text))(t).Entry.Random
		one := found(text, 1)
		if same := bytes.Equal(one, found(text, 2)); same == random {
			t.Errorf("%s: another seed gives the same: %v, but random choices: %v", text, same, random)
		}
		all = append(all, one...)
	}
	if got, want := fmt.Sprintf("%x", sha256.Sum256(all))[:16], "22ed4bd05b3d76f9"; got != want {
		t.Errorf("the hash of all tokens is %s, want %s", got, want)
	}
}

func TestOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.Map(rapid.SliceOfDistinct(rapid.Int32Range(0, 30), rapid.ID[int32]), func(all []int32) []int32 {
			slices.Sort(all)
			return all
		})
		a, b := set.Draw(t, "a"), set.Draw(t, "b")
		want := 0
		for _, x := range a {
			if slices.Contains(b, x) {
				want++
			}
		}
		if got := Overlap(a, b); got != want {
			t.Fatalf("overlap of %v and %v is %d, want %d", a, b, got, want)
		}
	})
}
