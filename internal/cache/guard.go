package cache

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/policies"
)

// NotAdmitted counts what the guard of a cache keeps out.
var NotAdmitted = metric.Metric{Name: "not_admitted", Unit: metric.Count,
	Doc: "misses whose object the admission kept out of the cache"}

// guard stands in front of a cache: it decides which missed objects the pools of the cache load.
type guard struct {
	admission admit.Admission
	warmup    int // requests at the start whose decisions do not count
	seen      int // requests so far
}

// newGuard returns the guard of a cache, nil if everything is admitted.
func newGuard(c Config) (*guard, error) {
	if c.Admission == nil {
		return nil, nil
	}
	a, err := admit.New(*c.Admission, admit.Config{Objects: c.Room(), Capacity: c.Capacity, Sized: !c.Unit,
		Seed: c.Seed})
	return &guard{admission: a, warmup: c.Warmup}, err
}

// before puts the guard in front of a pool; nil leaves the pool as it is.
func (g *guard) before(p *Pool) error {
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
	guard   *guard
	pool    *Pool
	inner   policies.Admitter // the policy's own; nil if it admits everything
	refused int64             // after the warm-up
}

func (g *guardedPolicy) Hit(r policies.Request) {
	g.see(r)
	g.Policy.Hit(r)
}

func (g *guardedPolicy) Miss(r policies.Request) {
	g.see(r)
	g.Policy.Miss(r)
}

// see notifies the admission of a request of the trace.
func (g *guardedPolicy) see(r policies.Request) {
	if r.Reason != policies.Demand {
		return
	}
	r.Object = g.pool.name(r.Object)
	g.guard.admission.Request(r, g.guard.seen)
	g.guard.seen++
}

// Admit asks the guard about what is requested, and the policy about what the guard admits. Prefetched objects pass the
// guard.
func (g *guardedPolicy) Admit(r policies.Request) bool {
	asked := r
	asked.Object = g.pool.name(r.Object)
	if r.Reason == policies.Demand && !g.guard.admission.Admit(asked) {
		g.keptOut(r)
		return false
	}
	return g.inner == nil || g.inner.Admit(r)
}

// keptOut counts an object that is not admitted.
func (g *guardedPolicy) keptOut(r policies.Request) {
	if r.Pos >= g.guard.warmup {
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
