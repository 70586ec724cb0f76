package predict

import "math/bits"

// Lasting is implemented by predictors that are not steady, but have predictions that last for a while. A caller may
// keep one until the time that the predictor names, instead of predicting thousands of objects at each eviction.
type Lasting interface {
	// Now returns the time at the request at a position, on the clock of the predictor.
	Now(pos int) int
	// Until returns the time from which on the last prediction for o is void, Forever if only a request to o ends it,
	// which it may share with others. It is after the time of the prediction.
	Until(o Object) int32
	// Generation changes when all predictions become void.
	Generation() uint32
}

// Forever is the end of a prediction that lasts until its object is requested.
const Forever = 1<<31 - 1

// lastingOf returns p, or the predictor that it wraps, where its predictions last; nil if the caller must always
// predict again.
func lastingOf(p Predictor) Lasting {
	p = unwrapped(p)
	if r, ok := p.(*renumbered); ok && r.lasting == nil {
		return nil
	}
	l, _ := p.(Lasting)
	return l
}

// Kept says which of the predictions that a caller keeps are void. It is for predictors that are not steady. Memory: 4
// bytes per object, and 8 to 16 per prediction that is kept.
type Kept struct {
	predictor  Lasting // nil: nothing can be kept
	shared     *Shared // of the predictor
	heard      int     // the requests before this position have ended predictions
	generation uint32
	noted      []int32 // per object: until when its last prediction was to last
	ends       radixHeap
	full       int // size of ends at which those that no longer count are removed
	void       []Object
}

// fewestEnds is the number of ends below which removing obsolete ones is not worth it.
const fewestEnds = 1024

// NewKept returns a Kept of the predictions of p for the objects below a number.
func NewKept(p Predictor, objects int) Kept {
	k := Kept{full: fewestEnds}
	if p.Steady() {
		return k
	}
	if k.predictor = lastingOf(p); k.predictor != nil {
		k.noted = make([]int32, objects)
		k.shared = SharedBy(p)
	}
	return k
}

// Grow makes room for objects up to objects-1.
func (k *Kept) Grow(objects int) {
	if more := objects - len(k.noted); k.noted != nil && more > 0 {
		k.noted = append(k.noted, make([]int32, more)...)
	}
}

func (k *Kept) Lasts() bool { return k.predictor != nil }

// Renewed reports whether all predictions have become void since its last call.
func (k *Kept) Renewed() bool {
	g := k.predictor.Generation()
	if g == k.generation {
		return false
	}
	k.generation = g
	k.ends.clear()
	clear(k.noted)
	return true
}

// Note records how long the predictions last that have just been made.
func (k *Kept) Note(objects []Object) {
	for _, o := range objects {
		until := k.predictor.Until(o)
		if until != k.noted[o] && until != Forever {
			k.ends.push(end{until, o})
		}
		k.noted[o] = until
	}
	if k.ends.size > k.full {
		k.ends.filter(k.counts)
		// Twice what is left: filtering costs constant time per end, amortised.
		k.full = max(2*k.ends.size, fewestEnds)
	}
}

// counts reports whether an end belongs to the last noted prediction for its object.
func (k *Kept) counts(e end) bool { return k.noted[e.object] == e.until }

// Void returns the objects whose predictions have become void as of the request at a position, each once, until the
// next call. They may have been requested or evicted meanwhile.
func (k *Kept) Void(pos int) []Object {
	k.void = k.void[:0]
	if k.shared != nil {
		k.hear(pos)
	}
	now := int32(k.predictor.Now(pos))
	for {
		e, ok := k.ends.pop(now)
		if !ok {
			return k.void
		}
		if k.counts(e) {
			k.noted[e.object] = 0
			k.void = append(k.void, e.object)
		}
	}
}

// hear ends the predictions for objects that shared a request before pos.
func (k *Kept) hear(pos int) {
	for ; k.heard < pos; k.heard++ {
		query, others := k.shared.Requested(k.heard)
		k.end(query)
		for _, o := range others {
			k.end(o)
		}
	}
}

func (k *Kept) end(o Object) {
	if k.noted[o] != 0 {
		k.noted[o] = 0
		k.void = append(k.void, o)
	}
}

// end is when a prediction becomes void.
type end struct {
	until  int32
	object Object
}

// radixHeap returns ends in the order of time (Ahuja, Mehlhorn, Orlin and Tarjan, JACM 1990). No end may be before one
// that was returned. Bucket b holds ends that differ from the last one in bit b-1 and in no higher bit. So each end
// moves to a lower bucket at most 31 times.
type radixHeap struct {
	buckets [32][]end
	first   [32]int32 // per bucket that is not empty, its earliest end
	last    int32
	size    int
}

func (h *radixHeap) push(e end) {
	b := bits.Len32(uint32(e.until ^ h.last))
	if len(h.buckets[b]) == 0 || e.until < h.first[b] {
		h.first[b] = e.until
	}
	h.buckets[b] = append(h.buckets[b], e)
	h.size++
}

// pop removes and returns an end up to a time, if there is one.
func (h *radixHeap) pop(now int32) (e end, ok bool) {
	if len(h.buckets[0]) == 0 && !h.advance(now) {
		return end{}, false
	}
	n := len(h.buckets[0]) - 1
	e, h.buckets[0] = h.buckets[0][n], h.buckets[0][:n]
	h.size--
	return e, true
}

// advance moves the earliest ends to the first bucket, if they are not after a time.
func (h *radixHeap) advance(now int32) bool {
	b := 1
	for b < len(h.buckets) && len(h.buckets[b]) == 0 {
		b++
	}
	if b == len(h.buckets) || h.first[b] > now {
		return false
	}
	// last becomes the earliest of this bucket. All of its ends share bit b-1 with it and now differ in lower bits
	// only, so none is pushed back into the bucket that is being read.
	moving := h.buckets[b]
	h.buckets[b] = moving[:0]
	h.size -= len(moving)
	h.last = h.first[b]
	for _, e := range moving {
		h.push(e)
	}
	return true
}

// filter removes ends that a later prediction or a request has made obsolete, as counts says.
func (h *radixHeap) filter(counts func(end) bool) {
	for b, ends := range h.buckets {
		// last stays, so every end that counts goes back into its own bucket, at or before the place it was read
		// from.
		h.buckets[b] = h.buckets[b][:0]
		h.size -= len(ends)
		for _, e := range ends {
			if counts(e) {
				h.push(e)
			}
		}
	}
}

func (h *radixHeap) clear() {
	for b := range h.buckets {
		h.buckets[b] = h.buckets[b][:0]
	}
	h.size = 0
}
