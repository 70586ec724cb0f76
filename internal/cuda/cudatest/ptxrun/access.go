package ptxrun

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptx"
)

// form is an access as an instruction names it.
type form struct {
	space  space
	how    access
	vector int
	kind   numberType
}

// hints say how to use caches, or for whom memory is ordered. The interpreter has no caches, and runs one block at a
// time.
var hints = []string{"ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::evict_normal", "L1::evict_first", "L1::evict_last",
	"L1::no_allocate", "L1::evict_unchanged", "L2::64B", "L2::128B", "L2::256B", "weak", "cta", "gpu", "sys", "cluster"}

// form reads the parts of ld and st.
func (c *compiler) form() (f form) {
	f.vector = 1
	parts := c.in.Op[1:]
	if len(parts) == 0 {
		c.unknown()
	}
	f.kind = c.numberType(parts[len(parts)-1])
	store := c.in.Op[0] == "st"
	if store {
		f.how = writes
	}
	for _, m := range parts[:len(parts)-1] {
		switch {
		case m == "volatile" || m == "relaxed" || m == "acquire" && !store || m == "release" && store:
			f.how = watches
			if store {
				f.how = posts
			}
		case m == "v2":
			f.vector = 2
		case m == "v4":
			f.vector = 4
		case m == "nc" && !store:
			f.how = constant
		case slices.Contains(hints, m) && m != "":
		default:
			s, ok := spaces[m]
			if !ok || f.space != generic {
				c.unknown()
			}
			f.space = s
		}
	}
	if f.kind.kind == 'p' || f.vector*f.kind.bits > 128 {
		c.unknown()
	}
	return f
}

var spaces = map[string]space{"global": global, "const": global, "shared": shared, "shared::cta": shared,
	"local": local, "param": param}

// place is the address of an access: a row and what is added to it.
type place struct {
	row    int
	bits   int
	offset uint64
	space  space
}

// place returns where an access goes. A variable may be in another space than declared: parameters of called functions
// are local.
func (c *compiler) place(o ptx.Operand, s space) place {
	if o.Address == nil {
		ptx.Refuse(c.in.Line, "%s: an address is expected in brackets", c.in.Text())
	}
	base := *o.Address
	if v, ok := c.in.Scope.Variable(base.Text); ok {
		if _, register := c.in.Scope.Register(base.Text); !register {
			if v.Unsized {
				return place{c.addressOf(v), 64, uint64(o.Offset), s}
			}
			h := c.home(v)
			if s == generic {
				if s = h.space; s == shared {
					s = generic
				}
			} else if s == param {
				s = h.space
			}
			return place{c.constant(h.address), 64, uint64(o.Offset), s}
		}
	}
	row := c.source(c.frame, c.in, base, 64)
	n := c.width(row)
	if n < 32 {
		ptx.Refuse(c.in.Line, "%s: %s is no address", c.in.Text(), base.Text)
	}
	return place{row, n, uint64(o.Offset), s}
}

func (p place) of(w *warp, lane int) uint64 { return cut(w.rows[p.row][lane]+p.offset, p.bits) }

// values returns the rows of one operand or of the parts of a vector.
func (c *compiler) values(o ptx.Operand, f form, targets bool) (rows []int) {
	all := o.Vector
	if all == nil {
		all = []ptx.Operand{o}
	}
	if len(all) != f.vector {
		ptx.Refuse(c.in.Line, "%s: %d values, expected %d", c.in.Text(), len(all), f.vector)
	}
	for _, v := range all {
		if targets {
			row := c.target(c.frame, c.in, v)
			if c.width(row) < f.kind.bits {
				ptx.Refuse(c.in.Line, "%s: %s has less than %d bits", c.in.Text(), v.Text, f.kind.bits)
			}
			rows = append(rows, row)
		} else {
			rows = append(rows, c.source(c.frame, c.in, v, f.kind.bits))
		}
	}
	return rows
}

