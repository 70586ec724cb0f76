// Package judge scores a policy over a suite of traces in seconds, for programs that search for policies. A score is by
// how much the policy reduces the misses of LRU; how it does on the half of the suite that is held out tells whether a
// search has fitted the other half.
package judge

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
)

// Scores are those of a policy over points: traces, each at some capacities. They are shares.
type Scores struct {
	// Score is the mean of the reductions of misses against the first baseline: 0.1 means a tenth fewer. P10 is their
	// tenth percentile, interpolated, Worst the least.
	Score float64 `json:"score"`
	P10   float64 `json:"p10"`
	Worst float64 `json:"worst"`
	// GapClosed is which share of the misses that the first baseline has above the offline optimum, or above a bound
	// where sizes differ, the policy does not have: the mean over the points with such misses.
	GapClosed float64 `json:"gap_closed"`
	// Wins is at which share of the points the policy has fewer misses than each baseline; a tie counts half.
	Wins map[string]float64 `json:"wins"`
}

// Verdict is what is said of a candidate.
type Verdict struct {
	Candidate string `json:"candidate"`
	Suite     string `json:"suite"`
	Against   string `json:"against"` // the baseline that scores are relative to
	Scores
	Points []Point `json:"points"`
	// Stopped says why not all points were replayed; "" if all were. The scores are then of those that were.
	Stopped string `json:"stopped,omitempty"`
	// HeldOut are the scores on the other half of the suite, if asked for, and Overfitted by how much the score is
	// higher than there.
	HeldOut      *Scores `json:"held_out,omitempty"`
	Overfitted   float64 `json:"overfitted,omitempty"`
	NsPerRequest float64 `json:"ns_per_request"` // the mean over the points; of this machine
	Seed         uint64  `json:"seed"`
}

// Point is what is said of a candidate on one trace at one capacity.
type Point struct {
	Trace     string  `json:"trace"`
	Capacity  int64   `json:"capacity"` // in objects, or in bytes
	Unit      string  `json:"unit"`
	Requests  int     `json:"requests"`
	Misses    int64   `json:"misses"`
	Against   int64   `json:"against_misses"`
	Optimum   float64 `json:"optimum_misses"` // of the optimum, or a bound from below
	Reduction float64 `json:"reduction"`      // of misses
}

// Judge judges candidates over a suite, whose traces it keeps in memory. What does not depend on a candidate is
// replayed once. Its methods may be called from several goroutines.
type Judge struct {
	suite     Suite
	options   Options
	baselines []policies.Spec
	search    []*point
	heldOut   []*point // nil unless they are asked for
	known     sync.Map // misses per point and policy: see missesOf
	// ctx is that of the judge: what candidates share must not end with one of them.
	ctx context.Context
}

// Options are how candidates are judged.
type Options struct {
	Against   policies.Spec // what scores are relative to
	Predictor *predict.Spec // for policies that follow predictions
	Seed      uint64        // of all random choices of policies
	Jobs      int           // points that are replayed at the same time; 0: one per core. Results do not depend on it
	// Beat is the score that a candidate must reach: one that cannot any more is stopped. nil: none is stopped.
	Beat    *float64
	HeldOut bool // judge by the other half, too
}

// New loads the traces of a suite.
func New(ctx context.Context, s Suite, o Options) (*Judge, error) {
	j := &Judge{suite: s, options: o, ctx: ctx}
	j.baselines = append(j.baselines, o.Against)
	for _, b := range s.baselines() {
		if b.Full() != o.Against.Full() {
			j.baselines = append(j.baselines, b)
		}
	}
	if o.Predictor != nil && o.Predictor.Entry.Future {
		return nil, fmt.Errorf("the predictor %s knows the future; want one that can be deployed", o.Predictor)
	}
	if o.HeldOut && len(s.HeldOut) == 0 {
		return nil, fmt.Errorf("suite %s: no trace is held out; want at least two traces", s.Name)
	}
	var err error
	if j.search, err = s.load(ctx, s.Search); err == nil && o.HeldOut {
		j.heldOut, err = s.load(ctx, s.HeldOut)
	}
	if err != nil {
		return nil, err
	}
	return j, j.prepare()
}

