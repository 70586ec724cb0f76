package slabs

import (
	"math"
	"math/bits"

	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// Rule decides how far predictions are followed.
type Rule interface {
	// Candidates returns how many objects of a full set, in the order of LRU, are candidates when room is needed for o.
	// A prediction chooses among them. 0: the first one is evicted, without a prediction.
	Candidates(set int, o Object) int
	// Evicted reports which object of a set a prediction has evicted.
	Evicted(set int, o Object)
}

// Among is the rule that predictions always choose among this many candidates, or all objects of a smaller set. It
// implements Rule.
type Among int

func (n Among) Candidates(int, Object) int { return int(n) }
func (Among) Evicted(int, Object)          {}

// Ranked follows predictions among the least recently used slots of a set, in the order of LRU: by count, then by
// distance of the slab, then by lane. Ties in prediction go to the first in that order. All requests of a batch are
// observed before anything is loaded, so predictions are as of its end.
type Ranked struct {
	LRU
	predictor predict.Predictor
	steady    bool
	rule      Rule
	known     []float64 // per object: the known prediction, if predictions are made elsewhere; nil: the predictor is asked
	next      []float64 // per slot: the known prediction
	marks     []marks   // per set
	end       int       // of the current batch

	asked     []Object // scratch space for the objects of a set, and for their predictions
	predicted []float64
}

// marks have one bit for each slot of a set.
type marks struct {
	unknown uint64 // requested since their predictions were made
	old     uint64 // resident since before the set was aged, and not requested since
}

// NewRanked returns empty sets that follow a predictor as far as rule allows.
func NewRanked(g *Geometry, predictor predict.Predictor, rule Rule) *Ranked {
	r := &Ranked{LRU: *NewLRU(g), predictor: predictor, steady: predictor.Steady(), rule: rule,
		marks: make([]marks, g.Sets)}
	r.next = make([]float64, len(r.owner))
	r.asked, r.predicted = make([]Object, g.Ways), make([]float64, g.Ways)
	return r
}

// TakeFrom makes Ranked take predictions from known, one per object, when an object is loaded, and later through Learn.
// The predictor is then not asked. It is called before the first request.
func (r *Ranked) TakeFrom(known []float64) { r.known = known }

// Learn stores a new prediction for an object, resident or not.
func (r *Ranked) Learn(o Object, next float64) {
	if r.Resident(o) {
		r.next[r.place[o]-1] = next
	}
}

// Old reports whether some object of a set has been resident since the set was last aged and has not been requested
// since.
func (r *Ranked) Old(set int) bool { return r.marks[set].old != 0 }

// Age makes all objects of a full set old.
func (r *Ranked) Age(set int) { r.marks[set].old = ^uint64(0) >> (MaxWays - r.Ways) }

// LookUp looks up requests of the current batch, the first of which is at position first, and returns how many objects
// must be fetched.
func (r *Ranked) LookUp(objects []Object, first int, _ []int64) (fetches int) {
	place, counts, marks, batch, shift := r.place, r.counts, r.marks, r.batch, r.shift
	lanes := uint32(1)<<shift - 1
	for i, o := range objects {
		r.predictor.Observe(o, first+i)
		switch slot := place[o]; slot {
		case 0:
			place[o] = missing
			r.missed = append(r.missed, o)
			fetches++
		case missing:
		default:
			slot--
			counts[slot] = batch
			m, lane := &marks[slot>>shift], uint64(1)<<(slot&lanes)
			m.unknown |= lane
			m.old &^= lane
		}
	}
	return fetches
}

// Load ends the batch before the request at end: it loads what was missed, in the order of the first lookups.
func (r *Ranked) Load(end int) (evictions int) {
	r.end = end
	for _, o := range r.missed {
		set, first := r.home(o)
		slot, vacant := r.vacant(set, first)
		if !vacant {
			slot = r.victim(o, set, first)
			evictions++
		}
		r.fill(slot, o, !vacant)
		r.counts[slot] = r.batch
		m, lane := &r.marks[set], uint64(1)<<(slot-set<<r.shift)
		m.unknown |= lane
		m.old &^= lane
		if r.known != nil {
			r.next[slot] = r.known[o]
		}
	}
	r.missed = r.missed[:0]
	r.batch++
	return evictions
}

// victim chooses the slot for o, since its set is full.
func (r *Ranked) victim(o Object, set, slab int) (slot int) {
	candidates := r.rule.Candidates(set, o)
	if candidates == 0 {
		return r.oldest(set, slab)
	}
	slot = r.latest(set, slab*r.Lanes, min(candidates, r.Ways))
	r.rule.Evicted(set, r.owner[slot])
	return slot
}

// latest returns the slot of the candidate predicted to be requested last. Candidates are the first slots of a full set
// in the order of LRU, for a key that probes from slot first on.
func (r *Ranked) latest(set, first, candidates int) int {
	start := set << r.shift
	counts, next := r.counts[start:start+r.Ways], r.next[start:start+r.Ways]
	among := ^uint64(0) >> (MaxWays - r.Ways)
	if candidates < r.Ways {
		among = leastRecent(counts, first, r.Lanes*r.Slabs, candidates)
	}
	r.ask(set, among)
	var ties uint64
	if candidates == r.Ways {
		ties = largest(next)
	} else {
		ties = largestOf(next, among)
	}
	if ties == 0 { // only NaN predictions
		ties = among
	}
	if ties&(ties-1) == 0 {
		return start + bits.TrailingZeros64(ties)
	}
	oldest, slot := uint64(math.MaxUint64), 0
	for ; ties != 0; ties &= ties - 1 {
		i := bits.TrailingZeros64(ties)
		if order := inOrder(counts[i], i, first, r.Lanes*r.Slabs); order < oldest {
			oldest, slot = order, start+i
		}
	}
	return slot
}

// ask makes sure that the predictions for some slots of a set are known. A steady predictor is asked once after each
// request to an object.
func (r *Ranked) ask(set int, slots uint64) {
	if r.known != nil {
		return // predictions are made elsewhere
	}
	if r.steady {
		slots &= r.marks[set].unknown
		r.marks[set].unknown &^= slots
	}
	if slots == 0 {
		return
	}
	start := set << r.shift
	owner, next := r.owner[start:start+r.Ways], r.next[start:start+r.Ways]
	n := bits.OnesCount64(slots)
	asked, predicted := r.asked[:n], r.predicted[:n]
	for i, rest := 0, slots; rest != 0; i, rest = i+1, rest&(rest-1) {
		asked[i] = owner[bits.TrailingZeros64(rest)]
	}
	r.predictor.Predict(asked, r.end, predicted)
	for i, rest := 0, slots; rest != 0; i, rest = i+1, rest&(rest-1) {
		next[bits.TrailingZeros64(rest)] = predicted[i]
	}
}

// largest returns the places of the largest of up to 64 numbers, one bit for each place.
func largest(numbers []float64) (places uint64) {
	best := math.Inf(-1)
	for i, number := range numbers {
		if number >= best { // rare, so that most of the loop is one comparison
			if number > best {
				best, places = number, 0
			}
			places |= 1 << (i & (MaxWays - 1))
		}
	}
	return places
}

// largestOf is largest for the numbers at some places.
func largestOf(numbers []float64, among uint64) (places uint64) {
	best := math.Inf(-1)
	for ; among != 0; among &= among - 1 {
		i := bits.TrailingZeros64(among)
		if number := numbers[i]; number >= best {
			if number > best {
				best, places = number, 0
			}
			places |= 1 << i
		}
	}
	return places
}

// inOrder returns a number that is smaller the earlier slot i of a set comes in the order of LRU, for a key that probes
// from slot first on.
func inOrder(count uint32, i, first, slots int) uint64 {
	if i -= first; i < 0 {
		i += slots
	}
	return uint64(count)<<6 | uint64(i) // i is below MaxWays
}

// leastRecent returns the first n slots of a set in the order of LRU, one bit for each.
func leastRecent(counts []uint32, first, slots, n int) (chosen uint64) {
	var orders [MaxWays]uint64
	for i, count := range counts {
		orders[i] = inOrder(count, i, first, slots)<<6 | uint64(i)
	}
	all := orders[:len(counts)]
	smallestFirst(all, n)
	for _, order := range all[:n] {
		chosen |= 1 << (order & (MaxWays - 1))
	}
	return chosen
}

// smallestFirst moves the n smallest of distinct numbers to the front, in any order (Hoare, Algorithm 65: find, CACM
// 1961).
func smallestFirst(all []uint64, n int) {
	for low, high := 0, len(all)-1; low < high; {
		pivot := all[(low+high)/2]
		i, j := low, high
		for i <= j {
			for all[i] < pivot {
				i++
			}
			for all[j] > pivot {
				j--
			}
			if i <= j {
				all[i], all[j] = all[j], all[i]
				i++
				j--
			}
		}
		if n <= j+1 {
			high = j
		} else if n > i {
			low = i
		} else {
			return
		}
	}
}
