package admit

import (
	"math/bits"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

var learnedEntry = Entry{
	Name: "learned",
	Summary: "admits objects that are likely to be requested again while they would be in the tier, as a logistic " +
		"regression has learned from the objects before",
	Source: "after Eisenman et al., Flashield: a hybrid key-value cache that controls flash write amplification, NSDI " +
		"2019, with another classifier",
	PerObject: 13,
	Params: []params.Param{
		{Name: "threshold", Default: 0.5, Min: 0, Max: 1e3, Doc: "probability of a further request from which an object is " +
			"admitted, as a multiple of the share of such objects among those that came down lately"},
		{Name: "horizon", Default: 1.0, Min: 1e-3, Max: 1e3, Doc: "requests within which it must come, as a multiple of " +
			"the objects that fit into the tier"},
		{Name: "rate", Default: 0.01, Min: 1e-6, Max: 1, Doc: "learning rate"},
		{Name: "first", Default: 1000, Min: 1, Max: 1e9, Doc: "objects that are admitted at the start, while it learns"},
	},
	New: func(c Config) (Admission, error) {
		v := c.Params
		return &learned{threshold: v.Float("threshold"), horizon: v.Float("horizon"), rate: v.Float("rate"),
			first: v.Int("first"), sized: c.Sized, capacity: c.Capacity, counted: newCounted(c.Objects),
			gap:  make([]uint32, c.Objects),
			open: make([]uint32, c.Objects)}, nil
	},
}

// features are 1 and logarithms of an object's requests, the time since the last, the time before that, and its size.
type features [5]float64

// sample is an object that came down; it is not known yet whether it is requested again in time.
type sample struct {
	object requests.Object
	number uint32 // of the sample, from 1 on
	until  int    // the number of the request after which it is too late
	x      features
}

// learned learns online: an object that comes down is a sample, whether it is admitted or not. It is positive if the
// object is requested within the horizon. A step of gradient descent follows each.
//
// Memory: 13 bytes per object, and 72 for each object that came down within the horizon.
type learned struct {
	threshold, horizon, rate float64
	first                    int
	sized                    bool
	capacity, bytes          int64 // of the tier; of all samples so far
	counted
	gap  []uint32 // per object: requests between its last two
	open []uint32 // per object: its last sample that is open, 0 for none

	samples []sample // open ones, or closed by a request, in the order of their ends
	head    int
	number  uint32
	now     int
	weights features
	share   float64 // of positive samples among the last, each older one with a lower weight
}

// lately is the weight of a sample in the share of positive ones.
const lately = 1e-3

func (l *learned) Request(r requests.Request, at int) {
	l.now = at
	l.expire()
	o := r.Object
	if l.times[o] > 0 {
		l.gap[o] = uint32(at) - l.last[o]
	}
	if open := l.open[o]; open != 0 {
		l.open[o] = 0
		// Samples are in the order of their numbers.
		first := l.samples[l.head].number
		l.learn(l.samples[l.head+int(open-first)].x, 1)
	}
	l.request(o, at)
}

// expire learns from the samples whose objects were not requested in time.
func (l *learned) expire() {
	for l.head < len(l.samples) && l.samples[l.head].until < l.now {
		s := &l.samples[l.head]
		if l.open[s.object] == s.number {
			l.open[s.object] = 0
			l.learn(s.x, 0)
		}
		if l.head++; l.head > len(l.samples)/2 {
			l.samples, l.head = l.samples[:copy(l.samples, l.samples[l.head:])], 0
		}
	}
}

// learn moves the weights towards what a sample has shown.
func (l *learned) learn(x features, y float64) {
	l.share += float64(lately * (y - l.share))
	wrong := l.rate * (y - l.probability(x))
	for i := range x {
		l.weights[i] += float64(wrong * x[i])
	}
}

// probability returns how likely a further request is.
func (l *learned) probability(x features) float64 {
	sum := 0.0
	for i := range x {
		sum += float64(l.weights[i] * x[i])
	}
	return 1 / (1 + random.Exp(-max(-30, min(30, sum))))
}

func (l *learned) Admit(r requests.Request) bool {
	x := l.featuresOf(r)
	l.add(r, x)
	return int(l.number) <= l.first || l.probability(x) >= l.threshold*l.share
}

// add makes an object that comes down a sample, in the place of an earlier one.
func (l *learned) add(r requests.Request, x features) {
	l.number++
	l.bytes += r.Size
	fit := float64(l.capacity) * float64(l.number) / float64(l.bytes)
	until := l.now + int(l.horizon*min(fit, float64(len(l.open))))
	if n := len(l.samples); n > l.head {
		until = max(until, l.samples[n-1].until) // objects have become larger
	}
	l.samples = append(l.samples, sample{r.Object, l.number, until, x})
	l.open[r.Object] = l.number
}

// featuresOf returns the features of an object, each from 0 to about 2.
func (l *learned) featuresOf(r requests.Request) features {
	o := r.Object
	x := features{1, log2(uint64(l.times[o])) / 4, log2(uint64(uint32(l.now)-l.last[o])) / 16, 2, 0}
	if l.times[o] > 1 {
		x[3] = log2(uint64(l.gap[o])) / 16
	}
	if l.sized {
		x[4] = log2(uint64(r.Size)) / 16
	}
	return x
}

// log2 returns the binary logarithm of n+1, linear between powers of two: the same on every machine.
func log2(n uint64) float64 {
	n++
	whole := bits.Len64(n) - 1
	below := uint64(1) << whole // the power of two
	return float64(whole) + float64(n-below)/float64(below)
}