func load(c *compiler) {
	c.need(2)
	f := c.form()
	if f.how == constant && f.space != global {
		c.unknown()
	}
	to := c.values(c.in.Args[0], f, true)
	from := c.place(c.in.Args[1], f.space)
	size := f.kind.bits / 8
	all := size * f.vector
	signed := f.kind.kind == 's'
	widths := make([]int, len(to))
	for i, r := range to {
		widths[i] = c.width(r)
	}
	c.step.run = func(w *warp, active uint32) {
		for ; active != 0; active &= active - 1 {
			l := bits.TrailingZeros32(active) & 31
			r, at := w.find(from.space, from.of(w, l), all, l)
			w.use(r, at, all, l, f.how)
			for i, row := range to {
				x := getBytes(r.data[at+int64(i*size):], size)
				if signed {
					x = cut(uint64(extend(x, f.kind.bits)), widths[i])
				}
				w.rows[row][l] = x
			}
		}
	}
}

func store(c *compiler) {
	c.need(2)
	f := c.form()
	to := c.place(c.in.Args[0], f.space)
	from := c.values(c.in.Args[1], f, false)
	size := f.kind.bits / 8
	all := size * f.vector
	c.step.run = func(w *warp, active uint32) {
		for ; active != 0; active &= active - 1 {
			l := bits.TrailingZeros32(active) & 31
			r, at := w.find(to.space, to.of(w, l), all, l)
			w.use(r, at, all, l, f.how)
			for i, row := range from {
				putBytes(r.data[at+int64(i*size):], size, w.rows[row][l])
			}
		}
	}
}

// atomic is atom and red, which returns nothing.
func atomic(c *compiler) {
	t := c.typed()
	how, s := "", generic
	for _, m := range c.in.Op[1 : len(c.in.Op)-1] {
		switch m {
		case "relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys":
		case "global", "shared":
			s = spaces[m]
		default:
			if how != "" {
				c.unknown()
			}
			how = m
		}
	}
	f := atomicFunction(how, t)
	if f == nil {
		c.unknown()
	}
	args := c.in.Args
	to := -1
	if c.in.Op[0] == "atom" {
		if len(args) == 0 {
			c.unknown()
		}
		to = c.to()
		args = args[1:]
	}
	if want := 2 + int(truth(how == "cas")); len(args) != want {
		ptx.Refuse(c.in.Line, "%s: %d operands, expected %d", c.in.Text(), len(c.in.Args), want+len(c.in.Args)-len(args))
	}
	at := c.place(args[0], s)
	a, b := c.source(c.frame, c.in, args[1], t.bits), -1
	if how == "cas" {
		b = c.source(c.frame, c.in, args[2], t.bits)
	}
	size := t.bits / 8
	flushes := t.kind == 'f' && t.bits == 32
	c.step.run = func(w *warp, active uint32) {
		w.inSomeOrder(active, func(l int) {
			r, i := w.find(at.space, at.of(w, l), size, l)
			w.use(r, i, size, l, swaps)
			old, third := getBytes(r.data[i:], size), uint64(0)
			if b >= 0 {
				third = w.rows[b][l]
			}
			second := w.rows[a][l]
			if flushes && r != w.block.shared {
				putBytes(r.data[i:], size, flushed(f(flushed(old), flushed(second), 0)))
			} else {
				putBytes(r.data[i:], size, f(old, second, third))
			}
			if to >= 0 {
				w.rows[to][l] = old
			}
		})
	}
}

// flushed returns a float32 with 0 of its sign in place of a subnormal number, as atomic additions in global memory
// treat their operands and their sum.
func flushed(x uint64) uint64 {
	if x&0x7f800000 == 0 {
		return x & 0x80000000
	}
	return x
}

