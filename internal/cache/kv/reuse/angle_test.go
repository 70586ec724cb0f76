package reuse

import (
	"math"
	"testing"
)

// ulps is how far apart two numbers up to 1 may be that differ by rounding only.
const ulps = 2e-15

func TestCosinesOfAngles(t *testing.T) {
	for i := range 10001 {
		x := math.Pi * float64(i) / 10000
		if got, want := cosine(x), math.Cos(x); math.Abs(got-want) > ulps {
			t.Errorf("cosine(%v) = %v, want %v", x, got, want)
		}
		c := float64(i)/5000 - 1
		if got, want := arccosine(c), math.Acos(c); math.Abs(got-want) > ulps {
			t.Errorf("arccosine(%v) = %v, want %v", c, got, want)
		}
	}
}

// TestAnglesAreExact: thresholds of 1 and -1 are compared with cosines that are exactly that.
func TestAnglesAreExact(t *testing.T) {
	if cosine(0) != 1 || cosine(math.Pi) != -1 || arccosine(1) != 0 || arccosine(-1) != math.Pi {
		t.Errorf("cos 0 = %v, cos π = %v, arccos 1 = %v, arccos -1 = %v", cosine(0), cosine(math.Pi), arccosine(1),
			arccosine(-1))
	}
}
