package offline

import (
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
)

var pfooSimilarEntry = policies.Entry{
	Name: "pfoo-similar",
	Summary: "lower bound on misses if similar queries answer each other: the hits that take the least room over " +
		"time; with room for everything, every query with a similar one before it",
	Source:      "cachesim, after PFOO-L of Berger, Beckmann, Harchol-Balter, SIGMETRICS 2018",
	Kind:        policies.Bound,
	Reference:   func(r policies.Rules) bool { return r.Similar },
	Units:       policies.UnitsObjects,
	Relates:     true,
	Similar:     true,
	SimilarFrom: hitSimilarity,
	LowerBound:  func(in policies.BoundInput) (float64, error) { return float64(pfooSimilar(in)), nil },
}

// pfooSimilar returns a lower bound on the misses of any schedule of a cache in which an entry answers the queries
// similar to it: online or offline, whichever of the similar entries answers, and whether or not every miss must be
// loaded.
//
// Proof. Let a query at j hit an entry e, which has been resident since its last hit or load at i < j. Hits and loads
// of e happen only at requests that are similar to e or to e itself, so i is at most the last of these before j, and at
// least the first request to e. The entry fills one place of the cache from i to j, and no other hit counts this place
// at these times: the next hit of e counts from j on. So each hit takes at least j minus the latest such i over all e
// that may answer it. All hits together take at most what the cache offers: after each request its capacity, and never
// more entries than there have been requests. The most hits fit if the cheapest are chosen. A query with no similar one
// before it cannot hit at all.
//
// With a warm-up only hits from From on count, and of each only the part after request From-1, against the room offered
// since then.
//
// Time: the length of the list of each request, and sorting. Memory: 12 bytes per object and 4 per request.
func pfooSimilar(in policies.BoundInput) (misses int64) {
	similar := newNeighbourhood(in.Relations)
	seen := make([]bool, in.NumObjects)
	used := make([]uint32, in.NumObjects) // per object: the last position at which its entry can have been used
	var costs []uint32
	for j, o := range in.Objects {
		latest, ok := used[o], seen[o]
		for _, e := range similar.of(o) {
			if seen[e] {
				latest, ok = max(latest, used[e]), true
				used[e] = uint32(j)
			}
		}
		if ok && j >= in.From && (in.Uncounted == nil || !in.Uncounted(j)) {
			costs = append(costs, uint32(j-max(int(latest), in.From-1)))
		}
		seen[o], used[o] = true, uint32(j)
	}
	return in.Counted() - fitting(costs, room(in))
}

// room returns what the cache offers over time to hits from From on: its places after each request, summed from the
// request before From to the last but one.
func room(in policies.BoundInput) (room int64) {
	for t := max(0, in.From-1); t+1 < len(in.Objects); t++ {
		room += min(in.Capacity, int64(t)+1)
	}
	return room
}

// fitting returns how many of the costs, cheapest first, fit into room.
func fitting(costs []uint32, room int64) (n int64) {
	slices.Sort(costs)
	for _, cost := range costs {
		if room -= int64(cost); room < 0 {
			break
		}
		n++
	}
	return n
}