// inSomeOrder calls f for all lanes in an order that is drawn, as PTX does not define one.
func (w *warp) inSomeOrder(lanes uint32, f func(lane int)) {
	turn := 0
	if d := w.block.launch.draws; d != nil {
		turn = d.IntN(32)
	}
	for rest := bits.RotateLeft32(lanes, -turn); rest != 0; rest &= rest - 1 {
		f((bits.TrailingZeros32(rest) + turn) & 31)
	}
}

// atomicFunction returns what an atomic operation stores, nil if there is no such operation.
func atomicFunction(how string, t numberType) func(old, a, b uint64) uint64 {
	n := t.bits
	if n != 32 && n != 64 || t.kind == 'p' {
		return nil
	}
	less := lessThan(t)
	if t.kind == 'f' {
		if how != "add" {
			return nil
		}
		return func(old, a, _ uint64) uint64 {
			if n == 32 {
				return bits32(float32Of(old) + float32Of(a))
			}
			return bits64(float64Of(old) + float64Of(a))
		}
	}
	switch how {
	case "add":
		return func(old, a, _ uint64) uint64 { return old + a }
	case "and":
		return func(old, a, _ uint64) uint64 { return old & a }
	case "or":
		return func(old, a, _ uint64) uint64 { return old | a }
	case "xor":
		return func(old, a, _ uint64) uint64 { return old ^ a }
	case "exch":
		return func(_, a, _ uint64) uint64 { return a }
	case "cas":
		return func(old, a, b uint64) uint64 {
			if cut(old, n) == cut(a, n) {
				return b
			}
			return old
		}
	case "min":
		return func(old, a, _ uint64) uint64 {
			if less(a, old) {
				return a
			}
			return old
		}
	case "max":
		return func(old, a, _ uint64) uint64 {
			if less(old, a) {
				return a
			}
			return old
		}
	case "inc":
		return func(old, a, _ uint64) uint64 {
			if !less(old, a) {
				return 0
			}
			return old + 1
		}
	case "dec":
		return func(old, a, _ uint64) uint64 {
			if old == 0 || less(a, old) {
				return a
			}
			return old - 1
		}
	}
	return nil
}

// convertAddress is cvta, between addresses of a space and generic ones.
func convertAddress(c *compiler) {
	c.need(2)
	parts := c.in.Op[1:]
	to := len(parts) > 0 && parts[0] == "to"
	if to {
		parts = parts[1:]
	}
	if len(parts) != 2 || parts[1] != "u64" {
		c.unknown()
	}
	s, ok := spaces[parts[0]]
	if !ok || s == param {
		c.unknown()
	}
	window := map[space]uint64{shared: sharedWindow, local: localWindow}[s]
	row := [4]int{c.from(1, 64)}
	c.step.run = eachLane(1, c.to(), row, 64, func(a, _, _, _ uint64) uint64 {
		if to {
			return a - window
		}
		return a + window
	})
}

// inSpace is isspacep: whether a generic address is in a space.
func inSpace(c *compiler) {
	c.need(2)
	s, ok := spaces[c.in.Op[len(c.in.Op)-1]]
	if len(c.in.Op) != 2 || !ok || s == param {
		c.unknown()
	}
	window := map[space]uint64{shared: sharedWindow, local: localWindow}[s]
	c.step.run = eachLane(1, c.to(), [4]int{c.from(1, 64)}, 1, func(a, _, _, _ uint64) uint64 {
		return truth(a&windowMask == window)
	})
}

func prefetch(c *compiler) {
	c.need(1)
	c.step.run = func(*warp, uint32) {}
}

// fence orders what the threads of a block did before for other blocks.
func fence(c *compiler) {
	c.need(0)
	for _, m := range c.in.Op[1:] {
		if !slices.Contains([]string{"cta", "gl", "gpu", "sys", "sc", "acq_rel"}, m) {
			c.unknown()
		}
	}
	c.step.run = func(w *warp, _ uint32) {
		w.block.now++
		w.block.launch.fenced[w.block.number] = w.block.now
	}
	if slices.Contains(c.in.Op, "cta") {
		c.step.run = func(*warp, uint32) {}
	}
}

