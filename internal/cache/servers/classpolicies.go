package servers

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// classPolicies are policies that choose the victims of each class of memcached, in the place of its segments. One is
// made when a class gets its first page: each has memory for all objects of the trace.
type classPolicies struct {
	config  cache.Config
	classes []policies.Policy // nil before the first page
}

// newClassPolicies returns the policies of a number of classes. An error of a policy is one of the first.
func newClassPolicies(c cache.Config, classes int) (*classPolicies, error) {
	p := &classPolicies{config: c, classes: make([]policies.Policy, classes)}
	_, err := p.build(0, 1)
	return p, err
}

func (p *classPolicies) build(class int, chunks int64) (policies.Policy, error) {
	config := p.config.PolicyConfig()
	config.Capacity, config.Unit, config.Seed = chunks, true, config.Seed+uint64(class)
	return p.config.Policy.Entry.New(config)
}

// resized says how many chunks a class has.
func (p *classPolicies) resized(class int, chunks int64) {
	if p.classes[class] == nil {
		p.classes[class], _ = p.build(class, max(1, chunks)) // which newClassPolicies has tried
	} else if r, ok := p.classes[class].(policies.Resizer); ok {
		r.Resize(max(1, chunks))
	}
}

func (p *classPolicies) hit(r *request, class int) { p.classes[class].Hit(unitRequest(r)) }

func (p *classPolicies) insert(r *request, class int) {
	p.classes[class].Miss(unitRequest(r))
	p.classes[class].Insert(unitRequest(r))
}

func unitRequest(r *request) policies.Request {
	return policies.Request{Object: r.object, Query: r.object, Pos: r.pos, Size: 1, Time: r.now, Write: r.write}
}

func (p *classPolicies) removed(o policies.Object, class int) { p.classes[class].Remove(o) }

// victim returns an item of a class, which has some, and forgets it.
func (p *classPolicies) victim(class int, now int64) policies.Object {
	shrink := policies.Request{Object: policies.NoObject, Reason: policies.Shrink, Size: 1, Time: now}
	return p.classes[class].Victim(shrink)
}
