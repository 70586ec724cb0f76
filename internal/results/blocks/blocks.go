// Package blocks has the hits and misses of a replay in consecutive blocks of its requests. From how much they differ
// follows how sure a result is: the bootstrap draws blocks with replacement and computes the result from each draw.
//
// Runs of blocks are drawn, with the first block after the last (Politis and Romano, A Circular Block-Resampling
// Procedure for Stationary Data, 1992), and the interval has the middle 95% of the results (Efron and Tibshirani, An
// Introduction to the Bootstrap, 1993, chapters 8 and 13). It holds for a trace that goes on as it was: a trend is more
// than the difference of its blocks.
package blocks

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/results/records"
)

// Count is how many blocks a replay has, and Least how many requests each of them has at least: a shorter trace is one
// block, from which nothing follows.
const (
	Count = 50
	Least = 200
)

// Block is what happened in one of the blocks after the warm-up.
type Block struct {
	Requests, Misses int64
	MissedBytes      int64 // 0 if the capacity counts objects
	New, NewBytes    int64 // objects that were requested for the first time, and their sizes
	Cold             int64 // the misses among their first requests; 0 if Blocks.FirstsHit
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
	Filled              Filled
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
	for i := range b.Each {
		e := &b.Each[i]
		e.NewBytes, e.MissedBytes = size*e.New, size*e.Misses
	}
}

// OfSize makes the new objects count as several, as those in which the capacity is given. Nil is allowed.
func (b *Blocks) OfSize(objects int) {
	if b == nil {
		return
	}
	b.Before *= int64(objects)
	for i := range b.Each {
		b.Each[i].New *= int64(objects)
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
func (b *Blocks) Sum() (sum Block) {
	for _, e := range b.Each {
		sum.Requests += e.Requests
		sum.Misses += e.Misses
		sum.MissedBytes += e.MissedBytes
		sum.New += e.New
		sum.NewBytes += e.NewBytes
		sum.Cold += e.Cold
	}
	return sum
}

// Set has the blocks of records. A nil Set has none.
type Set struct {
	blocks map[string]*Blocks
	draws  draws
}

// NewSet returns an empty set, whose random draws follow from the seed.
func NewSet(seed uint64) *Set { return &Set{map[string]*Blocks{}, newDraws(seed)} }

// Add adds the blocks of a record; nil if its replay has none.
func (s *Set) Add(r *records.Record, b *Blocks) {
	if b != nil {
		s.blocks[identity(r)] = b
	}
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

// Values are what the blocks that were drawn say of a record, one value for each draw.
type Values struct {
	HitRatios   []float64 // as the record has it: on a sample, for the whole trace
	MissedBytes []float64 // per request
}

// Drawn returns the values of a record; ok is false if it has no blocks.
func (s *Set) Drawn(r *records.Record) (v Values, ok bool) {
	b := s.Of(r)
	if b == nil || len(b.Each) != Count {
		return v, false
	}
	all, scale := b.Sum(), b.scale(r)
	hitRatio, perRequest := r.Float(metric.HitRatio), scale*(float64(all.MissedBytes)/float64(all.Requests))
	v = Values{make([]float64, Draws), make([]float64, Draws)}
	for k := range v.HitRatios {
		var requests, misses, bytes float64
		for i, n := range s.draws.of(k) {
			e := &b.Each[i]
			requests += float64(float64(n) * float64(e.Requests))
			misses += float64(float64(n) * float64(e.Misses))
			bytes += float64(float64(n) * float64(e.MissedBytes))
		}
		if requests > 0 {
			v.HitRatios[k] = hitRatio + float64(spread*(1-float64(scale*(misses/requests))-hitRatio))
			v.MissedBytes[k] = perRequest + float64(spread*(float64(scale*(bytes/requests))-perRequest))
		}
	}
	return v, true
}
