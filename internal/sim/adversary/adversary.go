// Package adversary looks for short traces, and predictions for them, on which a policy misses many more objects than
// the optimum: the measured side of guarantees for the worst case. It solves small games (game.go). In others it climbs
// from many starts and reports the worst trace that it found. That is a lower bound of the worst case, not an upper
// one.
package adversary

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
)

// Options say how long to search, and where.
type Options struct {
	Length   int    // requests of a pattern, at most
	Requests int    // of a trace, which repeats its pattern
	Tries    int    // traces that are replayed in a search
	Seed     uint64 // of all random choices
}

// The seeds for replaying a policy with random choices: few during the search, and other, more numerous ones for the
// report, so that a trace is not reported because of lucky seeds.
const (
	searchSeeds = 4
	finalSeeds  = 100
)

// patience is the number of tries in a row without progress after which a search restarts.
const patience = 200

// Found is the worst that a search has found.
type Found struct {
	Ratio float64 // misses of the policy, over those of the optimum
	// Solved is the ratio that no trace of up to SolvedObjects objects exceeds in the long run, and one has; 0 if the game
	// was not solved.
	Solved    float64
	Misses    float64 // of the policy, the mean over finalSeeds if it makes random choices
	OptMisses int64
	Trace     string // a generator in the format of `cachesim run`
	Predictor string // likewise; "" if the policy uses none
}

type search struct {
	options  Options
	policy   policies.Spec
	capacity int
	exact    bool // predictions are those of the oracle; otherwise they are searched for
	rng      *rand.Rand
}

// Exact searches for a trace on which the policy does badly although its predictions are exact: the measured side of
// consistency.
func Exact(ctx context.Context, policy policies.Spec, capacity int, options Options) (Found, error) {
	return newSearch(policy, capacity, options, true).run(ctx)
}

// Any searches for a trace and predictions with which the policy does badly: the measured side of robustness. A policy
// without predictions gets a trace only.
func Any(ctx context.Context, policy policies.Spec, capacity int, options Options) (Found, error) {
	return newSearch(policy, capacity, options, false).run(ctx)
}

func newSearch(policy policies.Spec, capacity int, options Options, exact bool) *search {
	// Each search has its own random numbers, so that its result does not depend on other searches.
	h := fnv.New64a()
	fmt.Fprintf(h, "%s|%d|%t", policy.Full(), capacity, exact)
	return &search{options: options, policy: policy, capacity: capacity, exact: exact,
		rng: rand.New(rand.NewPCG(options.Seed, h.Sum64()))}
}

func (s *search) run(ctx context.Context) (Found, error) {
	played := s.capacity
	if played > MaxSolved {
		played = widenedFrom(s.capacity)
	}
	ratio, cycle, solved, err := s.solve(ctx, played)
	if err != nil {
		return Found{}, err
	}
	if played < s.capacity {
		solved, cycle = false, cycle.widened(played, s.capacity)
	}
	var found Found
	if solved {
		if found, err = s.turned(ctx, cycle); err != nil || found.Ratio > nearlySolved*ratio {
			found.Solved = ratio
			return found, err
		}
	}
	best, err := s.climb(ctx, cycle)
	if err != nil {
		return Found{}, err
	}
	climbed, err := s.replay(ctx, best, finalSeeds)
	if climbed.Ratio > found.Ratio {
		found = climbed
	}
	if solved {
		found.Solved = ratio
	}
	return found, err
}

// nearlySolved is the share of a solved game's ratio at which a trace is good enough, so that the search ends. Traces
// have less than the ratio because they begin with misses of both.
const nearlySolved = 0.9

// turned replays a pattern from each of its requests on, and returns where the policy does worst.
func (s *search) turned(ctx context.Context, p pattern) (Found, error) {
	worst, ratio := p, 0.0
	for i := range p {
		turned := slices.Concat(p[i:], p[:i])
		found, err := s.replay(ctx, turned, searchSeeds)
		if err != nil {
			return found, err
		}
		if found.Ratio > ratio {
			worst, ratio = turned, found.Ratio
		}
	}
	return s.replay(ctx, worst, finalSeeds)
}

// slacks are the shares of its ratio that a climb must keep in a step: below 1 it passes small dips. Each climb draws
// one of them.
var slacks = []float64{1, 0.98, 0.95, 0.9}

// climb changes a pattern as long as the ratio does not fall, or falls only a little, and repeats this from other
// starts. The first one is given, if it is not nil.
func (s *search) climb(ctx context.Context, first pattern) (best pattern, err error) {
	var current pattern
	var bestRatio, ratio, slack float64
	idle := patience // start from scratch
	for try := range s.options.Tries {
		next := s.start(best) // drawn even where change replaces it: the random numbers of all recorded searches are such
		if idle < patience {
			next = s.change(current)
		} else if try == 0 && first != nil {
			next = first
		}
		found, err := s.replay(ctx, next, searchSeeds)
		if err != nil {
			return best, err
		}
		idle++
		if idle > patience {
			slack = slacks[s.rng.IntN(len(slacks))]
		}
		if idle > patience || found.Ratio > ratio {
			idle = 0
		}
		if idle == 0 || found.Ratio >= slack*ratio {
			current, ratio = next, found.Ratio
		}
		if ratio > bestRatio {
			best, bestRatio = current, ratio
		}
	}
	return best, nil
}

