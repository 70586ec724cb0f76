package softmax

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/processor"
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

// perSecond runs work again and again, and reports its time and how many billions of a unit it does per second, both of
// the processor.
func perSecond(b *testing.B, amount int, unit string, work func()) {
	before := processor.Time()
	for b.Loop() {
		work()
	}
	spent := float64((processor.Time() - before).Nanoseconds())
	b.ReportMetric(spent/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(amount)*float64(b.N)/spent, unit)
}

func benchmarkNumbers(n int) []float32 { return normal(rand.New(rand.NewPCG(1, 1)), n) }

func BenchmarkProducts(b *testing.B) {
	for _, c := range []struct{ dim, group, keys int }{{64, 1, 2048}, {64, 3, 2048}, {64, 4, 2048}, {128, 3, 1024},
		{128, 4, 1024}, {128, 8, 1024}, {128, 4, 32 << 10}, {128, 32, 32 << 10}, {128, 4, 128 << 10}} {
		benchmark(b, fmt.Sprintf("dim=%d/group=%d/keys=%d", c.dim, c.group, c.keys), func(b *testing.B) {
			queries, keys := benchmarkNumbers(c.group*c.dim), benchmarkNumbers(c.keys*c.dim)
			products := make([]float32, c.group*c.keys)
			perSecond(b, len(products)*c.dim, "GMAC/s", func() { Products(products, queries, keys, c.dim, 0.1) })
		})
	}
}

func BenchmarkDot(b *testing.B) {
	benchmark(b, "dim=128", func(b *testing.B) {
		x, y := benchmarkNumbers(128), benchmarkNumbers(128)
		perSecond(b, 128, "GMAC/s", func() { Dot(x, y) })
	})
}

func BenchmarkExp(b *testing.B) {
	benchmark(b, "32K", func(b *testing.B) {
		x := benchmarkNumbers(32 << 10)
		for i := range x {
			x[i] = -4 * max(x[i], -x[i])
		}
		dst := make([]float32, len(x))
		perSecond(b, len(x), "G/s", func() { Exp(dst, x) })
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
			perSecond(b, len(numbers), "G/s", func() { dst = s.Top(dst[:0], numbers, k) })
		})
	}
}

func BenchmarkWeighted(b *testing.B) {
	for _, c := range []struct{ dim, group, rows int }{{64, 1, 1 << 10}, {128, 1, 32 << 10}, {64, 3, 1 << 10},
		{128, 4, 1 << 10}, {128, 4, 32 << 10}, {128, 32, 32 << 10}} {
		benchmark(b, fmt.Sprintf("dim=%d/group=%d/rows=%d", c.dim, c.group, c.rows), func(b *testing.B) {
			values, weights := benchmarkNumbers(c.rows*c.dim), benchmarkNumbers(c.group*c.rows)
			dst := make([]float32, c.group*c.dim)
			perSecond(b, c.group*c.rows*c.dim, "GMAC/s", func() { Weighted(dst, weights, values, c.dim) })
		})
	}
}

func BenchmarkWeightedRows(b *testing.B) {
	benchmark(b, "dim=128/group=4/rows=3276of32K", func(b *testing.B) {
		const dim, group, n = 128, 4, 32 << 10
		values, weights, dst := benchmarkNumbers(n*dim), benchmarkNumbers(group*n), make([]float32, group*dim)
		var s Selector
		rows := s.Top(nil, benchmarkProbabilities(n), n/10)
		perSecond(b, group*len(rows)*dim, "GMAC/s", func() { WeightedRows(dst, weights, rows, values, dim) })
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
		perSecond(b, group*n*dim, "GMAC/s", func() {
			Probabilities(p, queries, keys, dim, 0.088)
			SumQueries(sums, p)
			dst = s.Top(dst[:0], sums, n/10)
		})
	})
}
