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

// release takes the slot away from o.
func (p *slots) release(o uint32, slot int) {
	p.occupied[slot/slotsPerWord] &^= 1 << (slot % slotsPerWord)
	p.next[o] = 0
}

// push gives o, which has none, the next slot and returns it; there must be one.
func (p *slots) push(o uint32) (slot int) {
	slot = p.end
	p.occupied[slot/slotsPerWord] |= 1 << (slot % slotsPerWord)
	p.end++
	p.next[o] = uint32(p.end)
	return slot
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
