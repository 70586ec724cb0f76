package recommender

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/random"
)

// Regime is how a load changes from one epoch to the next (HLEM, section V-A).
type Regime string

// Regimes. What the text leaves open is our choice: docs/generators.md.
const (
	Steady Regime = "steady" // a constant share of hot users
	Trend  Regime = "trend"  // a share that rises by a quarter of all requests over the run
	Burst  Regime = "burst"  // further requests of hot users, in spikes of some epochs
)

func Regimes() []Regime { return []Regime{Steady, Trend, Burst} }

func ParseRegime(name string) (Regime, error) {
	if r := Regime(name); slices.Contains(Regimes(), r) {
		return r, nil
	}
	names := make([]string, len(Regimes()))
	for i, r := range Regimes() {
		names[i] = string(r)
	}
	return "", fmt.Errorf("regime %q: want %s", name, strings.Join(names, ", "))
}

// Constants of the regimes.
const (
	TrendRise     = 0.25 // of the share of hot users, from the first epoch to the last
	MostHot       = 0.95 // the share to which it rises at most
	BurstHotShare = 0.60 // share of hot users that a spike's further requests bring about, unless that takes too many
	BurstEvery    = 20   // epochs from one spike to the next, on average
	burstShortest = 3    // epochs of a spike,
	burstLongest  = 5    // all lengths equally likely
)

// BurstExtra is the usual limit of the further requests in a spike, as a share of the others. It is our choice: from
// the 38% of Amazon Books, 55% more requests would make 60% of them those of hot users.
const BurstExtra = 0.15

// Step is the load of an epoch, relative to one of constant utilisation.
type Step struct {
	// Base is the share of hot users without a spike. The rate of the requests without a spike is the one that gives the
	// wanted utilisation at this share.
	Base     float64
	HotShare float64 // with a spike; equal to Base if there is none
	Extra    float64 // further requests in a spike, as a share of the others
	Turned   bool    // the requests are of the other turn
}

// HotShares returns the load of each epoch. Spikes begin at random: after a spike and one epoch without, each epoch is
// as likely as any other to begin the next spike. A spike has at most mostExtra further requests, as a share of the
// others.
func (r Regime) HotShares(base float64, epochs int, seed uint64, mostExtra float64) []Step {
	steps := make([]Step, epochs)
	for i := range steps {
		steps[i] = Step{Base: base, HotShare: base}
	}
	switch r {
	case Trend:
		for i := range steps {
			rise := 0.0
			if epochs > 1 {
				rise = TrendRise * float64(i) / float64(epochs-1)
			}
			share := max(base, min(MostHot, base+rise))
			steps[i] = Step{Base: share, HotShare: share}
		}
	case Burst:
		addSpikes(steps, seed, mostExtra)
	}
	return steps
}

// TakeTurns makes every other of turns of some epochs the other one.
func TakeTurns(steps []Step, epochs int) {
	for i := range steps {
		steps[i].Turned = i/epochs%2 == 1
	}
}

// spikes are drawn from a stream of a seed of their own.
const spikes = 0x5b1ce5

func addSpikes(steps []Step, seed uint64, mostExtra float64) {
	const meanLength = (burstShortest + burstLongest) / 2
	draws := random.Stream(seed, spikes)
	for at := 0; ; {
		at += random.Geometric(draws, BurstEvery-meanLength)
		length, _ := random.Below(draws, burstLongest-burstShortest+1)
		for range burstShortest + length {
			if at >= len(steps) {
				return
			}
			steps[at] = steps[at].withSpike(mostExtra)
			at++
		}
	}
}

// withSpike returns the step with further requests of hot users.
func (s Step) withSpike(mostExtra float64) Step {
	if s.Base >= BurstHotShare {
		return s
	}
	s.Extra = min(mostExtra, (BurstHotShare-s.Base)/(1-BurstHotShare))
	s.HotShare = (s.Base + s.Extra) / (1 + s.Extra)
	return s
}
