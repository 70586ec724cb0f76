// Package shadow simulates policies in directories, which know what a policy would hold and hold nothing themselves. A
// policy that follows the best of several others shows each request to a Directory of each, and a Contest tells which
// one leads, or a Race where each change is paid for.
package shadow

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Directory is what a policy would hold.
type Directory struct {
	policy  policies.Policy
	expirer policies.Expirer // the policy, if it has timers
	charge  dense.Charges
	has     []bool
	used    int64
	entered []policies.Object // by the last call of Serve; a buffer
	evicted []policies.Object // by the last call; a buffer
}

// New returns an empty directory of a policy that was made with c. A policy that cannot grow is an error: the objects
// of a directory need not be known in advance.
func New(name string, p policies.Policy, c policies.Config) (*Directory, error) {
	if _, ok := p.(policies.Grower); !ok {
		return nil, fmt.Errorf("policy %s cannot be tried on objects that are not known in advance", name)
	}
	expirer, _ := p.(policies.Expirer)
	return &Directory{policy: p, expirer: expirer, charge: dense.NewCharges(c.Objects, c.Unit),
		has: make([]bool, c.Objects)}, nil
}

func (d *Directory) Policy() policies.Policy    { return d.policy }
func (d *Directory) Has(o policies.Object) bool { return d.has[o] }

// Entered returns what the last call of Serve has loaded.
func (d *Directory) Entered() []policies.Object { return d.entered }

// Evicted returns what left in the last call of Serve, Drop or Resize. It is valid until the next one.
func (d *Directory) Evicted() []policies.Object { return d.evicted }

// Grow makes room for objects up to objects-1.
func (d *Directory) Grow(objects int) {
	d.has = dense.Grown(d.has, objects)
	d.charge.Grow(objects)
	d.policy.(policies.Grower).Grow(objects)
}

// Serve serves a request, or loads an object without one, and reports whether the object was there. A write changes
// what the object is charged.
func (d *Directory) Serve(r policies.Request, capacity int64) (hit bool) {
	d.entered, d.evicted = d.entered[:0], d.evicted[:0]
	d.expire(r.Time)
	if d.has[r.Object] {
		if r.Reason == policies.Demand {
			d.policy.Hit(r)
			if r.Write && r.Size != d.charge.Of(r.Object) {
				d.rewrite(r, capacity)
			}
		}
		return true
	}
	if r.Size > capacity {
		return false
	}
	d.policy.Miss(r)
	if p, ok := d.policy.(policies.Admitter); ok && !p.Admit(r) {
		return false
	}
	for d.used+r.Size > capacity {
		v := d.policy.Victim(r)
		if v == r.Object {
			return false
		}
		d.left(v)
	}
	d.has[r.Object] = true
	d.charge.Set(r.Object, r.Size)
	d.used += r.Size
	d.entered = append(d.entered, r.Object)
	d.policy.Insert(r)
	return false
}

// rewrite follows a write that gives an object another size.
func (d *Directory) rewrite(r policies.Request, capacity int64) {
	if r.Size > capacity {
		d.policy.Remove(r.Object)
		d.left(r.Object)
		return
	}
	d.used += d.charge.Change(r.Object, r.Size)
	if p, ok := d.policy.(policies.SizeFollower); ok {
		p.Resized(r.Object, r.Size)
	}
	d.makeRoom(r.Pos, capacity)
}

// makeRoom evicts what no longer fits.
func (d *Directory) makeRoom(pos int, capacity int64) {
	for d.used > capacity {
		d.left(d.policy.Victim(policies.Request{Object: policies.NoObject, Pos: pos, Reason: policies.Shrink}))
	}
}

// expire removes what the policy keeps no longer.
func (d *Directory) expire(now int64) {
	if d.expirer == nil {
		return
	}
	for o, ok := d.expirer.Expired(now); ok; o, ok = d.expirer.Expired(now) {
		d.left(o)
	}
}

func (d *Directory) left(o policies.Object) {
	d.has[o] = false
	d.used -= d.charge.Of(o)
	d.evicted = append(d.evicted, o)
}

// Drop removes o, if it is there.
func (d *Directory) Drop(o policies.Object) {
	d.evicted = d.evicted[:0]
	if d.has[o] {
		d.policy.Remove(o)
		d.left(o)
	}
}

// Resize changes the capacity.
func (d *Directory) Resize(capacity int64) {
	d.evicted = d.evicted[:0]
	if p, ok := d.policy.(policies.Resizer); ok {
		p.Resize(capacity)
	}
	d.makeRoom(0, capacity)
}
