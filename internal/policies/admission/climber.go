package admission

import "math"

// restartChange is the change in hit ratio, from one sample to the next, that stands for another workload.
const restartChange = 0.05

// climber moves the border between window and main part, a step after each sample of requests, as Caffeine does since
// version 3.3: by the hit ratio in small caches, by hits per room in those with more than densityFrom of it.
type climber struct {
	sample   sample
	by       steerer
	plain    bool // always by the hit ratio
	capacity int64
	counted  int64 // requests after which counts in the sketch are halved: no sample is longer, but in the smallest caches
	period   int64 // requests of a sample
	move     int64 // by what the window has still to grow, or to shrink if below 0
}

// steerer decides after a sample by what the window should grow.
type steerer interface {
	// period returns the length of a sample, given after how many requests counts are halved.
	period(counted int64) int64
	steer(s *sample, window, protected int64) float64
}

// resize starts anew, for a cache of that capacity.
func (c *climber) resize(capacity int64) {
	*c = climber{capacity: capacity, counted: c.counted, plain: c.plain}
	switch {
	case c.plain:
		first := float64(capacity) / 16
		c.by = &byHitRatio{capacity: capacity, first: first, step: stride(-first)}
	case capacity > densityFrom:
		c.by = newByDensity(capacity)
	default:
		c.by = newByHitRatio(capacity)
	}
	c.period = c.by.period(c.counted)
}

// setCounted says after how many requests counts are halved.
func (c *climber) setCounted(requests int64) {
	if requests != c.counted {
		c.counted = requests
		c.period = c.by.period(requests)
	}
}

// decide sets the move if the sample is complete. One of a cache that is not even half full says nothing.
func (c *climber) decide(halfFull bool, window, protected int64) {
	if c.sample.requests() < c.period {
		return
	}
	if !halfFull {
		c.sample.next(c.sample.ratioBefore)
		return
	}
	c.move = int64(c.by.steer(&c.sample, window, protected))
	c.sample.next(c.sample.ratio())
	c.period = c.by.period(c.counted)
}

// sample has the counts of some requests.
type sample struct {
	hits, misses  int64
	windowHits    int64
	probationHits int64
	ratioBefore   float64 // hit ratio of the sample before
}

func (s *sample) requests() int64 { return s.hits + s.misses }
func (s *sample) ratio() float64  { return float64(s.hits) / float64(s.requests()) }

// next begins the next sample.
func (s *sample) next(ratioBefore float64) { *s = sample{ratioBefore: ratioBefore} }

// stride is the signed length of a step of the window.
type stride float64

// shortest is the length below which a step is too short to go on with.
const shortest = 2

// longStride returns the length of a first step: a sixteenth of the capacity.
func longStride(capacity int64) float64 { return max(float64(capacity)/16, shortest) }

// onward returns the step again, or the one back.
func (s stride) onward(on bool) stride {
	if on {
		return s
	}
	return -s
}

func (s stride) length() float64 { return math.Abs(float64(s)) }

// of returns a step of another length in the same direction.
func (s stride) of(length float64) stride { return stride(math.Copysign(length, float64(s))) }

func (s stride) shorter() stride { return 0.98 * s }

// byHitRatio goes on while the hit ratio does not fall, by shorter and shorter steps, and turns round when it falls.
type byHitRatio struct {
	capacity int64
	first    float64 // length of the first step, and of those after a change of the workload
	step     stride
	slow     bool // in small caches hit ratios are noisy: samples become longer, and steps hardly shorter
}

// slowUpTo is the capacity up to which byHitRatio is slow.
const slowUpTo = 512

// longestSample is the length of a sample of slow steps, in those of others.
const longestSample = 4

func newByHitRatio(capacity int64) *byHitRatio {
	first := longStride(capacity)
	b := &byHitRatio{capacity: capacity, first: first, step: stride(-first), slow: capacity <= slowUpTo}
	if b.slow { // the window has a few objects: there is nothing to take from it
		b.step = -b.step
	}
	return b
}

func (b *byHitRatio) period(counted int64) int64 {
	if !b.slow {
		return counted
	}
	first := float64(b.capacity) / 16
	times := max(1, min(longestSample, first/max(b.step.length(), first/longestSample)))
	return int64(float64(counted) * times)
}

func (b *byHitRatio) steer(s *sample, _, _ int64) float64 {
	change := s.ratio() - s.ratioBefore
	step := b.step.onward(change >= 0)
	switch {
	case math.Abs(change) >= restartChange:
		b.step = step.of(b.first)
	case b.slow:
		b.step = 0.995 * step
	default:
		b.step = step.shorter()
	}
	return float64(step)
}
