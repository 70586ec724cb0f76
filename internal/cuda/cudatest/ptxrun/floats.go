package ptxrun

import (
	"math"
	"math/bits"
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

func bits64(x float64) uint64 { return math.Float64bits(x) }

// fma32 returns a*b + c, rounded once. The product is exact in 53 bits; their sum is rounded to odd, so that rounding
// it again, to 24 bits, gives the same as rounding once (Boldo and Melquiond, Emulation of FMA and correctly rounded
// sums, IEEE Transactions on Computers 2008).
func fma32(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return float32(s)
	}
	t := s - p // the error of the sum, exactly (Knuth)
	e := (p - (s - t)) + (q - t)
	if u := math.Float64bits(s); e != 0 && u&1 == 0 {
		if (e > 0) == (s > 0) {
			u++
		} else {
			u--
		}
		s = math.Float64frombits(u)
	}
	return float32(s)
}

// floats is arithmetic of floating-point numbers that IEEE 754 defines, rounded to nearest. Other instructions are
// unknown, as their results differ between GPUs. So do products and sums without a rounding mode: the driver's compiler
// may fuse them.
func (c *compiler) floats(n int) operation {
	op := c.in.Op[0]
	exact := strings.Join(c.in.Op[1:len(c.in.Op)-1], ".") == "rn"
	plain := len(c.in.Op) == 2
	if op == "testp" {
		return c.testFloat(n)
	}
	rounds := slices.Contains([]string{"add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp"}, op)
	if n != 32 && n != 64 || !exact && !plain || plain && rounds {
		return operation{}
	}
	either := func(operands int, single func(a, b, c float32) float32, double func(a, b, c float64) float64) operation {
		if n == 32 {
			return same(operands, n, func(a, b, c, _ uint64) uint64 {
				return bits32(single(float32Of(a), float32Of(b), float32Of(c)))
			})
		}
		return same(operands, n, func(a, b, c, _ uint64) uint64 {
			return bits64(double(float64Of(a), float64Of(b), float64Of(c)))
		})
	}
	sign := uint64(1) << (n - 1)
	switch op {
	case "add":
		return either(2, func(a, b, _ float32) float32 { return a + b }, func(a, b, _ float64) float64 { return a + b })
	case "sub":
		return either(2, func(a, b, _ float32) float32 { return a - b }, func(a, b, _ float64) float64 { return a - b })
	case "mul":
		return either(2, func(a, b, _ float32) float32 { return a * b }, func(a, b, _ float64) float64 { return a * b })
	case "div":
		return either(2, func(a, b, _ float32) float32 { return a / b }, func(a, b, _ float64) float64 { return a / b })
	case "fma", "mad":
		return either(3, fma32, math.FMA)
	case "sqrt": // rounding the root in 53 bits to 24 rounds it correctly
		return either(1, func(a, _, _ float32) float32 { return float32(math.Sqrt(float64(a))) },
			func(a, _, _ float64) float64 { return math.Sqrt(a) })
	case "rcp":
		return either(1, func(a, _, _ float32) float32 { return 1 / a }, func(a, _, _ float64) float64 { return 1 / a })
	}
	if !plain {
		return operation{}
	}
	switch op {
	case "neg":
		return same(1, n, func(a, _, _, _ uint64) uint64 { return a ^ sign })
	case "abs":
		return same(1, n, func(a, _, _, _ uint64) uint64 { return a &^ sign })
	case "copysign":
		return same(2, n, func(a, b, _, _ uint64) uint64 { return a&sign | b&^sign })
	case "min":
		return either(2, func(a, b, _ float32) float32 { return float32(least(float64(a), float64(b))) },
			func(a, b, _ float64) float64 { return least(a, b) })
	case "max":
		return either(2, func(a, b, _ float32) float32 { return float32(-least(-float64(a), -float64(b))) },
			func(a, b, _ float64) float64 { return -least(-a, -b) })
	case "selp":
		return operation{operands: []int{n, n, 1}, result: n, run: func(a, b, p, _ uint64) uint64 {
			if p&1 != 0 {
				return a
			}
			return b
		}}
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

func (c *compiler) testFloat(n int) operation {
	if len(c.in.Op) != 3 || n != 32 && n != 64 {
		return operation{}
	}
	value := func(x uint64) float64 {
		if n == 32 {
			return float64(float32Of(x))
		}
		return float64Of(x)
	}
	test := map[string]func(x float64) bool{
		"finite":     func(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) },
		"infinite":   func(x float64) bool { return math.IsInf(x, 0) },
		"number":     func(x float64) bool { return !math.IsNaN(x) },
		"notanumber": math.IsNaN,
	}[c.in.Op[1]]
	if test == nil {
		return operation{}
	}
	return operation{operands: []int{n}, result: 1, run: func(a, _, _, _ uint64) uint64 { return truth(test(value(a))) }}
}

func floatComparison(how string, n int) func(a, b uint64) bool {
	if n != 32 && n != 64 {
		return nil
	}
	value := func(x uint64) float64 {
		if n == 32 {
			return float64(float32Of(x))
		}
		return float64Of(x)
	}
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

// convert is cvt, between whole and floating-point numbers of all sizes.
func convert(c *compiler) {
	parts := c.in.Op[1:]
	if len(parts) < 2 {
		c.unknown()
	}
	if strings.Join(parts, ".") == "rn.f16x2.f32" {
		c.need(3)
		rows := [4]int{c.from(1, 32), c.from(2, 32)}
		c.step.run = eachLane(2, c.to(), rows, 32, func(a, b, _, _ uint64) uint64 {
			return uint64(roundHalf(float64(float32Of(a)), "rn"))<<16 | uint64(roundHalf(float64(float32Of(b)), "rn"))
		})
		return
	}
	c.need(2)
	to, from := c.numberType(parts[len(parts)-2]), c.numberType(parts[len(parts)-1])
	mode, saturates := "", false
	for _, m := range parts[:len(parts)-2] {
		switch {
		case m == "sat":
			saturates = true
		case mode == "" && len(m) >= 2 && strings.HasPrefix(m, "r"):
			mode = m
		default:
			c.unknown()
		}
	}
	f := conversion(to, from, mode, saturates)
	if f == nil {
		c.unknown()
	}
	row := c.to()
	n := to.bits
	if wide := c.width(row); to.kind == 's' && wide > n { // the register keeps the sign
		narrow := f
		f = func(x uint64) uint64 { return uint64(extend(narrow(x), to.bits)) }
		n = wide
	}
	c.step.run = eachLane(1, row, [4]int{c.from(1, from.bits)}, n, func(a, _, _, _ uint64) uint64 { return f(a) })
}

// conversion returns the function that converts between two types, nil if no instruction does.
func conversion(to, from numberType, mode string, saturates bool) func(x uint64) uint64 {
	fromFloat, toFloat := from.kind == 'f', to.kind == 'f'
	if from.kind == 'p' || to.kind == 'p' || from.kind == 'f' && from.bits == 8 || to.kind == 'f' && to.bits == 8 {
		return nil
	}
	value := func(x uint64) float64 {
		switch from.bits {
		case 16:
			return halfValue(uint16(x))
		case 32:
			return float64(float32Of(x))
		}
		return float64Of(x)
	}
	switch {
	case !fromFloat && !toFloat:
		if mode != "" {
			return nil
		}
		return func(x uint64) uint64 { return integer(x, to, from, saturates) }
	case fromFloat && toFloat:
		whole := strings.HasSuffix(mode, "i")
		if saturates || to.bits < from.bits && (mode == "" || whole) || to.bits > from.bits && mode != "" {
			return nil
		}
		if to.bits >= from.bits && mode != "" && !whole {
			return nil
		}
		return func(x uint64) uint64 {
			v := value(x)
			if whole {
				v = roundWhole(v, mode)
			}
			return narrow(v, to.bits, mode)
		}
	case fromFloat:
		if !strings.HasSuffix(mode, "i") {
			return nil
		}
		return func(x uint64) uint64 {
			v := value(x)
			if v != v {
				return wholeOfNaN(to.bits, from.bits)
			}
			return wholeOf(roundWhole(v, mode), to)
		}
	}
	if strings.HasSuffix(mode, "i") || mode == "" || saturates || to.bits == 16 || mode != "rn" {
		return nil
	}
	return func(x uint64) uint64 {
		if from.kind == 's' {
			if v := extend(x, from.bits); to.bits == 32 {
				return bits32(float32(v))
			} else {
				return bits64(float64(v))
			}
		}
		if v := cut(x, from.bits); to.bits == 32 {
			return bits32(float32(v))
		} else {
			return bits64(float64(v))
		}
	}
}

// integer converts between types of whole numbers.
func integer(x uint64, to, from numberType, saturates bool) uint64 {
	if from.kind == 's' {
		v := extend(x, from.bits)
		if !saturates {
			return uint64(v)
		}
		if to.kind == 's' {
			return uint64(min(max(v, -1<<(to.bits-1)), 1<<(to.bits-1)-1))
		}
		return min(uint64(max(v, 0)), cut(^uint64(0), to.bits))
	}
	v := cut(x, from.bits)
	if !saturates {
		return v
	}
	if to.kind == 's' {
		return min(v, 1<<(to.bits-1)-1)
	}
	return min(v, cut(^uint64(0), to.bits))
}

func roundWhole(x float64, mode string) float64 {
	switch mode {
	case "rzi":
		return math.Trunc(x)
	case "rmi":
		return math.Floor(x)
	case "rpi":
		return math.Ceil(x)
	}
	return math.RoundToEven(x)
}

// wholeOfNaN returns what a NaN becomes: 0, or the highest bit alone if one of the two types has 64 bits.
func wholeOfNaN(to, from int) uint64 {
	if to < 64 && from < 64 {
		return 0
	}
	return 1 << (to - 1)
}

// wholeOf returns a whole number in floating point as one of a type; outside of the type's range it is the nearest one.
func wholeOf(x float64, t numberType) uint64 {
	if t.kind == 's' {
		limit := math.Ldexp(1, t.bits-1)
		switch {
		case x >= limit:
			return 1<<(t.bits-1) - 1
		case x < -limit:
			return 1 << (t.bits - 1)
		}
		return uint64(int64(x))
	}
	switch {
	case x <= 0:
		return 0
	case x >= math.Ldexp(1, t.bits):
		return cut(^uint64(0), t.bits)
	}
	return uint64(x)
}

// narrow returns the bits of a number in a type of floating-point numbers.
func narrow(x float64, n int, mode string) uint64 {
	switch n {
	case 16:
		return uint64(roundHalf(x, mode))
	case 64:
		return bits64(x)
	}
	y := float32(x)
	switch mode {
	case "rz":
		if math.Abs(float64(y)) > math.Abs(x) {
			y = math.Nextafter32(y, 0)
		}
	case "rm":
		if float64(y) > x {
			y = math.Nextafter32(y, float32(math.Inf(-1)))
		}
	case "rp":
		if float64(y) < x {
			y = math.Nextafter32(y, float32(math.Inf(1)))
		}
	}
	return bits32(y)
}

// halfValue returns a number in half precision.
func halfValue(x uint16) float64 {
	exponent, mantissa := int(x>>10&31), float64(x&1023)
	v := 0.0
	switch exponent {
	case 0:
		v = math.Ldexp(mantissa, -24)
	case 31:
		v = math.Inf(1)
		if mantissa != 0 {
			return math.NaN()
		}
	default:
		v = math.Ldexp(1024+mantissa, exponent-25)
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

// roundHalf returns a number in half precision.
func roundHalf(x float64, mode string) uint16 {
	sign := uint16(0)
	if math.Signbit(x) {
		sign = 1 << 15
	}
	a := math.Abs(x)
	if a != a {
		return 0x7fff
	}
	if math.IsInf(a, 0) {
		return sign | 31<<10
	}
	_, e := math.Frexp(a) // a is below 2^e
	unit := max(e-11, -24)
	scaled := math.Ldexp(a, -unit) // at most 11 bits before the point
	n := math.Floor(scaled)
	up := false
	switch rest := scaled - n; {
	case rest == 0:
	case mode == "rz":
	case mode == "rm":
		up = sign != 0
	case mode == "rp":
		up = sign == 0
	default:
		up = rest > 0.5 || rest == 0.5 && int(n)&1 == 1
	}
	if up {
		n++
	}
	if a = math.Ldexp(n, unit); a >= 65536 {
		if mode == "rz" || mode == "rm" && sign == 0 || mode == "rp" && sign != 0 {
			return sign | 0x7bff
		}
		return sign | 31<<10
	}
	if a < math.Ldexp(1, -14) {
		return sign | uint16(math.Ldexp(a, 24))
	}
	_, e = math.Frexp(a)
	return sign | uint16(e+14)<<10 | uint16(math.Ldexp(a, 11-e))&1023
}

// activeMask returns which lanes are at the instruction.
func activeMask(c *compiler) {
	if strings.Join(c.in.Op, ".") != "activemask.b32" {
		c.unknown()
	}
	c.need(1)
	to := c.to()
	c.step.run = func(w *warp, active uint32) {
		for rest := active; rest != 0; rest &= rest - 1 {
			w.rows[to][bits.TrailingZeros32(rest)] = uint64(active)
		}
	}
}
