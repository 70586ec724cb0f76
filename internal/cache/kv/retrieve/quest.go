package retrieve

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

var questEntry = Entry{
	Name: "quest",
	Summary: "the pages of adjacent tokens with the greatest bounds of their keys' products with the queries, from " +
		"the least and the greatest of each number of the keys; summed over the group",
	Source: "Tang et al., Quest: Query-aware sparsity for efficient long-context LLM inference, ICML 2024, token " +
		"criticality estimation; it knows no groups of query heads, so the sum is ours",
	Divided: true,
	Params:  []params.Param{pageSize("page", 16)},
	New:     func(v params.Values) Retriever { return &quest{pages: pages{size: v.Int("page")}} },
}

// quest sums bounds over the group: the sum bounds the sum of the queries' products with a key, and costs one product
// per page, however large the group.
type quest struct {
	pages
	head   Head
	bounds []float32 // a row per page: the greatest of each number of its keys, then the least
	query  []float32 // the factor of these
}

func (q *quest) Begin(h Head) { q.head, q.from, q.bounds = h, h.From, q.bounds[:0] }

func (q *quest) Retrieve(dst []int32, s Step) []int32 {
	q.ranked = q.Rank(q.ranked[:0], s)
	return Tokens(dst, q, q.ranked)
}

func (q *quest) Rank(dst []uint32, s Step) []uint32 {
	scores, width := q.scores(s.To), 2*q.head.Dim
	for page := len(q.bounds) / width; page < len(scores); page++ {
		q.bound(q.head.Keys[(q.first()+page)*q.size*q.head.Dim:][:q.size*q.head.Dim])
	}
	q.split(s.Queries)
	softmax.Products(scores, q.query, q.bounds, width, 1)
	return q.rank(dst, s.K)
}

// bound appends the bounds of a page with these keys.
func (q *quest) bound(keys []float32) {
	dim := q.head.Dim
	at := len(q.bounds)
	q.bounds = append(append(q.bounds, keys[:dim]...), keys[:dim]...)
	greatest, least := q.bounds[at:][:dim], q.bounds[at+dim:][:dim]
	for key := range slices.Chunk(keys[dim:], dim) {
		for i, x := range key {
			greatest[i], least[i] = max(greatest[i], x), min(least[i], x)
		}
	}
}

// split sets the query to the sum of the positive numbers of the queries, then that of the negative ones. The product
// of x and a number from least to greatest is at most x*greatest if x is positive, and x*least if it is negative.
func (q *quest) split(queries []float32) {
	dim := q.head.Dim
	q.query = slices.Grow(q.query[:0], 2*dim)[:2*dim]
	clear(q.query)
	positive, negative := q.query[:dim], q.query[dim:]
	for query := range slices.Chunk(queries, dim) {
		for i, x := range query {
			positive[i] += max(x, 0)
			negative[i] += min(x, 0)
		}
	}
}
