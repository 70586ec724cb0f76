// Package challenge looks for workloads on which a policy is far behind the best of some others. It draws phases of
// popularity, drift, scans and loops, changes those on which the policy loses most, and shortens the worst.
package challenge

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Options say how long to search, and where.
type Options struct {
	Capacity int    // objects
	Requests int    // of a workload, at most; it has half as many at least
	Tries    int    // workloads that are replayed, beside those that shorten what was found
	Keep     int    // how many workloads are reported, at most
	Seed     uint64 // of all random choices
	// Predictor is for the policies that follow predictions.
	Predictor *predict.Spec
	Jobs      int // workloads that are replayed at the same time; 0: one per core. The result does not depend on it
}

// Found is a workload on which the policy is behind.
type Found struct {
	Workload Workload
	Seed     uint64
	Hits     []float64 // hit ratios: of the policy, and then of the others
	Best     int       // which of the others has the most hits
}

// Behind is by how much the best hit ratio of the others exceeds that of the policy, 0 if it does not. It is not a
// share of that hit ratio: scans would make any share large, since they leave few hits to all.
func (f Found) Behind() float64 { return max(0, f.Hits[1+f.Best]-f.Hits[0]) }

// Sizes of the search: how many workloads are replayed before the next ones are chosen, of which how many are drawn
// anew, and from how many of the worst the others are made.
const (
	batch   = 16
	anew    = 6
	parents = 8
)

// Search returns the workloads on which the first policy is furthest behind the best of the others, the worst first.
// It calls tried after each workload.
func Search(ctx context.Context, specs []policies.Spec, o Options, tried func()) ([]Found, error) {
	g := grammar{rand.New(random.Stream(o.Seed, 1)), o}
	var worst []Found
	for done := 0; done < o.Tries; done += batch {
		next := make([]Found, min(batch, o.Tries-done))
		for i := range next {
			if w := worst[:min(parents, len(worst))]; i < anew || len(w) == 0 {
				next[i].Workload = g.workload()
			} else {
				next[i].Workload = g.change(w[g.IntN(len(w))].Workload)
			}
			next[i].Seed = g.Uint64() >> 44
		}
		err := parallel.For(ctx, parallel.Jobs(o.Jobs), len(next), func(ctx context.Context, _, i int) error {
			defer tried()
			return next[i].replay(ctx, specs, o)
		})
		if err != nil {
			return nil, err
		}
		worst = ranked(append(worst, next...), parents)
	}
	for i := range worst {
		if err := worst[i].shorten(ctx, specs, o); err != nil {
			return nil, err
		}
	}
	return ranked(worst, o.Keep), nil
}

// ranked returns the workloads on which the policy is furthest behind, without those on which it is not.
func ranked(all []Found, most int) []Found {
	all = slices.DeleteFunc(all, func(f Found) bool { return f.Behind() == 0 })
	slices.SortStableFunc(all, func(a, b Found) int { return cmp.Compare(b.Behind(), a.Behind()) })
	all = slices.CompactFunc(all, func(a, b Found) bool { return slices.Equal(a.Workload, b.Workload) })
	return all[:min(most, len(all))]
}

// keptShare is the share of the lag that a shorter workload must keep.
const keptShare = 0.9

// shorten removes phases, and halves those that are left, as long as the policy stays nearly as far behind.
func (f *Found) shorten(ctx context.Context, specs []policies.Spec, o Options) error {
	least := keptShare * f.Behind()
	try := func(w Workload) (shorter Found, ok bool, err error) {
		if w.Requests() < o.least() {
			return shorter, false, nil
		}
		shorter = Found{Workload: w, Seed: f.Seed}
		err = shorter.replay(ctx, specs, o)
		return shorter, err == nil && shorter.Behind() >= least, err
	}
	for at := 0; at < len(f.Workload); {
		without := slices.Delete(slices.Clone(f.Workload), at, at+1)
		shorter, ok, err := try(without)
		if err == nil && !ok && f.Workload[at].requests > 1 {
			half := slices.Clone(f.Workload)
			half[at].requests /= 2
			shorter, ok, err = try(half)
		}
		switch {
		case err != nil:
			return err
		case ok:
			*f = shorter
		default:
			at++
		}
	}
	return nil
}

// replay replays the workload under all policies.
func (f *Found) replay(ctx context.Context, specs []policies.Spec, o Options) error {
	t, err := generated(ctx, f.Workload.Generator(f.Seed), f.Seed)
	if err != nil {
		return err
	}
	if f.Hits, err = hitRatios(ctx, t, specs, o); err != nil {
		return err
	}
	f.Best = 0
	for i, h := range f.Hits[1:] {
		if h > f.Hits[1+f.Best] {
			f.Best = i
		}
	}
	return nil
}

// generated returns the requests of a generator.
func generated(ctx context.Context, text string, seed uint64) (*traces.Trace, error) {
	w, err := workload.Generated(text, seed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return w.Load(ctx, nil, read.Options{Needs: traces.Needs{Keys: true}}) // some policies look at keys
}

// hitRatios replays a trace under all policies.
func hitRatios(ctx context.Context, t *traces.Trace, specs []policies.Spec, o Options) (ratios []float64, err error) {
	replayer := sim.NewReplayer(t, sim.ReplayerOptions{})
	for _, spec := range specs {
		cell := sim.Cell{Parts: sim.Parts{Policy: spec, Cache: cache.ExactSpec()},
			Capacity: capacity.Of(int64(o.Capacity), false), Seed: o.Seed}
		if policies.Can[policies.PredictorUser](spec.Entry) {
			cell.Predictor = o.Predictor
		}
		if err := replayer.Check(cell); err != nil {
			return nil, err
		}
		result, err := replayer.Replay(ctx, cell)
		if err != nil {
			return nil, err
		}
		ratios = append(ratios, float64(result.Int(metric.Hits))/float64(len(t.Objects)))
	}
	return ratios, nil
}