// prepare replays the baselines and the optimum, so that no candidate has to wait for them.
func (j *Judge) prepare() error {
	points := slices.Concat(j.search, j.heldOut)
	return parallel.For(j.ctx, parallel.Jobs(j.options.Jobs), len(points), func(_ context.Context, _, i int) error {
		for _, b := range j.baselines {
			if _, err := j.missesOf(points[i], b); err != nil {
				return err
			}
		}
		_, err := j.optimum(points[i], j.options.Against)
		return err
	})
}

// together is how many points are replayed before it is asked whether a candidate can still reach Beat. It does not
// depend on the number of cores, and so neither do results.
const together = 4

// Judge returns what is said of a candidate. An error says that it cannot be judged.
func (j *Judge) Judge(ctx context.Context, candidate policies.Spec) (Verdict, error) {
	v := Verdict{Candidate: candidate.String(), Suite: j.suite.Name, Against: j.options.Against.String(),
		Seed: j.options.Seed}
	switch e := candidate.Entry; {
	case e.Kind != policies.Online:
		return v, fmt.Errorf("%s is %s; want an online policy: one that knows the future cannot be deployed", candidate,
			e.Kind)
	case e.Unbounded:
		return v, fmt.Errorf("%s ignores the capacity; want a policy that evicts", candidate)
	}
	replayed, stopped, err := j.replay(ctx, candidate, j.search, j.options.Beat)
	if err != nil {
		return v, err
	}
	v.Stopped = stopped
	v.Scores = j.scores(replayed)
	for _, o := range replayed {
		v.Points = append(v.Points, o.point())
		v.NsPerRequest += o.ns / float64(len(replayed))
	}
	if !j.options.HeldOut || stopped != "" {
		return v, nil
	}
	other, _, err := j.replay(ctx, candidate, j.heldOut, nil)
	if err != nil {
		return v, err
	}
	held := j.scores(other)
	v.HeldOut, v.Overfitted = &held, max(0, v.Score-held.Score)
	return v, nil
}

// outcome is a replay of a candidate at a point, beside those of the baselines and the optimum.
type outcome struct {
	at        *point
	misses    int64
	baselines []int64
	optimum   float64
	ns        float64
}

func (o outcome) reduction() float64 { return reduction(float64(o.misses), o.baselines[0]) }

// reduction returns by which share fewer misses are than those of a baseline.
func reduction(misses float64, baseline int64) float64 {
	if baseline == 0 {
		return 0
	}
	return 1 - misses/float64(baseline)
}

func (o outcome) point() Point {
	return Point{Trace: o.at.name, Capacity: o.at.cell.Capacity.Amount, Unit: o.at.cell.Capacity.Unit(),
		Requests: o.at.requests, Misses: o.misses, Against: o.baselines[0], Optimum: o.optimum, Reduction: o.reduction()}
}

// replay replays a candidate at points, as long as it can still reach beat.
func (j *Judge) replay(ctx context.Context, candidate policies.Spec, points []*point, beat *float64) (all []outcome,
	stopped string, err error) {
	all = make([]outcome, len(points))
	for from := 0; from < len(points); from += together {
		to := min(from+together, len(points))
		err := parallel.For(ctx, parallel.Jobs(j.options.Jobs), to-from, func(ctx context.Context, _, i int) error {
			return j.at(ctx, points[from+i], candidate, &all[from+i])
		})
		if err != nil {
			return nil, "", err
		}
		if beat == nil || to == len(points) {
			continue
		}
		most, err := j.most(all[:to], points[to:], candidate)
		if err != nil {
			return nil, "", err
		}
		if most < *beat {
			return all[:to], fmt.Sprintf("after %d of %d points: with the optimum at all others its score would be %.4f, "+
				"below %.4f", to, len(points), most, *beat), nil
		}
	}
	return all, "", nil
}

