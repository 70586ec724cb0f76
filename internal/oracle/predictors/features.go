package predictors

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// FeatureSet is the set of features that describe an object to a model: its number of features, by which LCR
// distinguishes its two sets.
type FeatureSet int

const (
	// DLRMFeatures describe an object as of its last request (LCR, section 4.1): the time of that request, the object's
	// number, how often it has been requested, and the interval before the last request. Objects are numbered in the order
	// in which they first appear.
	DLRMFeatures FeatureSet = 4
	// LLMFeatures describe an object as of the time of the prediction (LCR, section 5.1): 10 intervals, 10 exponentially
	// decayed counters and the tokens from the root of the prefix tree to the end of the block, 0 for other objects. As in
	// LRB (NSDI 2020), the first interval has not ended: it is the age. The counters are decayed up to the time of the
	// prediction.
	LLMFeatures FeatureSet = 21
	// TopicFeatures are LLMFeatures and those of the object's topic, also as of the time of the prediction. Of the
	// requests that its entry would have answered: their number, how many had its own query, and how many other queries
	// there were. Of all requests to its topic: the age of the last, their number and two decayed numbers. And the largest
	// similarity to another query. Only objects that share requests have topics.
	TopicFeatures FeatureSet = 29
)

const (
	intervals = 9  // that have ended, of LLMFeatures
	counters  = 10 // exponentially decayed
)

// Names returns the names of the features in the order of a row.
func (s FeatureSet) Names() []string {
	if s == DLRMFeatures {
		return []string{"timestamp", "key", "count", "interval_1"}
	}
	names := []string{"age"}
	for i := range intervals {
		names = append(names, fmt.Sprintf("interval_%d", i+1))
	}
	for i := range counters {
		names = append(names, fmt.Sprintf("edc_%d", i+1))
	}
	names = append(names, "depth")
	if s == TopicFeatures {
		names = append(names, topicNames...)
	}
	return names
}

// ages reports whether the features depend on the time of the prediction.
func (s FeatureSet) ages() bool { return s != DLRMFeatures }

// Features keeps the history of each object and describes objects to a model. Its clock counts finished groups where
// objects have a depth, and requests elsewhere. Memory: 12 bytes per object for DLRMFeatures, 84 for LLMFeatures, 136
// for TopicFeatures.
type Features struct {
	set    FeatureSet
	clock  clock
	depth  []int32
	last   []int32  // per object: clock of its last request
	count  []uint32 // per object
	ended  []float32
	recent int             // intervals that are kept per object
	edc    []float32       // per object its counters as of its last request; nil where the set has none
	shared *predict.Shared // nil where each request is one to its own object alone
	topics *topics         // nil unless the set is TopicFeatures
}

// NewFeatures returns the features of objects that have not been requested yet.
func NewFeatures(set FeatureSet, c predict.Config) *Features {
	f := &Features{set: set, clock: newClock(c), depth: c.Depth, last: make([]int32, c.Count),
		count: make([]uint32, c.Count), recent: 1, shared: predict.NewShared(c)}
	if set == TopicFeatures {
		f.topics = newTopics(c, float32(c.Params.Float("topic")))
		f.shared = f.topics.shared
	}
	if set.ages() {
		f.recent = intervals
		f.edc = make([]float32, counters*c.Count)
	}
	f.ended = make([]float32, f.recent*c.Count)
	for i := range f.ended {
		f.ended[i] = float32(math.NaN())
	}
	return f
}

// Observe adds a request to o, shared or not, at that time of the clock.
func (f *Features) Observe(o predict.Object, now int) {
	interval := math.Inf(1)
	if f.count[o] > 0 {
		interval = float64(now - int(f.last[o]))
		ended := f.ended[int(o)*f.recent : (int(o)+1)*f.recent]
		copy(ended[1:], ended)
		ended[0] = float32(interval)
	}
	f.last[o] = int32(now)
	f.count[o]++
	if f.edc == nil {
		return
	}
	edc := f.edc[int(o)*counters : (int(o)+1)*counters]
	// An infinite interval gives a factor of 0: at the first request, all counters become 1.
	decay := slowestDecay(interval)
	for i := counters - 1; i >= 0; i-- {
		edc[i] = float32(1 + float64(float64(edc[i])*decay))
		decay *= decay
	}
}

// slowestDecay returns the factor by which the last counter decays in an interval, 2^(-interval/2^19); the factor of
// each other counter is the square of the next one's.
func slowestDecay(interval float64) float64 { return math.Exp2(-interval / (1 << (9 + counters))) }

// Row describes an object that has been requested, as of that time of the clock. An interval that is missing, infinite
// in LCR, is NaN: the missing value of LightGBM.
func (f *Features) Row(o predict.Object, now int, row []float64) {
	if f.set == DLRMFeatures {
		row[0], row[1], row[2], row[3] = float64(f.last[o]), float64(o), float64(f.count[o]), float64(f.ended[o])
		return
	}
	age := float64(now - int(f.last[o]))
	row[0] = age
	for i, interval := range f.ended[int(o)*intervals : (int(o)+1)*intervals] {
		row[1+i] = float64(interval)
	}
	edc := f.edc[int(o)*counters : (int(o)+1)*counters]
	decay := slowestDecay(age)
	for i := counters - 1; i >= 0; i-- {
		row[1+intervals+i] = float64(edc[i]) * decay
		decay *= decay
	}
	row[LLMFeatures-1] = 0
	if f.depth != nil {
		row[LLMFeatures-1] = float64(f.depth[o])
	}
	if f.topics != nil {
		f.topics.row(o, &f.topics.now[o], f.count[o], now, row[LLMFeatures:])
	}
}

// clock is the time of predictors that measure intervals.
type clock struct {
	groups   []int // positions at which they begin, if it counts those that have finished; nil where it counts requests
	finished int
}

func newClock(c predict.Config) clock {
	if c.Depth == nil {
		return clock{}
	}
	return clock{groups: c.Groups}
}

// at returns the time of the request at a position, which must not be before the previous call's.
func (c *clock) at(pos int) int {
	if c.groups == nil {
		return pos
	}
	for c.finished+1 < len(c.groups) && c.groups[c.finished+1] <= pos {
		c.finished++
	}
	return c.finished
}
