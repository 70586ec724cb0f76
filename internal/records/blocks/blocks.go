// Package blocks has the hits and misses of a replay in consecutive blocks of its requests. How much blocks differ
// shows how sure a result is: the bootstrap draws blocks with replacement and computes the result from each draw.
//
// Runs of blocks are drawn, with the first block after the last (Politis and Romano, A Circular Block-Resampling
// Procedure for Stationary Data, 1992), and the interval has the middle 95% of the results (Efron and Tibshirani, An
// Introduction to the Bootstrap, 1993, chapters 8 and 13). How long the runs are follows from the autocorrelation of
// the misses. Blocks are drawn from the part of the trace in which caches are full. Earlier misses differ
// for another reason than noise.
package blocks

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// Count is how many blocks a replay has, and Least the fewest requests of a block. A shorter trace is one block and has
// no interval.
const (
	Count = 400
	Least = 25
)

// Block is what happened in one of the blocks after the warm-up.
type Block struct {
	Requests, Misses int64
	MissedBytes      int64 // 0 if the capacity counts objects
}

// Blocks are the blocks of a replay, and what else happened at some of its requests.
type Blocks struct {
	Each []Block
	// Restarts says that the replay began several times with an empty cache; the fields below are unknown then.
	Restarts bool
	// FirstsHit says that first requests to objects may hit, because similar objects answer or objects are loaded ahead.
	FirstsHit bool
	// Before and BytesBefore are the objects, and their sizes, that the warm-up requested.
	Before, BytesBefore int64
	// New and NewBytes are the objects, and their sizes, that were requested for the first time in each half of the
	// blocks.
	New, NewBytes [2]int64
	Cold          int64 // the misses among first requests; 0 if FirstsHit
	Filled        Filled
}

// Filled says when everything requested so far no longer fitted into the cache, and what followed.
type Filled struct {
	At               int64 // number of the request, from 1; 0 if that never happened
	Requests, Misses int64 // counted from there on, after the warm-up
}

// OfBytes sets the bytes of objects that all have the same size. Nil is allowed.
func (b *Blocks) OfBytes(size int64) {
	if b == nil {
		return
	}
	b.BytesBefore = size * b.Before
	for half, n := range b.New {
		b.NewBytes[half] = size * n
	}
	for i := range b.Each {
		b.Each[i].MissedBytes = size * b.Each[i].Misses
	}
}

// OfSize makes the new objects count as several, as those in which the capacity is given. Nil is allowed.
func (b *Blocks) OfSize(objects int) {
	if b == nil {
		return
	}
	b.Before *= int64(objects)
	for half := range b.New {
		b.New[half] *= int64(objects)
	}
}

// FilledHitRatio is the hit ratio of a record from the request on at which the cache has filled; on a sample, the
// estimate for the whole trace. The cache must have filled.
func (b *Blocks) FilledHitRatio(r *records.Record) float64 {
	return 1 - float64(b.scale(r)*(float64(b.Filled.Misses)/float64(b.Filled.Requests)))
}

// scale is 1 unless the record is of a sample: that has an expected number of requests, which differs from its own.
func (b *Blocks) scale(r *records.Record) float64 {
	all := b.Sum()
	if all.Misses == 0 {
		return 1
	}
	return (1 - r.Float(metric.HitRatio)) / (float64(all.Misses) / float64(all.Requests))
}

// Sum adds up the blocks.
func (b *Blocks) Sum() Block { return sum(b.Each) }

func sum(blocks []Block) (sum Block) {
	for _, e := range blocks {
		sum.Requests += e.Requests
		sum.Misses += e.Misses
		sum.MissedBytes += e.MissedBytes
	}
	return sum
}

// full returns the first block that begins when the cache has filled; Count if that never happens.
func (b *Blocks) full() int {
	switch {
	case b.Restarts:
		return 0
	case b.Filled.At == 0:
		return Count
	}
	i, rest := Count, int64(0)
	for i > 0 && rest+b.Each[i-1].Requests <= b.Filled.Requests {
		i--
		rest += b.Each[i].Requests
	}
	return i
}

