package predict

import (
	"math"
	"math/rand/v2"
)

// Samples turns requests into samples for a model: a row of features, and as label the logarithm of 1 plus the time to
// the next request of the object. Each request gives one sample, once its object is requested again. If that has not
// happened after a window of requests, the label is twice the time that has passed, as in LRB (NSDI 2020, section 4.3):
// without such samples a model would only learn from objects that are requested again.
//
// Where features depend on the time of the prediction, a sample describes its object at an age between 0 and the
// interval, drawn uniformly in the logarithm, so that a model learns what a long silence means.
type Samples struct {
	*Features
	window  int
	recent  []Object // requested at a position, modulo window
	pending []int    // per object: 1 plus the position of its last request, 0 once that has given its sample
	seen    int      // positions before this one have been observed
	bits    *rand.Rand
	thin    int // one of 1<<thin samples is emitted, drawn at random
	row     []float64
}

// NewSamples returns the samples of a trace that has not begun. Memory in addition to Features: 4 bytes per request of
// the window, or of the trace where the window is longer, and 8 per object.
func NewSamples(set FeatureSet, window int, c Config) *Samples {
	window = min(window, max(1, len(c.Objects), c.Requests)) // in a longer window nothing expires either
	return &Samples{
		Features: NewFeatures(set, c), window: window, recent: make([]Object, window), pending: make([]int, c.Count),
		bits: rand.New(rand.NewPCG(c.Seed, uint64(set))), row: make([]float64, set),
	}
}

// Observe adds the request at a position, positions growing from call to call, and calls emit with each sample that it
// completes. The row is valid during that call.
func (s *Samples) Observe(o Object, pos int, emit func(row []float64, label float64)) {
	now := s.clock.at(pos)
	if s.pending[o] > 0 {
		interval := now - int(s.last[o])
		s.emit(o, interval, interval, emit)
	}
	s.pending[o] = 0
	for ; s.seen <= pos; s.seen++ {
		s.expire(s.seen, now, emit)
	}
	s.recent[pos%s.window] = o
	s.pending[o] = pos + 1
	s.Features.Observe(o, now)
}

// expire gives up waiting for the object that was requested a window before pos.
func (s *Samples) expire(pos, now int, emit func(row []float64, label float64)) {
	if pos < s.window {
		return
	}
	o := s.recent[pos%s.window]
	if s.pending[o] != pos-s.window+1 {
		return
	}
	s.pending[o] = 0
	age := now - int(s.last[o])
	s.emit(o, age, 2*age, emit)
}

// emit emits the sample of o's last request, at an age below a limit.
func (s *Samples) emit(o Object, limit, interval int, emit func(row []float64, label float64)) {
	if s.thin > 0 && s.bits.Uint64()>>(64-s.thin) != 0 {
		return
	}
	age := 0
	if s.set.ages() {
		age = int(math.Exp(s.bits.Float64()*math.Log1p(float64(limit)))) - 1
	}
	s.Row(o, int(s.last[o])+age, s.row)
	emit(s.row, math.Log1p(float64(interval-age)))
}
