package blocks

import (
	"iter"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/statistics"
)

// Draws is how often the blocks are drawn.
const Draws = 1000

// plan says how the blocks of a trace are drawn. All of its records share the draws, so that differences between
// policies are those on the same requests.
type plan struct {
	tooLong bool // phases are too long for the trace: nothing is drawn
	begin   int  // the blocks from here on are drawn
	run     int  // so many together, with the first after the last
	firsts  []uint16
}

const purpose = 0x626c6f636b73 // of the random numbers

// newPlan returns how the blocks of some replays of a trace are drawn. Caches that fill in the first half of the trace
// are full in all drawn blocks. If no cache does, blocks of the second half are drawn.
func newPlan(replays []*Blocks, seed uint64) (p plan) {
	length, some := 0., false
	for _, b := range replays {
		if full := b.full(); full <= Count/2 {
			p.begin, some = max(p.begin, full), true
			length = max(length, lengthOf(b.Each[full:]))
		}
	}
	if !some {
		p.begin = Count / 2
	}
	if p.tooLong = length > longest; p.tooLong {
		return p
	}
	n := Count - p.begin
	p.run = min(max(longer*int(math.Ceil(length)), shortest), n/fewest)
	bits := random.Stream(seed, purpose)
	for range Draws * p.runs() {
		first, _ := random.Below(bits, n)
		p.firsts = append(p.firsts, uint16(first))
	}
	return p
}

// runs returns how many runs a draw has; the last one may be shorter.
func (p plan) runs() int { return (Count - p.begin + p.run - 1) / p.run }

// sums returns, for each draw, the sums of the blocks, which are those from begin on.
func (p plan) sums(each []Block) iter.Seq2[int, Block] {
	n := len(each)
	upTo := make([]Block, 2*n+1) // sums of the blocks before, twice around
	for i := range 2 * n {
		b, e := upTo[i], each[i%n]
		upTo[i+1] = Block{b.Requests + e.Requests, b.Misses + e.Misses, b.MissedBytes + e.MissedBytes}
	}
	return func(yield func(int, Block) bool) {
		firsts := p.firsts
		for k := range Draws {
			var drawn Block
			for left := n; left > 0; left -= p.run {
				from := int(firsts[0])
				a, b := &upTo[from], &upTo[from+min(p.run, left)]
				drawn.Requests += b.Requests - a.Requests
				drawn.Misses += b.Misses - a.Misses
				drawn.MissedBytes += b.MissedBytes - a.MissedBytes
				firsts = firsts[1:]
			}
			if !yield(k, drawn) {
				return
			}
		}
	}
}

// spread is the factor by which draws should vary. They vary too little for two reasons: they differ from their own
// mean, not from the true one, and runs are few. The ratio of Student's to the normal quantile corrects the latter.
// They vary too much if only a part of the blocks is drawn.
func (p plan) spread() float64 {
	n, run := float64(Count-p.begin), float64(p.run)
	student := statistics.StudentQuantile((1+confidence)/2, n/run-1)
	return math.Sqrt(n/(n-run)) * student / 1.96 * math.Sqrt(n/Count)
}

// confidence is the share of the draws within an interval.
const confidence = 0.95

// Interval returns the range of the middle 95% of the values of all draws, which may be infinite, and includes the
// value that was measured.
func Interval(measured float64, drawn []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(drawn))
	low = statistics.Quantile((1-confidence)/2, sorted)
	high = statistics.Quantile((1+confidence)/2, sorted)
	return math.Min(low, measured), math.Max(high, measured)
}

// Tie reports whether differences of all draws lie on both sides of 0, apart from the outermost 5%.
func Tie(differences []float64) bool {
	sorted := slices.Sorted(slices.Values(differences))
	return statistics.Quantile((1-confidence)/2, sorted) <= 0 && statistics.Quantile((1+confidence)/2, sorted) >= 0
}
