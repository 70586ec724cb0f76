package predictors

import (
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// Samples turns requests into samples for a model: a row of features, and as label the logarithm of 1 plus the time to
// the next request of the object. Each request gives one sample, once its object is requested again. If that has not
// happened after a window of requests, the label is twice the time that has passed, as in LRB (NSDI 2020, section 4.3):
// without such samples a model would only learn from objects that are requested again.
//
// Where features depend on the time of the prediction, a sample describes its object at an age between 0 and the
// interval, drawn uniformly in the logarithm, so that a model learns what a long silence means.
//
// Where objects share requests, still only the object that is observed gives a sample, the entry of a cache. Any
// request that the object shares completes it.
type Samples struct {
	*Features
	window  int
	recent  []predict.Object // requested at a position, modulo window
	pending []int            // per object: 1 plus the position of its last request, 0 once that has given its sample
	seen    int              // positions before this one have been observed
	bits    *rand.Rand
	thin    int // one of 1<<thin samples is emitted, drawn at random
	row     []float64
}

// NewSamples returns the samples of a trace that has not begun. Memory in addition to Features: 4 bytes per request of
// the window, or of the trace where the window is longer, and 8 per object.
func NewSamples(set FeatureSet, window int, c predict.Config) *Samples {
	window = min(window, max(1, len(c.Objects), c.Requests)) // in a longer window nothing expires either
	return &Samples{
		Features: NewFeatures(set, c), window: window, recent: make([]predict.Object, window), pending: make([]int, c.Count),
		bits: rand.New(rand.NewPCG(c.Seed, uint64(set))), row: make([]float64, set),
	}
}

// Observe adds the request at a position, positions growing from call to call, and calls emit with each sample that it
// completes. The row is valid during that call.
func (s *Samples) Observe(o predict.Object, pos int, emit func(row []float64, label float64)) {
	now := s.clock.at(pos)
	if s.shared != nil {
		s.completeShared(pos, now, emit)
	} else {
		s.complete(o, now, emit)
	}
	for ; s.seen <= pos; s.seen++ {
		s.expire(s.seen, now, emit)
	}
	s.recent[pos%s.window] = o
	s.pending[o] = pos + 1
	if s.shared != nil {
		s.observeShared(pos, now)
	} else {
		s.Features.Observe(o, now)
	}
}

// complete emits the sample of the last request to o, if it has not given one.
func (s *Samples) complete(o predict.Object, now int, emit func(row []float64, label float64)) {
	if s.pending[o] > 0 {
		interval := now - int(s.last[o])
		s.emit(o, interval, interval, emit)
	}
	s.pending[o] = 0
}

// completeShared completes the samples of all objects that share the request at pos.
func (s *Samples) completeShared(pos, now int, emit func(row []float64, label float64)) {
	if s.topics != nil {
		query, others := s.topics.near(pos)
		s.draw(query, now)
		for _, o := range others {
			s.draw(o, now)
		}
	}
	query, others := s.shared.Requested(pos)
	s.complete(query, now, emit)
	for _, o := range others {
		s.complete(o, now, emit)
	}
}

// observeShared adds the request at pos to the features of all objects that share it.
func (s *Samples) observeShared(pos, now int) {
	query, others := s.shared.Requested(pos)
	s.Features.Observe(query, now)
	for _, o := range others {
		s.Features.Observe(o, now)
	}
	if s.topics != nil {
		s.topics.request(pos, now)
	}
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
	if s.topics != nil {
		s.draw(o, now)
	}
	s.pending[o] = 0
	age := now - int(s.last[o])
	s.emit(o, age, 2*age, emit)
}

// draw decides whether the awaited sample of o, if any, describes it at an age before now, with its topic as it is
// until now. Earlier ages have an earlier state of the topic. So the age is drawn uniformly in the logarithm, though
// the interval is known only when the sample is complete, and the sample has the topic as it was at that age.
func (s *Samples) draw(o predict.Object, now int) {
	if s.pending[o] == 0 {
		return
	}
	t, last := s.topics, int(s.last[o])
	since := max(0, int(t.now[o].last)-last) // the age from which on the topic has been as it is
	if x := s.bits.Float64() * math.Log1p(float64(now-last)); x >= math.Log1p(float64(since)) {
		t.age[o], t.drawn[o] = int32(max(since, int(math.Exp(x))-1)), t.now[o]
	}
}

// emit emits the sample of o's last request, at an age below a limit.
func (s *Samples) emit(o predict.Object, limit, interval int, emit func(row []float64, label float64)) {
	if s.thin > 0 && s.bits.Uint64()>>(64-s.thin) != 0 {
		return
	}
	age := 0
	switch {
	case s.topics != nil:
		age = int(s.topics.age[o])
	case s.set.ages():
		age = int(math.Exp(s.bits.Float64()*math.Log1p(float64(limit)))) - 1
	}
	s.Row(o, int(s.last[o])+age, s.row)
	if s.topics != nil {
		s.topics.row(o, &s.topics.drawn[o], s.count[o], int(s.last[o])+age, s.row[LLMFeatures:])
	}
	emit(s.row, math.Log1p(float64(interval-age)))
}
