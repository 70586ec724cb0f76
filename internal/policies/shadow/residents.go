package shadow

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Residents are the objects of a cache that follows a directory, its leader. Objects that the leader does not hold
// leave first, in the order of their last use. Memory: 9 bytes per object.
type Residents struct {
	dense.Segments                   // used last in front
	sorted         []policies.Object // a buffer
}

const (
	held = iota
	outside
)

// NewResidents is without residents.
func NewResidents(objects int) Residents {
	return Residents{Segments: dense.NewSegments(objects, true, 0, 0)}
}

// IsHeld reports whether an object is resident, and held by the leader.
func (r *Residents) IsHeld(o policies.Object) bool { return r.In(held, o) }

// Use makes an object the last one used among those that the leader holds, or among the others.
func (r *Residents) Use(o policies.Object, byLeader bool) {
	list := outside
	if byLeader {
		list = held
	}
	if r.Has(o) {
		r.Take(o)
	}
	r.Put(list, o)
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
	if r.Used[outside] == 0 {
		list = held
	}
	v, _ := r.List.Back(list)
	return v
}

// Follow sorts the residents by what a new leader holds. Those that it does not hold leave in the order in which the
// last one would have let them go.
func (r *Residents) Follow(holds func(policies.Object) bool) {
	r.sorted = r.sorted[:0]
	r.Each(func(o policies.Object) { r.sorted = append(r.sorted, o) })
	for _, o := range r.sorted {
		r.Use(o, holds(o))
	}
}

// Each calls f with each resident, in the order in which they would leave.
func (r *Residents) Each(f func(policies.Object)) {
	for _, list := range []int{outside, held} {
		for o, ok := r.List.Back(list); ok; o, ok = r.List.Before(o) {
			f(o)
		}
	}
}
