// Package audit compares what a server says that it found in its cache with a replay of the same requests, and says
// what explains the gap: it replays with one thing changed at a time, and then with the best of these and another.
//
// Find knows nothing of caches: a setup is whatever a replay needs, and causes change it.
package audit

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cachesim/cachesim/internal/base/parallel"
)

// Cause is something that may explain why a server found less, or more, than a replay of its settings.
type Cause[S any] struct {
	Name string // in records: "query=drop"
	// Kind is shared by causes of which only one can be true, such as two capacities.
	Kind string
	// Try returns a setup with the cause, and what explains the gap then: "query strings that are part of the key". Says
	// is "" if the cause does not apply. It may replay setups to find the best of them.
	Try func(ctx context.Context, at Trial[S]) (changed S, says string, err error)
}

// Trial is what a cause is tried on.
type Trial[S any] struct {
	Setup   S
	Outcome Outcome // of the setup
	// Replay replays another setup.
	Replay func(context.Context, S) (Outcome, error)
}

// Plain is a cause that needs no search.
func Plain[S any](kind, name, says string, change func(S) S) Cause[S] {
	return Cause[S]{Name: name, Kind: kind, Try: func(_ context.Context, at Trial[S]) (S, string, error) {
		return change(at.Setup), says, nil
	}}
}

// Tried is a cause with the outcome of its replay.
type Tried struct {
	Name, Kind, Says string
	Outcome          Outcome
	Failed           string  // why it could not be replayed; "" if it was
	Ties             []Tried // of a step: what would explain it as well, the nearest first
}

// applies reports whether there is an outcome with it.
func (t Tried) applies() bool { return t.Says != "" && t.Failed == "" }

// Finding is what explains a gap.
type Finding struct {
	Stated  Outcome // of the settings as they are stated
	Alone   []Tried // each cause by itself, in the order in which they were given
	Steps   []Tried // the best cause, the best with that one, and so on; each outcome is with all causes up to it
	Replays int
}

// Last returns the outcome with all causes that explain something.
func (f Finding) Last() Outcome {
	if n := len(f.Steps); n > 0 {
		return f.Steps[n-1].Outcome
	}
	return f.Stated
}

// Options say how Find works.
type Options struct {
	Jobs int            // causes that are tried at the same time; 0 means one per core
	Done func(done int) // called with the number of replays that have ended, by several goroutines; may be nil
}

// mostSteps is how many causes are combined.
const mostSteps = 4

// Find replays the setup with each cause, and combines the best ones, one after another. What it returns does not
// depend on the number of jobs.
func Find[S any](ctx context.Context, setup S, causes []Cause[S], replay func(context.Context, S) (Outcome, error),
	o Options) (f Finding, err error) {
	var replays atomic.Int64
	counted := func(ctx context.Context, s S) (Outcome, error) {
		out, err := replay(ctx, s)
		if n := replays.Add(1); o.Done != nil {
			o.Done(int(n))
		}
		return out, err
	}
	if f.Stated, err = counted(ctx, setup); err != nil {
		return f, err
	}
	at := Trial[S]{setup, f.Stated, counted}
	for len(f.Steps) < mostSteps && !isFound(at.Outcome) && !f.neverHit() {
		tried, setups, err := tryAll(ctx, at, causes, o.Jobs)
		if err != nil {
			return f, err
		}
		if f.Alone == nil {
			f.Alone = tried
		}
		best, ok := choose(f, tried)
		if !ok {
			break
		}
		step := tried[best]
		step.Ties = f.ties(tried, best)
		f.Steps = append(f.Steps, step)
		at.Setup, at.Outcome = setups[best], tried[best].Outcome
		kind := causes[best].Kind
		causes = slices.DeleteFunc(slices.Clone(causes), func(c Cause[S]) bool { return c.Kind == kind })
	}
	f.Replays = int(replays.Load())
	return f, nil
}

