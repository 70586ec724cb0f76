package cache

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/policies"
)

// NotAdmitted counts what the guard of a cache keeps out.
var NotAdmitted = metric.Metric{Name: "not_admitted", Unit: metric.Count,
	Doc: "misses whose object the admission kept out of the cache"}

// Guard stands in front of a cache: it decides which missed objects the cache loads. A cache whose pool loads what
// misses has it before that pool; any other asks it. A nil Guard admits everything.
type Guard struct {
	admission admit.Admission
	observer  RefusalObserver // nil if nobody observes what the cache itself keeps out
	warmup    int             // requests at the start whose decisions do not count
	seen      int             // requests so far
	refused   int64           // by Admits, after the warm-up
}

// NewGuard returns the guard of a cache, nil if everything is admitted.
func NewGuard(c Config) (*Guard, error) {
	if c.Admission == nil {
		return nil, nil
	}
	a, err := admit.New(*c.Admission, admit.Config{Objects: c.Room(), Capacity: c.Capacity, Sized: !c.Unit,
		Seed: c.Seed})
	g := &Guard{admission: a, warmup: c.Warmup}
	g.observer, _ = c.Observer.(RefusalObserver)
	return g, err
}

// See notifies the admission of a request of the trace, whose object has its number in the trace.
func (g *Guard) See(r policies.Request) {
	if g == nil || r.Reason != policies.Demand {
		return
	}
	g.admission.Request(r, g.seen)
	g.seen++
}

// Admits reports whether what is requested and missed is loaded, and counts it if not. Prefetched objects pass.
func (g *Guard) Admits(r policies.Request) bool {
	if g == nil || r.Reason != policies.Demand || g.admission.Admit(r) {
		return true
	}
	if g.counts(r) {
		g.refused++
	}
	if g.observer != nil {
		g.observer.NotAdmitted(r.Object)
	}
	return false
}

// counts reports whether a request comes after the warm-up.
func (g *Guard) counts(r policies.Request) bool { return r.Pos >= g.warmup }

// Counters returns what Admits has kept out; nil if everything is admitted.
func (g *Guard) Counters() []policies.Counter {
	if g == nil {
		return nil
	}
	return []policies.Counter{policies.Count(NotAdmitted, float64(g.refused))}
}

// AdmitsAny accepts every admission, as Entry.Admits.
func AdmitsAny(params.Values, admit.Entry) error { return nil }

// AdmitsWithoutContest accepts, as Entry.Admits, the admissions that compare with no victim.
func AdmitsWithoutContest(_ params.Values, a admit.Entry) error {
	if !a.Contests {
		return nil
	}
	return fmt.Errorf("it compares an object with what would leave for it, which this cache does not ask; use the cache " +
		"exact or semantic, or an admission such as second")
}

// Before puts the guard in front of a pool; nil leaves the pool as it is.
func (g *Guard) Before(p *Pool) error {
	if g == nil {
		return nil
	}
	guarded := &guardedPolicy{Policy: p.policy, guard: g, pool: p, inner: p.admitter}
	if contest, ok := g.admission.(admit.Contest); ok {
		if p.expirer != nil {
			return fmt.Errorf("an admission that compares with victims does not see what this policy drops by itself; use " +
				"another admission, such as second")
		}
		guarded.Policy = &contestedPolicy{Policy: p.policy, contest: contest, pool: p, keptOut: guarded.keptOut}
	}
	p.policy, p.admitter = guarded, guarded
	return nil
}

// guardedPolicy is a policy whose pool has a guard, so that a pool without one need not ask for it at every request.
// It implements policies.Admitter and policies.Reporter.
type guardedPolicy struct {
	policies.Policy
	guard   *Guard
	pool    *Pool
	inner   policies.Admitter // the policy's own; nil if it admits everything
	refused int64             // after the warm-up
}

func (g *guardedPolicy) Hit(r policies.Request) {
	g.guard.See(g.named(r))
	g.Policy.Hit(r)
}

func (g *guardedPolicy) Miss(r policies.Request) {
	g.guard.See(g.named(r))
	g.Policy.Miss(r)
}

// named returns a request whose object has its number in the trace.
func (g *guardedPolicy) named(r policies.Request) policies.Request {
	r.Object = g.pool.name(r.Object)
	return r
}

// Admit asks the guard about what is requested, and the policy about what the guard admits. Prefetched objects pass the
// guard.
func (g *guardedPolicy) Admit(r policies.Request) bool {
	if r.Reason == policies.Demand && !g.guard.admission.Admit(g.named(r)) {
		g.keptOut(r)
		return false
	}
	return g.inner == nil || g.inner.Admit(r)
}

// keptOut counts an object that is not admitted.
func (g *guardedPolicy) keptOut(r policies.Request) {
	if g.guard.counts(r) {
		g.refused++
	}
	if told, ok := g.pool.observer.(RefusalObserver); ok {
		told.NotAdmitted(g.pool.name(r.Object))
	}
}

func (g *guardedPolicy) Counters() []policies.Counter {
	return append(CountersOf(g.Policy), policies.Count(NotAdmitted, float64(g.refused)))
}

func (g *guardedPolicy) Remark() string { return RemarkOf(g.Policy) }
