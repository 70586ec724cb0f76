package lives

import (
	"math"
	"math/bits"
)

// histogram counts whole numbers in buckets that are at most 1/128 of their numbers wide, so that its memory does not
// depend on how many there are. The zero value is empty.
type histogram struct {
	buckets []int64
	count   int64
}

// fine is the number of bits in which numbers of one bucket agree, after the first 1.
const fine = 7

// add counts a number from 0 on.
func (h *histogram) add(x int64) {
	if h.buckets == nil {
		h.buckets = make([]int64, (64-fine)<<fine)
	}
	h.buckets[bucketOf(uint64(x))]++
	h.count++
}

// bucketOf returns the bucket of a number: numbers below 2^(fine+1) have one each.
func bucketOf(x uint64) int {
	shift := max(0, bits.Len64(x)-fine-1)
	return shift<<fine + int(x>>shift)
}

// middleOf returns the middle of the numbers in a bucket.
func middleOf(bucket int) float64 {
	if bucket < 2<<fine {
		return float64(bucket)
	}
	shift := bucket>>fine - 1
	least := uint64(bucket-shift<<fine) << shift
	return float64(least) + float64(uint64(1)<<shift-1)/2
}

// quantile returns the smallest number that a share p of all, from 0 to 1, do not exceed. There must be some.
func (h *histogram) quantile(p float64) float64 {
	rank := max(1, int64(math.Ceil(p*float64(h.count))))
	for bucket, n := range h.buckets {
		if rank -= n; rank <= 0 {
			return middleOf(bucket)
		}
	}
	return middleOf(len(h.buckets) - 1)
}

// clear forgets all numbers.
func (h *histogram) clear() {
	clear(h.buckets)
	h.count = 0
}
