package laru

import (
	"math"
	"math/bits"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// resident, when set in the place of an object, says that the other bits are its slot.
const resident = 1 << 31

// recency holds the resident objects in the order of their last requests. It is a log: a request removes the object's
// slot and gives it the next one. When the log is full, its objects move to the start. recency also knows which objects
// have a known prediction, and finds the latest prediction among the least recently used.
//
// The owner may use the place of an object that is not resident for a mark, which must be below resident.
//
// Memory: 4 bytes per object, and 26 per resident object. Operations take amortized constant time, except those on
// predictions, which take O(log k).
type recency struct {
	place    []uint32          // per object: resident + its slot, or a mark
	objects  []policies.Object // per slot
	occupied []uint64          // one bit per slot
	next     maxima            // per slot before known: the rank of its prediction
	first    int               // no object lies before it
	end      int               // the slot of the next request
	live     int               // resident objects

	old    int // resident objects in slots before oldEnd
	oldEnd int
	below  int // resident objects in slots before bound
	bound  int
	known  int // slots before this one have known predictions
}

// newRecency returns an empty recency for up to capacity of n objects.
func newRecency(n, capacity int) recency {
	// Twice what fits, so that as many requests pay for a compact as it moves objects; in whole words, at least one more.
	slots := (2*min(capacity, n) + 127) &^ 63
	return recency{
		place:    make([]uint32, n),
		objects:  make([]policies.Object, slots),
		occupied: make([]uint64, slots/64),
		next:     newMaxima(slots),
	}
}

// grow makes room for objects up to objects-1. The slots grow when they are full.
func (r *recency) grow(objects int) { r.place = dense.Grown(r.place, objects) }

// needsSlots reports whether a number of objects would fill more than half of the slots, as after the cache has grown.
func (r *recency) needsSlots(objects int) bool { return 2*objects > len(r.objects) }

// addSlots doubles the slots. The maxima must be rebuilt afterwards.
func (r *recency) addSlots() {
	slots := 2 * len(r.objects)
	r.objects = dense.Grown(r.objects, slots)
	r.occupied = dense.Grown(r.occupied, slots/64)
	keys := r.next.levels[0]
	r.next = newMaxima(slots)
	copy(r.next.levels[0], keys)
}

func (r *recency) has(o policies.Object) bool { return r.place[o]&resident != 0 }

// push makes o, which is not resident, the most recently used object.
func (r *recency) push(o policies.Object) {
	if r.end == len(r.objects) {
		r.compact()
	}
	slot := r.end
	r.objects[slot] = o
	r.occupied[slot>>6] |= 1 << (slot & 63)
	r.place[o] = resident | uint32(slot)
	r.end++
	r.live++
}

// remove removes o, which is resident, and leaves a mark in its place.
func (r *recency) remove(o policies.Object, mark uint32) {
	slot := int(r.place[o] &^ resident)
	r.place[o] = mark
	r.occupied[slot>>6] &^= 1 << (slot & 63)
	r.live--
	if slot < r.oldEnd {
		r.old--
	}
	if slot < r.bound {
		r.below--
	}
	if slot < r.known {
		r.next.clear(slot)
	}
}

// leastRecent returns the least recently requested object. There must be one.
func (r *recency) leastRecent() policies.Object { return r.objects[r.firstSlot()] }

func (r *recency) firstSlot() int {
	at := r.first >> 6
	for r.occupied[at] == 0 {
		at++
	}
	r.first = at<<6 | bits.TrailingZeros64(r.occupied[at])
	return r.first
}

// age makes all resident objects old.
func (r *recency) age() { r.old, r.oldEnd = r.live, r.end }

// reach moves the bound so that count resident objects are before it, or all if there are fewer. It takes a step per
// word passed: between calls with the same count the bound only advances, past each slot once.
func (r *recency) reach(count int) {
	for r.below > count {
		at := (r.bound - 1) >> 6
		word := r.occupied[at] & (math.MaxUint64 >> (63 - (r.bound-1)&63))
		for ; word != 0 && r.below > count; r.below-- {
			word &^= 1 << (63 - bits.LeadingZeros64(word))
		}
		r.bound = at<<6 + 64 - bits.LeadingZeros64(word)
	}
	for r.below < count && r.bound < r.end {
		at := r.bound >> 6
		word := r.occupied[at] >> (r.bound & 63) << (r.bound & 63)
		if n := bits.OnesCount64(word); n <= count-r.below {
			r.below += n
			r.bound = min((at+1)<<6, r.end)
			continue
		}
		for ; r.below < count; r.below++ {
			r.bound = at<<6 + bits.TrailingZeros64(word) + 1
			word &= word - 1
		}
	}
}

// appendSlots appends the slots of the resident objects from a slot up to the bound.
func (r *recency) appendSlots(slots []uint32, from int) []uint32 {
	for at := from >> 6; at<<6 < r.bound; at++ {
		word := r.occupied[at]
		if at == from>>6 {
			word = word >> (from & 63) << (from & 63)
		}
		for ; word != 0; word &= word - 1 {
			slot := at<<6 | bits.TrailingZeros64(word)
			if slot >= r.bound {
				break
			}
			slots = append(slots, uint32(slot))
		}
	}
	return slots
}

// learn records the prediction of a slot that has none.
func (r *recency) learn(slot int, next float64) { r.next.set(slot, rank(next)) }

// relearn changes the known prediction of o, which is resident.
func (r *recency) relearn(o policies.Object, next float64) {
	slot := int(r.place[o] &^ resident)
	if r.next.levels[0][slot] != rank(next) {
		r.next.clear(slot)
		r.learn(slot, next)
	}
}

func (r *recency) forget() {
	r.next.rebuild(0)
	r.known = 0
}

// latestBeforeBound returns the object with the latest prediction before the bound; ties go to the least recently used.
// All predictions before the bound must be known.
func (r *recency) latestBeforeBound() policies.Object { return r.objects[r.next.largest(r.bound)] }

// compact moves the objects to the start of the log.
func (r *recency) compact() {
	if r.needsSlots(r.live) {
		r.addSlots()
	}
	keys := r.next.levels[0]
	end, known := 0, 0
	for at, word := range r.occupied {
		for ; word != 0; word &= word - 1 {
			slot := at<<6 | bits.TrailingZeros64(word)
			o := r.objects[slot]
			r.objects[end], r.place[o] = o, resident|uint32(end)
			if slot < r.known {
				keys[end] = keys[slot]
				known++
			}
			end++
		}
	}
	r.next.rebuild(known)
	r.first, r.end, r.known, r.bound, r.oldEnd = 0, end, known, r.below, r.old
	clear(r.occupied)
	for i := range end >> 6 {
		r.occupied[i] = math.MaxUint64
	}
	if rest := end & 63; rest != 0 {
		r.occupied[end>>6] = 1<<rest - 1
	}
}

// rank maps predicted times to integers above 0 in the same order.
func rank(next float64) uint64 {
	b := math.Float64bits(next + 0) // + 0 turns -0 into 0
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}
