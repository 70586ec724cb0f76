package ptxrun

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/cuda"
)

type kind uint8

const (
	plain    kind = iota // lanes do it on their own
	jumps                // to the target
	leaves               // ret
	together             // the lanes of a mask do it together
	blocks               // a barrier of the block
)

// step is a compiled instruction.
type step struct {
	kind    kind
	ends    bool // another step may jump to the next one
	unless  bool // executed where the guard is false
	guard   int  // row of the predicate, -1 without
	mask    int  // row of the mask of lanes that do it together
	target  int
	barrier *barrierUse
	run     func(w *warp, active uint32)
	line    int
	text    string
}

// row has a value per lane, of a register or the same for all.
type row [32]uint64

const allLanes = ^uint32(0)

type launch struct {
	machine *Machine
	program *program
	grid    cuda.Grid
	params  *region
	serial  uint32
	fenced  []uint32 // by block, behind the time of its last fence, 0 without one
	left    int64    // warp instructions until it has run too long
	draws   *rand.Rand
}

// block is a running block with its shared memory and warps.
type block struct {
	launch    *launch
	number    int
	shared    *region
	serial    uint32
	now       uint32     // advances at barriers and fences
	known     uint32     // everything before this time has been seen by all threads
	warpsKnow [][]uint32 // the same of one warp about another, after barriers for some; nil before there are any
	warps     []*warp
	barriers  [16]barrier
}

// warp is 32 threads of a block.
type warp struct {
	block   *block
	number  int
	rows    []row
	local   *region
	live    uint32
	groups  [32]group // lanes at the same step; the first n
	n       int
	waiting bool   // at a barrier of the block
	known   uint32 // everything that its lanes did before this time has been seen by all of them
	pc      int    // of the step that runs, for messages
	patient bool   // in the slice after one that was used up, the order of groups is reversed
}

type group struct {
	pc    int
	lanes uint32
	waits bool // for other lanes
}

// fault is what a kernel did wrong. The interpreter panics with it.
type fault struct {
	thread  int // -1 if it concerns several
	message string
	warp    *warp
}

func (w *warp) fail(lane int, format string, a ...any) {
	panic(fault{32*w.number + lane, fmt.Sprintf(format, a...), w})
}

// failTogether reports a fault of several lanes.
func (w *warp) failTogether(format string, a ...any) { panic(fault{-1, fmt.Sprintf(format, a...), w}) }

func (f fault) Error() string {
	s := &f.warp.block.launch.program.code[f.warp.pc]
	who := fmt.Sprintf("thread %d", f.thread)
	if f.thread < 0 {
		who = fmt.Sprintf("warp %d", f.warp.number)
	}
	return fmt.Sprintf("kernel %s, block %d, %s, line %d of the PTX, %s: %s", f.warp.block.launch.program.name,
		f.warp.block.number, who, s.line, s.text, f.message)
}

// run executes all blocks, one after another.
func (l *launch) run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(fault)
			if !ok {
				panic(r)
			}
			err = f
		}
	}()
	b := l.block()
	var order []int
	if l.draws != nil {
		order = l.draws.Perm(l.grid.Blocks)
	}
	for n := range l.grid.Blocks {
		if order != nil {
			n = order[n]
		}
		b.begin(n)
		b.run()
	}
	return nil
}

// draw returns a number below n, 0 if nothing is drawn.
func (l *launch) draw(n int) int {
	if l.draws == nil {
		return 0
	}
	return l.draws.IntN(n)
}

// block returns a block for the launch. It reuses the block of the kernel's last launch if that has the same size.
func (l *launch) block() *block {
	p, spare := l.program, l.machine.spare
	if b := spare[p]; b != nil && 32*len(b.warps) == l.grid.Threads {
		b.launch = l
		return b
	}
	b := &block{launch: l, shared: newRegion("the shared memory", p.shared, true)}
	spare[p] = b
	for i := range l.grid.Threads / 32 {
		w := &warp{block: b, number: i, rows: make([]row, len(p.rows))}
		w.local = newRegion("the local memory", p.local*32, false)
		for r, s := range p.rows {
			for lane := range 32 {
				w.rows[r][lane] = s.value
				if s.register && l.draws != nil { // before its first write a register has any value
					w.rows[r][lane] = cut(l.draws.Uint64(), s.bits)
				}
			}
		}
		b.warps = append(b.warps, w)
	}
	return b
}

// begin resets the block for the next number: a launch reuses one for all.
func (b *block) begin(number int) {
	b.number = number
	b.launch.machine.serial++
	b.serial = b.launch.machine.serial
	b.shared.split = nil
	// The data may stay: without these bits no byte of it can be read.
	clear(b.shared.written)
	b.now, b.known, b.warpsKnow = 1, 0, nil
	b.barriers = [16]barrier{}
	for _, w := range b.warps {
		w.live, w.waiting, w.known, w.patient = allLanes, false, 0, false
		w.groups[0], w.n = group{lanes: allLanes}, 1
		clear(w.local.written)
		for r, s := range b.launch.program.rows {
			if s.special != nil {
				for lane := range 32 {
					w.rows[r][lane] = uint64(s.special(w, lane))
				}
			}
		}
	}
}

// slice is how many instructions a warp executes before another one runs, if it meets no barrier.
const slice = 20_000

