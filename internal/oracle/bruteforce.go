package oracle

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// bruteForceObjects bounds the number of distinct objects of BruteForce: it visits every subset of them for every
// request.
const bruteForceObjects = 12

// BruteForce returns the least number of misses that any schedule of a cache can have, by trying every set of residents
// after every request. Tests compare policies and bounds with it on tiny traces, of at most 12 objects. sizes are per
// object, nil for 1 each. With bypass a missed object may be bypassed; without it every missed object that fits into
// the cache is loaded (forced insertion). Either way any resident may be evicted at any time.
func BruteForce(objects []uint32, sizes []int64, capacity int64, bypass bool) int {
	return bruteForce(objects, sizes, capacity, bypass, 0)
}

// bruteForce is BruteForce with misses counted from a position on.
func bruteForce(objects []uint32, sizes []int64, capacity int64, bypass bool, from int) int {
	n := 0
	for _, o := range objects {
		n = max(n, int(o)+1)
	}
	if n > bruteForceObjects {
		panic(fmt.Sprintf("oracle: BruteForce over %d objects, at most %d", n, bruteForceObjects))
	}
	bytes := setSizes(n, sizes)
	best := make([]int, 1<<n) // fewest misses so far for each set of residents
	for set := range best {
		best[set] = math.MaxInt
	}
	best[0] = 0
	for i, o := range objects {
		price := 1
		if i < from {
			price = 0
		}
		best = bruteForceStep(best, bytes, o, capacity, bypass, price)
	}
	return slices.Min(best)
}

// bruteForceStep serves a request to o from every reachable set of residents; a miss costs price.
func bruteForceStep(best []int, bytes []int64, o uint32, capacity int64, bypass bool, price int) []int {
	after := make([]int, len(best))
	for set := range after {
		after[set] = math.MaxInt
	}
	own := 1 << o
	for set, misses := range best {
		if misses == math.MaxInt {
			continue
		}
		// Only the missed object can be loaded, so the next residents are a subset of may. Without bypass it has to
		// be among them.
		may, must := set|own, 0
		if set&own == 0 {
			misses += price
			if !bypass && bytes[own] <= capacity {
				must = own
			}
		}
		// Subtracting 1 and masking visits every subset of may once, from may down to the empty set.
		for stay := may; ; stay = (stay - 1) & may {
			if bytes[stay] <= capacity && stay&must == must {
				after[stay] = min(after[stay], misses)
			}
			if stay == 0 {
				break
			}
		}
	}
	return after
}

// setSizes returns the bytes of each set of the objects 0..n-1.
func setSizes(n int, sizes []int64) []int64 {
	bytes := make([]int64, 1<<n)
	for set := 1; set < len(bytes); set++ {
		o := bits.TrailingZeros(uint(set))
		size := int64(1)
		if sizes != nil {
			size = sizes[o]
		}
		bytes[set] = bytes[set&(set-1)] + size
	}
	return bytes
}
