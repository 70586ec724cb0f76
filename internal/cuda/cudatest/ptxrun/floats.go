package ptxrun

import (
	"math"
	"slices"
	"strings"
	"sync"
)

func float32Of(x uint64) float32 { return math.Float32frombits(uint32(x)) }
func float64Of(x uint64) float64 { return math.Float64frombits(x) }

// bits32 returns the bits of a result: GPUs have one NaN of 32 bits.
func bits32(x float32) uint64 {
	if x != x {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(x))
}

// valueOf returns the function that reads a number of 32 or 64 bits.
func valueOf(n int) func(x uint64) float64 {
	if n == 32 {
		return func(x uint64) float64 { return float64(float32Of(x)) }
	}
	return float64Of
}

// bitsOf returns the bits of a number, which is rounded to nearest in a type of 32 bits.
func bitsOf(x float64, n int) uint64 {
	if n == 32 {
		return bits32(float32(x))
	}
	return math.Float64bits(x)
}

// fma32 returns a*b + c, rounded once. The product is exact in 53 bits; their sum is rounded to odd, so that rounding
// it again, to 24 bits, gives the same as rounding once (Boldo and Melquiond, Emulation of FMA and correctly rounded
// sums, IEEE Transactions on Computers 2008).
func fma32(a, b, c float64) float64 {
	p := a * b
	s := p + c
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return s
	}
	t := s - p // the error of the sum, exactly (Knuth)
	e := (p - (s - t)) + (c - t)
	if u := math.Float64bits(s); e != 0 && u&1 == 0 {
		if (e > 0) == (s > 0) {
			u++
		} else {
			u--
		}
		s = math.Float64frombits(u)
	}
	return s
}

// rounded are functions whose results IEEE 754 defines, in float64. Rounding them again to 24 bits gives what float32
// would, as 53 bits are more than twice as many and two (Figueroa, When is double rounding innocuous?, 1995).
var rounded = map[string]struct {
	operands int
	of       func(a, b, c float64) float64
}{
	"add": {2, func(a, b, _ float64) float64 { return a + b }},
	"sub": {2, func(a, b, _ float64) float64 { return a - b }},
	"mul": {2, func(a, b, _ float64) float64 { return a * b }},
	"div": {2, func(a, b, _ float64) float64 { return a / b }},
	"rcp": {1, func(a, _, _ float64) float64 { return 1 / a }},
	"fma": {3, math.FMA},
}

// floats is arithmetic of floating-point numbers that IEEE 754 defines, rounded to nearest. Other instructions are
// unknown, as their results differ between GPUs. So do products and sums without a rounding mode: the driver's compiler
// may fuse them.
func floats(name string, parts []string, n int) operation {
	if n != 32 && n != 64 {
		return operation{}
	}
	value := valueOf(n)
	if f, ok := rounded[name]; ok && slices.Equal(parts, []string{"rn"}) {
		of := f.of
		if name == "fma" && n == 32 {
			of = fma32
		}
		if n == 64 {
			return same(f.operands, n, func(a, b, c uint64) uint64 {
				return math.Float64bits(of(float64Of(a), float64Of(b), float64Of(c)))
			})
		}
		return same(f.operands, n, func(a, b, c uint64) uint64 {
			return bits32(float32(of(float64(float32Of(a)), float64(float32Of(b)), float64(float32Of(c)))))
		})
	}
	if len(parts) > 0 {
		return operation{}
	}
	sign := uint64(1) << (n - 1)
	switch name {
	case "neg":
		return same(1, n, func(a, _, _ uint64) uint64 { return a ^ sign })
	case "abs":
		return same(1, n, func(a, _, _ uint64) uint64 { return a &^ sign })
	case "min":
		return same(2, n, func(a, b, _ uint64) uint64 { return bitsOf(least(value(a), value(b)), n) })
	case "max":
		return same(2, n, func(a, b, _ uint64) uint64 { return bitsOf(-least(-value(a), -value(b)), n) })
	case "selp":
		return operation{operands: []int{n, n, 1}, result: n, run: choose}
	}
	return operation{}
}

// least returns the smaller of two numbers, the number of a number and a NaN, and -0 of both zeros.
func least(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return math.Min(a, b)
}

func floatComparison(how string, n int) func(a, b uint64) bool {
	if n != 32 && n != 64 {
		return nil
	}
	value := valueOf(n)
	unordered := func(a, b float64) bool { return a != a || b != b }
	f := map[string]func(a, b float64) bool{
		"eq": func(a, b float64) bool { return a == b }, "ne": func(a, b float64) bool { return a < b || a > b },
		"lt": func(a, b float64) bool { return a < b }, "le": func(a, b float64) bool { return a <= b },
		"gt": func(a, b float64) bool { return a > b }, "ge": func(a, b float64) bool { return a >= b },
		"equ": func(a, b float64) bool { return a == b || unordered(a, b) }, "neu": func(a, b float64) bool { return a != b },
		"ltu": func(a, b float64) bool { return !(a >= b) }, "leu": func(a, b float64) bool { return !(a > b) },
		"gtu": func(a, b float64) bool { return !(a <= b) }, "geu": func(a, b float64) bool { return !(a < b) },
		"num": func(a, b float64) bool { return !unordered(a, b) }, "nan": unordered,
	}[how]
	if f == nil {
		return nil
	}
	return func(a, b uint64) bool { return f(value(a), value(b)) }
}

