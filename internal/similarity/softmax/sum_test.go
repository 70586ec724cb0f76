package softmax

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestWeighted compares sums of rows with their definition, bit by bit, and with float64.
func TestWeighted(t *testing.T) { withAndWithout(t, testWeighted) }

func testWeighted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		dim, n := rapid.IntRange(1, 200).Draw(t, "dim"), rapid.IntRange(1, 100).Draw(t, "rows")
		group := rapid.IntRange(1, 9).Draw(t, "group")
		values, weights := normal(random, n*dim), normal(random, group*n)
		all, some := make([]int32, n), make([]int32, rapid.IntRange(0, 150).Draw(t, "some"))
		for i := range all {
			all[i] = int32(i)
		}
		for i := range some {
			some[i] = int32(random.IntN(n))
		}
		dst := normal(random, group*dim+1)
		behind := dst[group*dim]
		check := func(rows []int32) {
			t.Helper()
			for j := range group {
				checkWeighted(t, dst[j*dim:][:dim], weights[j*n:], rows, values)
			}
			if dst[group*dim] != behind {
				t.Fatal("a number behind the sums has changed")
			}
		}
		Weighted(dst[:group*dim], weights, values, dim)
		check(all)
		WeightedRows(dst[:group*dim], weights, some, values, dim)
		check(some)
	})
}

// checkWeighted compares the sum of rows of one query with its definition.
func checkWeighted(t *rapid.T, dst, weights []float32, rows []int32, values []float32) {
	t.Helper()
	for c, got := range dst {
		var want float32
		exact, size := 0.0, 0.0
		for _, r := range rows {
			value := values[int(r)*len(dst)+c]
			p := float32(weights[r] * value)
			want += p
			exact += float64(weights[r]) * float64(value)
			size += math.Abs(float64(p))
		}
		if math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("component %d is %v, want %v", c, got, want)
		}
		if math.Abs(float64(want)-exact) > size*float64(len(rows)+1)*0x1p-24 {
			t.Fatalf("component %d is %v, want %v", c, want, exact)
		}
	}
}

// TestRowsThatAreNone asks for rows behind the last and before the first.
func TestRowsThatAreNone(t *testing.T) {
	withAndWithout(t, func(t *testing.T) {
		for _, row := range []int32{-1, 3} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("row %d of 3 was read", row)
					}
				}()
				WeightedRows(make([]float32, 2), make([]float32, 3), []int32{1, row}, make([]float32, 6), 2)
			}()
		}
	})
}

// TestSums compares sums with their definition, bit by bit.
func TestSums(t *testing.T) { withAndWithout(t, testSums) }

func testSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n, group := rapid.IntRange(1, 200).Draw(t, "n"), rapid.IntRange(1, 9).Draw(t, "group")
		numbers := normal(random, n*group)
		rows := make([]int32, rapid.IntRange(0, 99).Draw(t, "rows"))
		picked := make([]float32, len(rows))
		for i := range rows {
			rows[i] = int32(random.IntN(len(numbers)))
			picked[i] = numbers[rows[i]]
		}
		naive := func(numbers []float32) float64 {
			var s [8]float64
			for i, x := range numbers {
				s[i%8] += float64(x)
			}
			return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
		}
		if got, want := SumRows(numbers, rows), naive(picked); math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("the sum of rows is %v, want %v", got, want)
		}
		dst := normal(random, n)
		SumQueries(dst, numbers)
		for i, got := range dst {
			var want float32
			for j := range group {
				want += numbers[j*n+i]
			}
			if math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("sum %d over the queries is %v, want %v", i, got, want)
			}
		}
	})
}
