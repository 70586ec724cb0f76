package retrieve

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/must"
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

// TestRetrievers has what holds for all: tokens are candidates in ascending order, each once, at least K of them unless
// blocks are rounded; a step does not depend on keys and sums that are no candidates yet, nor on the head before; and
// what a Divided ranks is what it retrieves.
func TestRetrievers(t *testing.T) {
	for _, e := range Registry.All() {
		t.Run(e.Name, rapid.MakeCheck(func(t *rapid.T) {
			used, fresh := New(must.Get(Registry.Parse(e.Name))(t)), New(must.Get(Registry.Parse(e.Name))(t))
			for range 2 {
				checkRetriever(t, drawHead(t), used, fresh)
				fresh = New(must.Get(Registry.Parse(e.Name))(t))
			}
		}))
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

func TestBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawHead(t)
		size := rapid.IntRange(1, 9).Draw(t, "size")
		b := &blocks{size: size}
		b.Begin(d.head)
		for _, s := range d.steps {
			s.Sums = d.head.Keys[:s.To]
			first := 0
			for first*size < d.head.From {
				first++
			}
			end := first
			for (end+1)*size <= s.To {
				end++
			}
			n := max(1, (2*s.K+size)/(2*size)) // k/size, a half rounded up
			want := naiveBest(first, end, n, func(block int) (sum float64) {
				for _, x := range s.Sums[block*size:][:size] {
					sum += float64(x)
				}
				return sum
			})
			got := b.Rank(nil, s)
			if !slices.EqualFunc(got, want, func(a uint32, b int32) bool { return a == uint32(b) }) {
				t.Fatalf("blocks %v, want %v", got, want)
			}
		}
	})
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
