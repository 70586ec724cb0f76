package cache

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/laru"
	"github.com/cachesim/cachesim/internal/predict"
)

// slabRanked follows predictions among the least recently used slots of a set, in the order of slabLRU: by count, then
// by distance of the slab, then by lane. Of equal predictions the first in that order leaves. All requests of a batch
// are observed before anything is loaded, so predictions are as of its end.
type slabRanked struct {
	slabLRU
	predictor  predict.Predictor
	steady     bool
	candidates int       // that fpb and hf look at; laru decides for itself
	next       []float64 // per slot: the prediction that is known
	marks      []setMarks
	laru       *setsLARU    // nil for fpb and hf
	background *laru.Worker // mode=async of laru; nil otherwise
	end        int          // of the present batch

	asked     []policies.Object
	predicted []float64
}

// setMarks mark slots of a set, one bit for each.
type setMarks struct {
	unknown uint64 // requested since their prediction was asked for
	old     uint64 // of laru: resident since before the phase began, and not requested since
}

// setsLARU is LARU (algorithm 1 of LCR) with an instance per set.
type setsLARU struct {
	full    laru.Confidence
	sets    []setsPhase
	evicted []uint32         // per object: the phase of its set in which a prediction evicted it last; nil with bitsets
	bitsets []laru.MarkedSet // per set; nil without
	figures laru.Figures
}

type setsPhase struct {
	number     uint32 // of the set's phase, from 1
	confidence laru.Confidence
}

// newSlabRanked returns the server for fpb or hf, with so many candidates.
func newSlabRanked(x *setIndex, predictor predict.Predictor, candidates int) *slabRanked {
	r := &slabRanked{
		slabLRU: *newSlabLRU(x), predictor: predictor, steady: predictor.Steady(), candidates: min(candidates,
			x.ways), marks: make([]setMarks, x.sets),
	}
	r.next = make([]float64, len(r.owner))
	r.asked, r.predicted = make([]policies.Object, 0, x.ways), make([]float64, x.ways)
	return r
}

// newSlabLARU returns the server for laru.
func newSlabLARU(c Config, x *setIndex) (*slabRanked, error) {
	settings, err := laru.Read(c.Policy.Params, x.ways)
	if err != nil {
		return nil, err
	}
	if settings.Batch != 0 {
		return nil, fmt.Errorf("batch=%d: the cache sets has batches of its own; leave it out, and write --cache "+
			"'sets(batch=%d)'", settings.Batch, settings.Batch)
	}
	r := newSlabRanked(x, c.Predictor, x.ways)
	r.laru = &setsLARU{full: settings.Confidence, sets: make([]setsPhase, x.sets)}
	if settings.Bitset {
		r.laru.bitsets = make([]laru.MarkedSet, x.sets)
	} else {
		r.laru.evicted = make([]uint32, len(x.home))
	}
	if settings.Async {
		r.background = laru.NewWorker(len(x.home), settings.Latency)
	}
	return r, nil
}

func (r *slabRanked) lookUp(objects []policies.Object, first int, _ []int64) (fetches int) {
	place, counts, batch, shift := r.place, r.counts, r.batch, r.shift
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
			m, lane := &r.marks[slot>>shift], uint64(1)<<(slot&lanes)
			m.unknown |= lane
			m.old &^= lane
		}
	}
	if r.background != nil {
		r.background.Request(objects...)
	}
	return fetches
}

func (r *slabRanked) load(end int) (evictions int) {
	r.end = end
	if r.background != nil {
		r.background.Publish(end-1, r.learn)
	}
	for _, o := range r.missed {
		home := r.home[o]
		slot, vacant := r.vacant(home)
		if !vacant {
			slot = r.victim(o, home)
			evictions++
		}
		r.fill(slot, o, !vacant)
		r.counts[slot] = r.batch
		r.marks[slot>>r.shift].unknown |= r.lane(slot)
		if r.background != nil {
			r.next[slot] = r.background.Known(o)
		}
	}
	r.missed = r.missed[:0]
	r.batch++
	if r.background != nil {
		r.background.Publish(end, r.learn)
		r.background.EndBatch(r.predictor, end)
	}
	return evictions
}

// learn takes a prediction that the background has made.
func (r *slabRanked) learn(o policies.Object, next float64) {
	if slot := r.place[o]; slot != 0 && slot != missing {
		r.next[slot-1] = next
	}
}

// lane returns the bit that stands for a slot in the marks of its set.
func (r *slabRanked) lane(slot int) uint64 { return 1 << (slot & (1<<r.shift - 1)) }

