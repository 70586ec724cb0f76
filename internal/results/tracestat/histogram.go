package tracestat

import "math/bits"

// precisionBits bounds the width of buckets: two values of one differ by less than one part in 2^precisionBits.
const precisionBits = 8

const numBuckets = (64-precisionBits)<<precisionBits + 1<<precisionBits

// histogram counts values from 0 to 2^63-1. Values below 512 have buckets of their own; above, each power of two is
// divided into 256.
type histogram struct {
	counts  [numBuckets]int64
	largest [numBuckets]int64 // the largest value in each bucket, so that quantiles are values of the data
	total   int64
	sum     float64
	min     int64
	max     int64
}

func bucketOf(v int64) int {
	shift := max(bits.Len64(uint64(v))-precisionBits-1, 0)
	return shift<<precisionBits + int(v>>shift)
}

// add counts the value v n times.
func (h *histogram) add(v, n int64) {
	if h.total == 0 {
		h.min = v
	}
	h.min, h.max = min(h.min, v), max(h.max, v)
	b := bucketOf(v)
	h.counts[b] += n
	// A quantile rounds up within its bucket, so that at least the share q is at most the result.
	h.largest[b] = max(h.largest[b], v)
	h.total += n
	h.sum += float64(float64(v) * float64(n))
}

// quantile returns a value v of the data such that at least the share q of the values is at most v, up to the precision
// of a bucket.
func (h *histogram) quantile(q float64) int64 {
	need := q * float64(h.total)
	var below int64
	for b, n := range h.counts {
		below += n
		if n > 0 && float64(below) >= need {
			return h.largest[b]
		}
	}
	return h.max
}

// Distribution describes many values of one kind.
type Distribution struct {
	Count  int64   `json:"count"`
	Mean   float64 `json:"mean"`
	Min    float64 `json:"min"`
	P10    float64 `json:"p10"`
	P25    float64 `json:"p25"`
	Median float64 `json:"median"`
	P75    float64 `json:"p75"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
	Bins   []Bin   `json:"bins"` // from the smallest value on, without empty ones

	curve []point
}

// Bin is the values from Lower to below Upper, a factor of two apart; the first bin holds the zeros.
type Bin struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	Count int64   `json:"count"`
}

// point is a point of the distribution function: the share of the values that are at most value.
type point struct{ value, share float64 }

// distribution returns the distribution of h's values, divided by unit, or nil if h is empty.
func (h *histogram) distribution(unit float64) *Distribution {
	if h.total == 0 {
		return nil
	}
	at := func(q float64) float64 { return float64(h.quantile(q)) / unit }
	return &Distribution{
		Count: h.total, Mean: h.sum / float64(h.total) / unit, Min: float64(h.min) / unit, Max: float64(h.max) / unit,
		P10: at(0.1), P25: at(0.25), Median: at(0.5), P75: at(0.75), P90: at(0.9), P99: at(0.99),
		Bins: h.bins(unit), curve: h.curve(unit),
	}
}

func (h *histogram) bins(unit float64) []Bin {
	var counts [65]int64
	for b, n := range h.counts {
		if n > 0 {
			counts[bits.Len64(uint64(h.largest[b]))] += n
		}
	}
	var bins []Bin
	for width, n := range counts {
		if n == 0 {
			continue
		}
		upper := float64(uint64(1)<<width) / unit
		bin := Bin{Lower: upper / 2, Upper: upper, Count: n}
		if width == 0 {
			bin.Lower = 0
		}
		bins = append(bins, bin)
	}
	return bins
}

func (h *histogram) curve(unit float64) []point {
	var points []point
	var below int64
	for b, n := range h.counts {
		if n > 0 {
			below += n
			points = append(points, point{float64(h.largest[b]) / unit, float64(below) / float64(h.total)})
		}
	}
	return points
}
