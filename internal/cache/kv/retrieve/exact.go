package retrieve

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/similarity/dot"
	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

// Rules by which tokens are the best of a group of queries.
const (
	ruleProb = "prob"
	ruleUnit = "unit"
)

var exactEntry = Entry{
	Name: "exact",
	Summary: "the k tokens with the greatest sum of probabilities over the group, or with the greatest products with " +
		"the sum of the unit queries",
	Source: "LiteCache (arXiv 2511.14510), algorithm 1: top-k attention without an approximation; for a group of query " +
		"heads the paper gives no rule, so both are ours",
	Sums: true,
	Best: true,
	Params: []params.Param{{Name: "rule", Default: ruleProb, Choices: []string{ruleProb, ruleUnit},
		Doc: "prob: by the sum of the probabilities that the query heads give a token; unit: by its product with the sum " +
			"of the queries, each scaled to length 1, which is one product per token and no exponential"}},
	Resolve: func(e *Entry, v params.Values) {
		e.Best = v.Text("rule") == ruleProb
		e.Sums = e.Best
	},
	New: func(v params.Values) Retriever { return &exact{unit: v.Text("rule") == ruleUnit} },
}

type exact struct {
	unit     bool
	head     Head
	query    []float32 // the sum of the unit queries
	products []float32 // per candidate
	selector softmax.Selector
}

func (e *exact) Begin(h Head) { e.head = h }

func (e *exact) Retrieve(dst []int32, s Step) []int32 {
	if e.unit {
		return Best(dst, &e.selector, e.multiply(s), e.head.From, s.K)
	}
	return Best(dst, &e.selector, s.Sums[e.head.From:s.To], e.head.From, s.K)
}

// multiply returns the products of the candidates with the sum of the unit queries.
func (e *exact) multiply(s Step) []float32 {
	dim := e.head.Dim
	e.query = slices.Grow(e.query[:0], dim)[:dim]
	clear(e.query)
	for query := range slices.Chunk(s.Queries, dim) {
		addUnit(e.query, query)
	}
	n := s.To - e.head.From
	e.products = slices.Grow(e.products[:0], n)[:n]
	softmax.Products(e.products, e.query, e.head.Keys[e.head.From*dim:s.To*dim], dim, 1)
	return e.products
}

// addUnit adds a vector, scaled to length 1, to sum. One without a direction adds nothing.
func addUnit(sum, vector []float32) {
	norm := math.Sqrt(dot.Sum(vector, vector))
	if norm == 0 {
		return
	}
	for i, x := range vector {
		sum[i] += float32(float64(x) / norm)
	}
}