// victim chooses the slot that o, which its set has no room for, takes.
func (r *slabRanked) victim(o policies.Object, home uint32) (slot int) {
	if r.laru == nil {
		return r.latest(home, r.candidates)
	}
	set := int(home) / r.slabs
	l, marks, phase := r.laru, &r.marks[set], &r.laru.sets[set]
	if marks.old == 0 {
		marks.old = ^uint64(0) >> (maxWays - r.ways)
		l.beginPhase(set)
	}
	l.figures.Lambda += phase.confidence.Lambda()
	switch candidates := phase.confidence.Candidates(); {
	case l.marked(o, set):
		slot = r.oldest(home)
		phase.confidence.Lose()
		l.figures.Fallbacks++
	case candidates == 1:
		slot = r.oldest(home)
		l.figures.ByRecency++
	default:
		slot = r.latest(home, candidates)
		l.mark(r.owner[slot], set)
		l.figures.ByPrediction++
	}
	marks.old &^= r.lane(slot)
	return slot
}

func (l *setsLARU) beginPhase(set int) {
	phase := &l.sets[set]
	if phase.number == 0 {
		phase.confidence = l.full
	}
	phase.number++
	phase.confidence.Restore()
	if l.bitsets != nil {
		l.bitsets[set] = laru.MarkedSet{}
	}
	l.figures.Phases++
}

// marked reports whether a prediction evicted o in this phase of its set.
func (l *setsLARU) marked(o policies.Object, set int) bool {
	if l.bitsets != nil {
		return l.bitsets[set].Has(o)
	}
	return l.evicted[o] == l.sets[set].number
}

func (l *setsLARU) mark(o policies.Object, set int) {
	if l.bitsets != nil {
		l.bitsets[set].Add(o)
	} else {
		l.evicted[o] = l.sets[set].number
	}
}

// latest returns the slot of the candidate that is predicted to be requested last. Candidates are the first so many
// slots of a full set in order.
func (r *slabRanked) latest(home uint32, candidates int) int {
	set := int(home) / r.slabs
	start := set << r.shift
	counts, next := r.counts[start:start+r.ways], r.next[start:start+r.ways]
	first := int(home) % r.slabs * r.lanes
	among := ^uint64(0) >> (maxWays - r.ways)
	if candidates < r.ways {
		among = leastRecent(counts, first, r.lanes*r.slabs, candidates)
	}
	r.ask(set, among)
	var ties uint64
	if candidates == r.ways {
		ties = largest(next)
	} else {
		ties = largestOf(next, among)
	}
	if ties == 0 { // predictions that are no numbers
		ties = among
	}
	if ties&(ties-1) == 0 {
		return start + bits.TrailingZeros64(ties)
	}
	oldest, slot := uint64(math.MaxUint64), 0
	for ; ties != 0; ties &= ties - 1 {
		i := bits.TrailingZeros64(ties)
		if order := inOrder(counts[i], i, first, r.lanes*r.slabs); order < oldest {
			oldest, slot = order, start+i
		}
	}
	return slot
}

// largest returns where the largest of up to 64 numbers stands, one bit for each place.
func largest(numbers []float64) (places uint64) {
	best := math.Inf(-1)
	for i, number := range numbers {
		if number >= best { // seldom, so that most of the loop is one comparison
			if number > best {
				best, places = number, 0
			}
			places |= 1 << (i & (maxWays - 1))
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

// inOrder returns a number that is smaller the earlier slot i of a set comes in the order of eviction, for a key that
// probes from slot first on.
func inOrder(count uint32, i, first, slots int) uint64 {
	if i -= first; i < 0 {
		i += slots
	}
	return uint64(count)<<6 | uint64(i)
}

// leastRecent returns the first so many slots of a set in the order of eviction.
func leastRecent(counts []uint32, first, slots, n int) (chosen uint64) {
	var orders [maxWays]uint64
	for i, count := range counts {
		orders[i] = inOrder(count, i, first, slots)<<6 | uint64(i)
	}
	all := orders[:len(counts)]
	smallestFirst(all, n)
	for _, order := range all[:n] {
		chosen |= 1 << (order & (maxWays - 1))
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

// ask makes sure that the predictions of slots of a set are known. A steady predictor is asked once after each request
// to an object.
func (r *slabRanked) ask(set int, slots uint64) {
	if r.background != nil {
		return // all that is to be known is known
	}
	if r.steady {
		slots &= r.marks[set].unknown
		r.marks[set].unknown &^= slots
	}
	if slots == 0 {
		return
	}
	start := set << r.shift
	r.asked = r.asked[:0]
	for rest := slots; rest != 0; rest &= rest - 1 {
		r.asked = append(r.asked, r.owner[start+bits.TrailingZeros64(rest)])
	}
	predicted := r.predicted[:len(r.asked)]
	r.predictor.Predict(r.asked, r.end, predicted)
	for i, rest := 0, slots; rest != 0; i, rest = i+1, rest&(rest-1) {
		r.next[start+bits.TrailingZeros64(rest)] = predicted[i]
	}
}

func (r *slabRanked) counters() []policies.Counter {
	if r.laru == nil {
		return nil
	}
	return r.laru.figures.Counters()
}
