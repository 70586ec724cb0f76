package boosted

import (
	"github.com/cachesim/cachesim/internal/policies"
)

// triedReaches are the windows that window=auto tries beside the one it begins with, as multiples of the number of
// objects that fit.
var triedReaches = []float64{4, 8, 16, 32, 64}

// triedShare is one over the share of a trace in which windows are tried: the first fifth, as in section 4.1.
const triedShare = 5

// trials find the best window: caches of the same capacity serve the same requests, each with another one.
type trials struct {
	until    int // position
	each     []*trial
	ownWorth int64 // of the hits of the cache itself
	bytes    bool  // a hit is worth the bytes of its object
}

// trial is a policy in a cache of its own.
type trial struct {
	policy *lrb
	used   int64
	worth  int64 // of its hits
}

// newTrials returns the trials of the windows that p does not begin with.
func newTrials(p *lrb, c policies.Config) (*trials, error) {
	t := &trials{until: c.Requests / triedShare, bytes: c.Params.Text("objective") == byteHits}
	for _, reach := range triedReaches {
		if reach == p.reach {
			continue
		}
		other, err := newWithReach(c, reach)
		if err != nil {
			return nil, err
		}
		t.each = append(t.each, &trial{policy: other})
	}
	return t, nil
}

// serve serves a request, or a load without one, in each trial. hit says that the cache itself had the object.
func (t *trials) serve(r policies.Request, hit bool) {
	worth := int64(1)
	if t.bytes {
		worth = r.Size
	}
	if hit {
		t.ownWorth += worth
	}
	for _, other := range t.each {
		if other.serve(r) {
			other.worth += worth
		}
	}
}

func (t *trial) serve(r policies.Request) (hit bool) {
	p := t.policy
	if p.flags[r.Object]&resident != 0 {
		if r.Reason == policies.Demand {
			p.Hit(r)
			if r.Write {
				t.rewrite(r)
			}
		}
		return r.Reason == policies.Demand
	}
	p.Miss(r)
	t.makeRoom(r)
	p.Insert(r)
	t.used += r.Size
	return false
}

// rewrite follows a write that may give an object another size. No request is larger than the cache.
func (t *trial) rewrite(r policies.Request) {
	t.used += t.policy.sizes.Change(r.Object, r.Size)
	t.makeRoom(policies.Request{})
}

// makeRoom evicts until the object of a request fits.
func (t *trial) makeRoom(r policies.Request) {
	for t.used+r.Size > t.policy.capacity {
		v := t.policy.Victim(r)
		t.used -= t.policy.sizes.Of(v)
	}
}

// remove takes an object out of the trials that have it.
func (t *trials) remove(o policies.Object) {
	for _, other := range t.each {
		if other.policy.flags[o]&resident != 0 {
			other.used -= other.policy.sizes.Of(o)
			other.policy.Remove(o)
		}
	}
}

func (t *trials) resize(capacity int64) {
	for _, other := range t.each {
		other.policy.Resize(capacity)
		other.makeRoom(policies.Request{})
	}
}

func (t *trials) grow(objects int) {
	for _, other := range t.each {
		other.policy.Grow(objects)
	}
}

// best returns the policy of the trial whose hits are worth the most, nil if no trial is better than the cache itself.
// Ties go to the smaller window.
func (t *trials) best() (best *lrb) {
	most := t.ownWorth
	for _, other := range t.each {
		if other.worth > most {
			best, most = other.policy, other.worth
		}
	}
	return best
}

// try serves a request to the trials, or ends them.
func (p *lrb) try(r policies.Request, hit bool) {
	switch {
	case p.trials == nil:
	case r.Pos < p.trials.until:
		p.trials.serve(r, hit)
	default:
		best := p.trials.best()
		for _, other := range p.trials.each {
			p.learner.work += other.policy.learner.work
		}
		if best != nil {
			p.reach, p.window = best.reach, best.window
			p.learner.continueAs(&best.learner)
		}
		p.trials, p.chosen = nil, p.reach
	}
}