// replay compares the policy with the optimum on a pattern. If the policy makes random choices, the misses are the mean
// over some seeds.
func (s *search) replay(ctx context.Context, p pattern, seeds uint64) (Found, error) {
	t := p.trace(s.options.Requests)
	f := Found{Trace: p.generator(s.options.Requests)}
	parts := sim.Parts{Policy: s.policy, Cache: cache.ExactSpec()}
	cell := sim.Cell{Parts: parts, Capacity: capacity.Of(int64(s.capacity), false)}
	if policies.Can[policies.PredictorUser](s.policy.Entry) {
		f.Predictor = "oracle"
		if !s.exact {
			f.Predictor = p.predictor()
		}
		spec, err := predict.Registry.Parse(f.Predictor)
		if err != nil {
			return f, err
		}
		cell.Predictor = &spec
	}
	r := sim.NewReplayer(t, sim.ReplayerOptions{})
	optimum := sim.References(cell)[0]
	var err error
	if f.OptMisses, err = misses(ctx, r, optimum); err != nil {
		return f, err
	}
	if !cell.Random() {
		seeds = 1
	}
	first := uint64(0)
	if seeds == finalSeeds {
		first = searchSeeds // none of the seeds for which the search chose the trace
	}
	total := int64(0)
	for seed := range seeds {
		cell.Seed = first + seed
		n, err := misses(ctx, r, cell)
		if err != nil {
			return f, err
		}
		total += n
	}
	f.Misses = float64(total) / float64(seeds)
	f.Ratio = f.Misses / float64(f.OptMisses)
	return f, nil
}

func misses(ctx context.Context, r *sim.Replayer, cell sim.Cell) (int64, error) {
	if err := r.Check(cell); err != nil {
		return 0, err
	}
	result, err := r.Replay(ctx, cell)
	return result.Int(metric.Misses), err
}

// Check rejects a policy that cannot be compared with the optimum on traces of equal objects.
func Check(e policies.Entry) error {
	switch {
	case e.Kind != policies.Online || e.Unbounded:
		return fmt.Errorf("policy %s: only online policies with a bounded cache can be compared with the optimum", e.Name)
	case e.ShortFor != nil:
		return fmt.Errorf("policy %s is short for a cache, which the search does not drive; use cachesim run", e.Name)
	case policies.Can[policies.HeadServer](e):
		return fmt.Errorf("policy %s serves heads of a language model, which the search does not drive; use cachesim run",
			e.Name)
	case e.NeedsTime != nil:
		return fmt.Errorf("policy %s needs a clock, which the traces of a search do not have", e.Name)
	case e.Units == policies.UnitsBytes:
		return sim.CheckUnits(e, false)
	}
	return nil
}

func (p pattern) trace(requests int) *traces.Trace {
	t := &traces.Trace{Name: "pattern", Objects: make([]uint32, requests), SampleRate: 1}
	numbers := p.numbers()
	for i := range t.Objects {
		t.Objects[i] = numbers[i%len(numbers)]
	}
	t.NumObjects = int(slices.Max(t.Objects)) + 1
	return t
}

// Stated returns the proven bounds of a policy at a capacity; the zero Guarantee if there are none.
func Stated(policy policies.Spec, capacity int) policies.Guarantee {
	if policy.Entry.Guarantee == nil {
		return policies.Guarantee{}
	}
	return policy.Entry.Guarantee(policy.Params, capacity)
}

// Row contains the stated and the found ratios of a policy at a capacity.
type Row struct {
	Policy   policies.Spec
	Capacity int
	Stated   policies.Guarantee
	Exact    *Found // with exact predictions; nil if the policy uses none
	Any      Found  // with any predictions
}

// Table searches for every policy at every capacity, jobs searches at a time (0: one per core), and returns a row for
// each, policy by policy. It calls ended after each of the Searches. The rows do not depend on jobs.
func Table(ctx context.Context, specs []policies.Spec, capacities []int, options Options, jobs int,
	ended func()) ([]Row, error) {
	var rows []Row
	for _, spec := range specs {
		for _, capacity := range capacities {
			rows = append(rows, Row{Policy: spec, Capacity: capacity, Stated: Stated(spec, capacity)})
		}
	}
	var searches []func(context.Context) error
	for i := range rows {
		row := &rows[i]
		searches = append(searches, func(ctx context.Context) (err error) {
			row.Any, err = Any(ctx, row.Policy, row.Capacity, options)
			return err
		})
		if policies.Can[policies.PredictorUser](row.Policy.Entry) {
			row.Exact = &Found{}
			searches = append(searches, func(ctx context.Context) (err error) {
				*row.Exact, err = Exact(ctx, row.Policy, row.Capacity, options)
				return err
			})
		}
	}
	err := parallel.For(ctx, parallel.Jobs(jobs), len(searches), func(ctx context.Context, _, i int) error {
		err := searches[i](ctx)
		if err == nil {
			ended()
		}
		return err
	})
	return rows, err
}

// Searches returns how many searches Table makes.
func Searches(specs []policies.Spec, capacities []int) (n int) {
	for _, spec := range specs {
		n += len(capacities)
		if policies.Can[policies.PredictorUser](spec.Entry) {
			n += len(capacities)
		}
	}
	return n
}
