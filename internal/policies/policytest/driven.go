package policytest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Driven is a policy in a minimal exact-match cache that serves one request at a time, for tests that look into the
// policy.
type Driven struct {
	Policy   policies.Policy
	Stored   map[policies.Object]int64 // sizes of the residents
	Written  bool                      // a write has replaced a value
	capacity int64
	used     int64
}

// Drive builds the policy that spec names. With Unit unset in c the capacity counts bytes.
func Drive(tb rapid.TB, spec string, c policies.Config) *Driven {
	tb.Helper()
	return Built(Named(tb, spec), c)
}

// Built is Drive for a policy that build makes.
func Built(build func(policies.Config) policies.Policy, c policies.Config) *Driven {
	return &Driven{Policy: build(c), Stored: map[policies.Object]int64{}, capacity: c.Capacity}
}

// Serve serves the request at position now and returns whether it hit and the victims in order.
func (d *Driven) Serve(o policies.Object, size int64, now int) (hit bool, victims []policies.Object) {
	return d.serve(policies.Request{Object: o, Pos: now, Size: size})
}

// Write is Serve for a request that replaces the value of its object.
func (d *Driven) Write(o policies.Object, size int64, now int) (hit bool, victims []policies.Object) {
	r := policies.Request{Object: o, Pos: now, Size: size, Write: true}
	switch was := d.Stored[o]; {
	case was == 0:
		return d.serve(r)
	case size > d.capacity:
		d.Written = true
		d.Policy.Remove(o)
		d.Drop(o)
		return true, []policies.Object{o}
	default:
		d.Written = true
		d.Policy.Hit(r)
		d.Stored[o] = size
		d.used += size - was
		if p, ok := d.Policy.(policies.SizeFollower); ok && size != was {
			p.Resized(o, size)
		}
	}
	for d.used > d.capacity {
		v := d.Policy.Victim(policies.Request{Object: policies.NoObject, Pos: now, Reason: policies.Shrink})
		d.Drop(v)
		victims = append(victims, v)
	}
	return true, victims
}

func (d *Driven) serve(r policies.Request) (hit bool, victims []policies.Object) {
	o, size := r.Object, r.Size
	if d.Stored[o] != 0 {
		d.Policy.Hit(r)
		return true, nil
	}
	if size > d.capacity {
		return false, nil
	}
	d.Policy.Miss(r)
	for d.used+size > d.capacity {
		v := d.Policy.Victim(r)
		if v == o {
			return false, victims
		}
		d.Drop(v)
		victims = append(victims, v)
	}
	d.Policy.Insert(r)
	d.Add(o, size)
	return false, victims
}

// ServeAll serves requests of size 1 and returns the victims in order.
func (d *Driven) ServeAll(objects ...policies.Object) (victims []policies.Object) {
	for i, o := range objects {
		_, v := d.Serve(o, 1, i)
		victims = append(victims, v...)
	}
	return victims
}

// Used returns the sizes of the residents together.
func (d *Driven) Used() int64 { return d.used }

// Add puts o, which the policy has been told of, into the cache.
func (d *Driven) Add(o policies.Object, size int64) {
	d.Stored[o] = size
	d.used += size
}

// Drop removes o, which the policy has forgotten, from the cache.
func (d *Driven) Drop(o policies.Object) {
	d.used -= d.Stored[o]
	delete(d.Stored, o)
}

// Workload is a short random trace and a cache for it, by objects or by bytes.
type Workload struct {
	Trace  []policies.Object
	Sizes  []int64 // per object
	Config policies.Config
}

// DrawTrace draws a trace. It draws the number of requests first: rapid's slices of open length have about 6 elements.
func DrawTrace(t *rapid.T, objects policies.Object, longest int) []policies.Object {
	requests := rapid.IntRange(1, longest).Draw(t, "requests")
	return rapid.SliceOfN(rapid.Uint32Range(0, objects-1), requests, requests).Draw(t, "trace")
}

