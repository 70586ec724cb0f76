package challenge

import (
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/random"
)

// Workload is requests that a grammar has drawn.
type Workload interface {
	// Generator returns the workload as one of the generators that commands read, with a seed.
	Generator(seed uint64) string
	// changed returns a workload that differs in one thing.
	changed(g draws) Workload
	// simpler returns workloads that lack something of this one at a place, first those that lack most. ok is false
	// behind the last place.
	simpler(at int) (all []Workload, ok bool)
}

// draws are random choices for a cache.
type draws struct {
	*rand.Rand
	Options
}

// between draws a whole number whose logarithm is uniform.
func (g draws) between(low, high int) int {
	return int(math.Round(float64(low) * random.Exp(g.Float64()*random.Log(float64(high)/float64(low)))))
}

// within draws a number, rounded to a twentieth, as text.
func (g draws) within(low, high float64) string {
	return strconv.FormatFloat(math.Round(20*(low+float64((high-low)*g.Float64())))/20, 'g', -1, 64)
}

// least is the number of requests of a workload, at least. In a shorter one a policy that starts badly would be found
// before one that stays bad.
func (o Options) least() int { return max(1, o.Requests/2) }
