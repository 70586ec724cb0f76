package softmax

import (
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
)

// expError is the greatest relative error that Exp states.
const expError = 1e-7

// TestExp compares e^x with float64, in steps over all numbers for which it is neither 0 nor infinite.
func TestExp(t *testing.T) { withAndWithout(t, testExp) }

func testExp(t *testing.T) {
	step := brief.Of(uint32(997), 99991)
	checkExp(t, 0, mostExponent, step)
	checkExp(t, float32(math.Copysign(0, -1)), leastExponent, step)
}

// checkExp checks every step-th number from one away from 0 to another of the same sign, and the last.
func checkExp(t *testing.T, from, to float32, step uint32) {
	t.Helper()
	const batch = 4096
	x, dst := make([]float32, 0, batch), make([]float32, batch)
	worst, at := 0.0, float32(0)
	check := func() {
		Exp(dst, x)
		for i, y := range x {
			if e := math.Abs(float64(dst[i])/math.Exp(float64(y)) - 1); !(e <= worst) {
				worst, at = e, y
			}
		}
		x = x[:0]
	}
	last := math.Float32bits(to)
	for bits := uint64(math.Float32bits(from)); bits <= uint64(last); bits += uint64(step) {
		if x = append(x, math.Float32frombits(uint32(bits))); len(x) == batch {
			check()
		}
	}
	x = append(x, to)
	check()
	t.Logf("from %v to %v: greatest relative error %.3g at %v", from, to, worst, at)
	if !(worst <= expError) {
		t.Errorf("the relative error at %v is %v, want at most %v", at, worst, expError)
	}
}

// TestExpAtItsEnds has numbers whose e^x is stated.
func TestExpAtItsEnds(t *testing.T) { withAndWithout(t, testExpAtItsEnds) }

func testExpAtItsEnds(t *testing.T) {
	inf := float32(math.Inf(1))
	below := math.Nextafter32(leastExponent, -inf)
	above := math.Nextafter32(mostExponent, inf)
	if e := math.Exp(float64(below)); e >= 0x1p-126 {
		t.Errorf("e^%v is %v, a normal number: the least exponent is lower", below, e)
	}
	if e := math.Exp(float64(above)); e <= math.MaxFloat32 {
		t.Errorf("e^%v is %v, a finite number: the most is higher", above, e)
	}
	for x, want := range map[float32]float32{0: 1, 1e-45: 1, -1e-45: 1, below: 0, -1e30: 0, -math.MaxFloat32: 0, -inf: 0,
		above: inf, math.MaxFloat32: inf, inf: inf} {
		var got [9]float32
		Exp(got[:], []float32{x, x, x, x, x, x, x, x, x})
		for _, e := range got {
			if e != want {
				t.Errorf("e^%v is %v, want %v", x, e, want)
			}
		}
	}
	var got [9]float32
	if Exp(got[:], []float32{8: math.Float32frombits(0x7fc00001)}); got[8] == got[8] || got[7] != 1 {
		t.Errorf("e^NaN is %v, want NaN; e^0 is %v, want 1", got[8], got[7])
	}
}
