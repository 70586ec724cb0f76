package retrieve

import (
	"fmt"
	"testing"

	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

const benchmarkDim, benchmarkGroup = 64, 3

// benchmarkHead returns a head of n candidates and its step, as large as those of SmolLM2-135M.
func benchmarkHead(n int) (Head, Step) {
	h := normalKeys(n, benchmarkDim, 1)
	s := Step{Queries: normalKeys(benchmarkGroup, benchmarkDim, 2).Keys, Sums: make([]float32, n), To: n, K: n / 10}
	p := make([]float32, benchmarkGroup*n)
	softmax.Probabilities(p, s.Queries, h.Keys, h.Dim, 0.3)
	softmax.SumQueries(s.Sums, p)
	return h, s
}

// BenchmarkRetrieve is a step, without the probabilities that some need.
func BenchmarkRetrieve(b *testing.B) {
	for _, n := range []int{4 << 10, 32 << 10} {
		h, s := benchmarkHead(n)
		for _, text := range []string{"exact", "exact(rule=unit)", "blocks", "quest", "hashes", "clusters",
			"clusters(by=centroid)"} {
			b.Run(fmt.Sprintf("%dK/%s", n>>10, text), func(b *testing.B) {
				r := retriever(b, text)
				r.Begin(h)
				dst := r.Retrieve(nil, s) // prepares the candidates
				for b.Loop() {
					dst = r.Retrieve(dst[:0], s)
				}
			})
		}
	}
}

// BenchmarkProbabilities is what retrievers by probability need of a step.
func BenchmarkProbabilities(b *testing.B) {
	h, s := benchmarkHead(4 << 10)
	p := make([]float32, benchmarkGroup*h.To)
	for b.Loop() {
		softmax.Probabilities(p, s.Queries, h.Keys, h.Dim, 0.3)
		softmax.SumQueries(s.Sums, p)
	}
}

// BenchmarkBegin is what a head costs before its second step.
func BenchmarkBegin(b *testing.B) {
	h, s := benchmarkHead(4 << 10)
	for _, text := range []string{"quest", "hashes", "clusters"} {
		b.Run(text, func(b *testing.B) {
			r := retriever(b, text)
			var dst []int32
			for b.Loop() {
				r.Begin(h)
				dst = r.Retrieve(dst[:0], s)
			}
		})
	}
}
