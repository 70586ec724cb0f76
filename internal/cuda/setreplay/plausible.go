package setreplay

import "github.com/cachesim/cachesim/internal/cuda"

// meet records the objects of the requests [from, to), and counts new ones after the warm-up: each misses at least
// once.
func (r *replay) meet(from, to int) {
	if r.met == nil {
		r.met = make([]uint64, (r.trace.Count+63)/64)
	}
	for pos := from; pos < to; pos++ {
		o := r.trace.Objects[pos]
		word, bit := &r.met[o/64], uint64(1)<<(o%64)
		if *word&bit == 0 && pos >= r.trace.Warmup {
			r.fresh++
		}
		*word |= bit
	}
}

// plausible returns an error if no cache can have a cell's result, as the device or its driver is then faulty. fresh is
// the number of objects first requested after the warm-up.
func (t *Trace) plausible(c *cell, fresh int64) error {
	all, r := int64(len(t.Objects)), &c.result
	counted := all - int64(t.Warmup)
	if r.Misses < fresh || r.Misses > counted {
		return cuda.Wrong("%d misses of a cache of sets; %d requests to %d new objects have %d to %d", r.Misses, counted,
			fresh, fresh, counted)
	}
	// A batch in which the warm-up ends may load objects that it missed during the warm-up.
	if slots := int64(c.Sets) * int64(c.Ways); r.Evictions < 0 || r.Evictions > all ||
		t.Warmup == 0 && (r.Evictions > r.Misses || r.Evictions < r.Misses-slots) {
		return cuda.Wrong("%d evictions of a cache of sets with %d slots, %d misses and %d requests", r.Evictions, slots,
			r.Misses, all)
	}
	if r.Calls < 0 || r.Calls > r.Predictions || r.Predictions > all {
		return cuda.Wrong("%d calls of a predictor for %d objects; %d requests have more objects than calls and at most "+
			"one for each request", r.Calls, r.Predictions, all)
	}
	if c.Confidence == nil {
		return nil
	}
	tally := r.Tally
	for _, n := range []int64{tally.Phases, tally.ByPrediction, tally.Fallbacks, tally.ByRecency} {
		if n < 0 || n > all {
			return cuda.Wrong("%d phases and %d, %d and %d evictions of three kinds; %d requests have as many at most",
				tally.Phases, tally.ByPrediction, tally.Fallbacks, tally.ByRecency, all)
		}
	}
	if evictions := tally.ByPrediction + tally.Fallbacks + tally.ByRecency; evictions != c.leveled ||
		t.Warmup == 0 && evictions != r.Evictions {
		return cuda.Wrong("%d evictions of three kinds, %d with a confidence, and %d in all", evictions, c.leveled,
			r.Evictions)
	}
	return nil
}
