package suite

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
)

// Driver is a cache that makes exactly the calls that the contract of a policy describes, and checks the answers.
type Driver struct {
	Stored  map[policies.Object]int64 // the residents, with their sizes
	Log     []string                  // what happened
	changed []policies.Object         // what was loaded or left

	policy         policies.Policy
	capacity, used int64
	position       int                    // of the next request
	told           func(size int64) int64 // what the policy is told of a size; nil: the size
	loadsAll       bool                   // what fits must be loaded
	hits           int
	evictions      int
	err            error // the first violation
}

// NewDriver returns an empty cache.
func NewDriver(p policies.Policy, capacity int64) *Driver {
	return &Driver{policy: p, capacity: capacity, Stored: map[policies.Object]int64{}}
}

func (d *Driver) note(format string, args ...any) {
	d.Log = append(d.Log, fmt.Sprintf(format, args...))
}

func (d *Driver) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// Do takes a step, unless the policy has violated its contract before. It returns the first violation.
func (d *Driver) Do(s Step) error {
	if d.err != nil {
		return d.err
	}
	r := policies.Request{Object: s.Object, Query: s.Object, Pos: max(d.position-1, 0), Size: s.Size}
	switch s.Kind {
	case Request:
		r.Pos = d.position
		d.position++
		r.Time = int64(r.Pos) * 1e9
		d.expire(r.Time)
		if _, ok := d.Stored[s.Object]; ok {
			d.hit(r, s.Write)
			break
		}
		d.note("miss %d", s.Object)
		d.insert(r)
	case Load:
		r.Reason = s.Reason
		r.Time = int64(r.Pos) * 1e9
		if _, ok := d.Stored[s.Object]; !ok {
			d.insert(r)
		}
	case Drop:
		if _, ok := d.Stored[s.Object]; ok {
			d.policy.Remove(s.Object)
			d.remove(s.Object)
		}
	case Resize:
		if p, ok := d.policy.(policies.Resizer); ok {
			p.Resize(s.Amount)
		}
		d.capacity = s.Amount
		d.makeRoom()
	}
	if d.used > d.capacity {
		d.fail("%d are used of a capacity of %d, after request %d", d.used, d.capacity, d.position-1)
	}
	return d.err
}

// DoAll takes steps up to the first violation.
func (d *Driver) DoAll(steps []Step) error {
	for _, st := range steps {
		if err := d.Do(st); err != nil {
			return err
		}
	}
	return nil
}

func (d *Driver) tell(r policies.Request) policies.Request {
	if d.told != nil {
		r.Size = d.told(r.Size)
	}
	return r
}

func (d *Driver) hit(r policies.Request, write bool) {
	d.note("hit %d", r.Object)
	d.hits++
	if r.Write = write; !write {
		d.policy.Hit(d.tell(r))
		return
	}
	if r.Size > d.capacity {
		d.policy.Remove(r.Object)
		d.remove(r.Object)
		return
	}
	d.policy.Hit(d.tell(r))
	was := d.Stored[r.Object]
	d.Stored[r.Object] = r.Size
	d.used += r.Size - was
	if p, ok := d.policy.(policies.SizeFollower); ok && was != r.Size {
		p.Resized(r.Object, r.Size)
	}
	d.makeRoom()
}

func (d *Driver) expire(now int64) {
	e, ok := d.policy.(policies.Expirer)
	for ok {
		var o policies.Object
		if o, ok = e.Expired(now); ok {
			d.evictions++ // as in a cache
			d.remove(o)
		}
	}
}

func (d *Driver) insert(r policies.Request) {
	if r.Size > d.capacity {
		return
	}
	told := d.tell(r)
	d.policy.Miss(told)
	if a, ok := d.policy.(policies.Admitter); ok && !a.Admit(told) {
		d.refuse(r)
		return
	}
	for d.used+r.Size > d.capacity && d.err == nil {
		v := d.policy.Victim(told)
		if v == r.Object {
			d.note("refused %d", v)
			d.refuse(r)
			return
		}
		d.evict(v, r.Pos)
	}
	d.policy.Insert(told)
	d.Stored[r.Object] = r.Size
	d.used += r.Size
	d.changed = append(d.changed, r.Object)
}

// refuse records that a missed object is not loaded.
func (d *Driver) refuse(r policies.Request) {
	if d.loadsAll {
		d.fail("object %d is not loaded, at request %d, though nothing says that the policy may leave out what is missed",
			r.Object, r.Pos)
	}
}

func (d *Driver) makeRoom() {
	for d.used > d.capacity && d.err == nil {
		at := max(d.position-1, 0)
		d.evict(d.policy.Victim(policies.Request{
			Object: policies.NoObject, Query: policies.NoObject, Pos: at, Reason: policies.Shrink,
		}), at)
	}
}

// evict removes a victim.
func (d *Driver) evict(o policies.Object, at int) {
	d.evictions++
	if _, ok := d.Stored[o]; !ok {
		d.fail("object %d is evicted, at request %d, though it is not resident", o, at)
		return
	}
	d.remove(o)
}

func (d *Driver) remove(o policies.Object) {
	size, ok := d.Stored[o]
	if !ok {
		d.fail("object %d leaves, which is not resident", o)
		return
	}
	d.note("out %d", o)
	d.changed = append(d.changed, o)
	d.used -= size
	delete(d.Stored, o)
}

// serveUnit serves requests in a batch.
func (d *Driver) serveUnit(p policies.UnitServer, objects []policies.Object) {
	resident := make([]bool, 2*mostObjects)
	for o := range d.Stored {
		resident[o] = true
	}
	room, changed := p.ServeUnit(objects, resident, d.capacity-d.used, nil)
	d.changed = append(d.changed, changed...)
	for _, o := range changed {
		if d.Stored[o] == 0 {
			d.Stored[o] = 1
		} else {
			delete(d.Stored, o)
		}
	}
	for o, is := range resident {
		if is != (d.Stored[policies.Object(o)] == 1) {
			d.fail("object %d is resident: %t, after the changes %v", o, is, d.changed)
		}
	}
	d.used = int64(len(d.Stored))
	if d.used != d.capacity-room {
		d.fail("%d objects are resident, but room for %d of %d is left", d.used, room, d.capacity)
	}
	d.position += len(objects)
}