// copies are a lane's copies from global to shared memory that have not arrived, in groups or outside of them.
type copies struct {
	groups [][]copying
	open   []copying
}

type copying struct {
	to, from uint64
	size     int // bytes that are written
	read     int // bytes that are read; the others become 0
}

// asynchronous is cp.async. The bytes arrive when the thread waits for them; until then their place has no value.
func asynchronous(c *compiler) {
	switch op := strings.Join(c.in.Op, "."); {
	case op == "cp.async.commit_group":
		c.need(0)
		c.step.run = func(w *warp, active uint32) {
			w.eachCopies(active, func(_ int, q *copies) {
				q.groups = append(q.groups, q.open)
				q.open = nil
			})
		}
	case op == "cp.async.wait_group":
		c.need(1)
		n, ok := ptx.Literal(c.in.Args[0].Text, 32)
		if !ok {
			c.unknown()
		}
		c.step.run = func(w *warp, active uint32) {
			w.eachCopies(active, func(l int, q *copies) {
				for uint64(len(q.groups)) > n {
					w.arrive(l, q.groups[0])
					q.groups = q.groups[1:]
				}
			})
		}
	case op == "cp.async.wait_all":
		c.need(0)
		c.step.run = func(w *warp, active uint32) {
			w.eachCopies(active, func(l int, q *copies) {
				for _, g := range append(q.groups, q.open) {
					w.arrive(l, g)
				}
				*q = copies{}
			})
		}
	case strings.HasPrefix(op, "cp.async.ca.shared.global"), strings.HasPrefix(op, "cp.async.cg.shared.global"):
		for _, m := range c.in.Op[5:] {
			if !slices.Contains(hints, m) {
				c.unknown()
			}
		}
		c.copy()
	default:
		c.unknown()
	}
}

func (c *compiler) copy() {
	if len(c.in.Args) != 3 && len(c.in.Args) != 4 {
		c.unknown()
	}
	to, from := c.place(c.in.Args[0], shared), c.place(c.in.Args[1], global)
	size, ok := ptx.Literal(c.in.Args[2].Text, 32)
	if !ok || size != 16 && (c.in.Op[2] == "cg" || size != 4 && size != 8) {
		ptx.Refuse(c.in.Line, "%s: copies of %q bytes", c.in.Text(), c.in.Args[2].Text)
	}
	read := c.constant(size)
	if len(c.in.Args) == 4 {
		read = c.from(3, 32)
	}
	c.step.run = func(w *warp, active uint32) {
		w.eachCopies(active, func(l int, q *copies) {
			n := min(cut(w.rows[read][l], 32), size)
			address := to.of(w, l)
			r, at := w.find(shared, address, int(size), l)
			w.use(r, at, int(size), l, writes)
			r.mark(at, int64(size), false)
			q.open = append(q.open, copying{to: address, from: from.of(w, l), size: int(size), read: int(n)})
		})
	}
}

func (w *warp) eachCopies(active uint32, f func(lane int, q *copies)) {
	if w.copies == nil {
		w.copies = new([32]copies)
	}
	for ; active != 0; active &= active - 1 {
		l := bits.TrailingZeros32(active)
		f(l, &w.copies[l])
	}
}

func (w *warp) arrive(lane int, group []copying) {
	for _, a := range group {
		to, at := w.find(shared, a.to, a.size, lane)
		w.use(to, at, a.size, lane, writes)
		clear(to.data[at : at+int64(a.size)])
		n := 4
		if a.read%4 != 0 {
			n = 1
		}
		for i := 0; i < a.read; i += n {
			from, k := w.find(global, a.from+uint64(i), n, lane)
			w.use(from, k, n, lane, reads)
			copy(to.data[at+int64(i):], from.data[k:k+int64(n)])
		}
	}
}