// Set has the blocks of records. A nil Set has none.
type Set struct {
	seed   uint64
	blocks map[string]*Blocks
	traces map[string][]*Blocks // those that are long enough
	plans  map[string]plan      // of traces; nil if they are to be made again
}

// NewSet returns an empty set, whose random draws follow from the seed.
func NewSet(seed uint64) *Set {
	return &Set{seed: seed, blocks: map[string]*Blocks{}, traces: map[string][]*Blocks{}}
}

// Add adds the blocks of a record; nil if its replay has none.
func (s *Set) Add(r *records.Record, b *Blocks) {
	if b == nil {
		return
	}
	id := identity(r)
	if _, known := s.blocks[id]; !known && len(b.Each) == Count {
		s.traces[r.Trace] = append(s.traces[r.Trace], b)
		s.plans = nil
	}
	s.blocks[id] = b
}

// Of returns the blocks of a record; nil if there are none.
func (s *Set) Of(r *records.Record) *Blocks {
	if s == nil {
		return nil
	}
	return s.blocks[identity(r)]
}

// identity distinguishes the records of one command, whatever names they are given.
func identity(r *records.Record) string {
	parts := []string{r.Trace, r.Policy, r.Params, fmt.Sprint(r.Capacity, r.CapacityUnit, r.Seed, r.SampleSeed, r.Axes)}
	for _, k := range records.PartKinds {
		parts = append(parts, *k.Field(r))
	}
	return strings.Join(parts, "\x00")
}

// planOf returns how the blocks of a trace are drawn.
func (s *Set) planOf(trace string) plan {
	p, known := s.plans[trace]
	if !known {
		p = newPlan(s.traces[trace], s.seed)
		if s.plans == nil {
			s.plans = map[string]plan{}
		}
		s.plans[trace] = p
	}
	return p
}

// Values are what the blocks that were drawn say of a record, one value for each draw.
type Values struct {
	HitRatios   []float64 // as the record has it: on a sample, for the whole trace
	MissedBytes []float64 // per request
}

// Drawn returns the values of a record; ok is false if it has no blocks, or its trace has phases that are too long for
// them.
func (s *Set) Drawn(r *records.Record) (v Values, ok bool) {
	b := s.Of(r)
	if b == nil || len(b.Each) != Count {
		return v, false
	}
	p := s.planOf(r.Trace)
	if p.tooLong {
		return v, false
	}
	all, part, scale, spread := b.Sum(), sum(b.Each[p.begin:]), b.scale(r), p.spread()
	hitRatio, perRequest := r.Float(metric.HitRatio), scale*(float64(all.MissedBytes)/float64(all.Requests))
	v = Values{make([]float64, Draws), make([]float64, Draws)}
	for k, drawn := range p.sums(b.Each[p.begin:]) {
		v.HitRatios[k], v.MissedBytes[k] = hitRatio, perRequest
		if drawn.Requests > 0 {
			perDrawn, perPart := 1/float64(drawn.Requests), 1/float64(part.Requests)
			misses := float64(float64(drawn.Misses)*perDrawn) - float64(float64(part.Misses)*perPart)
			bytes := float64(float64(drawn.MissedBytes)*perDrawn) - float64(float64(part.MissedBytes)*perPart)
			v.HitRatios[k] -= float64(spread * scale * misses)
			v.MissedBytes[k] += float64(spread * scale * bytes)
		}
	}
	return v, true
}

// Remark says which traces of records have no intervals because of their phases; "" if none has too long ones.
func (s *Set) Remark(recs []records.Record) string {
	if s == nil {
		return ""
	}
	traces := records.Texts(recs, func(r *records.Record) string {
		if b := s.Of(r); b != nil && len(b.Each) == Count && s.planOf(r.Trace).tooLong {
			return r.Trace
		}
		return ""
	})
	switch {
	case len(traces) == 0:
		return ""
	case slices.ContainsFunc(recs, func(r records.Record) bool { return r.Trace != recs[0].Trace }):
		return show.Printable(strings.Join(traces, ", ") + ": " + remark)
	}
	return remark
}

const remark = "no intervals: phases longer than the blocks. The hit ratio stays high or low for so long at a time " +
	"that this log has too few phases; a longer log may have intervals"