func DrawWorkload(t *rapid.T) Workload {
	const objects, longest = 30, 300
	w := Workload{
		Trace: DrawTrace(t, objects, longest),
		Sizes: slices.Repeat([]int64{1}, objects),
	}
	w.Config = policies.Config{
		Capacity: rapid.Int64Range(1, 40).Draw(t, "capacity"),
		Unit:     rapid.Bool().Draw(t, "unit"),
		Objects:  objects,
		Requests: len(w.Trace),
	}
	if !w.Config.Unit {
		w.Sizes = rapid.SliceOfN(rapid.Int64Range(1, 12), objects, objects).Draw(t, "sizes")
	}
	return w
}

// DrawUnitWorkload is for policies that are compared with a version for objects of one size.
func DrawUnitWorkload(t *rapid.T) Workload {
	w := DrawWorkload(t)
	w.Config.Unit = true
	for o := range w.Sizes {
		w.Sizes[o] = 1
	}
	return w
}

// Server is a cache that serves one request at a time: a Driven, or a naive version.
type Server interface {
	Serve(o policies.Object, size int64, now int) (hit bool, victims []policies.Object)
}

// SameVictims replays w with two policies and requires the same hits and the same victims in the same order.
func (w Workload) SameVictims(t *rapid.T, got, want Server) {
	for i, o := range w.Trace {
		hit, victims := got.Serve(o, w.Sizes[o], i)
		wantHit, wantVictims := want.Serve(o, w.Sizes[o], i)
		if hit != wantHit || !slices.Equal(victims, wantVictims) {
			t.Fatalf("request %d (object %d): hit %v, victims %v; want hit %v, victims %v",
				i, o, hit, victims, wantHit, wantVictims)
		}
	}
}

// AfterEachRequest replays w with occasional removals and, where sizes count, writes that change the size of a resident
// object. It calls check after each request.
func (w Workload) AfterEachRequest(t *rapid.T, d *Driven, check func()) {
	removeEvery := rapid.IntRange(5, 100).Draw(t, "removeEvery")
	writeEvery := rapid.IntRange(1, 10).Draw(t, "writeEvery")
	for i, o := range w.Trace {
		if _, resident := d.Stored[o]; resident && i%removeEvery == 0 {
			d.Policy.Remove(o)
			d.Drop(o)
		}
		if d.Stored[o] != 0 && !w.Config.Unit && i%writeEvery == 0 {
			w.Sizes[o] = NewSize(t)
			d.Write(o, w.Sizes[o], i)
		} else {
			d.Serve(o, w.Sizes[o], i)
		}
		check()
	}
}

// NewSize draws the size of a value that replaces another one: like other objects, or larger than many caches.
func NewSize(t *rapid.T) int64 {
	return rapid.OneOf(rapid.Int64Range(1, 12), rapid.Int64Range(1, 60)).Draw(t, "new size")
}

// Without returns l without o.
func Without(l []policies.Object, o policies.Object) []policies.Object {
	return slices.DeleteFunc(slices.Clone(l), func(x policies.Object) bool { return x == o })
}

// Listed returns the objects of list k, front first.
func Listed(l *dense.Lists, k int) (objects []policies.Object) {
	for o, ok := l.Front(k); ok; o, ok = l.After(o) {
		objects = append(objects, o)
	}
	return objects
}

// NextUses is the naive next-use column of requests for objects below count.
func NextUses(objects []policies.Object, count int) []uint32 {
	seen := slices.Repeat([]uint32{policies.Never}, count)
	next := make([]uint32, len(objects))
	for i, o := range slices.Backward(objects) {
		next[i], seen[o] = seen[o], uint32(i)
	}
	return next
}

// CheckExample requires the victims, in order, of a trace of objects of size 1. It is small enough to follow by hand.
func CheckExample(t *testing.T, name, spec string, capacity int64, trace, victims []policies.Object) {
	t.Run(spec+": "+name, func(t *testing.T) {
		c := policies.Config{Capacity: capacity, Unit: true, Objects: 10, Requests: len(trace)}
		if got := Drive(t, spec, c).ServeAll(trace...); !slices.Equal(got, victims) {
			t.Errorf("trace %v: victims %v, want %v", trace, got, victims)
		}
	})
}
