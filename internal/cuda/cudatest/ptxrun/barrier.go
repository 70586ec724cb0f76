package ptxrun

import "math/bits"

// barrierUse is an instruction at which warps wait for others.
type barrierUse struct {
	id, count int // rows; count is -1 where all threads come
	line      int
}

// barrier has the warps that wait at one of the 16 barriers of a block.
type barrier struct {
	warps    []*warp
	uses     []*barrierUse
	expected int // threads, 0 for all
}

// arrive makes a warp wait at a barrier.
func (b *block) arrive(w *warp, u *barrierUse) {
	lane := bits.TrailingZeros32(w.live)
	id := w.rows[u.id][lane]
	if id >= 16 {
		w.fail(lane, "there is no barrier %d", id)
	}
	at := &b.barriers[id]
	expected := 0
	if u.count >= 0 {
		expected = int(w.rows[u.count][lane])
		if expected == 0 || expected%32 != 0 || expected > 32*len(b.warps) {
			w.fail(lane, "the barrier is for %d threads, not for a multiple of 32 up to the %d of the block", expected,
				32*len(b.warps))
		}
	}
	if len(at.warps) == 0 {
		at.expected = expected
	}
	if at.expected != expected {
		w.fail(lane, "the barrier is for %d threads here, and for %d where others wait", expected, at.expected)
	}
	at.warps = append(at.warps, w)
	at.uses = append(at.uses, u)
}

// passBarriers releases the warps of every barrier that all expected threads have reached.
func (b *block) passBarriers() (passed bool) {
	live := 0
	for _, w := range b.warps {
		live += int(truth(w.live != 0))
	}
	for i := range b.barriers {
		at := &b.barriers[i]
		if len(at.warps) == 0 || at.expected == 0 && len(at.warps) < live || 32*len(at.warps) < at.expected {
			continue
		}
		b.pass(at)
		*at = barrier{}
		passed = true
	}
	return passed
}

// pass releases the warps of a barrier. Warps that wait for all threads must wait at the same instruction, as the
// compiler of the kernel assumes.
func (b *block) pass(at *barrier) {
	b.now++
	if at.expected == 0 {
		b.known = b.now
	} else {
		b.passSome(at)
	}
	for i, w := range at.warps {
		u := at.uses[i]
		if at.expected == 0 && u != at.uses[0] {
			w.pc = w.groups[0].pc
			w.failTogether("the warp waits for all threads at another barrier than others, which are at line %d",
				at.uses[0].line)
		}
		w.known = b.now
		w.waiting = false
		w.groups[0].pc++
	}
}

// passSome records what the warps of a barrier know of each other afterwards: all know what one of them knew.
func (b *block) passSome(at *barrier) {
	if b.warpsKnow == nil {
		b.warpsKnow = make([][]uint32, len(b.warps))
		for i := range b.warpsKnow {
			b.warpsKnow[i] = make([]uint32, len(b.warps))
		}
	}
	all := make([]uint32, len(b.warps))
	for _, w := range at.warps {
		for i, t := range b.warpsKnow[w.number] {
			all[i] = max(all[i], t)
		}
	}
	for _, w := range at.warps {
		all[w.number] = b.now
	}
	for _, w := range at.warps {
		copy(b.warpsKnow[w.number], all)
	}
}

// syncWarp is bar.warp.sync: each lane then knows what the others did before.
func (w *warp) syncWarp(lanes uint32) {
	if lanes != w.live {
		w.failTogether("only lanes %08x wait for each other; the interpreter knows barriers of whole warps", lanes)
	}
	w.block.now++
	w.known = w.block.now
}
