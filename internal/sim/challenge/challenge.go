// Package challenge looks for workloads on which a policy or a controller is far behind the best of some others. It
// draws them from a grammar of their kind, changes those on which it is furthest behind, and simplifies the worst.
package challenge

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Options say how long to search, and where.
type Options struct {
	Capacity int    // objects; does not count where the cache has a capacity of its own
	Requests int    // of a workload, at most; it has half as many at least, unless it ends by itself
	Tries    int    // workloads that are replayed, beside those that simplify what was found
	Keep     int    // how many workloads are reported, at most
	Seed     uint64 // of all random choices
	Jobs     int    // workloads that are replayed at the same time; 0: one per core. The result does not depend on it
	// Stop is asked before each workload but the first whether time is over; nil: it never is. The result is that of as
	// many tries as there were.
	Stop func() bool
}

// Found is a workload on which the variant is behind.
type Found struct {
	Workload Workload
	Seed     uint64
	Requests int
	Values   []float64 // hit ratios, or latencies: of the variant, and then of the others; nil: it cannot be replayed
	Best     int       // which of the others is the best one
	Behind   float64   // how far the variant is behind that
}

// Searched is what a search has found.
type Searched struct {
	Found   []Found // the worst first
	Tried   int     // workloads
	Refused int     // of these, no such workload exists, or it is too short or too long
}

// Sizes of the search: how many workloads are replayed before the next ones are chosen, of which how many are drawn
// anew, and from how many of the worst the others are made.
const (
	batch   = 16
	anew    = 6
	parents = 8
)

// Search looks for workloads on which the variant is furthest behind the best of the others. It calls tried after each.
func (c *Contest) Search(ctx context.Context, o Options, tried func()) (all Searched, err error) {
	g := draws{rand.New(random.Stream(o.Seed, 1)), o}
	var worst []Found
	for over := false; all.Tried < o.Tries && !over; {
		next := make([]Found, min(batch, o.Tries-all.Tried))
		for i := range next {
			if w := worst[:min(parents, len(worst))]; i < anew || len(w) == 0 {
				next[i].Workload = c.Kind.draw(g)
			} else {
				next[i].Workload = w[g.IntN(len(w))].Workload.changed(g)
			}
			next[i].Seed = g.Uint64() >> 44
		}
		done := make([]bool, len(next))
		err := parallel.For(ctx, parallel.Jobs(o.Jobs), len(next), func(ctx context.Context, _, i int) error {
			if o.Stop != nil && all.Tried+i > 0 && o.Stop() {
				return nil
			}
			defer tried()
			done[i] = true
			return c.try(ctx, &next[i], o, o.least()-mostPhases) // phases are rounded down
		})
		if err != nil {
			return all, err
		}
		if at := slices.Index(done, false); at >= 0 {
			next, over = next[:at], true
		}
		all.Tried += len(next)
		for _, f := range next {
			if f.Values == nil {
				all.Refused++
			}
		}
		worst = ranked(append(worst, next...), parents)
	}
	for i := range worst {
		if err := c.simplify(ctx, &worst[i], o); err != nil {
			return all, err
		}
	}
	all.Found = ranked(worst, o.Keep)
	return all, nil
}

// ranked returns the workloads on which the variant is furthest behind, without those on which it is not.
func ranked(all []Found, most int) []Found {
	all = slices.DeleteFunc(all, func(f Found) bool { return f.Behind == 0 })
	slices.SortStableFunc(all, func(a, b Found) int { return cmp.Compare(b.Behind, a.Behind) })
	all = slices.CompactFunc(all, func(a, b Found) bool { return a.Workload.Generator(0) == b.Workload.Generator(0) })
	return all[:min(most, len(all))]
}

// keptShare is the share of the lag that a simpler workload must keep.
const keptShare = 0.9

// simplify makes a workload simpler as long as the variant stays nearly as far behind the one that is best on it. The
// others are replayed once more in the end: of them another may be the best then.
func (c *Contest) simplify(ctx context.Context, f *Found, o Options) error {
	pair := &Contest{Kind: c.Kind, Parts: []sim.Parts{c.Parts[0], c.Parts[1+f.Best]}}
	least, before := keptShare*f.Behind, f.Workload.Generator(f.Seed)
places:
	for at := 0; ; at++ {
		all, more := f.Workload.simpler(at)
		if !more {
			break
		}
		for _, w := range all {
			simpler := Found{Workload: w, Seed: f.Seed}
			if err := pair.try(ctx, &simpler, o, o.least()); err != nil {
				return err
			}
			if simpler.Behind >= least {
				f.Workload = w
				at-- // what is there now
				continue places
			}
		}
	}
	if f.Workload.Generator(f.Seed) == before {
		return nil
	}
	return c.try(ctx, f, o, 1)
}

// try replays a workload unless no such workload exists, or it is too short or too long.
func (c *Contest) try(ctx context.Context, f *Found, o Options, least int) error {
	w, err := workload.Generated(f.Workload.Generator(f.Seed), 0)
	if err != nil {
		return err
	}
	t, err := c.load(ctx, w)
	if err != nil {
		return context.Cause(ctx) // what is drawn may exclude each other
	}
	if f.Requests = len(t.Objects); c.Kind.whole {
		least = 1
	}
	if f.Requests < least || c.Kind.whole && f.Requests > o.Requests {
		return nil
	}
	return c.replay(ctx, f, t, o)
}

// replay replays the requests of a workload with all parts.
func (c *Contest) replay(ctx context.Context, f *Found, t *traces.Trace, o Options) (err error) {
	if f.Values, err = c.measured(ctx, t, o); err == nil {
		f.Best, f.Behind = c.best(f.Values)
	}
	return err
}
