package allocate

import (
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/streams"
)

var marginalEntry = Entry{
	Name: "marginal",
	Summary: "by marginal benefit: round by round, capacity moves from the pool to which more is worth least to the one " +
		"to which it is worth most",
	Source: "Efficient Unified Caching for Accelerating Heterogeneous AI Workloads (IGTCache), " +
		"arXiv 2506.12370, section 3.3",
	Metrics:  divisionMetrics,
	Patterns: true,
	Varying:  true,
	Params: []params.Param{
		{Name: "period_s", Default: 60.0, Min: 0.001, Max: 1e9, Doc: "seconds between two divisions"},
		{Name: "every", Default: 10000, Min: 1, Doc: "requests between two divisions of a trace without a clock"},
		{Name: "shift_mb", Default: 640.0, Min: 0, Max: 1e12,
			Doc: "most megabytes (10^6 bytes) to move at a time, never more than a tenth of the capacity; in a capacity of " +
				"objects each counts as a block of 4 MiB"},
		{Name: "least_mb", Default: 640.0, Min: 0, Max: 1e12,
			Doc: "megabytes that a pool keeps, never more than least_share, nor half of an equal share"},
		{Name: "least_share", Default: 0.005, Min: 0, Max: 1,
			Doc: "share of the capacity that least_mb is limited to: 640 MB are 0.0043 of the paper's cache of 150 GB, and " +
				"0.085 of the cache of its figure 12"},
		{Name: "ghosts", Default: 100, Min: 1, Max: 1 << 20,
			Doc: "evicted objects of a pool that are remembered: hits on them say what more capacity is worth"},
		{Name: "weight", Default: 0.5, Min: 0.01, Max: 1,
			Doc: "weight of the last round in the average of a pool's benefit; 1: that round alone, as in the paper"},
		{Name: "hysteresis", Default: 1.2, Min: 1, Max: 1000,
			Doc: "capacity moves if the receiver's benefit is above this multiple of the donor's; the paper: 1"},
	},
	New: func(c Config) (Allocator, error) {
		return &marginal{
			period: int64(c.Params.Float("period_s") * float64(time.Second)), every: int64(c.Params.Int("every")),
			shift: c.Params.Float("shift_mb") * 1e6, least: c.Params.Float("least_mb") * 1e6,
			leastShare: c.Params.Float("least_share"),
			ghosts:     c.Params.Int("ghosts"), weight: c.Params.Float("weight"), hysteresis: c.Params.Float("hysteresis"),
		}, nil
	},
}

// blockBytes is what an object counts as where shares are given in bytes and the capacity counts objects.
const blockBytes = 4 << 20

// marginal compares pools by the hits per second that one more unit of capacity would bring. It implements Valuing.
type marginal struct {
	period, every      int64
	shift, least       float64 // bytes
	leastShare         float64 // of the capacity
	ghosts             int
	weight, hysteresis float64

	known []standing // of the previous division, in order of ID
	next  []standing // reused
}

// standing is the average benefit of a pool.
type standing struct {
	id      int
	benefit float64
}

func (a *marginal) Needs() Needs {
	return Needs{Period: a.period, Unclocked: a.every, Streams: true, Ghosts: a.ghosts}
}

func (a *marginal) Allocate(s *State, capacities []int64) {
	if s.Epoch == 0 {
		divideEqually(s.Capacity, capacities)
		return
	}
	a.learn(s)
	donor, receiver := -1, -1
	least := a.Least(s)
	for i, p := range s.Pools {
		if p.Capacity > max(least, p.Floor) && (donor < 0 || a.known[i].benefit < a.known[donor].benefit) {
			donor = i
		}
		if p.usesMore() && (receiver < 0 || a.known[i].benefit > a.known[receiver].benefit) {
			receiver = i
		}
	}
	if donor < 0 || receiver < 0 || !(a.known[receiver].benefit > a.hysteresis*a.known[donor].benefit) {
		return
	}
	amount := min(a.amount(s), s.Pools[donor].Capacity-max(least, s.Pools[donor].Floor))
	if to := &s.Pools[receiver]; to.Pattern == streams.Random { // more than its data set would stay empty
		amount = min(amount, to.Data-to.Capacity)
	}
	capacities[donor] -= amount
	capacities[receiver] += amount
}

// learn adds the last round to the averages. Pools may have come and gone; both lists are in order of ID.
func (a *marginal) learn(s *State) {
	a.next = a.next[:0]
	at := 0
	for i := range s.Pools {
		p := &s.Pools[i]
		w := standing{p.ID, p.benefit(s.elapsed(), a.ghosts)}
		for at < len(a.known) && a.known[at].id < p.ID {
			at++
		}
		if at < len(a.known) && a.known[at].id == p.ID {
			was := a.known[at].benefit
			w.benefit = was + float64(a.weight*(w.benefit-was))
		}
		a.next = append(a.next, w)
	}
	a.known, a.next = a.next, a.known
}

// elapsed returns the seconds since the previous call, or the requests in a trace without a clock.
func (s *State) elapsed() float64 {
	if s.Elapsed > 0 {
		return float64(s.Elapsed) / float64(time.Second)
	}
	var requests int64
	for i := range s.Pools {
		requests += s.Pools[i].Requests
	}
	return float64(requests)
}

// benefit returns the hits per second that one more unit of capacity would bring, judged by a round of some seconds
// (per request, if the round is measured in requests). A request of a random stream hits the additional object with the
// same probability as any other one of its data set. Of the requests of other streams, those to the last evicted
// objects, as many as ghosts, would have hit with room for these. A sequential stream reads nothing again.
func (p *Pool) benefit(seconds float64, ghosts int) float64 {
	switch {
	case seconds <= 0:
		return 0
	case p.Pattern == streams.Sequential:
		return 0
	case p.Pattern == streams.Random:
		return float64(p.Requests) / seconds / float64(max(1, p.Data))
	}
	charge := 1.0
	if p.Objects > 0 {
		charge = float64(p.Used) / float64(p.Objects)
	}
	return float64(p.GhostHits) / seconds / (float64(ghosts) * charge)
}

// usesMore reports whether more capacity can bring hits: not if all data fits, and not without hits on evicted objects.
func (p *Pool) usesMore() bool {
	switch p.Pattern {
	case streams.Sequential:
		return false
	case streams.Random:
		return p.Capacity < p.Data
	}
	return p.GhostHits > 0
}

func (a *marginal) Worth(i int) float64 {
	if i >= len(a.known) { // the first round has not ended
		return 0
	}
	return a.known[i].benefit
}

// Least implements Valuing: the share that each pool keeps.
func (a *marginal) Least(s *State) int64 {
	return min(s.units(a.least), int64(a.leastShare*float64(s.Capacity)), s.Capacity/int64(2*len(s.Pools)))
}

func (a *marginal) amount(s *State) int64 { return min(s.units(a.shift), max(1, s.Capacity/10)) }

func (s *State) units(bytes float64) int64 {
	if s.Unit {
		bytes /= blockBytes
	}
	return int64(bytes)
}