// isFound reports whether server and replay differ so little that there is nothing to explain.
func isFound(o Outcome) bool { return o.distance() < leastGain }

// tryAll tries each cause alone on what is known so far.
func tryAll[S any](ctx context.Context, at Trial[S], causes []Cause[S], jobs int) ([]Tried, []S, error) {
	tried, setups := make([]Tried, len(causes)), make([]S, len(causes))
	err := parallel.For(ctx, parallel.Jobs(jobs), len(causes), func(ctx context.Context, _, i int) error {
		c := causes[i]
		tried[i].Name, tried[i].Kind = c.Name, c.Kind
		changed, says, err := c.Try(ctx, at)
		if err == nil && says != "" {
			tried[i].Says, setups[i] = says, changed
			tried[i].Outcome, err = at.Replay(ctx, changed)
		}
		if err != nil {
			tried[i].Failed = err.Error()
		}
		return ctx.Err()
	})
	return tried, setups, err
}

// What a cause must bring, in shares of what was requested: so much in all, so much of what is open, and so many
// standard deviations. Of causes that come nearly as near, or that chance and the models' error do not tell apart, the
// first is chosen: those that need no search come first, and what is searched fits the hit ratio in any case.
const (
	leastGain       = 0.004
	leastShare      = 0.1
	leastDeviations = 4
	nearlySame      = 1.2
	nearlyNothing   = 0.002
)

// choose returns the cause that brings the replay nearest to the server; ok is false if none brings enough.
func choose(f Finding, tried []Tried) (best int, ok bool) {
	least := f.Last()
	for _, t := range tried {
		if f.applies(t) && t.Outcome.distance() < least.distance() {
			least = t.Outcome
		}
	}
	near := math.Max(least.distance()*nearlySame, least.distance()+nearlyNothing)
	best = slices.IndexFunc(tried, func(t Tried) bool {
		return f.applies(t) && (t.Outcome.distance() <= near || !least.IsCoarse() && t.Outcome.isAsNear(least))
	})
	return best, best >= 0
}

// applies reports whether a cause explains something of what is open.
func (f Finding) applies(t Tried) bool {
	return t.applies() && explains(f.Last(), t.Outcome) && f.isForward(f.Last(), t.Outcome)
}

// ties returns the causes that the server's hits do not tell from the best one, the nearest first. Other values of the
// same setting are no other cause, unless they do the very same; nor are special cases, such as a time to live that
// began soon.
func (f Finding) ties(tried []Tried, best int) (ties []Tried) {
	chosen := tried[best]
	if chosen.Outcome.IsCoarse() {
		return nil
	}
	for i, t := range tried {
		other := t.Kind != chosen.Kind || t.Outcome.sameHits(chosen.Outcome) && !strings.HasPrefix(t.Says, chosen.Says)
		if i != best && other && f.applies(t) && t.Outcome.isAsNear(chosen.Outcome) {
			ties = append(ties, t)
		}
	}
	slices.SortStableFunc(ties, func(a, b Tried) int { return cmp.Compare(a.Outcome.distance(), b.Outcome.distance()) })
	return ties
}

// explains reports whether an outcome is nearer to the server than another one by more than chance.
func explains(before, after Outcome) bool {
	gain := before.distance() - after.distance()
	return gain >= math.Max(leastGain, before.distance()*leastShare) &&
		(after.IsCoarse() || after.deviations(before) >= leastDeviations && after.agreesMore(before))
}

// isForward reports whether an outcome is on the server's side of one before it. One that takes back points which a
// cause before it has explained must be right about as many requests as it takes back.
func (f Finding) isForward(before, after Outcome) bool {
	back := -f.toward(before, after) / 100
	return !f.hasGap() || back <= leastGain || after.Agreement()-before.Agreement() >= back
}

// neverHit reports whether the server found nothing that its settings would find. Then each cause that lets the replay
// hit less seems to explain it.
func (f Finding) neverHit() bool { return f.Stated.Measured == 0 && f.hasGap() }
