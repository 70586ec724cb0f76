package shadow

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Member is what one of the policies of a race would hold: a Directory, or a cache of several parts.
type Member interface {
	// Serve serves a request, or loads an object without one, and reports whether the object was there. Entered and
	// Evicted return what came and what left in that; they are valid until the next call.
	Serve(r policies.Request, capacity int64) (hit bool)
	Entered() []policies.Object
	Evicted() []policies.Object // also by Drop and Resize
	Has(o policies.Object) bool
	Drop(o policies.Object)
	Resize(capacity int64)
	Grow(objects int)
}

// Race tells which of several policies to follow, where following another one costs something. A Member for each
// sees the same requests. Another policy takes the lead once it has missed less than the leader by more than the change
// costs.
//
// A change costs at most what the new leader would hold and is not resident: each is at most one miss that the
// directory does not have. Of such entries only a share is requested before it leaves the directory. That share is
// measured, and those that are still there count as requested.
//
// A policy is never taken to be further behind the leader than by a multiple of what a change to it has cost at most:
// long before that it would have paid to leave it. So what was long ago does not keep a policy from leading that is
// better now.
type Race[M Member] struct {
	Leader  int
	Changes int // how often another policy has taken the lead
	// Paid is, over all changes, by how many misses the new leader was ahead, and how many entries of its directory were
	// not resident. Where each policy loads what it misses and all objects have one size, whoever follows the leaders
	// misses at most so many times more than the last of them.
	Paid int

	all      []M
	accounts []account
	resident []bool
}

// account is what counts for and against a policy.
type account struct {
	Price
	missed bool // the present request
	saved  int  // misses that the leader has had and this one has not, less the reverse
	most   int  // the most entries that have been absent
}

// Price is what a change to a policy costs.
type Price struct {
	Absent int // entries of its directory that are not resident
	Used   int // entries that were absent when they were requested
	Unused int // entries that were absent when they left the directory
}

// Cost returns the misses that are expected of a change: the absent entries, times the share of such entries that are
// requested.
func (p Price) Cost() float64 {
	requested := p.Used + p.Absent
	if requested == 0 {
		return 0
	}
	return float64(p.Absent) * float64(requested) / float64(requested+p.Unused)
}

// NewRace begins a race of empty directories over a number of objects. The first leads.
func NewRace[M Member](all []M, objects int) Race[M] {
	return Race[M]{all: all, accounts: make([]account, len(all)), resident: make([]bool, objects)}
}

// Ahead returns the directory of the leader.
func (r *Race[M]) Ahead() M { return r.all[r.Leader] }

// Members returns those that race, in their order.
func (r *Race[M]) Members() []M { return r.all }

// Serve shows a request, or a load without one, to all directories. It precedes what it changes in the cache, and
// reports whether another policy leads now.
func (r *Race[M]) Serve(request policies.Request, capacity int64) (changed bool) {
	present := r.resident[request.Object]
	for i, d := range r.all {
		a := &r.accounts[i]
		hit := d.Serve(request, capacity)
		a.missed = !hit
		if hit && !present && request.Reason == policies.Demand {
			a.Used++
		}
	}
	r.Note()
	return request.Reason == policies.Demand && r.settle()
}

// Note counts what has entered the members and left them, in a request or beside it, before it changes the cache.
func (r *Race[M]) Note() {
	for i, d := range r.all {
		a := &r.accounts[i]
		for _, o := range d.Entered() {
			if !r.resident[o] {
				a.Absent++
			}
		}
		for _, o := range d.Evicted() {
			if !r.resident[o] {
				a.Absent--
				a.Unused++
			}
		}
	}
}

// settle counts the misses of a request and changes the leader if that pays.
func (r *Race[M]) settle() (changed bool) {
	missed, best, gain := r.accounts[r.Leader].missed, r.Leader, 0.0
	for i := range r.accounts {
		a := &r.accounts[i]
		switch {
		case missed && !a.missed:
			a.saved++
		case !missed && a.missed:
			a.saved--
		}
		a.most = max(a.most, a.Absent)
		a.saved = max(a.saved, -max(fewestSaved, furthestBehind*a.most))
		if a.saved < fewestSaved {
			continue
		}
		if g := float64(a.saved) - a.Cost(); g > gain {
			best, gain = i, g
		}
	}
	if best == r.Leader {
		return false
	}
	ahead := r.accounts[best].saved
	r.Paid += ahead + r.accounts[best].Absent
	r.Leader = best
	r.Changes++
	for i := range r.accounts {
		r.accounts[i].saved -= ahead
	}
	return true
}

// fewestSaved is how many misses another policy must have saved at least. Directories that are nearly equal cost next
// to nothing to change, and differ by chance.
const fewestSaved = 10

// furthestBehind is that multiple. The less it is, the sooner a policy leads that is the best one again, and the more
// is paid where the best one often changes.
const furthestBehind = 4

// Enter notes that an object is resident now.
func (r *Race[M]) Enter(o policies.Object) { r.move(o, true, -1) }

// Leave notes that an object is not resident any more.
func (r *Race[M]) Leave(o policies.Object) { r.move(o, false, 1) }

func (r *Race[M]) move(o policies.Object, resident bool, absent int) {
	if r.resident[o] == resident {
		return
	}
	r.resident[o] = resident
	for i, d := range r.all {
		if d.Has(o) {
			r.accounts[i].Absent += absent
		}
	}
}

// Drop removes an object that has left the cache from all directories.
func (r *Race[M]) Drop(o policies.Object) {
	for i, d := range r.all {
		if d.Has(o) && !r.resident[o] {
			r.accounts[i].Absent--
		}
		d.Drop(o)
	}
}

// Resize changes the capacity of all directories.
func (r *Race[M]) Resize(capacity int64) {
	for i, d := range r.all {
		d.Resize(capacity)
		for _, o := range d.Evicted() {
			if !r.resident[o] {
				r.accounts[i].Absent--
			}
		}
	}
}

// Grow makes room for objects up to objects-1.
func (r *Race[M]) Grow(objects int) {
	r.resident = dense.Grown(r.resident, objects)
	for _, d := range r.all {
		d.Grow(objects)
	}
}