// How many blocks are drawn together follows from the autocorrelation of the misses: Politis and White, Automatic
// Block-Length Selection for the Dependent Bootstrap (Econometric Reviews 23, 2004), for circular blocks, as corrected
// by Patton, Politis and White (Econometric Reviews 28, 2009). Measured on logs with phases (coverage_test.go), four
// changes were needed:
//
//   - Autocovariances around the mean of a short log are too low, by the variance of that mean: it is added.
//   - Only what makes the mean vary more counts. Days, which repeat, make it vary less.
//   - The length is the largest for blocks, pairs and fours of blocks: noise hides slow phases in short blocks.
//   - Three times that length is drawn. The length minimises the error of the variance, including that it is too low.
const (
	longer   = 3
	shortest = Count / 20 // blocks that are drawn together
	fewest   = 4          // runs in a draw
)

// longest is up to which length the blocks support an interval: Politis and White's bound.
var longest = 3 * math.Sqrt(Count)

// lengthOf returns the length for the misses in blocks, and for the bytes missed, whichever is longer.
func lengthOf(each []Block) float64 {
	all := sum(each)
	misses, bytes := make([]float64, len(each)), make([]float64, len(each))
	for i, b := range each { // what there is above the mean
		share := float64(b.Requests) / float64(max(all.Requests, 1))
		misses[i] = float64(b.Misses) - float64(share*float64(all.Misses))
		bytes[i] = float64(b.MissedBytes) - float64(share*float64(all.MissedBytes))
	}
	length := coarsened(misses)
	if all.MissedBytes > 0 {
		length = max(length, coarsened(bytes))
	}
	return length
}

// coarsened returns the largest length for x, for the sums of pairs and for those of fours.
func coarsened(x []float64) (length float64) {
	for together := 1.; together <= 4; together *= 2 {
		length = max(length, together*circular(x))
		pairs := make([]float64, len(x)/2)
		for i := range pairs {
			pairs[i] = x[2*i] + x[2*i+1]
		}
		x = pairs
	}
	return length
}

const (
	insignificant = 5 // autocorrelations in a row, after which there are none
	rounds        = 3 // in which autocovariances and the variance of the mean follow from each other
)

// circular returns the length of blocks, at least 1, with which the circular bootstrap has the best variance of the
// mean of x.
func circular(x []float64) (length float64) {
	n := float64(len(x))
	measured := autocovariances(x, int(math.Ceil(math.Sqrt(n)))+insignificant)
	if measured[0] <= 0 {
		return 1
	}
	ofMean := 0. // the variance of the mean
	for range rounds {
		r := make([]float64, len(measured))
		for k := range r {
			r[k] = measured[k] + ofMean
		}
		last := min(2*max(lastSignificant(r, n), 1), len(r)-1)
		spectrum, slope := r[0], 0. // at frequency 0
		for k := 1; k <= last; k++ {
			part := 2 * min(1, 2*(1-float64(k)/float64(last))) * r[k] // a flat-top lag window
			spectrum += part
			slope += float64(float64(k) * part)
		}
		spectrum = max(spectrum, r[0])
		length = 1
		if slope > 0 {
			ratio := slope / spectrum
			length = max(1, math.Cbrt(1.5*ratio*ratio*n)) // (2 slope^2 / (4/3 spectrum^2) n)^(1/3)
		}
		ofMean = spectrum / n
	}
	return length
}

func autocovariances(x []float64, last int) []float64 {
	mean := 0.
	for _, v := range x {
		mean += v / float64(len(x))
	}
	r := make([]float64, last+1)
	for k := range r {
		for i, v := range x[k:] {
			r[k] += float64((v - mean) * (x[i] - mean))
		}
		r[k] /= float64(len(x) - k)
	}
	return r
}

// lastSignificant returns the lag after which autocorrelations are within the noise of n values, several in a row; the
// last lag if that does not happen.
func lastSignificant(r []float64, n float64) int {
	noise := 2 * math.Sqrt(math.Log10(n)/n) * r[0]
	inRow := 0
	for k := 1; k < len(r); k++ {
		if inRow++; math.Abs(r[k]) >= noise {
			inRow = 0
		}
		if inRow == insignificant {
			return k - insignificant
		}
	}
	return len(r) - 1
}
