package shadow

// Contest tells which of several policies has missed least of late. Misses fade, and are compared from time to time.
type Contest struct {
	Leader  int // the policy that leads
	Changes int // how often another one has taken the lead

	margin      float64
	comparisons int
	misses      []float64
	handicaps   []float64
	since       int // requests since the last comparison
}

// NewContest begins a contest that the first of several policies leads. Another takes the lead if it has fewer misses
// by a share of more than margin. Misses are compared a number of times in the requests over which they count.
func NewContest(policies int, margin float64, comparisons int) Contest {
	return Contest{margin: margin, comparisons: comparisons, misses: make([]float64, policies),
		handicaps: make([]float64, policies)}
}

// Handicap sets misses that count for a policy besides its own when they are compared: it leads only if it is ahead by
// more.
func (c *Contest) Handicap(policy int, misses float64) { c.handicaps[policy] = misses }

// score is what policies are compared by.
func (c *Contest) score(policy int) float64 { return c.misses[policy] + c.handicaps[policy] }

// Miss counts a miss of a policy in the present request.
func (c *Contest) Miss(policy int) { c.misses[policy]++ }

// Due reports whether the end of the present request compares misses.
func (c *Contest) Due(requests int) bool { return (c.since+2)*c.comparisons > requests }

// End ends a request, where misses count over a number of requests, and reports whether another policy leads now.
func (c *Contest) End(requests int) (changed bool) {
	if !c.Due(requests) {
		c.since++
		return false
	}
	c.since = 0
	best := c.Leader
	for i := range c.misses {
		if c.score(i) < c.score(best) {
			best = i
		}
	}
	if changed = best != c.Leader && c.score(best) < (1-c.margin)*c.score(c.Leader); changed {
		c.Leader = best
		c.Changes++
	}
	for i := range c.misses {
		c.misses[i] *= 1 - 1/float64(c.comparisons)
	}
	return changed
}
