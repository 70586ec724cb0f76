package baselines

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// keeper keeps what it has loaded and refuses everything else. Only a cache that shrinks makes it evict: the object
// loaded last goes first, as if the cache had been full when it came.
type keeper struct {
	order   dense.Lists // residents, the one loaded last in front; made at the first Insert: the batch path has none
	made    bool
	objects int
}

func newKeeper(c policies.Config) keeper { return keeper{objects: c.Objects} }

func (p *keeper) Hit(policies.Request)  {}
func (p *keeper) Miss(policies.Request) {}

func (p *keeper) Victim(r policies.Request) policies.Object {
	if r.Reason != policies.Shrink {
		return r.Object
	}
	o, _ := p.order.Front(0)
	p.order.Unlink(o)
	return o
}

func (p *keeper) Insert(r policies.Request) {
	if !p.made {
		p.made = true
		p.order = dense.NewLists(p.objects, 1)
	}
	p.order.PushFront(0, r.Object)
}

func (p *keeper) Remove(o policies.Object) { p.order.Unlink(o) }

func (p *keeper) Grow(objects int) {
	p.objects = objects
	if p.made {
		p.order.Grow(objects)
	}
}
