package gen

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// stream returns an independent source of random bits for one purpose of one seed.
func stream(seed, purpose uint64) *rand.PCG { return rand.NewPCG(scramble(seed), scramble(^purpose)) }

// scramble is a bijection of the 64-bit numbers without visible structure: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number in 0..n-1 and a fraction of 2^32 that is independent of it but for n in 2^32. The bias is below n in 2^64.
func below(bitSource *rand.PCG, n int) (number int, fraction uint32) {
	high, low := bits.Mul64(bitSource.Uint64(), uint64(n))
	return int(high), uint32(low >> 32)
}

// unit returns a number in [0,1) with 53 bits.
func unit(bitSource *rand.PCG) float64 { return float64(bitSource.Uint64()>>11) / (1 << 53) }

// normal returns a draw of the standard normal distribution by the polar method (Marsaglia and Bray, 1964).
func normal(bitSource *rand.PCG) float64 {
	for {
		x, y := 2*unit(bitSource)-1, 2*unit(bitSource)-1
		square := float64(x*x) + float64(y*y)
		if square > 0 && square < 1 {
			return x * math.Sqrt(-2*naturalLog(square)/square)
		}
	}
}
