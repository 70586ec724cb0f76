package ptxrun

import (
	"math/bits"
	"strings"

	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptx"
)

// instructions has every instruction that is known, by the first part of its name, except those that jump.
var instructions map[string]func(*compiler)

func init() {
	instructions = map[string]func(*compiler){
		"abs": arithmetic, "add": arithmetic, "and": arithmetic, "bfe": arithmetic, "bfi": arithmetic, "bfind": arithmetic,
		"brev": arithmetic, "clz": arithmetic, "cnot": arithmetic, "div": arithmetic, "fma": arithmetic, "lop3": lop3,
		"mad": arithmetic, "max": arithmetic, "min": arithmetic, "mul": arithmetic, "neg": arithmetic, "not": arithmetic,
		"or": arithmetic, "popc": arithmetic, "prmt": arithmetic, "rcp": arithmetic, "rem": arithmetic, "sad": arithmetic,
		"selp": arithmetic, "shf": arithmetic, "shl": arithmetic, "shr": arithmetic, "sqrt": arithmetic, "sub": arithmetic,
		"testp": arithmetic, "copysign": arithmetic, "xor": arithmetic,
		"mov": move, "setp": compare, "cvt": convert, "cvta": convertAddress, "isspacep": inSpace,
		"ld": load, "ldu": load, "st": store, "atom": atomic, "red": atomic, "prefetch": prefetch,
		"cp": asynchronous, "membar": fence, "fence": fence,
		"bar": barrierOrSync, "barrier": barrierOrSync, "shfl": shuffle, "vote": vote, "match": match,
		"activemask": activeMask, "redux": reduce, "mma": multiplyMatrices, "ldmatrix": loadMatrices, "trap": trap,
	}
}

func trap(c *compiler) {
	c.need(0)
	c.step.run = func(w *warp, active uint32) { w.fail(bits.TrailingZeros32(active), "trap") }
}

// arithmetic compiles what each lane computes from up to four numbers.
func arithmetic(c *compiler) {
	t := c.typed()
	var op operation
	switch t.kind {
	case 'p':
		op = c.logic()
	case 'f':
		op = c.floats(t.bits)
	default:
		op = c.integers(t)
	}
	if op.run == nil {
		c.unknown()
	}
	c.need(1 + len(op.operands))
	var rows [4]int
	for i, n := range op.operands {
		rows[i] = c.from(i+1, n)
		if c.in.Args[i+1].Negated {
			c.unknown()
		}
	}
	to := c.to()
	if c.width(to) < op.result {
		ptx.Refuse(c.in.Line, "%s: the result has %d bits, %s has %d", c.in.Text(), op.result, c.in.Args[0].Text, c.width(to))
	}
	n, f, divides := op.result, op.run, op.divides
	c.step.run = eachLane(len(op.operands), to, rows, n, f)
	if run := c.step.run; divides {
		c.step.run = func(w *warp, active uint32) {
			for rest := active; rest != 0; rest &= rest - 1 {
				if l := bits.TrailingZeros32(rest); cut(w.rows[rows[1]][l], n) == 0 {
					w.fail(l, "division by zero")
				}
			}
			run(w, active)
		}
	}
}

// operation is what an instruction computes. The result is cut to its bits.
type operation struct {
	operands []int // bits of each
	result   int
	divides  bool // the second operand must not be zero
	run      func(a, b, c, d uint64) uint64
}

// eachLane applies a function in all active lanes.
func eachLane(operands, to int, from [4]int, n int, f func(a, b, c, d uint64) uint64) func(w *warp, active uint32) {
	mask := cut(^uint64(0), n)
	switch operands {
	case 1:
		return func(w *warp, active uint32) {
			d, x := &w.rows[to], &w.rows[from[0]]
			for ; active != 0; active &= active - 1 {
				l := bits.TrailingZeros32(active) & 31
				d[l] = f(x[l], 0, 0, 0) & mask
			}
		}
	case 2:
		return func(w *warp, active uint32) {
			d, x, y := &w.rows[to], &w.rows[from[0]], &w.rows[from[1]]
			for ; active != 0; active &= active - 1 {
				l := bits.TrailingZeros32(active) & 31
				d[l] = f(x[l], y[l], 0, 0) & mask
			}
		}
	}
	return func(w *warp, active uint32) {
		d, x, y, z, u := &w.rows[to], &w.rows[from[0]], &w.rows[from[1]], &w.rows[from[2]], &w.rows[from[3]]
		for ; active != 0; active &= active - 1 {
			l := bits.TrailingZeros32(active) & 31
			d[l] = f(x[l], y[l], z[l], u[l]) & mask
		}
	}
}

