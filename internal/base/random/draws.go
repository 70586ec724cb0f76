package random

import "math"

// Draws is a sequence of random numbers that is drawn in a few instructions: the upper half of a linear congruential
// generator of 64 bits (Knuth, TAOCP 3.3.4); its low bits have short periods. Hot loops keep a copy of it in registers.
type Draws uint64

const (
	drawsFactor    = 6364136223846793005
	drawsIncrement = 1442695040888963407
)

// NewDraws returns the sequence of a seed.
func NewDraws(seed uint64) Draws { return Draws(Scramble(seed)) }

// Below returns a number below n, which must be positive and below 2^32.
func (d *Draws) Below(n uint64) uint64 {
	*d = *d*drawsFactor + drawsIncrement
	return d.scaled(n)
}

// scaled returns the number that was drawn last, as one below n.
func (d Draws) scaled(n uint64) uint64 { return uint64(d) >> 32 * n >> 32 }

// stride takes a sequence several numbers ahead at once. Its fields are variables, which a loop keeps in registers;
// constants would be loaded again for each number.
type stride struct{ factor, increment Draws }

var (
	oneAhead = stride{drawsFactor, drawsIncrement}
	twoAhead = stride{drawsFactor * drawsFactor % (1 << 64), (drawsFactor + 1) * drawsIncrement % (1 << 64)}
)

func (s stride) from(d Draws) Draws { return d*s.factor + s.increment }

// Fill draws as many numbers below n as there is room for, the same as Below would one by one. It draws two at a
// time, and neither waits for the other.
func (d *Draws) Fill(numbers []uint32, n uint64) {
	at, one, two := *d, oneAhead, twoAhead
	i := 0
	for ; i < len(numbers)-1; i += 2 {
		next := one.from(at)
		at = two.from(at)
		numbers[i], numbers[i+1] = uint32(next.scaled(n)), uint32(at.scaled(n))
	}
	if i < len(numbers) {
		at = one.from(at)
		numbers[i] = uint32(at.scaled(n))
	}
	*d = at
}

// The functions below give the same bits on every machine. Package math's may differ in the last bit between
// architectures (assembly, fused multiply-add), and one bit can move an object from one column of a table to another.
// Basic operations and square roots are exact by IEEE 754; the conversions float64(...) forbid the compiler to fuse a
// product with a sum. Relative error of each: below 1e-14 for the arguments used here.

// Log returns ln x for finite x > 0: x = m 2^e with m near 1, and ln m = 2 atanh((m-1)/(m+1)) as a series.
func Log(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	s := (m - 1) / (m + 1)
	square := s * s
	sum := 0.0
	for k := 25; k >= 1; k -= 2 {
		sum = float64(sum*square) + 1/float64(k)
	}
	return float64(2*float64(s*sum)) + float64(float64(e)*math.Ln2)
}

// Exp returns e^x for |x| < 700: x = k ln 2 + r with |r| <= ln(2)/2, and e^r by its Taylor series.
func Exp(x float64) float64 {
	const ln2High = 0x1.62e42feep-1 // short enough that its product with k is exact
	const ln2Low = math.Ln2 - ln2High
	k := math.Floor(x/math.Ln2 + 0.5)
	r := x - float64(k*ln2High) - float64(k*ln2Low)
	sum := 1.0
	for i := 18; i >= 1; i-- {
		sum = float64(sum*(r/float64(i))) + 1
	}
	return math.Ldexp(sum, int(k))
}
