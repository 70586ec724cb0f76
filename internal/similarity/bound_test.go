package similarity

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/similarity/dot"
)

// half rounds a number to half precision, to even on a tie.
func half(x float64) float64 {
	_, e := math.Frexp(x)
	step := math.Ldexp(1, max(e-11, -24))
	return math.RoundToEven(x/step) * step
}

// cut cuts a number off at a multiple of a power of two.
func cut(x, step float64) float64 { return math.Trunc(x/step) * step }

// lastBit returns the last bit of a float32 as large as x.
func lastBit(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-24, -149))
}

// tensorProduct multiplies vectors as tensor cores do, each numbers at a time.
func tensorProduct(a, b []float32, scale float64, each int) (sum float64) {
	for k := 0; k < len(a); k += each {
		addends := []float64{sum}
		for i := k; i < min(k+each, len(a)); i++ {
			addends = append(addends, half(float64(a[i])*scale)*half(float64(b[i])*scale))
		}
		largest := 0.0
		for _, x := range addends {
			largest = max(largest, math.Abs(x))
		}
		sum = 0
		for _, x := range addends {
			sum += cut(x, lastBit(largest)) // exact in float64
		}
		sum = cut(sum, lastBit(sum))
	}
	return sum
}

func TestHalvesMissNoSimilarPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		dim := rapid.IntRange(1, 700).Draw(t, "dim")
		v := randomVectors(random, 6, dim, rapid.SampledFrom([]float64{1e-3, 0.3, 2}).Draw(t, "spread"))
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 1: // no signs that let roundings cancel out
			for i, x := range v.Data {
				v.Data[i] = float32(math.Abs(float64(x)))
			}
		case 2: // all rounded down by nearly half a step
			for i := range v.Data {
				v.Data[i] = float32((1 + 0.99/2048) / math.Sqrt(float64(dim)))
			}
		case 3: // of all magnitudes
			for i := range v.Data {
				v.Data[i] = float32(math.Ldexp(random.NormFloat64(), -random.IntN(60)) / math.Sqrt(float64(dim)))
			}
		case 4: // not of length 1
			factor := float32(math.Ldexp(1.5, random.IntN(60)-30))
			for i := range v.Data {
				v.Data[i] *= factor
			}
		}
		each := rapid.SampledFrom([]int{1, 4, 8, 16, 32}).Draw(t, "each")
		for b := range v.Len() {
			for a := range b {
				from := float32(dot.Sum(v.At(a), v.At(b))) // not limited to 1
				h := must.Get(v.Halves(from))(t)
				product := tensorProduct(v.At(a), v.At(b), float64(h.Scale), each)
				if product < float64(h.From) {
					t.Fatalf("a product of %d numbers, %d at a time, is %v, below %v", dim, each, product, h.From)
				}
			}
		}
	})
}

// Where every number is rounded down by nearly half a step, errors use up most of the slack, whatever the order
// of the sums.
func TestHalvesBoundIsReached(t *testing.T) {
	for _, each := range []int{1, 4, 8, 16, 32} {
		v := Vectors{Dim: 256, Data: make([]float32, 2*256)}
		for i := range v.Data {
			v.Data[i] = float32((1 + 0.99/2048) / 16)
		}
		h := must.Get(v.Halves(float32(dot.Sum(v.At(0), v.At(1)))))(t)
		slack := v.halfSlack(v.longest(), float64(h.Scale)) * float64(h.Scale) * float64(h.Scale)
		left := (tensorProduct(v.At(0), v.At(1), float64(h.Scale), each) - float64(h.From)) / slack
		t.Logf("%d at a time: %v of the slack are left", each, left)
		if left < 0 || left > 0.2 {
			t.Errorf("%d at a time: %v of the slack are left", each, left)
		}
	}
}

func TestHalvesAreClose(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(1, 1)), 50, 384, 0.3)
	h := must.Get(v.Halves(0.85))(t)
	if slack := 0.85 - float64(h.From)/float64(h.Scale)/float64(h.Scale); slack < 1e-3 || slack > 1.2e-3 {
		t.Errorf("a slack of %v for 384 dimensions", slack)
	}
	for _, x := range v.Data {
		if math.Abs(float64(x*h.Scale)) > 1<<15 {
			t.Fatalf("%v times %v is too large for half precision", x, h.Scale)
		}
	}
}

func TestHalvesOfUnusualVectors(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		if _, err := (Vectors{Dim: 2, Data: []float32{1, bad}}).Halves(0.5); err == nil {
			t.Errorf("no error for %v", bad)
		}
	}
	h, err := Vectors{Dim: 2, Data: make([]float32, 4)}.Halves(0)
	if err != nil || !(h.From <= 0) {
		t.Errorf("vectors of zeros: from %v, %v", h.From, err)
	}
	if h, err = (Vectors{Dim: 1 << 22, Data: make([]float32, 1<<22)}).Halves(0.5); err != nil ||
		!math.IsInf(float64(h.From), -1) {
		t.Errorf("2^22 dimensions: from %v, %v, want that all pairs are proposed", h.From, err)
	}
}
