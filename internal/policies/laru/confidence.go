package laru

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

type settings struct {
	confidence confidence // of a cache that has just begun a phase
	bitset     bool       // marks are bits of a MarkedSet
}

// read returns the settings for a cache of the given capacity in objects.
func read(v policies.Values, capacity int) (settings, error) {
	decayEvery, err := parseDecay(v.Text("decay"), capacity)
	if err != nil {
		return settings{}, err
	}
	return settings{
		confidence: confidence{b: v.Float("b"), power: 1, capacity: capacity, candidates: capacity,
			decay: v.Text("decay"), decayEvery: decayEvery},
		bitset: v.Text("marks") == marksBitset,
	}, nil
}

// parseDecay returns the number of fallbacks after which the confidence shrinks.
func parseDecay(text string, capacity int) (int, error) {
	number, share := strings.CutPrefix(text, "k/")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("decay=%s: want a whole number from 1, or k/32 for the capacity divided by 32", text)
	}
	if share {
		return max(1, capacity/n), nil
	}
	return n, nil
}

// confidence is how far predictions are followed: the least recently used objects, a share lambda of the cache, are
// candidates for eviction by prediction.
type confidence struct {
	b          float64
	power      float64 // 1/lambda
	capacity   int
	candidates int    // number of least recently used objects from which predictions choose, at least 1
	decay      string // as the user wrote it
	decayEvery int
	fallbacks  int // since lambda last shrank, in this phase
}

// candidatesOf returns how many of a number of objects are candidates, if only these can be evicted.
func (c *confidence) candidatesOf(objects int) int { return max(1, int(float64(objects)/c.power)) }

// resize changes the capacity. The confidence stays as it is.
func (c *confidence) resize(capacity int) {
	c.capacity = capacity
	c.candidates = c.candidatesOf(capacity)
	c.decayEvery, _ = parseDecay(c.decay, capacity) // parsed without error before
}

// lambda returns the confidence, 1 or less.
func (c *confidence) lambda() float64 { return 1 / c.power }

// restore begins a phase.
func (c *confidence) restore() { c.power, c.candidates, c.fallbacks = 1, c.capacity, 0 }

// lose counts a fallback: an object evicted by prediction in this phase was requested in the same phase.
func (c *confidence) lose() {
	if c.fallbacks++; c.fallbacks < c.decayEvery {
		return
	}
	c.fallbacks = 0
	c.shrink()
}

// shrink divides the confidence by b.
func (c *confidence) shrink() {
	c.power *= c.b
	c.candidates = c.candidatesOf(c.capacity)
}

// Metrics of figures.
var (
	numPhases = metric.Metric{Name: "phases", Unit: metric.Count, Doc: "phases begun; a new one begins when an object " +
		"must be evicted and all residents were requested in the current one"}
	predictionEvictions = metric.Metric{Name: "prediction_evictions", Unit: metric.Count,
		Doc: "evictions decided by a prediction"}
	fallbackEvictions = metric.Metric{Name: "fallback_evictions", Unit: metric.Count,
		Doc: "evictions by LRU on a miss of an object that a prediction evicted in the same phase"}
	lruEvictions = metric.Metric{Name: "lru_evictions", Unit: metric.Count,
		Doc: "evictions by LRU because the confidence left a single candidate"}
	lambdaSum = metric.Metric{Name: "lambda_sum", Unit: metric.Ratio, Digits: 3,
		Doc: "confidence in predictions (1 or less), added up over all evictions"}
)

// figures are the counters of a replay.
type figures slabs.Tally

// counters returns the figures as sums, so that several caches can be added up; lambda_sum divided by all evictions is
// the mean confidence.
func (f figures) counters() []policies.Counter {
	return []policies.Counter{
		policies.Count(numPhases, float64(f.Phases)),
		policies.Count(predictionEvictions, float64(f.ByPrediction)),
		policies.Count(fallbackEvictions, float64(f.Fallbacks)),
		policies.Count(lruEvictions, float64(f.ByRecency)),
		policies.Count(lambdaSum, f.Lambda),
	}
}

// MarkedSet is an approximate set of objects: it also contains every object with the same hash as a member.
type MarkedSet [markedBits / 64]uint64

const (
	markedBits    = 8192
	markedBitsLog = 13
)

func (s *MarkedSet) Add(o policies.Object) { s[bit(o)>>6] |= 1 << (bit(o) & 63) }

// Has reports whether o, or an object with its hash, was added.
func (s *MarkedSet) Has(o policies.Object) bool { return s[bit(o)>>6]>>(bit(o)&63)&1 != 0 }

func bit(o policies.Object) uint64 {
	return random.Mix((uint64(o)+1)*random.Golden) >> (64 - markedBitsLog)
}