// most returns the score that a candidate would have with the optimum, or the bound, at all further points.
func (j *Judge) most(done []outcome, further []*point, candidate policies.Spec) (float64, error) {
	sum := 0.0
	for _, o := range done {
		sum += o.reduction()
	}
	for _, p := range further {
		baseline, err := j.missesOf(p, j.options.Against)
		if err != nil {
			return 0, err
		}
		optimum, err := j.optimum(p, candidate)
		if err != nil {
			return 0, err
		}
		sum += reduction(optimum, baseline)
	}
	return sum / float64(len(done)+len(further)), nil
}

// at replays a candidate at a point.
func (j *Judge) at(ctx context.Context, p *point, candidate policies.Spec, o *outcome) (err error) {
	o.at = p
	cell := j.cell(p, candidate)
	if err := p.replayer.Check(cell); err != nil {
		return err
	}
	result, err := p.replayer.Replay(ctx, cell)
	if err != nil {
		return err
	}
	o.misses, o.ns = result.Int(metric.Misses), result.Times[metric.NsPerRequest.Name]
	for _, b := range j.baselines {
		misses, err := j.missesOf(p, b)
		if err != nil {
			return err
		}
		o.baselines = append(o.baselines, misses)
	}
	o.optimum, err = j.optimum(p, candidate)
	return err
}

func (j *Judge) cell(p *point, policy policies.Spec) sim.Cell {
	cell := p.cell
	cell.Policy, cell.Seed = policy, j.options.Seed
	if policies.Can[policies.PredictorUser](policy.Entry) {
		cell.Predictor = j.options.Predictor
	}
	return cell
}

// place is a point and a policy.
type place struct {
	point  *point
	policy string
}

// missesOf returns the misses of a policy of the program at a point. It replays each once.
func (j *Judge) missesOf(p *point, policy policies.Spec) (int64, error) {
	replay, _ := j.known.LoadOrStore(place{p, policy.Full()}, sync.OnceValues(func() (int64, error) {
		cell := j.cell(p, policy)
		if err := p.replayer.Check(cell); err != nil {
			return 0, err
		}
		result, err := p.replayer.Replay(j.ctx, cell)
		return result.Int(metric.Misses), err
	}))
	return replay.(func() (int64, error))()
}

// optimum returns the misses of the optimum at a point under the rules of a candidate. Where there is none it is a
// bound: the first requests to the objects, which all miss.
func (j *Judge) optimum(p *point, candidate policies.Spec) (float64, error) {
	references := sim.References(j.cell(p, candidate))
	if p.cell.Capacity.Bytes || len(references) != 1 {
		return float64(p.distinct), nil
	}
	misses, err := j.missesOf(p, references[0].Policy)
	return float64(misses), err
}

// scores returns the scores over some points.
func (j *Judge) scores(all []outcome) Scores {
	s := Scores{Wins: map[string]float64{}}
	var reductions []float64
	closed, gaps := 0.0, 0
	for _, o := range all {
		reductions = append(reductions, o.reduction())
		if gap := float64(o.baselines[0]) - o.optimum; gap > 0 {
			closed += float64(o.baselines[0]-o.misses) / gap
			gaps++
		}
		for i, b := range j.baselines {
			switch {
			case o.misses < o.baselines[i]:
				s.Wins[b.String()] += 1 / float64(len(all))
			case o.misses == o.baselines[i]:
				s.Wins[b.String()] += 0.5 / float64(len(all))
			default:
				s.Wins[b.String()] += 0
			}
		}
	}
	for _, r := range reductions {
		s.Score += r / float64(len(reductions))
	}
	s.GapClosed = closed / float64(max(gaps, 1))
	slices.Sort(reductions)
	s.Worst = reductions[0]
	below, weight := math.Modf(0.1 * float64(len(reductions)-1))
	s.P10 = reductions[int(below)]
	if weight > 0 {
		s.P10 += float64(weight * (reductions[int(below)+1] - s.P10))
	}
	return s
}
