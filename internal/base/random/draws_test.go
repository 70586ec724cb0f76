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
