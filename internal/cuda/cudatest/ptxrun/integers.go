package ptxrun

import "math/bits"

// instructions has every instruction that is known, by the first part of its name.
var instructions map[string]func(*compiler)

func init() {
	instructions = map[string]func(*compiler){
		"mov": move, "setp": compare, "cvt": convert, "cvta": convertAddress, "ld": load, "st": store,
		"atom": atomic, "membar": fence, "bar": barrierOrSync, "shfl": shuffle, "vote": vote,
		"mma": multiplyMatrices, "trap": trap, "bra": branch, "ret": leave,
	}
	for _, name := range []string{"abs", "add", "and", "bfe", "clz", "div", "fma", "mad", "max", "min", "mul", "neg",
		"not", "or", "popc", "rcp", "rem", "selp", "shf", "shl", "shr", "sub", "xor"} {
		instructions[name] = arithmetic
	}
}

func trap(c *compiler) {
	c.is(0, "trap")
	c.step.run = func(w *warp, active uint32) { w.fail(bits.TrailingZeros32(active), "trap") }
}

func branch(c *compiler) {
	c.is(1, "bra", "bra.uni")
	at, ok := c.kernel.Labels[c.in.Args[0].Text]
	if !ok {
		c.refuse("unknown label %q", c.in.Args[0].Text)
	}
	c.step.kind, c.step.target = jumps, at
}

func leave(c *compiler) {
	c.is(0, "ret")
	c.step.kind = leaves
}

// function computes a result of up to three numbers.
type function = func(a, b, c uint64) uint64

// operation is what an instruction computes. The result is cut to its bits.
type operation struct {
	operands []int // bits of each
	result   int
	divides  bool // the second operand must not be zero
	run      function
}

// same returns an operation on a number of operands of the same type.
func same(operands, n int, f function) operation {
	return operation{operands: []int{n, n, n}[:operands], result: n, run: f}
}

// arithmetic compiles what each lane computes from up to three numbers.
func arithmetic(c *compiler) {
	t, parts := c.typed()
	var op operation
	if t.kind == 'f' {
		op = floats(c.in.Op[0], parts, t.bits)
	} else {
		op = integers(c.in.Op[0], parts, t)
	}
	if op.run == nil {
		c.unknown()
	}
	c.need(1 + len(op.operands))
	var rows [3]int
	for i, n := range op.operands {
		rows[i] = c.from(i+1, n)
	}
	run := eachLane(len(op.operands), c.to(op.result), rows, op.result, op.run)
	c.step.run = run
	if op.divides {
		c.step.run = func(w *warp, active uint32) {
			for rest := active; rest != 0; rest &= rest - 1 {
				if l := bits.TrailingZeros32(rest); cut(w.rows[rows[1]][l], op.result) == 0 {
					w.fail(l, "division by zero")
				}
			}
			run(w, active)
		}
	}
}

// eachLane applies a function in all active lanes.
func eachLane(operands, to int, from [3]int, n int, f function) func(w *warp, active uint32) {
	mask := cut(^uint64(0), n)
	switch operands {
	case 1:
		return func(w *warp, active uint32) {
			d, x := &w.rows[to], &w.rows[from[0]]
			for ; active != 0; active &= active - 1 {
				l := bits.TrailingZeros32(active) & 31
				d[l] = f(x[l], 0, 0) & mask
			}
		}
	case 2:
		return func(w *warp, active uint32) {
			d, x, y := &w.rows[to], &w.rows[from[0]], &w.rows[from[1]]
			for ; active != 0; active &= active - 1 {
				l := bits.TrailingZeros32(active) & 31
				d[l] = f(x[l], y[l], 0) & mask
			}
		}
	}
	return func(w *warp, active uint32) {
		d, x, y, z := &w.rows[to], &w.rows[from[0]], &w.rows[from[1]], &w.rows[from[2]]
		for ; active != 0; active &= active - 1 {
			l := bits.TrailingZeros32(active) & 31
			d[l] = f(x[l], y[l], z[l]) & mask
		}
	}
}

// logic has functions of bits, also of predicates.
var logic = map[string]function{
	"and": func(a, b, _ uint64) uint64 { return a & b },
	"or":  func(a, b, _ uint64) uint64 { return a | b },
	"xor": func(a, b, _ uint64) uint64 { return a ^ b },
}

func not(a, _, _ uint64) uint64 { return ^a }

func choose(a, b, p uint64) uint64 {
	if p&1 != 0 {
		return a
	}
	return b
}

// combination returns a function of two whole numbers that has a result of the same type, nil for an unknown one.
func combination(name string, t numberType) function {
	less := lessThan(t)
	switch name {
	case "add":
		return func(a, b, _ uint64) uint64 { return a + b }
	case "min":
		return func(a, b, _ uint64) uint64 { return choose(b, a, truth(less(b, a))) }
	case "max":
		return func(a, b, _ uint64) uint64 { return choose(b, a, truth(less(a, b))) }
	}
	return logic[name]
}

