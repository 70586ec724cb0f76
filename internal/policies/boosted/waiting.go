package boosted

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// waiting are the samples that have no label yet: per object a list of the times at which it was drawn. Memory: 4 bytes
// per object and 8 per sample.
type waiting struct {
	first  []uint32 // per object: its last sample, 0 if it has none
	pairs  []pair   // samples and, in unused ones, links; none at 0
	unused uint32
	count  int
}

type pair struct {
	time int32
	next uint32
}

func newWaiting(objects int) waiting {
	return waiting{first: make([]uint32, objects), pairs: make([]pair, 1)}
}

// add notes that o was drawn at a time.
func (w *waiting) add(o policies.Object, time int32) {
	at := w.unused
	if at != 0 {
		w.unused = w.pairs[at].next
	} else {
		at = uint32(len(w.pairs))
		w.pairs = append(w.pairs, pair{})
	}
	w.pairs[at] = pair{time, w.first[o]}
	w.first[o] = at
	w.count++
}

// take removes and returns the samples of an object, 0 if there are none; next walks through them.
func (w *waiting) take(o policies.Object) (sample uint32) {
	sample = w.first[o]
	w.first[o] = 0
	return sample
}

// next returns the time of a sample that was taken, and the sample after it, 0 if it is the last. It frees the sample.
func (w *waiting) next(sample uint32) (time int32, after uint32) {
	s := &w.pairs[sample]
	time, after = s.time, s.next
	s.next, w.unused = w.unused, sample
	w.count--
	return time, after
}

func (w *waiting) grow(objects int) { w.first = dense.Grown(w.first, objects) }
