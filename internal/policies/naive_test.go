package policies

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// naive is a cache that finds its victim by looking at every resident object: the reference for the policies that rank
// objects. The victim has the smallest rank; ties in rank go to the smallest tie value.
type naive struct {
	capacity, used int64
	resident       []*naiveObject
	past           map[Object]int // requests up to the last eviction
	touched        func(s *naiveObject)
	rank           func(s *naiveObject, now int) float64
	tie            func(s *naiveObject) int
	evicted        func(s *naiveObject)
}

type naiveObject struct {
	object       Object
	size         int64
	requests     int // since its load
	past         int // before its load
	loaded, last int // positions
	priority     float64
}

func newNaive(capacity int64) *naive {
	return &naive{
		capacity: capacity,
		past:     map[Object]int{},
		touched:  func(*naiveObject) {},
		rank:     func(s *naiveObject, _ int) float64 { return s.priority },
		tie:      func(s *naiveObject) int { return s.last },
		evicted:  func(*naiveObject) {},
	}
}

// serve replays one request and returns whether it hit and the victims in order.
func (c *naive) serve(o Object, size int64, now int) (hit bool, victims []Object) {
	if i := slices.IndexFunc(c.resident, func(s *naiveObject) bool { return s.object == o }); i >= 0 {
		s := c.resident[i]
		s.requests++
		s.last = now
		c.touched(s)
		return true, nil
	}
	if size > c.capacity {
		return false, nil
	}
	for c.used+size > c.capacity {
		victims = append(victims, c.evict(now))
	}
	s := &naiveObject{object: o, size: size, requests: 1, past: c.past[o], loaded: now, last: now}
	c.touched(s)
	c.resident = append(c.resident, s)
	c.used += size
	return false, victims
}

// write replaces the value of a resident object.
func (c *naive) write(o Object, size int64, now int) (victims []Object) {
	i := slices.IndexFunc(c.resident, func(s *naiveObject) bool { return s.object == o })
	s := c.resident[i]
	if size > c.capacity {
		c.resident = slices.Delete(c.resident, i, i+1)
		c.used -= s.size
		c.past[o] = s.past + s.requests
		return []Object{o}
	}
	c.used += size - s.size
	s.size = size
	s.requests++
	s.last = now
	c.touched(s)
	for c.used > c.capacity {
		victims = append(victims, c.evict(now))
	}
	return victims
}

func (c *naive) evict(now int) Object {
	v := 0
	for i, s := range c.resident {
		least := c.resident[v]
		if a, b := c.rank(s, now), c.rank(least, now); a < b || a == b && c.tie(s) < c.tie(least) {
			v = i
		}
	}
	s := c.resident[v]
	c.resident = slices.Delete(c.resident, v, v+1)
	c.used -= s.size
	c.past[s.object] = s.past + s.requests
	c.evicted(s)
	return s.object
}

// driven is a policy in a minimal exact-match cache that serves one request at a time.
type driven struct {
	policy         Policy
	capacity, used int64
	stored         map[Object]int64
	written        bool // write was called
}

// drive builds the policy that spec names. With Unit unset in c the capacity counts bytes.
func drive(t rapid.TB, spec string, c Config) *driven {
	t.Helper()
	return newDriven(named(t, spec), c)
}

func newDriven(build func(Config) Policy, c Config) *driven {
	return &driven{policy: build(c), capacity: c.Capacity, stored: map[Object]int64{}}
}

// named returns the constructor of the policy that spec names.
func named(t rapid.TB, spec string) func(Config) Policy {
	t.Helper()
	s := must.Get(Registry.Parse(spec))(t)
	return func(c Config) Policy {
		c.Params = s.Params
		return must.Get(s.Entry.New(c))(t)
	}
}

func (d *driven) serve(o Object, size int64, now int) (hit bool, victims []Object) {
	r := Request{Object: o, Pos: now, Size: size}
	if d.stored[o] != 0 {
		d.policy.Hit(r)
		return true, nil
	}
	if size > d.capacity {
		return false, nil
	}
	d.policy.Miss(r)
	for d.used+size > d.capacity {
		v := d.policy.Victim(r)
		if v == o {
			return false, victims
		}
		d.drop(v)
		victims = append(victims, v)
	}
	d.policy.Insert(r)
	d.stored[o] = size
	d.used += size
	return false, victims
}

// write is serve for a request that replaces the value of a resident object.
func (d *driven) write(o Object, size int64, now int) (victims []Object) {
	d.written = true
	if size > d.capacity {
		d.policy.Remove(o)
		d.drop(o)
		return []Object{o}
	}
	d.policy.Hit(Request{Object: o, Pos: now, Size: size, Write: true})
	was := d.stored[o]
	d.stored[o] = size
	d.used += size - was
	if p, ok := d.policy.(SizeFollower); ok && size != was {
		p.Resized(o, size)
	}
	for d.used > d.capacity {
		v := d.policy.Victim(Request{Object: NoObject, Pos: now, Reason: Shrink})
		d.drop(v)
		victims = append(victims, v)
	}
	return victims
}

func (d *driven) drop(o Object) {
	d.used -= d.stored[o]
	delete(d.stored, o)
}

// serveAll serves requests of size 1 and returns the victims in order.
func (d *driven) serveAll(objects ...Object) (victims []Object) {
	for i, o := range objects {
		_, v := d.serve(o, 1, i)
		victims = append(victims, v...)
	}
	return victims
}

// checkAgainstNaive compares the policy that spec names with a reference.
func checkAgainstNaive(t *testing.T, spec string, reference func(capacity int64) *naive) {
	t.Helper()
	checkBuilt(t, named(t, spec), reference)
}

// checkBuilt replays random traces, by objects and by bytes, and requires the same hits and the same victims in the
// same order. Now and then Remove takes an object out of both caches, and a write gives one another size.
func checkBuilt(t *testing.T, build func(Config) Policy, reference func(capacity int64) *naive) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorkload(t)
		removeEvery := rapid.IntRange(5, 100).Draw(t, "removeEvery")
		writeEvery := rapid.IntRange(1, 10).Draw(t, "writeEvery")
		got, want := newDriven(build, w.config), reference(w.config.Capacity)
		for i, o := range w.trace {
			if i%removeEvery == removeEvery-1 && len(want.resident) > 0 {
				gone := want.resident[i%len(want.resident)]
				want.used -= gone.size
				want.past[gone.object] = gone.past + gone.requests
				want.resident = slices.DeleteFunc(want.resident, func(s *naiveObject) bool { return s == gone })
				got.policy.Remove(gone.object)
				got.drop(gone.object)
			}
			if got.stored[o] != 0 && !w.config.Unit && i%writeEvery == 0 {
				w.sizes[o] = newSize(t)
				if victims, naive := got.write(o, w.sizes[o], i), want.write(o, w.sizes[o], i); !slices.Equal(victims, naive) {
					t.Fatalf("request %d writes object %d with size %d: victims %v; naive: %v", i, o, w.sizes[o], victims, naive)
				}
				continue
			}
			hit, victims := got.serve(o, w.sizes[o], i)
			wantHit, wantVictims := want.serve(o, w.sizes[o], i)
			if hit != wantHit || !slices.Equal(victims, wantVictims) {
				t.Fatalf("request %d (object %d): hit %v, victims %v; naive: hit %v, victims %v",
					i, o, hit, victims, wantHit, wantVictims)
			}
		}
	})
}
