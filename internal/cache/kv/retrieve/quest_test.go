package retrieve

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQuest compares the pages with those of the paper's bound, sum_i max(q_i*min_i, q_i*max_i), summed over the group;
// and the bound of a page with the products of its keys, none of which is above it.
func TestQuest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawHead(t)
		size := rapid.IntRange(1, 9).Draw(t, "page")
		q := &quest{pages: pages{size: size}}
		q.Begin(d.head)
		for _, s := range d.steps {
			first := (d.head.From + size - 1) / size
			bound := func(page int) (sum float64) {
				for query := range slices.Chunk(s.Queries, d.head.Dim) {
					for i, x := range query {
						greatest := math.Inf(-1)
						for token := page * size; token < (page+1)*size; token++ {
							greatest = max(greatest, float64(x)*float64(d.key(token)[i]))
						}
						sum += greatest
					}
				}
				return sum
			}
			for page := first; page < s.To/size; page++ {
				for token := page * size; token < (page+1)*size; token++ {
					sum := 0.0
					for query := range slices.Chunk(s.Queries, d.head.Dim) {
						sum += product(query, d.key(token))
					}
					if sum > bound(page) {
						t.Fatalf("token %d has the product %v, above the bound %v of page %d", token, sum, bound(page), page)
					}
				}
			}
			want := naiveBest(first, s.To/size, max(1, (2*s.K+size)/(2*size)), bound)
			got := q.Rank(nil, s)
			if !slices.EqualFunc(got, want, func(a uint32, b int32) bool { return a == uint32(b) }) {
				t.Fatalf("pages %v, want %v", got, want)
			}
			for i, page := range got {
				if b := float64(q.ranking.scores[int(page)-first]); b != bound(int(page)) {
					t.Fatalf("page %d, ranked %d, has the bound %v, want %v", page, i, b, bound(int(page)))
				}
			}
		}
	})
}

// TestQuestByHand has pages of 2 keys with 2 numbers and the query (1,-2). Page 1 has keys (0,3) and (4,5), whose
// numbers are from 0 to 4 and from 3 to 5: its bound is 1*4-2*3 = -2. Page 2 has (1,0) and (0,-1): 1*1+2*1 = 3, which
// no key reaches. Page 3 has (2,0) twice: 2.
func TestQuestByHand(t *testing.T) {
	q := retriever(t, "quest(page=2)").(Divided)
	q.Begin(Head{Keys: []float32{7, 7, 7, 7, 0, 3, 4, 5, 1, 0, 0, -1, 2, 0, 2, 0, 9, 9}, Dim: 2, From: 1, To: 9})
	if got := q.Rank(nil, Step{Queries: []float32{1, -2}, To: 9, K: 6}); !slices.Equal(got, []uint32{2, 3, 1}) {
		t.Errorf("the pages are %v, want 2, 3, 1", got)
	}
	// With the query (0,1) besides, which adds 5, 0 and 0, page 1 ties with 2: the lower comes first.
	if got := q.Rank(nil, Step{Queries: []float32{1, -2, 0, 1}, To: 9, K: 4}); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("the pages of two queries are %v, want 1, 2", got)
	}
	if got := q.Retrieve(nil, Step{Queries: []float32{1, -2}, To: 9, K: 3}); !slices.Equal(got, []int32{4, 5, 6, 7}) {
		t.Errorf("the tokens are %v, want 4 to 7", got)
	}
}
