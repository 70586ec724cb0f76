package ptxrun

import (
	"math"
	"math/bits"
	"slices"
	"strings"
)

// maskOf makes the step one that lanes do together, with the mask of its last operand.
func (c *compiler) maskOf(i int) {
	c.step.kind = together
	c.step.mask = c.from(i, 32)
}

// everyLane makes the step one of the whole warp.
func (c *compiler) everyLane() {
	c.step.kind = together
	c.step.mask = c.constant(uint64(allLanes))
}

func barrierOrSync(c *compiler) {
	op := slices.DeleteFunc(slices.Clone(c.in.Op), func(m string) bool { return m == "cta" || m == "aligned" })
	name := strings.Join(op, ".")
	if name == "bar.warp.sync" || name == "barrier.warp.sync" {
		c.need(1)
		c.maskOf(0)
		c.step.run = (*warp).syncWarp
		return
	}
	u := &barrierUse{count: -1, line: c.in.Line}
	args := c.in.Args
	if len(op) == 4 && op[1] == "red" {
		if len(args) < 3 {
			c.unknown()
		}
		u.reduce = op[2]
		last := len(args) - 1
		u.value, u.negated = c.from(last, 1), args[last].Negated
		u.to = c.to()
		args = args[1:last]
		if want := map[string]string{"popc": "u32", "and": "pred", "or": "pred"}[op[2]]; want == "" || op[3] != want {
			c.unknown()
		}
	} else if len(op) != 2 || op[1] != "sync" {
		c.unknown()
	}
	if len(args) != 1 && len(args) != 2 {
		c.unknown()
	}
	u.id = c.source(c.frame, c.in, args[0], 32)
	if len(args) == 2 {
		u.count = c.source(c.frame, c.in, args[1], 32)
	}
	c.step.kind = blocks
	c.step.barrier = u
}

// shuffle is shfl.sync, as the PTX ISA defines it.
func shuffle(c *compiler) {
	c.need(5)
	if len(c.in.Op) != 4 || c.in.Op[1] != "sync" || c.in.Op[3] != "b32" {
		c.unknown()
	}
	mode := c.in.Op[2]
	if !slices.Contains([]string{"up", "down", "bfly", "idx"}, mode) {
		c.unknown()
	}
	to, valid := c.in.Args[0], -1
	if to.Pair != nil {
		valid = c.target(c.frame, c.in, to.Pair[1])
		to = to.Pair[0]
	}
	row := c.target(c.frame, c.in, to)
	a, b, ends := c.from(1, 32), c.from(2, 32), c.from(3, 32)
	c.maskOf(4)
	c.step.run = func(w *warp, lanes uint32) {
		// A copy, as the target may be the same register.
		in := w.rows[a]
		var from [32]int
		var ok [32]bool
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest)
			from[l], ok[l] = sourceLane(mode, l, int(w.rows[b][l]&31), int(w.rows[ends][l]))
			if lanes>>from[l]&1 == 0 {
				w.fail(l, "reads from lane %d, which does not take part (lanes %08x do)", from[l], lanes)
			}
		}
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest)
			w.rows[row][l] = cut(in[from[l]], 32)
			if valid >= 0 {
				w.rows[valid][l] = truth(ok[l])
			}
		}
	}
}

// sourceLane returns which lane a shuffle reads from, and whether it is in range; if not, it is the lane itself.
func sourceLane(mode string, lane, by, ends int) (from int, ok bool) {
	end, segment := ends&31, ends>>8&31
	last := lane&segment | end&^segment
	first := lane & segment
	switch mode {
	case "up":
		from = lane - by
		ok = from >= last
	case "down":
		from = lane + by
		ok = from <= last
	case "bfly":
		from = lane ^ by
		ok = from <= last
	default:
		from = first | by&^segment
		ok = from <= last
	}
	if !ok {
		from = lane
	}
	return from, ok
}