func (b *block) run() {
	l := b.launch
	for {
		moved, first := false, l.draw(len(b.warps))
		var alive []*warp
		var lines []int // at which they are
		for i := range b.warps {
			w := b.warps[(first+i)%len(b.warps)]
			if w.live == 0 {
				continue
			}
			alive, lines = append(alive, w), append(lines, l.program.code[w.groups[0].pc].line)
			if w.waiting {
				continue
			}
			moved = true
			budget := slice
			if l.draws != nil {
				budget = 1 + l.draw(400)
			}
			w.run(budget)
		}
		if len(alive) == 0 {
			return
		}
		if !b.passBarriers() && !moved {
			slices.Sort(lines)
			alive[0].failTogether("not all warps reach the barrier: they wait at lines %v", slices.Compact(lines))
		}
	}
}

// run goes on with a warp until it waits for others, has ended, or has used its budget.
func (w *warp) run(budget int) {
	code := w.block.launch.program.code
	left := budget
	for left > 0 && w.n > 0 && !w.waiting {
		g := w.pick()
		for {
			s := &code[g.pc]
			w.pc = g.pc
			active := g.lanes
			if s.guard >= 0 {
				taken := w.where(s.guard)
				if s.unless {
					taken = ^taken
				}
				active &= taken
			}
			left--
			if s.kind == plain {
				if active != 0 {
					s.run(w, active)
				}
				g.pc++
			} else {
				w.control(g, s, active)
			}
			if s.ends {
				break
			}
		}
		w.merge()
	}
	w.patient = left <= 0 && !w.patient
	l := w.block.launch
	if l.left -= int64(budget - left); l.left < 0 {
		w.failTogether("runs for more than %d instructions of warps; is a loop endless?", l.machine.options.Instructions)
	}
}

// control executes a jump, or a step at which lanes wait for each other.
func (w *warp) control(g *group, s *step, active uint32) {
	if active == 0 {
		g.pc++
		return
	}
	if rest := g.lanes &^ active; rest != 0 {
		w.part(g, rest, g.pc+1)
	}
	switch {
	case s.kind == jumps:
		g.pc = s.target
	case s.kind == leaves:
		w.end(g)
	case s.kind == together:
		w.together(g, s)
	case g.lanes != w.live:
		g.waits = true
	default:
		w.waiting = true
		w.block.arrive(w, s.barrier)
	}
}

// part splits some lanes of a group off into a group of their own.
func (w *warp) part(g *group, lanes uint32, pc int) {
	g.lanes &^= lanes
	w.groups[w.n] = group{pc: pc, lanes: lanes}
	w.n++
}

// end ends the lanes of a group. Lanes that waited for them no longer have to.
func (w *warp) end(g *group) {
	w.live &^= g.lanes
	g.lanes = 0
	for i := range w.groups[:w.n] {
		w.groups[i].waits = false
	}
}

// pick returns the group of lanes that runs next: the one that is least far. Compilers put the blocks of a loop
// together, and what comes later behind, so that lanes which went different ways meet again. But lanes may wait in a
// loop for other lanes, which GPUs allow since 2017: after a slice that was used up, others run first.
func (w *warp) pick() *group {
	code := w.block.launch.program.code
	best := -1
	for i := range w.groups[:w.n] {
		if g := &w.groups[i]; !g.waits && (best < 0 || (g.pc < w.groups[best].pc) != w.patient) {
			best = i
		}
	}
	if best < 0 {
		var lines []int
		for _, g := range w.groups[:w.n] {
			lines = append(lines, code[g.pc].line)
		}
		w.pc = w.groups[0].pc
		w.failTogether("lanes wait for each other at different instructions or with different masks, at lines %v; "+
			"lanes %08x have not ended", lines, w.live)
	}
	return &w.groups[best]
}

// merge joins groups that are at the same step, and removes groups without lanes.
func (w *warp) merge() {
	if w.n == 1 && w.groups[0].lanes != 0 {
		return
	}
	n := 0
next:
	for i := range w.groups[:w.n] {
		g := w.groups[i]
		if g.lanes == 0 {
			continue
		}
		for j := range n {
			if w.groups[j].pc == g.pc {
				w.groups[j].lanes |= g.lanes
				w.groups[j].waits = false
				continue next
			}
		}
		w.groups[n] = g
		n++
	}
	w.n = n
}

// together executes a step for those lanes of the group whose masks are complete.
func (w *warp) together(g *group, s *step) {
	masks := &w.rows[s.mask]
	done := uint32(0)
	for rest := g.lanes; rest != 0; {
		first := bits.TrailingZeros32(rest)
		mask := uint32(masks[first])
		if mask>>first&1 == 0 {
			w.fail(first, "the mask %08x does not contain the lane itself", mask)
		}
		same := uint32(0)
		for m := rest; m != 0; m &= m - 1 {
			if l := bits.TrailingZeros32(m); uint32(masks[l]) == mask {
				same |= 1 << l
			}
		}
		rest &^= same
		switch need := mask & w.live; {
		case need&^g.lanes != 0: // the others are on their way
		case need&^same != 0:
			w.fail(first, "the mask %08x contains lanes whose masks are different", mask)
		default:
			s.run(w, need)
			done |= need
		}
	}
	if rest := g.lanes &^ done; rest != 0 {
		if done != 0 {
			w.part(g, done, g.pc+1)
		}
		g.waits = true
		return
	}
	g.pc++
}
