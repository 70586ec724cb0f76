package oracle

import "math/bits"

// slots order objects by their last request: a higher slot was requested later. They come in whole words.
type slots struct {
	next     []uint32 // per object: its slot + 1, or 0 while it has none
	occupied []uint64 // bits
	end      int      // the lowest slot that was never given since the last compaction
}

// newSlots returns slots for n objects, twice as many so that compaction comes only every n requests.
func newSlots(n int) slots {
	words := (2*n+slotsPerWord-1)/slotsPerWord + 1
	return slots{next: make([]uint32, n), occupied: make([]uint64, words)}
}

func (p *slots) slotOf(o uint32) (slot int, ok bool) {
	n := p.next[o]
	return int(n) - 1, n != 0
}

func (p *slots) taken(slot int) bool {
	return p.occupied[slot/slotsPerWord]>>(slot%slotsPerWord)&1 != 0
}

func (p *slots) full() bool { return p.end == len(p.occupied)*slotsPerWord }

// room returns how many slots were never given since the last compaction.
func (p *slots) room() int { return len(p.occupied)*slotsPerWord - p.end }

// move gives objects the next slots, one after another, and writes the slot + 1 that each had, or 0. The caller
// occupies the new slots and releases the old ones.
func (p *slots) move(objects, old []uint32) {
	moveUp(p.next, objects, old, p.end)
}

// moveUp gives objects the slots from end on, one after another. It writes the old slot + 1 of each, or 0, to old. next
// has the slot + 1 of each object.
func moveUp(next, objects, old []uint32, end int) {
	top := uint32(end)
	for i, o := range objects {
		top++
		old[i] = next[o]
		next[o] = top
	}
}

func (p *slots) release(slot int) { p.occupied[slot/slotsPerWord] &^= 1 << (slot % slotsPerWord) }

// occupy occupies the next n slots, at least one, which are in one word.
func (p *slots) occupy(n int) {
	p.occupied[p.end/slotsPerWord] |= ^uint64(0) >> (slotsPerWord - n) << (p.end % slotsPerWord)
	p.end += n
}

// compact moves the objects to the lowest slots and keeps their order.
func (p *slots) compact() {
	before := make([]uint32, len(p.occupied)) // occupied slots below each word
	total := uint32(0)
	for i, w := range p.occupied {
		before[i] = total
		total += uint32(bits.OnesCount64(w))
	}
	for o, n := range p.next {
		if n == 0 {
			continue
		}
		slot := n - 1
		word := p.occupied[slot/slotsPerWord]
		p.next[o] = before[slot/slotsPerWord] + uint32(bits.OnesCount64(word&(1<<(slot%slotsPerWord)-1))) + 1
	}
	p.end = int(total)
	clear(p.occupied)
	for i := range p.end / slotsPerWord {
		p.occupied[i] = ^uint64(0)
	}
	if rest := p.end % slotsPerWord; rest != 0 {
		p.occupied[p.end/slotsPerWord] = 1<<rest - 1
	}
}
