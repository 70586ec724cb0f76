package npy

import "math"

// Half returns the value of a float16.
func Half(bits uint16) float32 {
	const exponents, bias = 0x7c00, 1 << 112 // what a float32 of the same bits lacks
	value := math.Float32frombits(uint32(bits&^(1<<15))<<13) * bias
	if bits&exponents == exponents {
		value = math.Float32frombits(math.Float32bits(value) | 0x7f800000) // infinity, or not a number
	}
	return math.Float32frombits(math.Float32bits(value) | uint32(bits&(1<<15))<<16)
}

// ToHalf returns the float16 that is nearest to a number, of two the even one.
func ToHalf(x float32) uint16 {
	const (
		infinity     = 0x7f800000
		leastAbove   = (127 + 16) << 23 // the exponent above the greatest
		leastNormal  = (127 - 14) << 23
		half         = 0.5 // its last bit is the last bit of a subnormal float16
		toHalfBias   = (127 - 15) << 23
		shift        = 13
		notQuiteHalf = 1<<(shift-1) - 1
	)
	bits := math.Float32bits(x)
	sign, bits := uint16(bits>>16)&(1<<15), bits&^(1<<31)
	switch {
	case bits > infinity:
		return sign | 0x7e00 | uint16(bits>>shift)&0x3ff
	case bits >= leastAbove:
		return sign | 0x7c00
	case bits < leastNormal:
		return sign | uint16(math.Float32bits(math.Float32frombits(bits)+half)-math.Float32bits(half))
	}
	return sign | uint16((bits-toHalfBias+notQuiteHalf+bits>>shift&1)>>shift)
}