// same returns an operation on a number of operands of the same type.
func same(operands, n int, f func(a, b, c, d uint64) uint64) operation {
	all := []int{n, n, n, n}
	return operation{operands: all[:operands], result: n, run: f}
}

// logic is what is computed with predicates.
func (c *compiler) logic() operation {
	c.modifiers()
	switch c.in.Op[0] {
	case "and":
		return same(2, 1, func(a, b, _, _ uint64) uint64 { return a & b })
	case "or":
		return same(2, 1, func(a, b, _, _ uint64) uint64 { return a | b })
	case "xor":
		return same(2, 1, func(a, b, _, _ uint64) uint64 { return a ^ b })
	case "not":
		return same(1, 1, func(a, _, _, _ uint64) uint64 { return ^a })
	}
	return operation{}
}

// integers is what is computed with whole numbers.
func (c *compiler) integers(t numberType) operation {
	n, signed := t.bits, t.kind == 's'
	shift := func(f func(a, b, c, d uint64) uint64) operation {
		return operation{operands: []int{n, 32}, result: n, run: f}
	}
	counts := func(f func(a, b, c, d uint64) uint64) operation {
		return operation{operands: []int{n}, result: 32, run: f}
	}
	less := lessThan(t)
	switch c.in.Op[0] {
	case "mul", "mad":
		return c.multiply(t)
	case "shf", "prmt":
		return c.bytesOrFunnel()
	case "bfind":
		return c.findBit(n, signed)
	}
	c.modifiers()
	switch c.in.Op[0] {
	case "add":
		return same(2, n, func(a, b, _, _ uint64) uint64 { return a + b })
	case "sub":
		return same(2, n, func(a, b, _, _ uint64) uint64 { return a - b })
	case "neg":
		return same(1, n, func(a, _, _, _ uint64) uint64 { return -a })
	case "abs":
		return same(1, n, func(a, _, _, _ uint64) uint64 { return uint64(max(extend(a, n), -extend(a, n))) })
	case "not":
		return same(1, n, func(a, _, _, _ uint64) uint64 { return ^a })
	case "cnot":
		return same(1, n, func(a, _, _, _ uint64) uint64 { return truth(cut(a, n) == 0) })
	case "and":
		return same(2, n, func(a, b, _, _ uint64) uint64 { return a & b })
	case "or":
		return same(2, n, func(a, b, _, _ uint64) uint64 { return a | b })
	case "xor":
		return same(2, n, func(a, b, _, _ uint64) uint64 { return a ^ b })
	case "shl":
		return shift(func(a, b, _, _ uint64) uint64 { return a << cut(b, 32) })
	case "shr":
		if signed {
			return shift(func(a, b, _, _ uint64) uint64 { return uint64(extend(a, n) >> cut(b, 32)) })
		}
		return shift(func(a, b, _, _ uint64) uint64 { return cut(a, n) >> cut(b, 32) })
	case "popc":
		return counts(func(a, _, _, _ uint64) uint64 { return uint64(bits.OnesCount64(cut(a, n))) })
	case "clz":
		return counts(func(a, _, _, _ uint64) uint64 { return uint64(bits.LeadingZeros64(cut(a, n)) - (64 - n)) })
	case "brev":
		return same(1, n, func(a, _, _, _ uint64) uint64 { return bits.Reverse64(a) >> (64 - n) })
	case "bfe":
		return operation{operands: []int{n, 32, 32}, result: n, run: extractBits(n, signed)}
	case "bfi":
		return operation{operands: []int{n, n, 32, 32}, result: n, run: func(a, b, p, l uint64) uint64 {
			mask := cut(^uint64(0), int(min(cut(l, 8), 64))) << cut(p, 8)
			return b&^mask | a<<cut(p, 8)&mask
		}}
	case "min":
		return same(2, n, func(a, b, _, _ uint64) uint64 {
			if less(b, a) {
				return b
			}
			return a
		})
	case "max":
		return same(2, n, func(a, b, _, _ uint64) uint64 {
			if less(a, b) {
				return b
			}
			return a
		})
	case "sad":
		return same(3, n, func(a, b, c, _ uint64) uint64 {
			if less(a, b) {
				a, b = b, a
			}
			return c + a - b
		})
	case "div", "rem":
		op := same(2, n, quotient(c.in.Op[0] == "rem", n, signed))
		op.divides = true
		return op
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

func lessThan(t numberType) func(a, b uint64) bool {
	n := t.bits
	if t.kind == 's' {
		return func(a, b uint64) bool { return extend(a, n) < extend(b, n) }
	}
	return func(a, b uint64) bool { return cut(a, n) < cut(b, n) }
}

func quotient(remainder bool, n int, signed bool) func(a, b, c, d uint64) uint64 {
	return func(a, b, _, _ uint64) uint64 {
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

// findBit is bfind: the position of the highest bit that is not the sign, or how far to shift it to the top.
func (c *compiler) findBit(n int, signed bool) operation {
	found := c.modifiers("shiftamt")
	return operation{operands: []int{n}, result: 32, run: func(a, _, _, _ uint64) uint64 {
		if a = cut(a, n); signed && extend(a, n) < 0 {
			a = cut(^a, n)
		}
		if found["shiftamt"] && a != 0 {
			return uint64(n - bits.Len64(a))
		}
		return uint64(bits.Len64(a)) - 1
	}}
}

// extractBits is bfe: c bits of a from b on; past the end are zeros, or copies of the sign.
func extractBits(n int, signed bool) func(a, b, c, d uint64) uint64 {
	return func(a, b, c, _ uint64) uint64 {
		from, count := cut(b, 8), int(cut(c, 8))
		if !signed {
			return cut(cut(a, n)>>from, min(count, 64))
		}
		if count == 0 {
			return 0
		}
		x := uint64(extend(a, n) >> from)
		if count >= 64 {
			return x
		}
		return uint64(extend(x, count))
	}
}

// multiply is mul and mad, of the lower or upper half or the whole of a product.
func (c *compiler) multiply(t numberType) operation {
	n, signed := t.bits, t.kind == 's'
	operands := []int{n, n, n}
	if c.in.Op[0] == "mul" {
		operands = operands[:2]
	}
	found := c.modifiers("lo", "hi", "wide")
	if len(found) != 1 {
		return operation{}
	}
	value := func(x uint64) uint64 {
		if signed {
			return uint64(extend(x, n))
		}
		return cut(x, n)
	}
	switch {
	case found["lo"]:
		return operation{operands: operands, result: n, run: func(a, b, c, _ uint64) uint64 { return a*b + c }}
	case found["wide"] && n <= 32:
		if len(operands) == 3 {
			operands[2] = 2 * n
		}
		return operation{operands: operands, result: 2 * n,
			run: func(a, b, c, _ uint64) uint64 { return value(a)*value(b) + c }}
	case found["hi"] && n < 64:
		return operation{operands: operands, result: n,
			run: func(a, b, c, _ uint64) uint64 { return value(a)*value(b)>>n + c }}
	case found["hi"]:
		return operation{operands: operands, result: n, run: func(a, b, c, _ uint64) uint64 {
			high, _ := bits.Mul64(a, b)
			if signed && int64(a) < 0 {
				high -= b
			}
			if signed && int64(b) < 0 {
				high -= a
			}
			return high + c
		}}
	}
	return operation{}
}

// bytesOrFunnel is prmt, which selects bytes, and shf, which shifts two words.
func (c *compiler) bytesOrFunnel() operation {
	switch strings.Join(c.in.Op, ".") {
	case "prmt.b32":
		return same(3, 32, func(a, b, selection, _ uint64) (x uint64) {
			both := cut(a, 32) | b<<32
			for i := range 4 {
				s := selection >> (4 * i)
				v := both >> (8 * (s & 7)) & 255
				if s&8 != 0 { // the sign, in all bits
					v = uint64(int64(int8(v))>>7) & 255
				}
				x |= v << (8 * i)
			}
			return x
		})
	case "shf.l.wrap.b32", "shf.l.clamp.b32":
		wrap := c.in.Op[2] == "wrap"
		return same(3, 32, func(a, b, s, _ uint64) uint64 {
			return (cut(a, 32) | b<<32) << funnel(s, wrap) >> 32
		})
	case "shf.r.wrap.b32", "shf.r.clamp.b32":
		wrap := c.in.Op[2] == "wrap"
		return same(3, 32, func(a, b, s, _ uint64) uint64 { return (cut(a, 32) | b<<32) >> funnel(s, wrap) })
	}
	return operation{}
}

func funnel(s uint64, wrap bool) uint64 {
	if wrap {
		return s & 31
	}
	return min(cut(s, 32), 32)
}

// lop3 computes any function of three bits, from the table in its last operand.
func lop3(c *compiler) {
	if strings.Join(c.in.Op, ".") != "lop3.b32" {
		c.unknown()
	}
	c.need(5)
	table, ok := ptx.Literal(c.in.Args[4].Text, 8)
	if !ok {
		ptx.Refuse(c.in.Line, "%s: the table %q is no number", c.in.Text(), c.in.Args[4].Text)
	}
	rows := [4]int{c.from(1, 32), c.from(2, 32), c.from(3, 32)}
	c.step.run = eachLane(3, c.to(), rows, 32, func(a, b, c, _ uint64) (x uint64) {
		for i := range uint64(8) {
			if table>>i&1 != 0 {
				x |= (a ^ (i>>2&1 - 1)) & (b ^ (i>>1&1 - 1)) & (c ^ (i&1 - 1))
			}
		}
		return x
	})
}

// move is mov: of a number, or of several that are packed into one or unpacked from it.
func move(c *compiler) {
	c.need(2)
	t := c.typed()
	c.modifiers()
	to, from := c.in.Args[0], c.in.Args[1]
	n := t.bits
	switch {
	case to.Vector != nil && from.Vector == nil:
		parts := c.parts(to.Vector, t)
		row := c.source(c.frame, c.in, from, n)
		each := n / len(parts)
		c.step.run = func(w *warp, active uint32) {
			for rest := active; rest != 0; rest &= rest - 1 {
				l := bits.TrailingZeros32(rest)
				x := w.rows[row][l]
				for i, p := range parts {
					w.rows[p][l] = cut(x>>(i*each), each)
				}
			}
		}
	case from.Vector != nil && to.Vector == nil:
		parts := make([]int, len(from.Vector))
		each := c.partBits(len(parts), t)
		for i, o := range from.Vector {
			parts[i] = c.source(c.frame, c.in, o, each)
		}
		row := c.to()
		c.step.run = func(w *warp, active uint32) {
			for rest := active; rest != 0; rest &= rest - 1 {
				l := bits.TrailingZeros32(rest)
				x := uint64(0)
				for i, p := range parts {
					x |= cut(w.rows[p][l], each) << (i * each)
				}
				w.rows[row][l] = x
			}
		}
	default:
		row := c.to()
		c.step.run = eachLane(1, row, [4]int{c.from(1, n)}, n, func(a, _, _, _ uint64) uint64 { return a })
	}
}

// partBits returns how many bits each of some parts of a number has.
func (c *compiler) partBits(parts int, t numberType) int {
	if parts != 2 && parts != 4 || t.bits/parts < 8 {
		ptx.Refuse(c.in.Line, "%s: %d parts of %d bits", c.in.Text(), parts, t.bits)
	}
	return t.bits / parts
}

func (c *compiler) parts(vector []ptx.Operand, t numberType) (rows []int) {
	each := c.partBits(len(vector), t)
	for _, o := range vector {
		r := c.target(c.frame, c.in, o)
		if c.width(r) < each {
			ptx.Refuse(c.in.Line, "%s: %s has less than %d bits", c.in.Text(), o.Text, each)
		}
		rows = append(rows, r)
	}
	return rows
}

// compare is setp: it sets a predicate, or it and its opposite, and may combine them with another one.
func compare(c *compiler) {
	t := c.typed()
	if len(c.in.Op) < 3 || len(c.in.Args) < 3 {
		c.unknown()
	}
	how := comparison(c.in.Op[1], t)
	if how == nil {
		c.unknown()
	}
	combine := ""
	if rest := c.in.Op[2 : len(c.in.Op)-1]; len(rest) == 1 {
		combine = rest[0]
	} else if len(rest) > 1 {
		c.unknown()
	}
	a, b := c.from(1, t.bits), c.from(2, t.bits)
	third, negated := -1, uint64(0)
	switch combine {
	case "":
		c.need(3)
	case "and", "or", "xor":
		c.need(4)
		third = c.from(3, 1)
		negated = truth(c.in.Args[3].Negated)
	default:
		c.unknown()
	}
	to, other := c.in.Args[0], -1
	if to.Pair != nil {
		other = c.target(c.frame, c.in, to.Pair[1])
		to = to.Pair[0]
	}
	first := c.target(c.frame, c.in, to)
	for _, row := range []int{first, other} {
		if row >= 0 && c.width(row) != 1 && c.width(row) != anyWidth {
			ptx.Refuse(c.in.Line, "%s: the result is no predicate", c.in.Text())
		}
	}
	c.step.run = func(w *warp, active uint32) {
		for ; active != 0; active &= active - 1 {
			l := bits.TrailingZeros32(active) & 31
			p := truth(how(w.rows[a][l], w.rows[b][l]))
			q := p ^ 1
			if third >= 0 {
				r := w.rows[third][l]&1 ^ negated
				p, q = combined(combine, p, r), combined(combine, q, r)
			}
			w.rows[first][l] = p
			if other >= 0 {
				w.rows[other][l] = q
			}
		}
	}
}

func combined(how string, a, b uint64) uint64 {
	switch how {
	case "and":
		return a & b
	case "or":
		return a | b
	}
	return a ^ b
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
	case "lt", "lo":
		return less
	case "gt", "hi":
		return func(a, b uint64) bool { return less(b, a) }
	case "le", "ls":
		return func(a, b uint64) bool { return !less(b, a) }
	case "ge", "hs":
		return func(a, b uint64) bool { return !less(a, b) }
	}
	return nil
}