// convert is cvt, between whole and floating-point numbers.
func convert(c *compiler) {
	if c.in.Text() == "cvt.rn.f16x2.f32" {
		c.need(3)
		rows := [3]int{c.from(1, 32), c.from(2, 32)}
		c.step.run = eachLane(2, c.to(32), rows, 32, func(a, b, _ uint64) uint64 {
			return uint64(roundHalf(float64(float32Of(a))))<<16 | uint64(roundHalf(float64(float32Of(b))))
		})
		return
	}
	from, parts := c.typed()
	if len(parts) == 0 {
		c.unknown()
	}
	to := c.numberType(parts[len(parts)-1])
	f := conversion(to, from, strings.Join(parts[:len(parts)-1], "."))
	if f == nil {
		c.unknown()
	}
	c.need(2)
	row, n := c.to(to.bits), to.bits
	if to.kind == 's' { // the register keeps the sign
		n = c.rows[row].bits
	}
	c.step.run = eachLane(1, row, [3]int{c.from(1, from.bits)}, n, func(a, _, _ uint64) uint64 {
		if to.kind == 's' {
			return uint64(extend(f(a), to.bits))
		}
		return f(a)
	})
}

// conversion returns the function that converts between two types, nil if no known instruction does. A mode says how
// numbers are rounded.
func conversion(to, from numberType, mode string) func(x uint64) uint64 {
	toFloat, fromFloat, value := to.kind == 'f', from.kind == 'f', valueOf(from.bits)
	switch {
	case to.kind == 'p' || from.kind == 'p' || (toFloat && to.bits < 32) || (fromFloat && from.bits < 32):
		return nil
	case toFloat && fromFloat && (mode == "" && to.bits > from.bits || mode == "rn" && to.bits < from.bits):
		return func(x uint64) uint64 { return bitsOf(value(x), to.bits) }
	case toFloat && !fromFloat && mode == "rn":
		return func(x uint64) uint64 {
			number, negative := cut(x, from.bits), uint64(0)
			if signed := extend(x, from.bits); from.kind == 's' && signed < 0 {
				number, negative = uint64(-signed), 1<<(to.bits-1)
			}
			if to.bits == 32 { // at once, as rounding to 53 bits first may change the result
				return bits32(float32(number)) | negative
			}
			return math.Float64bits(float64(number)) | negative
		}
	case !toFloat && fromFloat && mode == "rzi":
		return func(x uint64) uint64 { return wholeOf(value(x), to, from.bits) }
	case !toFloat && !fromFloat && mode == "":
		return func(x uint64) uint64 {
			if from.kind == 's' {
				return uint64(extend(x, from.bits))
			}
			return cut(x, from.bits)
		}
	}
	return nil
}

// wholeOf returns a number as a whole one of a type, cut off; outside of the type's range it is the nearest one. A NaN
// becomes 0, or the highest bit alone if one of the two types has 64 bits.
func wholeOf(x float64, t numberType, from int) uint64 {
	least, most, limit := uint64(0), cut(^uint64(0), t.bits), math.Ldexp(1, t.bits)
	if t.kind == 's' {
		least, most, limit = 1<<(t.bits-1), most>>1, limit/2
	}
	switch {
	case x != x && t.bits < 64 && from < 64:
		return 0
	case x != x:
		return 1 << (t.bits - 1)
	case x >= limit:
		return most
	case x < 0 && (t.kind != 's' || x < -limit):
		return least
	case x < 0:
		return uint64(int64(x))
	}
	return uint64(x)
}

// halfValue returns a number in half precision.
func halfValue(x uint16) float64 {
	exponent, mantissa := int(x>>10&31), float64(x&1023)
	v := math.Ldexp(1024+mantissa, exponent-25)
	switch {
	case exponent == 0:
		v = math.Ldexp(mantissa, -24)
	case exponent == 31 && mantissa != 0:
		return math.NaN()
	case exponent == 31:
		v = math.Inf(1)
	}
	if x>>15 != 0 {
		v = -v
	}
	return v
}

// halfValues returns all numbers in half precision.
var halfValues = sync.OnceValue(func() *[1 << 16]float64 {
	all := new([1 << 16]float64)
	for i := range all {
		all[i] = halfValue(uint16(i))
	}
	return all
})

// roundHalf returns the bits of a number in half precision, rounded to nearest.
func roundHalf(x float64) uint16 {
	const tooLarge, leastNormal = 65520, 0x1p-14
	sign, size := uint16(math.Float64bits(x)>>63<<15), math.Abs(x)
	switch {
	case x != x:
		return 0x7fff
	case size >= tooLarge:
		return sign | 31<<10
	case size < leastNormal:
		return sign | uint16(math.RoundToEven(math.Ldexp(size, 24)))
	}
	_, e := math.Frexp(size)
	// The 11 bits before the point have the implicit one, which is added to the exponent.
	return sign | uint16((e+13)<<10+int(math.RoundToEven(math.Ldexp(size, 11-e))))
}