func vote(c *compiler) {
	c.need(3)
	name := strings.Join(c.in.Op, ".")
	p, negated := c.from(1, 1), c.in.Args[1].Negated
	to := c.to()
	c.maskOf(2)
	var result func(trues, lanes uint32) uint64
	switch name {
	case "vote.sync.ballot.b32":
		result = func(trues, _ uint32) uint64 { return uint64(trues) }
	case "vote.sync.any.pred":
		result = func(trues, _ uint32) uint64 { return truth(trues != 0) }
	case "vote.sync.all.pred":
		result = func(trues, lanes uint32) uint64 { return truth(trues == lanes) }
	case "vote.sync.uni.pred":
		result = func(trues, lanes uint32) uint64 { return truth(trues == 0 || trues == lanes) }
	default:
		c.unknown()
	}
	c.step.run = func(w *warp, lanes uint32) {
		trues := uint32(0)
		for rest := lanes; rest != 0; rest &= rest - 1 {
			if l := bits.TrailingZeros32(rest); (w.rows[p][l]&1 != 0) != negated {
				trues |= 1 << l
			}
		}
		w.setAll(to, lanes, result(trues, lanes))
	}
}

func (w *warp) setAll(to int, lanes uint32, x uint64) {
	for ; lanes != 0; lanes &= lanes - 1 {
		w.rows[to][bits.TrailingZeros32(lanes)] = x
	}
}

func match(c *compiler) {
	c.need(3)
	if len(c.in.Op) != 4 {
		c.unknown()
	}
	t := c.typed()
	to, equal := c.in.Args[0], -1
	if to.Pair != nil {
		equal = c.target(c.frame, c.in, to.Pair[1])
		to = to.Pair[0]
	}
	row := c.target(c.frame, c.in, to)
	a := c.from(1, t.bits)
	c.maskOf(2)
	name := strings.Join(c.in.Op[:3], ".")
	if t.kind != 'b' || t.bits < 32 || name != "match.any.sync" && name != "match.all.sync" {
		c.unknown()
	}
	c.step.run = func(w *warp, lanes uint32) {
		var masks [32]uint32
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest)
			for others := lanes; others != 0; others &= others - 1 {
				if m := bits.TrailingZeros32(others); w.rows[a][l] == w.rows[a][m] {
					masks[l] |= 1 << m
				}
			}
		}
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest)
			if x := masks[l]; name == "match.any.sync" {
				w.rows[row][l] = uint64(x)
			} else {
				w.rows[row][l] = uint64(x) * truth(x == lanes)
				if equal >= 0 {
					w.rows[equal][l] = truth(x == lanes)
				}
			}
		}
	}
}

// reduce is redux.sync: it combines the numbers of all lanes into one.
func reduce(c *compiler) {
	c.need(3)
	t := c.typed()
	if len(c.in.Op) != 4 || c.in.Op[1] != "sync" || t.bits != 32 || t.kind == 'f' {
		c.unknown()
	}
	f := atomicFunction(c.in.Op[2], t)
	if !slices.Contains([]string{"add", "min", "max", "and", "or", "xor"}, c.in.Op[2]) || f == nil {
		c.unknown()
	}
	a, to := c.from(1, 32), c.to()
	c.maskOf(2)
	c.step.run = func(w *warp, lanes uint32) {
		x := w.rows[a][bits.TrailingZeros32(lanes)]
		for rest := lanes & (lanes - 1); rest != 0; rest &= rest - 1 {
			x = f(x, w.rows[a][bits.TrailingZeros32(rest)], 0)
		}
		w.setAll(to, lanes, cut(x, 32))
	}
}

// vectorOf returns the rows of a vector of words.
func (c *compiler) vectorOf(i, n int, targets bool) []int {
	f := form{vector: n, kind: numberType{'b', 32}}
	return c.values(c.in.Args[i], f, targets)
}

// multiplyMatrices is mma.sync of matrices in half precision, 16 x 16 and 16 x 8, with sums in float32.
func multiplyMatrices(c *compiler) {
	c.need(4)
	if strings.Join(c.in.Op, ".") != "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" {
		c.unknown()
	}
	to := c.vectorOf(0, 4, true)
	a, b, sums := c.vectorOf(1, 4, false), c.vectorOf(2, 2, false), c.vectorOf(3, 4, false)
	c.everyLane()
	c.step.run = func(w *warp, lanes uint32) {
		if lanes != allLanes {
			w.failTogether("only lanes %08x take part in a product of matrices", lanes)
		}
		w.product(to, a, b, sums)
	}
}

