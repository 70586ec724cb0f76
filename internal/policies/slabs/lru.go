package slabs

import "math"

// LRU is HugeCTR's own replacement. A counter goes up by one with every batch. A slot has the count of the last batch
// that looked it up or loaded it, and the slot with the smallest count is evicted. Ties go to the slab nearest to the
// one that is probed first, then to the lowest lane.
type LRU struct {
	Slots
	batch  uint32
	counts []uint32 // per slot
}

func NewLRU(g *Geometry) *LRU {
	l := &LRU{Slots: newSlots(g), batch: 1}
	l.counts = make([]uint32, len(l.owner))
	return l
}

// LookUp looks up requests of the current batch and returns how many objects must be fetched.
func (l *LRU) LookUp(objects []Object, _ int, _ []int64) (fetches int) {
	place, counts, batch := l.place, l.counts, l.batch
	for _, o := range objects {
		switch slot := place[o]; slot {
		case 0:
			place[o] = missing
			l.missed = append(l.missed, o)
			fetches++
		case missing:
		default:
			counts[slot-1] = batch
		}
	}
	return fetches
}

// Load ends the batch: it loads what was missed, in the order of the first lookups.
func (l *LRU) Load(int) (evictions int) {
	for _, o := range l.missed {
		set, first := l.home(o)
		slot, vacant := l.vacant(set, first)
		if !vacant {
			slot = l.oldest(set, first)
			evictions++
		}
		l.fill(slot, o, !vacant)
		l.counts[slot] = l.batch
	}
	l.missed = l.missed[:0]
	l.batch++
	return evictions
}

// oldest returns the slot of a full set with the smallest count. By distance and lane, the slots from the first probed
// slab on come first, and then the slots before it.
func (l *LRU) oldest(set, slab int) int {
	start := set << l.shift
	counts := l.counts[start : start+l.Ways]
	first := min(slab*l.Lanes, l.Ways)
	near, far := counts[first:], counts[:first]
	oldest := min(smallestCount(near, 0), smallestCount(far, len(near)))
	order := int(uint32(oldest)) // the lower half
	if order < len(near) {
		return start + first + order
	}
	return start + order - len(near)
}

// smallestCount returns the smallest count in the upper half and its place, counted from first, in the lower half, so
// that ties go to the lower place. Four minima are independent of each other, so that none waits for another.
func smallestCount(counts []uint32, first int) uint64 {
	place := uint64(first)
	a, b, c, d := uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64)
	for ; len(counts) >= 4; counts = counts[4:] {
		a = min(a, uint64(counts[0])<<32|place)
		b = min(b, uint64(counts[1])<<32|(place+1))
		c = min(c, uint64(counts[2])<<32|(place+2))
		d = min(d, uint64(counts[3])<<32|(place+3))
		place += 4
	}
	for _, count := range counts {
		a = min(a, uint64(count)<<32|place)
		place++
	}
	return min(a, b, c, d)
}
