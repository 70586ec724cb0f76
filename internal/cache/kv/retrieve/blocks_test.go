package retrieve

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func TestBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawHead(t)
		size := rapid.IntRange(1, 9).Draw(t, "size")
		b := &blocks{pages{size: size}}
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
