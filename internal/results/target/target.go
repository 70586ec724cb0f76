// Package target says which capacity a policy needs for a hit ratio. The hit ratio is a share of the largest possible
// one ("90%"), that of a cache which holds everything, or a hit ratio itself ("0.5"). Package search finds the
// capacities by replays.
package target

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// Target is the hit ratio to reach. The zero value means no target.
type Target struct {
	Value float64
	Share bool // Value is a share of the largest hit ratio
}

// None is the text for no target.
const None = "none"

// Parse reads a target: a percentage (above 0%, up to 100%) is a share of the largest hit ratio, a number between 0 and
// 1 is a hit ratio, and None is no target.
func Parse(text string) (Target, error) {
	if text == None {
		return Target{}, nil
	}
	number, isShare := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil:
	case isShare && x > 0 && x <= 100:
		return Target{x / 100, true}, nil
	case !isShare && x > 0 && x < 1:
		return Target{x, false}, nil
	}
	return Target{}, fmt.Errorf("%q: want a share of the largest hit ratio, from above 0%% to 100%% (90%%), "+
		"a hit ratio between 0 and 1 (0.5), or %s", text, None)
}

// String writes the target as Parse reads it.
func (t Target) String() string {
	switch {
	case t == Target{}:
		return None
	case t.Share:
		return show.Share(t.Value)
	}
	return strconv.FormatFloat(t.Value, 'f', -1, 64)
}

// Point is a hit ratio at a capacity.
type Point struct {
	Capacity int64
	HitRatio float64
}

// How says how a capacity is known.
type How int

const (
	Found   How = iota // replayed; a little less was replayed, too, and misses the target
	Between            // the search ended before that: only Below and Above are known
	Never              // not even a cache that holds everything reaches the target
)

// Need is what one policy needs to reach the target.
type Need struct {
	Policy   string
	Online   bool
	How      How
	Capacity int64 // reaches the target; 0 if How is not Found
	// Below is the largest capacity that was replayed and misses the target, Above the smallest that reaches it. Either is
	// 0 if none is known. If How is Never, Below is the largest that was replayed.
	Below, Above Point
	Exact        bool            // nothing between Below and Above is a capacity
	Record       *records.Record // of the replay at Capacity; nil if How is not Found, or for samples
	Interval     *Interval       // nil if it is unknown or does not differ from the capacity
	Tied         bool            // with the first policy: the intervals of both do not tell which needs less
}

// Interval is where the capacity that a policy needs lies in 95% of the draws of blocks. It includes the capacities
// between which the search has ended.
type Interval struct{ Low, High int64 }

// Answer says what capacity each policy needs.
type Answer struct {
	Name   string // of the group of records: the trace, and what else distinguishes it
	Target Target
	Level  float64 // the hit ratio to reach
	// Largest is the hit ratio of a cache that holds everything; 0 if it was not needed.
	Largest float64
	// Everything is the capacity that has room for all that is requested.
	Everything int64
	Unit       string // records.Objects or records.Bytes
	Remark     string // what limits all of it, "" for nothing
	Noun       string // what an object of the trace is: "objects", "blocks"
	Replays    int    // how many the search has added
	Needs      []Need // online policies first, then by capacity; policies that miss the target come last of their kind
	others     int    // how many online policies Short has left out, which need as much as the last one or more
}

// leastCapacities is how many capacities an answer needs to be shown unless the user has given a target.
const leastCapacities = 3

// rounding is below what one request more or less changes, and above what a product of two rounded numbers is off.
const rounding = 1e-12

// Level returns the hit ratio to reach, given that of a cache that holds everything. It allows for rounding: 63 of 91
// requests are 90% of 70 of 91.
func (t Target) Level(largest float64) float64 {
	if t.Share {
		return t.Value * largest * (1 - rounding)
	}
	return t.Value
}

// Sort orders the needs.
func (a *Answer) Sort() {
	slices.SortStableFunc(a.Needs, func(x, y Need) int {
		return cmp.Or(cmp.Compare(y.rank(), x.rank()), cmp.Compare(x.atMost(), y.atMost()))
	})
}

// rank puts online policies before others, and those that reach the target before those that do not.
func (n Need) rank() (rank int) {
	if n.Online {
		rank += 3
	}
	switch {
	case n.How == Found || n.How == Between && n.Above.Capacity > 0:
		rank += 2
	case n.How == Between:
		rank++
	}
	return rank
}

// atMost is a capacity that is enough or, if none is known, one that is not.
func (n Need) atMost() int64 { return cmp.Or(n.Capacity, n.Above.Capacity, n.Below.Capacity) }

// Group returns the name of the group of records.
func (a Answer) Group() string { return a.Name }

// Flag is a target as the value of a flag. Until it is set it means Default. It implements pflag.Value.
type Flag struct {
	Target
	IsSet bool
}

// Default is the target if the user has not given one.
var Default = Target{0.9, true}

// NewFlag returns a flag that means Default.
func NewFlag() Flag { return Flag{Target: Default} }

// Usage says what the flag takes.
const Usage = "print the capacity that each policy needs for this: a share of the largest hit ratio (90%), a hit " +
	"ratio (0.5), or none (default 90% from 3 capacities on)"

func (f *Flag) Type() string { return "TARGET" }

// String implements pflag.Value. The default is in Usage, with its condition.
func (f *Flag) String() string {
	if !f.IsSet {
		return ""
	}
	return f.Target.String()
}

func (f *Flag) Set(text string) (err error) {
	f.IsSet = true
	f.Target, err = Parse(text)
	return err
}

// Asks reports whether an answer is shown beside that many capacities: always if the user has given a target.
func (f Flag) Asks(capacities int) bool {
	return f.Target != Target{} && (f.IsSet || capacities >= leastCapacities)
}

// Logged says what the servers that wrote a log found in their own caches, and what a policy here needs for that: "the
// log itself says 71.20% hits of 79,990 requests that state it; lru here needs 3.1 GiB for that". The record must have
// what the log says. An unknown need is nil. noun is the word for an object of the record.
func Logged(r *records.Record, n *Need, noun string) string {
	sentence := "the log itself says " + hitRatio(r.Float(metric.LoggedHitRatio)) + " hits"
	if r.Has(metric.LoggedByteHitRatio) {
		sentence += " (" + hitRatio(r.Float(metric.LoggedByteHitRatio)) + " of the bytes)"
	}
	sentence += fmt.Sprintf(" of %s requests that state it", show.Count(r.Int(metric.LoggedRequests)))
	if n != nil {
		sentence += "; " + n.here(Answer{Unit: r.CapacityUnit, Noun: noun})
	}
	return show.Printable(sentence)
}

// OfReads returns the hit ratio of the requests that do not write; logs state hits only for these.
func OfReads(r *records.Record) float64 {
	if x, ok := r.Get(metric.ReadHitRatio.Name); ok {
		return x
	}
	return r.Float(metric.HitRatio)
}

// here says what a policy needs for the hit ratio of a log.
func (n Need) here(a Answer) string {
	if n.How == Never {
		return fmt.Sprintf("%s here does not reach that at any capacity: %s with everything in the cache", n.Policy,
			hitRatio(n.Below.HitRatio))
	}
	return fmt.Sprintf("%s here needs %s for that", n.Policy, a.withNoun(a.CapacityOf(n)))
}
