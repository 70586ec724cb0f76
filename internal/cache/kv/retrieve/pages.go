package retrieve

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

// pages are blocks of adjacent tokens, all of one size. The first token of a block is a multiple of the size. Blocks
// with a sink token, and a last one that is not full yet, are no candidates.
type pages struct {
	size    int
	from    int // the first candidate
	ranking ranking
	ranked  []uint32
}

func pageSize(name string, tokens int) params.Param {
	return params.Param{Name: name, Default: tokens, Min: 1, Max: 1 << 16,
		Doc: "tokens of a block; its first one is a multiple of that"}
}

func (p *pages) first() int { return (p.from + p.size - 1) / p.size }

// scores makes room for a score of each block whose tokens are before to, and returns it.
func (p *pages) scores(to int) []float32 { return p.ranking.reset(max(0, to/p.size-p.first())) }

// rank appends the blocks with the greatest scores: k/size of them, rounded, at least one.
func (p *pages) rank(dst []uint32, k int) []uint32 {
	for _, i := range p.ranking.ranked(max(1, (k+p.size/2)/p.size)) {
		dst = append(dst, uint32(p.first())+uint32(i))
	}
	return dst
}

func (p *pages) Tokens(dst []int32, block uint32) []int32 {
	return consecutive(dst, int(block)*p.size, p.size)
}

func (p *pages) Size() int    { return p.size }
func (p *pages) Sizes() []int { return nil }

func consecutive(dst []int32, first, n int) []int32 {
	for token := range n {
		dst = append(dst, int32(first+token))
	}
	return dst
}

var blocksEntry = Entry{
	Name: "blocks",
	Summary: "the blocks of adjacent tokens with the greatest sum of probabilities over the group: k/size of them, " +
		"rounded, at least one",
	Source:  "cachesim; pages of 8 tokens as in RetroInfer (Chen et al., 2025)",
	Sums:    true,
	Divided: true,
	Params:  []params.Param{pageSize("size", 8)},
	New:     func(v params.Values) Retriever { return &blocks{pages{size: v.Int("size")}} },
}

type blocks struct{ pages }

func (b *blocks) Begin(h Head) { b.from = h.From }

func (b *blocks) Retrieve(dst []int32, s Step) []int32 {
	b.ranked = b.Rank(b.ranked[:0], s)
	return Tokens(dst, b, b.ranked)
}

func (b *blocks) Rank(dst []uint32, s Step) []uint32 {
	sums := b.scores(s.To)
	for i := range sums {
		var sum float32
		for _, p := range s.Sums[(b.first()+i)*b.size:][:b.size] {
			sum += p
		}
		sums[i] = sum
	}
	return b.rank(dst, s.K)
}

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
