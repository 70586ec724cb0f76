// Package random draws random numbers that are the same on every machine for the same seed: generators and the formats
// that order queries by chance use it. Logarithms and powers are computed here, as package math's may differ in
// the last bit.
package random

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// Stream returns an independent source of random bits for one purpose of one seed.
func Stream(seed, purpose uint64) *rand.PCG { return rand.NewPCG(Scramble(seed), Scramble(^purpose)) }

// Golden is 2^64 divided by the golden ratio. Its multiples are spread evenly over the numbers (Knuth, TAOCP 6.4).
const Golden = 0x9e3779b97f4a7c15

// Scramble is a bijection of the 64-bit numbers without visible structure: SplitMix64 (Steele, Lea and Flood, Fast
// splittable pseudorandom number generators, OOPSLA 2014).
func Scramble(x uint64) uint64 { return Mix(x + Golden) }

// Mix makes every bit depend on every bit, except that 0 stays 0: the finalizer of SplitMix64.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Below returns a number in 0..n-1 and a fraction of 2^32 that is independent of it up to n in 2^32. The bias is below
// n in 2^64.
func Below(bitSource *rand.PCG, n int) (number int, fraction uint32) {
	high, low := bits.Mul64(bitSource.Uint64(), uint64(n))
	return int(high), uint32(low >> 32)
}

// Unit returns a number in [0,1) with 53 bits.
func Unit(bitSource *rand.PCG) float64 { return float64(bitSource.Uint64()>>11) / (1 << 53) }

// Normal returns a draw of the standard normal distribution by the polar method (Marsaglia and Bray, 1964).
func Normal(bitSource *rand.PCG) float64 {
	for {
		x, y := 2*Unit(bitSource)-1, 2*Unit(bitSource)-1
		square := float64(x*x) + float64(y*y)
		if square > 0 && square < 1 {
			return x * math.Sqrt(-2*Log(square)/square)
		}
	}
}

// Geometric draws the number of trials up to the first success, at least 1, with the given mean.
func Geometric(bitSource *rand.PCG, mean float64) int {
	// Drawn even if the mean is 1, so that the draws that follow do not depend on the mean.
	u := Unit(bitSource)
	if mean == 1 {
		return 1
	}
	// Inversion. 1-u is never 0, u can be.
	return 1 + int(Log(1-u)/Log(1-1/mean))
}

// Lognormal returns a function that draws from the lognormal distribution with this mean and standard deviation.
func Lognormal(mean, sd float64) func(*rand.PCG) float64 {
	ratio := sd / mean
	variance := Log(1 + float64(ratio*ratio))
	mu, sigma := Log(mean)-float64(variance/2), math.Sqrt(variance)
	// Exp holds below 700.
	return func(bits *rand.PCG) float64 { return Exp(min(mu+float64(sigma*Normal(bits)), 600)) }
}

// Shuffle puts items into a random order, every order as likely as any other (Fisher and Yates).
func Shuffle[T any](bitSource *rand.PCG, items []T) {
	for i := len(items) - 1; i > 0; i-- {
		j, _ := Below(bitSource, i+1)
		items[i], items[j] = items[j], items[i]
	}
}