// product is done with fragments as the PTX ISA lays them out (matrix fragments for mma.m16n8k16): lane 4g + t has
// parts of the rows g and g+8 of a, and of the column g of b.
func (w *warp) product(to, a, b, sums []int) {
	halves := halfValues()
	var left [16][16]float64
	var right [8][16]float64
	for l := range 32 {
		g, t := l>>2, l&3
		for r, row := range a {
			x := w.rows[row][l]
			i, k := g+8*(r&1), 2*t+8*(r>>1)
			left[i][k], left[i][k+1] = halves[uint16(x)], halves[uint16(x>>16)]
		}
		for r, row := range b {
			x := w.rows[row][l]
			right[g][2*t+8*r], right[g][2*t+8*r+1] = halves[uint16(x)], halves[uint16(x>>16)]
		}
	}
	how := 0
	if d := w.block.launch.draws; d != nil {
		how = d.IntN(3)
	}
	var results [4]row
	for l := range 32 {
		g, t := l>>2, l&3
		for r, row := range sums {
			i, j := g+8*(r>>1), 2*t+r&1
			results[r][l] = bits32(sumOf(float32Of(w.rows[row][l]), &left[i], &right[j], how))
		}
	}
	// Last, as the registers of the result may hold the sums.
	for r, row := range to {
		w.rows[row] = results[r]
	}
}

// sumOf adds products to a sum. NVIDIA does not define in which order, nor how sums are rounded: here it is one of
// three ways. Programs must not depend on it.
func sumOf(sum float32, a, b *[16]float64, how int) float32 {
	switch how {
	case 0: // one after another, rounded to nearest
		for k := range a {
			sum += float32(a[k] * b[k])
		}
		return sum
	case 1: // all at once, rounded to nearest
		s := 0.0
		for k := range a {
			s += a[k] * b[k]
		}
		return float32(float64(sum) + s)
	}
	// Eight at a time, each cut off below the last bit of the largest (Fasi, Higham, Mikaitis and Pranesh, Numerical
	// behavior of NVIDIA tensor cores, PeerJ Computer Science 2021).
	for first := 0; first < 16; first += 8 {
		largest := math.Abs(float64(sum))
		for k := first; k < first+8; k++ {
			largest = max(largest, math.Abs(a[k]*b[k]))
		}
		if largest == 0 || math.IsInf(largest, 0) || largest != largest {
			for k := first; k < first+8; k++ {
				sum += float32(a[k] * b[k])
			}
			continue
		}
		_, e := math.Frexp(largest)
		unit := math.Ldexp(1, max(e-24, -149))
		s := math.Trunc(float64(sum) / unit)
		for k := first; k < first+8; k++ {
			s += math.Trunc(a[k] * b[k] / unit)
		}
		sum = float32(narrowToZero(s * unit))
	}
	return sum
}

func narrowToZero(x float64) float32 { return float32Of(narrow(x, 32, "rz")) }

// loadMatrices is ldmatrix: 8 x 8 matrices of halves from shared memory, a row of 16 bytes from the address of each
// lane.
func loadMatrices(c *compiler) {
	c.need(2)
	op := slices.DeleteFunc(slices.Clone(c.in.Op), func(m string) bool { return m == "trans" })
	n := map[string]int{"x1": 1, "x2": 2, "x4": 4}[strings.Join(op[min(4, len(op)):min(5, len(op))], "")]
	if n == 0 || strings.Join(op, ".") != "ldmatrix.sync.aligned.m8n8."+op[4]+".shared.b16" {
		c.unknown()
	}
	transposed := len(op) != len(c.in.Op)
	to := c.vectorOf(0, n, true)
	from := c.place(c.in.Args[1], shared)
	c.everyLane()
	c.step.run = func(w *warp, lanes uint32) {
		if lanes != allLanes {
			w.failTogether("only lanes %08x load matrices", lanes)
		}
		for i, row := range to {
			var m [8][8]uint64
			for r := range m {
				l := 8*i + r
				b, at := w.find(shared, from.of(w, l), 16, l)
				w.use(b, at, 16, l, reads)
				for k := range m[r] {
					m[r][k] = getBytes(b.data[at+int64(2*k):], 2)
				}
			}
			for l := range 32 {
				g, t := l>>2, l&3
				if transposed {
					w.rows[row][l] = m[2*t][g] | m[2*t+1][g]<<16
				} else {
					w.rows[row][l] = m[g][2*t] | m[g][2*t+1]<<16
				}
			}
		}
	}
}
