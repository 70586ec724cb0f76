package oracle

import (
	"math"
	"math/bits"
	"slices"
)

// BoundInput is what a lower bound on misses is computed from.
type BoundInput struct {
	Objects    []uint32
	NumObjects int
	// Sizes in bytes, as in traces.Trace: RequestSizes only where an object changes its size; both nil where each request
	// is charged 1. The largest sizes of all objects together must stay below 2^63.
	ObjectSizes  []int64
	RequestSizes []int64
	NextUse      []uint32 // of NextUse
	Capacity     int64    // bytes, or objects where every request is charged 1
	Groups       []int    // positions at which groups of requests begin, for GroupedLower
	From         int      // position of the first request that counts, after the warm-up
	// Uncounted reports whether neither a hit nor a miss of the request at pos counts; nil: all from From on count.
	Uncounted func(pos int) bool
	// Writes reports whether the request at pos replaces the value of its object, so that this has the size that the
	// request states; nil: none does.
	Writes func(pos int) bool
}

// Counted returns the number of requests that count.
func (in BoundInput) Counted() (n int64) {
	if in.Uncounted == nil {
		return int64(max(0, len(in.Objects)-in.From))
	}
	for pos := in.From; pos < len(in.Objects); pos++ {
		if !in.Uncounted(pos) {
			n++
		}
	}
	return n
}

// PFOOLower returns a lower bound on the misses of any schedule for objects of different sizes, online or offline,
// whether or not a missed object must be loaded. It is the bound PFOO-L of Berger, Beckmann and Harchol-Balter
// (Practical Bounds on Optimal Caching with Variable Object Sizes, SIGMETRICS 2018, section 5.1), with the tighter
// resources described below. Misses are counted in requests, not in bytes.
//
// Proof. A request at j whose object was last requested at i can hit only if the object is resident after each of the
// requests i, ..., j-1, so a hit uses size x (j-i) of the cache's room over time. The cache offers at most its capacity
// after each request, and hits can use no more than the sizes of all intervals open at that time: their room is at most
// the sum over t of min(capacity, size of the intervals open after request t). The most hits that fit into this sum are
// the intervals with the smallest use, in order until the next one does not fit. (The paper offers the full capacity at
// every request, which is never less, and takes a fraction of the last interval; a count of hits is whole.)
//
// With a warm-up, only hits from From on are counted, and of every interval only the part after request From-1, against
// the room offered since then: both sides of the inequality lose their earlier terms. An object whose size changes
// keeps the size with which it was loaded or last written, at the least the smallest it has had since its last write;
// that is what an interval is charged. An object that has been larger than the cache since then cannot hit. Next uses
// leave out requests that cannot hit, because their object is removed before, and those whose hits do not count: both
// sides lose terms again.
//
// Time: two passes and the sorting of a small part of the intervals. Memory: about 9 bytes per object.
func PFOOLower(in BoundInput) int64 {
	counted := in.Counted()
	classes := make([]costClass, costClassOf(math.MaxUint64)+1)
	room := in.intervals(func(cost uint64) {
		c := &classes[costClassOf(cost)]
		c.intervals++
		c.total.add(cost)
	})
	var hits int64
	for k, c := range classes {
		// Whole classes need no sorting. Only the class in which the room runs out is sorted, by hitsWithin.
		if !room.covers(c.total) {
			return counted - hits - in.hitsWithin(k, room)
		}
		room.subtract(c.total)
		hits += c.intervals
	}
	return counted - hits
}

// hitsWithin returns how many intervals of cost class k fit into room.
func (in BoundInput) hitsWithin(k int, room uint128) (hits int64) {
	var costs []uint64
	in.intervals(func(cost uint64) {
		if costClassOf(cost) == k {
			costs = append(costs, cost)
		}
	})
	slices.Sort(costs)
	for _, cost := range costs {
		if !room.covers(uint128{lo: cost}) {
			break
		}
		room.subtract(uint128{lo: cost})
		hits++
	}
	return hits
}

// intervals calls yield with the cost of every interval that may become a counted hit, in bytes x requests, and returns
// the room for them. Costs above 64 bits are rounded down, which keeps the bound a bound.
func (in BoundInput) intervals(yield func(cost uint64)) (room uint128) {
	charges := in.ObjectSizes // what the last interval of each object is charged
	if in.ObjectSizes == nil || in.RequestSizes != nil {
		charges = make([]int64, in.NumObjects)
		for o := range charges {
			charges[o] = math.MaxInt64
			if in.RequestSizes == nil {
				charges[o] = 1
			}
		}
	}
	open := make([]bool, in.NumObjects) // objects with an interval that is under way
	var demand int64                    // sum of the charges of the open intervals
	for i, o := range in.Objects {
		if open[o] {
			demand -= charges[o]
		}
		if in.RequestSizes != nil {
			charges[o] = min(charges[o], in.RequestSizes[i])
			if in.Writes != nil && in.Writes(i) {
				charges[o] = in.RequestSizes[i]
			}
		}
		next := in.NextUse[i]
		// Intervals that cannot end in a counted hit claim no room: to count them in the demand would only loosen the
		// bound.
		open[o] = next != Never && int(next) >= in.From && charges[o] <= in.Capacity
		if open[o] {
			demand += charges[o]
			high, low := bits.Mul64(uint64(charges[o]), uint64(int(next)-max(i, in.From-1)))
			if high != 0 {
				low = math.MaxUint64
			}
			yield(low)
		}
		if i >= in.From-1 {
			room.add(uint64(min(in.Capacity, demand)))
		}
	}
	return room
}

// costClass sums up the intervals whose costs are alike.
type costClass struct {
	intervals int64
	total     uint128
}

// costClassBits is the number of leading bits that define the class of a cost.
const costClassBits = 11

// costClassOf returns the class of a cost: classes rise with the costs, and costs of one class agree in their leading
// bits.
func costClassOf(cost uint64) int {
	// From the first shift on, the quotient is at least 1<<(costClassBits-1), so the classes of each shift follow the
	// classes of the previous shift without a gap.
	shift := max(0, bits.Len64(cost)-costClassBits)
	return shift<<(costClassBits-1) + int(cost>>shift)
}

// uint128 is an unsigned sum: 10^7 requests times 10^12 bytes do not fit into 64 bits.
type uint128 struct{ hi, lo uint64 }

func (u *uint128) add(x uint64) {
	var carry uint64
	u.lo, carry = bits.Add64(u.lo, x, 0)
	u.hi += carry
}

// subtract subtracts v, which must not exceed u.
func (u *uint128) subtract(v uint128) {
	var borrow uint64
	u.lo, borrow = bits.Sub64(u.lo, v.lo, 0)
	u.hi, _ = bits.Sub64(u.hi, v.hi, borrow)
}

func (u uint128) covers(v uint128) bool {
	return u.hi > v.hi || u.hi == v.hi && u.lo >= v.lo
}
