package softmax

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchmark runs a benchmark with the assembly, if there is any, and without.
func benchmark(b *testing.B, name string, run func(b *testing.B)) {
	has := assembly
	defer setAssembly(has)
	if has {
		b.Run(name, run)
	}
	setAssembly(false)
	b.Run(name+"/go", run)
}

// perSecond reports how many billions of a unit an iteration's work is per second.
func perSecond(b *testing.B, work int, unit string) {
	b.ReportMetric(float64(work)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), unit)
}

func benchmarkNumbers(n int) []float32 { return normal(rand.New(rand.NewPCG(1, 1)), n) }

func BenchmarkProducts(b *testing.B) {
	for _, c := range []struct{ dim, group, keys int }{{64, 1, 2048}, {64, 3, 2048}, {64, 4, 2048}, {128, 3, 1024},
		{128, 4, 1024}, {128, 8, 1024}, {128, 4, 32 << 10}, {128, 4, 128 << 10}} {
		benchmark(b, fmt.Sprintf("dim=%d/group=%d/keys=%d", c.dim, c.group, c.keys), func(b *testing.B) {
			queries, keys := benchmarkNumbers(c.group*c.dim), benchmarkNumbers(c.keys*c.dim)
			products := make([]float32, c.group*c.keys)
			for b.Loop() {
				Products(products, queries, keys, c.dim, 0.1)
			}
			perSecond(b, c.group*c.keys*c.dim, "GMAC/s")
		})
	}
}

func BenchmarkDots(b *testing.B) {
	benchmark(b, "dim=128/group=4", func(b *testing.B) {
		x, y := benchmarkNumbers(4*128), benchmarkNumbers(4*128)
		var products [4]float32
		for b.Loop() {
			Dots(products[:], x, y, 128)
		}
	})
}

func BenchmarkExp(b *testing.B) {
	benchmark(b, "32K", func(b *testing.B) {
		x := benchmarkNumbers(32 << 10)
		for i := range x {
			x[i] = -4 * max(x[i], -x[i])
		}
		dst := make([]float32, len(x))
		for b.Loop() {
			Exp(dst, x)
		}
		perSecond(b, len(x), "G/s")
	})
}

// benchmarkProbabilities are sums of a group's.
func benchmarkProbabilities(n int) []float32 {
	const dim, group = 128, 4
	p, sums := make([]float32, group*n), make([]float32, n)
	Probabilities(p, benchmarkNumbers(group*dim), benchmarkNumbers(n*dim), dim, 0.3)
	SumQueries(sums, p)
	return sums
}

func BenchmarkTop(b *testing.B) {
	numbers := benchmarkProbabilities(32 << 10)
	for _, k := range []int{len(numbers) / 100, len(numbers) / 10, len(numbers) / 2} {
		benchmark(b, fmt.Sprintf("32K/k=%d", k), func(b *testing.B) {
			var s Selector
			var dst []int32
			for b.Loop() {
				dst = s.Top(dst[:0], numbers, k)
			}
		})
	}
}

func BenchmarkWeighted(b *testing.B) {
	for _, dim := range []int{64, 128} {
		for _, n := range []int{1 << 10, 32 << 10} {
			benchmark(b, fmt.Sprintf("dim=%d/rows=%d", dim, n), func(b *testing.B) {
				values, weights, dst := benchmarkNumbers(n*dim), benchmarkNumbers(n), make([]float32, dim)
				for b.Loop() {
					Weighted(dst, weights, values, dim)
				}
				perSecond(b, 4*n*dim, "GB/s")
			})
		}
	}
}

func BenchmarkWeightedRows(b *testing.B) {
	benchmark(b, "dim=128/rows=3276of32K", func(b *testing.B) {
		const dim, n = 128, 32 << 10
		values, weights, dst := benchmarkNumbers(n*dim), benchmarkProbabilities(n), make([]float32, dim)
		var s Selector
		rows := s.Top(nil, weights, n/10)
		for b.Loop() {
			WeightedRows(dst, weights, rows, values, dim)
		}
		perSecond(b, 4*len(rows)*dim, "GB/s")
	})
}

// BenchmarkGroupTop128K finds the tenth of 128 K keys that has the most probability, summed over a group of four.
func BenchmarkGroupTop128K(b *testing.B) {
	const dim, group, n = 128, 4, 128 << 10
	benchmark(b, "exact", func(b *testing.B) {
		queries, keys := benchmarkNumbers(group*dim), benchmarkNumbers(n*dim)
		p, sums := make([]float32, group*n), make([]float32, n)
		var s Selector
		var dst []int32
		for b.Loop() {
			Probabilities(p, queries, keys, dim, 0.088)
			SumQueries(sums, p)
			dst = s.Top(dst[:0], sums, n/10)
		}
		perSecond(b, group*n*dim, "GMAC/s")
	})
}
