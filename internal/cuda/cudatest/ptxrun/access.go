package ptxrun

import "math/bits"

// space is the state space of an access. Generic addresses are those of global memory.
type space uint8

const (
	global space = iota
	shared
	local
	param
)

var spaces = map[string]space{"global": global, "shared": shared, "local": local, "param": param}

// transfer is what ld and st copy: numbers of a type, between memory and the rows of one operand or of a vector.
type transfer struct {
	how  access
	kind numberType
	size int   // bytes of a number
	rows []int // of all numbers
	place
}

// transfer reads the parts of ld and st; values and address are the places of their operands.
func (c *compiler) transfer(values, address int) (t transfer) {
	kind, parts := c.typed()
	stores, n, in := address == 0, 1, global
	t = transfer{kind: kind, size: kind.bits / 8}
	if stores {
		t.how = writes
	}
	for i, p := range parts {
		s, isSpace := spaces[p]
		switch {
		case isSpace:
			in = s
		case p == "volatile" && i == 0 && !stores:
			t.how = watches
		case p == "nc" && in == global && !stores:
			t.how = constant
		case p == "v2":
			n = 2
		case p == "v4":
			n = 4
		default:
			c.unknown()
		}
	}
	if kind.kind == 'p' || n*kind.bits > 128 {
		c.unknown()
	}
	c.need(2)
	t.place = c.place(address, in)
	t.rows = c.values(values, n, kind.bits, !stores)
	return t
}

// values returns the rows of a number or of a vector of n numbers.
func (c *compiler) values(i, n, bits int, targets bool) (rows []int) {
	o := c.in.Args[i]
	all := o.Vector
	if all == nil {
		all = []string{o.Text}
	}
	if len(all) != n || o.Memory {
		c.refuse("%d values, expected %d", len(all), n)
	}
	for _, text := range all {
		if targets {
			rows = append(rows, c.target(text, bits))
		} else {
			rows = append(rows, c.source(text, bits))
		}
	}
	return rows
}

// place is the address of an access: a row and what is added to it.
type place struct {
	row    int
	bits   int
	offset uint64
	space  space
}

func (c *compiler) place(i int, s space) place {
	o := c.in.Args[i]
	if !o.Memory {
		c.refuse("an address is expected in brackets")
	}
	row := c.source(o.Text, 64)
	if c.rows[row].bits < 32 {
		c.refuse("%s is no address", o.Text)
	}
	return place{row, c.rows[row].bits, uint64(o.Offset), s}
}

func (p place) of(w *warp, lane int) uint64 { return cut(w.rows[p.row][lane]+p.offset, p.bits) }

func load(c *compiler) {
	t := c.transfer(0, 1)
	all, signed := t.size*len(t.rows), t.kind.kind == 's'
	c.step.run = func(w *warp, active uint32) {
		for ; active != 0; active &= active - 1 {
			l := bits.TrailingZeros32(active) & 31
			r, at := w.find(t.space, t.of(w, l), all, l)
			w.use(r, at, all, l, t.how)
			for i, row := range t.rows {
				x := getBytes(r.data[at+int64(i*t.size):], t.size)
				if signed {
					x = cut(uint64(extend(x, t.kind.bits)), w.block.launch.program.rows[row].bits)
				}
				w.rows[row][l] = x
			}
		}
	}
}

func store(c *compiler) {
	t := c.transfer(1, 0)
	all := t.size * len(t.rows)
	c.step.run = func(w *warp, active uint32) {
		for ; active != 0; active &= active - 1 {
			l := bits.TrailingZeros32(active) & 31
			r, at := w.find(t.space, t.of(w, l), all, l)
			w.use(r, at, all, l, t.how)
			for i, row := range t.rows {
				putBytes(r.data[at+int64(i*t.size):], t.size, w.rows[row][l])
			}
		}
	}
}

