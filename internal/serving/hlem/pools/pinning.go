package pools

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// running are the requests that a node serves at the moment, a few per GPU. Their users must not be evicted.
type running struct {
	requests []runningRequest
	pages    int64 // of their users, each counted once
}

type runningRequest struct {
	request int
	user    policies.Object
	pages   int64 // of the user; 0 if the user is not resident
}

// start adds a request of a user, of whom pages are resident.
func (r *running) start(request int, user policies.Object, pages int64) {
	if !r.has(user) {
		r.pages += pages
	}
	r.requests = append(r.requests, runningRequest{request, user, pages})
}

func (r *running) finish(request int) {
	for i, one := range r.requests {
		if one.request != request {
			continue
		}
		last := len(r.requests) - 1
		r.requests[i] = r.requests[last]
		r.requests = r.requests[:last]
		if !r.has(one.user) {
			r.pages -= one.pages
		}
		return
	}
	panic(fmt.Sprintf("request %d is finished, but does not run", request))
}

// has reports whether a resident user has a running request.
func (r *running) has(user policies.Object) bool {
	for i := range r.requests {
		if one := &r.requests[i]; one.user == user && one.pages > 0 {
			return true
		}
	}
	return false
}

// pinning is a policy that never evicts the users of running requests, whatever the policy below chooses. If that
// chooses one, it must choose again; the user is restored to it afterwards, like an object from an earlier state of the
// pool. The caller ensures that there is enough to evict beside them.
type pinning struct {
	policies.Policy
	admitter policies.Admitter // nil if it admits everything
	expirer  policies.Expirer  // nil if nothing expires
	resizer  policies.Resizer  // nil if it does not depend on its capacity
	grower   policies.Grower
	running  *running
	user     func(number uint32) policies.Object
	aside    []policies.Object // chosen, and still resident
}

// newUsers returns the empty pool of the users of a node, and its policy.
func newUsers(spec policies.Spec, c policies.Config, r *running) (*cache.Pool, *pinning, error) {
	members := cache.NewMembers(nil)
	below := spec.Entry.New
	var p *pinning
	// NewMemberPool builds the policy itself, from the entry.
	spec.Entry.New = func(c policies.Config) (policies.Policy, error) {
		policy, err := below(c)
		if err != nil {
			return nil, err
		}
		p = &pinning{Policy: policy, running: r, user: members.Object}
		p.admitter, _ = policy.(policies.Admitter)
		p.expirer, _ = policy.(policies.Expirer)
		p.resizer, _ = policy.(policies.Resizer)
		p.grower, _ = policy.(policies.Grower)
		if p.grower == nil {
			return nil, fmt.Errorf("%T has no Grow, which pools of users need", policy)
		}
		return p, nil
	}
	pool, err := cache.NewMemberPool(spec, c, members)
	if err != nil {
		return nil, nil, fmt.Errorf("policy %s: %w", spec, err)
	}
	return pool, p, nil
}

func (p *pinning) Victim(r policies.Request) policies.Object {
	for {
		v := p.Policy.Victim(r)
		if v == r.Object || !p.running.has(p.user(v)) {
			return v
		}
		p.aside = append(p.aside, v)
	}
}

// Hit gives a user back to the policy that let it expire when this request began.
func (p *pinning) Hit(r policies.Request) {
	if at := slices.Index(p.aside, r.Object); at >= 0 {
		p.aside = slices.Delete(p.aside, at, at+1)
		again := r
		again.Reason = policies.Restore
		p.Policy.Miss(again)
		p.Policy.Insert(again)
	}
	p.Policy.Hit(r)
}

func (p *pinning) Admit(r policies.Request) bool { return p.admitter == nil || p.admitter.Admit(r) }

func (p *pinning) Resize(capacity int64) {
	if p.resizer != nil {
		p.resizer.Resize(capacity)
	}
}

func (p *pinning) Grow(objects int) { p.grower.Grow(objects) }

// Expired implements policies.Expirer. A user of a running request stays, and the lifetime starts again.
func (p *pinning) Expired(now int64) (policies.Object, bool) {
	if p.expirer == nil {
		return 0, false
	}
	for {
		o, ok := p.expirer.Expired(now)
		if !ok || !p.running.has(p.user(o)) {
			return o, ok
		}
		p.aside = append(p.aside, o)
	}
}

func (p *pinning) Counters() []policies.Counter { return cache.CountersOf(p.Policy) }

// restore gives back to the policy below the users that it chose and that could not be evicted, after a request or a
// change of the capacity. This does not count as a request of theirs.
func (p *pinning) restore(pool *cache.Pool, r policies.Request) {
	for _, o := range p.aside {
		r := policies.Request{Object: o, Query: o, Pos: r.Pos, Time: r.Time, Reason: policies.Restore,
			Size: pool.Charge(p.user(o))}
		p.Policy.Miss(r)
		p.Policy.Insert(r)
	}
	p.aside = p.aside[:0]
}