// integers is what is computed with whole numbers and predicates.
func integers(name string, parts []string, t numberType) operation {
	n, signed := t.bits, t.kind == 's'
	part := ""
	if len(parts) > 0 {
		part = parts[0]
	}
	switch {
	case name == "mul" || name == "mad":
		return multiply(name, part, t)
	case name == "shf" && len(parts) == 2 && part == "l" && parts[1] == "wrap" && n == 32:
		return same(3, n, func(a, b, s uint64) uint64 { return (cut(a, 32) | b<<32) << (s & 31) >> 32 })
	case len(parts) > 0:
		return operation{}
	case name == "not":
		return same(1, n, not)
	case t.kind == 'p':
		return same(2, n, logic[name])
	}
	if f := combination(name, t); f != nil {
		return same(2, n, f)
	}
	switch name {
	case "sub":
		return same(2, n, func(a, b, _ uint64) uint64 { return a - b })
	case "neg":
		return same(1, n, func(a, _, _ uint64) uint64 { return -a })
	case "abs":
		return same(1, n, func(a, _, _ uint64) uint64 { return uint64(max(extend(a, n), -extend(a, n))) })
	case "shl":
		return operation{operands: []int{n, 32}, result: n, run: func(a, b, _ uint64) uint64 { return a << cut(b, 32) }}
	case "shr":
		return operation{operands: []int{n, 32}, result: n, run: func(a, b, _ uint64) uint64 {
			if signed {
				return uint64(extend(a, n) >> cut(b, 32))
			}
			return cut(a, n) >> cut(b, 32)
		}}
	case "popc":
		return operation{operands: []int{n}, result: 32, run: func(a, _, _ uint64) uint64 {
			return uint64(bits.OnesCount64(cut(a, n)))
		}}
	case "clz":
		return operation{operands: []int{n}, result: 32, run: func(a, _, _ uint64) uint64 {
			return uint64(bits.LeadingZeros64(cut(a, n)) - (64 - n))
		}}
	case "bfe":
		return operation{operands: []int{n, 32, 32}, result: n, run: extractBits(n, signed)}
	case "div", "rem":
		op := same(2, n, quotient(name == "rem", n, signed))
		op.divides = true
		return op
	case "selp":
		return operation{operands: []int{n, n, 1}, result: n, run: choose}
	}
	return operation{}
}

func lessThan(t numberType) func(a, b uint64) bool {
	n := t.bits
	if t.kind == 's' {
		return func(a, b uint64) bool { return extend(a, n) < extend(b, n) }
	}
	return func(a, b uint64) bool { return cut(a, n) < cut(b, n) }
}

func quotient(remainder bool, n int, signed bool) function {
	return func(a, b, _ uint64) uint64 {
		a, b = cut(a, n), cut(b, n)
		switch {
		case signed && remainder:
			return uint64(extend(a, n) % extend(b, n))
		case signed:
			return uint64(extend(a, n) / extend(b, n))
		case remainder:
			return a % b
		}
		return a / b
	}
}

// extractBits is bfe: c bits of a from b on; past the end are zeros, or copies of the sign.
func extractBits(n int, signed bool) function {
	return func(a, b, c uint64) uint64 {
		from, count := cut(b, 8), int(cut(c, 8))
		switch {
		case !signed:
			return cut(cut(a, n)>>from, min(count, 64))
		case count == 0:
			return 0
		}
		return uint64(extend(uint64(extend(a, n)>>from), min(count, 64)))
	}
}

// multiply is mul and mad, of the lower or upper half or the whole of a product.
func multiply(name, part string, t numberType) operation {
	n := t.bits
	operands := []int{n, n, n}[:2+truth(name == "mad")]
	value := func(x uint64) uint64 {
		if t.kind == 's' {
			return uint64(extend(x, n))
		}
		return cut(x, n)
	}
	switch {
	case part == "lo":
		return operation{operands: operands, result: n, run: func(a, b, c uint64) uint64 { return a*b + c }}
	case part == "wide" && n <= 32 && name == "mul":
		return operation{operands: operands, result: 2 * n, run: func(a, b, _ uint64) uint64 { return value(a) * value(b) }}
	case part == "hi":
		return operation{operands: operands, result: n, run: func(a, b, c uint64) uint64 {
			x, y := value(a), value(b)
			high, low := bits.Mul64(x, y)
			if n < 64 {
				return low>>n + c
			}
			if t.kind == 's' {
				high -= x*(y>>63) + y*(x>>63)
			}
			return high + c
		}}
	}
	return operation{}
}

// move is mov.
func move(c *compiler) {
	t, parts := c.typed()
	if len(parts) > 0 {
		c.unknown()
	}
	c.need(2)
	c.step.run = eachLane(1, c.to(t.bits), [3]int{c.from(1, t.bits)}, t.bits, func(a, _, _ uint64) uint64 { return a })
}

// compare is setp: it sets a predicate.
func compare(c *compiler) {
	t, parts := c.typed()
	if len(parts) != 1 {
		c.unknown()
	}
	holds := comparison(parts[0], t)
	if holds == nil {
		c.unknown()
	}
	c.need(3)
	rows := [3]int{c.from(1, t.bits), c.from(2, t.bits)}
	c.step.run = eachLane(2, c.to(1), rows, 1, func(a, b, _ uint64) uint64 { return truth(holds(a, b)) })
}

// comparison returns a comparison by its name, nil for an unknown one.
func comparison(how string, t numberType) func(a, b uint64) bool {
	if t.kind == 'f' {
		return floatComparison(how, t.bits)
	}
	if t.kind == 'p' || t.bits == 8 {
		return nil
	}
	n, less := t.bits, lessThan(t)
	switch how {
	case "eq":
		return func(a, b uint64) bool { return cut(a, n) == cut(b, n) }
	case "ne":
		return func(a, b uint64) bool { return cut(a, n) != cut(b, n) }
	case "lt":
		return less
	case "gt":
		return func(a, b uint64) bool { return less(b, a) }
	case "le":
		return func(a, b uint64) bool { return !less(b, a) }
	case "ge":
		return func(a, b uint64) bool { return !less(a, b) }
	}
	return nil
}
