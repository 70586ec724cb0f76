package npy

import (
	"math"
	"testing"
)

// TestHalves: every float16 is its own nearest one, and numbers between two go to the nearer one or to the even one.
func TestHalves(t *testing.T) {
	for bits, want := range map[uint16]float32{0: 0, 1: 1. / (1 << 24), 0x3ff: 1023. / (1 << 24), 0x400: 1. / (1 << 14),
		0x3c00: 1, 0xc000: -2, 0x3555: 0.333251953125, 0x7bff: 65504, 0x7c00: float32(math.Inf(1))} {
		if got := Half(bits); got != want {
			t.Errorf("%#x is %v, want %v", bits, got, want)
		}
	}
	for n := range 1 << 16 {
		bits := uint16(n)
		x := Half(bits)
		if got := ToHalf(x); got != bits && (x == x || got&0x7fff <= 0x7c00) {
			t.Fatalf("%v of %#x becomes %#x", x, bits, got)
		}
		if bits&0x7fff >= 0x7bff {
			continue
		}
		next := Half(bits + 1)
		middle := (x + next) / 2
		for y, want := range map[float32]uint16{middle: (bits + 1) &^ 1,
			math.Nextafter32(middle, x): bits, math.Nextafter32(middle, next): bits + 1} {
			if got := ToHalf(y); got != want {
				t.Fatalf("%v becomes %#x, want %#x", y, got, want)
			}
		}
	}
	if ToHalf(65520) != 0x7c00 || ToHalf(-1e30) != 0xfc00 || ToHalf(65519) != 0x7bff {
		t.Error("numbers beyond the greatest are not infinite")
	}
}