// atomic is atom. Lanes have an order that is drawn, as PTX does not define one.
func atomic(c *compiler) {
	t, parts := c.typed()
	in := global
	if len(parts) == 2 && (parts[0] == "global" || parts[0] == "shared") {
		in, parts = spaces[parts[0]], parts[1:]
	}
	if len(parts) != 1 || t.bits < 32 || t.kind == 'f' {
		c.unknown()
	}
	f := combination(parts[0], t)
	if f == nil {
		c.unknown()
	}
	c.need(3)
	to, at, operand, size := c.to(t.bits), c.place(1, in), c.from(2, t.bits), t.bits/8
	c.step.run = func(w *warp, active uint32) {
		turn := w.block.launch.draw(32)
		for rest := bits.RotateLeft32(active, -turn); rest != 0; rest &= rest - 1 {
			l := (bits.TrailingZeros32(rest) + turn) & 31
			r, i := w.find(at.space, at.of(w, l), size, l)
			w.use(r, i, size, l, swaps)
			old := getBytes(r.data[i:], size)
			putBytes(r.data[i:], size, f(old, w.rows[operand][l], 0))
			w.rows[to][l] = old
		}
	}
}

// convertAddress is cvta, between addresses of global memory and generic ones.
func convertAddress(c *compiler) {
	c.is(2, "cvta.global.u64", "cvta.to.global.u64")
	c.step.run = eachLane(1, c.to(64), [3]int{c.from(1, 64)}, 64, func(a, _, _ uint64) uint64 { return a })
}

// fence orders what the threads of a block did before for other blocks.
func fence(c *compiler) {
	c.is(0, "membar.gl")
	c.step.run = func(w *warp, _ uint32) {
		w.block.now++
		w.block.launch.fenced[w.block.number] = w.block.now
	}
}

// together makes the step one that lanes do at the same time, with the mask that an operand has.
func (c *compiler) together(mask string) {
	c.step.kind = together
	c.step.mask = c.source(mask, 32)
}

// everyLane is the mask of a whole warp.
const everyLane = "-1"

func barrierOrSync(c *compiler) {
	if c.in.Text() == "bar.warp.sync" {
		c.need(1)
		c.together(c.in.Args[0].Text)
		c.step.run = (*warp).syncWarp
		return
	}
	u := &barrierUse{count: -1, line: c.in.Line}
	if len(c.in.Args) == 2 { // for some warps
		u.count = c.from(1, 32)
	} else {
		c.need(1)
	}
	c.is(len(c.in.Args), "bar.sync")
	u.id = c.from(0, 32)
	c.step.kind = blocks
	c.step.barrier = u
}

// shuffle is shfl.sync, as the PTX ISA defines it.
func shuffle(c *compiler) {
	c.is(5, "shfl.sync.up.b32", "shfl.sync.down.b32", "shfl.sync.bfly.b32", "shfl.sync.idx.b32")
	mode, row := c.in.Op[2], c.to(32)
	a, b, ends := c.from(1, 32), c.from(2, 32), c.from(3, 32)
	c.together(c.in.Args[4].Text)
	c.step.run = func(w *warp, lanes uint32) {
		in := w.rows[a] // a copy, as the target may be the same register
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest)
			from := sourceLane(mode, l, int(w.rows[b][l]&31), int(w.rows[ends][l]))
			if lanes>>from&1 == 0 {
				w.fail(l, "reads from lane %d, which does not take part (lanes %08x do)", from, lanes)
			}
			w.rows[row][l] = cut(in[from], 32)
		}
	}
}

// sourceLane returns which lane a shuffle reads from: the lane itself, if the other one is out of range.
func sourceLane(mode string, lane, by, ends int) (from int) {
	end, segment := ends&31, ends>>8&31
	last := lane&segment | end&^segment
	switch mode {
	case "up":
		if from = lane - by; from < last {
			return lane
		}
		return from
	case "down":
		from = lane + by
	case "bfly":
		from = lane ^ by
	default:
		from = lane&segment | by&^segment
	}
	if from > last {
		return lane
	}
	return from
}

func vote(c *compiler) {
	c.is(3, "vote.sync.ballot.b32")
	p, to := c.from(1, 1), c.to(32)
	c.together(c.in.Args[2].Text)
	c.step.run = func(w *warp, lanes uint32) {
		trues := lanes & w.where(p)
		for ; lanes != 0; lanes &= lanes - 1 {
			w.rows[to][bits.TrailingZeros32(lanes)] = uint64(trues)
		}
	}
}

// where returns the lanes in which a predicate is true.
func (w *warp) where(predicate int) (lanes uint32) {
	for l, v := range &w.rows[predicate] {
		lanes |= uint32(v&1) << l
	}
	return lanes
}
