package shadow

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Residents are the objects of a cache that follows a directory, its leader. Objects that the leader does not hold
// leave first, in the order of their last use. Memory: 9 bytes per object.
type Residents struct {
	order  dense.Lists       // a list of each state, used last in front
	state  []uint8           // per object: 1 + its list; 0 if it is not resident
	sorted []policies.Object // a buffer
}

const (
	held = iota
	outside
)

// NewResidents is without residents.
func NewResidents(objects int) Residents {
	return Residents{order: dense.NewLists(objects, 2), state: make([]uint8, objects)}
}

// Has reports whether an object is resident.
func (r *Residents) Has(o policies.Object) bool { return r.state[o] != 0 }

// IsHeld reports whether an object is resident, and held by the leader.
func (r *Residents) IsHeld(o policies.Object) bool { return r.state[o] == held+1 }

// Use makes an object the last one used among those that the leader holds, or among the others.
func (r *Residents) Use(o policies.Object, byLeader bool) {
	list := outside
	if byLeader {
		list = held
	}
	if r.Has(o) {
		r.order.Unlink(o)
	}
	r.order.PushFront(list, o)
	r.state[o] = uint8(list) + 1
}

// Release notes that the leader does not hold an object any more, if it did.
func (r *Residents) Release(o policies.Object) {
	if r.IsHeld(o) {
		r.Use(o, false)
	}
}

// Victim returns the object that leaves next. The leader holds it if it holds all.
func (r *Residents) Victim() policies.Object {
	list := outside
	if r.order.Empty(outside) {
		list = held
	}
	v, _ := r.order.Back(list)
	return v
}

// Remove ends the stay of a resident.
func (r *Residents) Remove(o policies.Object) {
	r.order.Unlink(o)
	r.state[o] = 0
}

// Grow makes room for objects.
func (r *Residents) Grow(objects int) {
	r.order.Grow(objects)
	r.state = dense.Grown(r.state, objects)
}

// Follow sorts the residents by what a new leader holds. Those that it does not hold leave in the order in which the
// last one would have let them go.
func (r *Residents) Follow(holds func(policies.Object) bool) {
	r.sorted = r.sorted[:0]
	for _, list := range []int{outside, held} {
		for o, ok := r.order.Back(list); ok; o, ok = r.order.Before(o) {
			r.sorted = append(r.sorted, o)
		}
	}
	for _, o := range r.sorted {
		r.Use(o, holds(o))
	}
}
