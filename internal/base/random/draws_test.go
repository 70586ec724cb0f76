package random

import "testing"

func TestFillDrawsTheSameAsBelow(t *testing.T) {
	const n = 1000
	for room := range 20 {
		one, many := NewDraws(5), NewDraws(5)
		numbers := make([]uint32, room)
		many.Fill(numbers, n)
		for i, got := range numbers {
			if want := one.Below(n); uint64(got) != want {
				t.Fatalf("number %d of %d: %d, want %d", i, room, got, want)
			}
		}
		if many != one {
			t.Fatalf("the sequence stands elsewhere after %d numbers", room)
		}
	}
}

func TestDrawsAreUniform(t *testing.T) {
	const n, perSlot = 97, 1000
	d := NewDraws(1)
	counts := make([]float64, n)
	for range n * perSlot {
		counts[d.Below(n)]++
	}
	chi2 := 0.0
	for _, c := range counts {
		chi2 += (c - perSlot) * (c - perSlot) / perSlot
	}
	// 96 degrees of freedom: mean 96, standard deviation 13.9.
	if chi2 < 96-4*13.9 || chi2 > 96+4*13.9 {
		t.Errorf("chi square %v for 96 degrees of freedom", chi2)
	}
}
