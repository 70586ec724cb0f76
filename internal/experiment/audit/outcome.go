package audit

import "math"

// Outcome is what a server says that it found, beside what a replay of the same requests found. Both are counted in
// units: a request is one, a prompt has as many as tokens.
type Outcome struct {
	Items    int   // requests, prompts, or spans of time of which the server has told totals
	Units    int64 // of all items
	Measured int64 // units that the server found
	Replayed int64 // units that the replay found
	Apart    int64 // the sum over the items of |measured - replayed|

	squares float64 // the sum of the squares of these differences
	each    []int64 // the differences, of at most mostEach items
}

// mostEach is of how many items the differences are kept.
const mostEach = 4096

// Add adds an item.
func (o *Outcome) Add(units, measured, replayed int64) {
	o.Items++
	o.Units += units
	o.Measured += measured
	o.Replayed += replayed
	apart := measured - replayed
	if o.Items <= mostEach {
		o.each = append(o.each, apart)
	}
	o.squares += float64(float64(apart) * float64(apart))
	o.Apart += max(apart, -apart)
}

func (o Outcome) share(units int64) float64 {
	if o.Units == 0 {
		return 0
	}
	return float64(units) / float64(o.Units)
}

// HitRatio is what the server found, as a share.
func (o Outcome) HitRatio() float64 { return o.share(o.Measured) }

// ReplayedRatio is what the replay found, as a share.
func (o Outcome) ReplayedRatio() float64 { return o.share(o.Replayed) }

// Gap is how much more the server found than the replay, as a share; negative if it found less.
func (o Outcome) Gap() float64 { return o.share(o.Measured - o.Replayed) }

// Agreement is the share of the units of which both say the same.
func (o Outcome) Agreement() float64 { return 1 - o.share(o.Apart) }

// GapError is the standard error of Gap, if what differs does so independently from item to item.
func (o Outcome) GapError() float64 {
	if o.Units == 0 {
		return 0
	}
	return math.Sqrt(o.squares) / float64(o.Units)
}

// leastItems is from how many items on it can be told whether two replays differ by more than chance.
const leastItems = 30

// IsCoarse reports whether the server has told so little, such as one total, that only the gap says something.
func (o Outcome) IsCoarse() bool { return o.Items < leastItems }

// distance is how far the replay is from the server: the share on which they disagree, and the gap. The first tells a
// cause from another with as many hits, and the second keeps a replay of other hits from being preferred to one that is
// only unlucky, as with a server that evicts at random.
func (o Outcome) distance() float64 { return 1 - o.Agreement() + math.Abs(o.Gap()) }

// deviations is by how many standard deviations o is nearer to the server than another outcome: in the sum of the
// differences, or in that of their sizes.
func (o Outcome) deviations(other Outcome) float64 {
	gap := func(o Outcome) float64 { return math.Abs(float64(o.Measured - o.Replayed)) }
	ofSizes, ofSum := other.spread(o)
	return max(quotient(float64(other.Apart-o.Apart), ofSizes), quotient(gap(other)-gap(o), ofSum))
}

// agreesMore reports whether o agrees with the server on more units than another outcome, by more than chance. Any hit
// ratio can be had with some capacity; only what is right about the requests explains them.
func (o Outcome) agreesMore(other Outcome) bool {
	const deviations = 2
	ofSizes, _ := other.spread(o)
	return quotient(float64(other.Apart-o.Apart), ofSizes) >= deviations
}

// modelError is by how much the hit ratio of a replay with the right settings may differ from the server's: models of
// servers are held to these within half a point, and what the server keeps for its clients is not known.
const modelError = 0.005

// isAsNear reports whether only chance, or the error of the models, makes o worse than another outcome.
func (o Outcome) isAsNear(other Outcome) bool {
	const deviations = 2
	ofSizes, ofSum := other.spread(o)
	shift := float64(o.Measured - o.Replayed - other.Measured + other.Replayed) // what differs in all items alike
	ofSum = math.Sqrt(max(0, float64(ofSum*ofSum)-quotient(float64(shift*shift), float64(o.Items))))
	farther := math.Abs(o.Gap()) - math.Abs(other.Gap())
	return float64(o.Apart-other.Apart) <= deviations*ofSizes &&
		farther <= math.Hypot(modelError, deviations*quotient(ofSum, float64(o.Units)))
}

// sameHits reports whether another replay found as much, and is as right about it.
func (o Outcome) sameHits(other Outcome) bool {
	return o.Replayed == other.Replayed && o.Apart == other.Apart
}

// spread returns the standard deviations of what two outcomes differ by: in the sizes of the differences, and in their
// sum. Of many items it is at most as large as if they differed wherever either is wrong.
func (o Outcome) spread(other Outcome) (ofSizes, ofSum float64) {
	if o.Items > mostEach || o.Items != other.Items {
		sd := math.Sqrt(o.squares + other.squares)
		return sd, sd
	}
	for i, apart := range o.each {
		sizes := math.Abs(float64(apart)) - math.Abs(float64(other.each[i]))
		sum := float64(apart - other.each[i])
		ofSizes += float64(sizes * sizes)
		ofSum += float64(sum * sum)
	}
	return math.Sqrt(ofSizes), math.Sqrt(ofSum)
}

func quotient(x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return x / y
}
