package policytest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
)

// Naive is a cache that finds its victim by looking at every resident object: the reference for the policies that rank
// objects. The victim has the smallest rank; ties in rank go to the smallest tie value.
type Naive struct {
	capacity, used int64
	resident       []*NaiveObject
	past           map[policies.Object]int // requests up to the last eviction
	Touched        func(s *NaiveObject)
	Rank           func(s *NaiveObject, now int) float64
	Tie            func(s *NaiveObject) int
	Evicted        func(s *NaiveObject)
	Joins          bool // a new object is there before others leave, and may be the last victim: it is not loaded then
}

// NaiveObject is Naive's state of a resident object.
type NaiveObject struct {
	Object       policies.Object
	Size         int64
	Requests     int // since its load
	Past         int // before its load
	Loaded, Last int // positions
	Priority     float64
}

func NewNaive(capacity int64) *Naive {
	return &Naive{
		capacity: capacity,
		past:     map[policies.Object]int{},
		Touched:  func(*NaiveObject) {},
		Rank:     func(s *NaiveObject, _ int) float64 { return s.Priority },
		Tie:      func(s *NaiveObject) int { return s.Last },
		Evicted:  func(*NaiveObject) {},
	}
}

// Serve replays one request and returns whether it hit and the victims in order.
func (c *Naive) Serve(o policies.Object, size int64, now int) (hit bool, victims []policies.Object) {
	if i := slices.IndexFunc(c.resident, func(s *NaiveObject) bool { return s.Object == o }); i >= 0 {
		s := c.resident[i]
		s.Requests++
		s.Last = now
		c.Touched(s)
		return true, nil
	}
	if size > c.capacity {
		return false, nil
	}
	for !c.Joins && c.used+size > c.capacity {
		victims = append(victims, c.evict(now))
	}
	s := &NaiveObject{Object: o, Size: size, Requests: 1, Past: c.past[o], Loaded: now, Last: now}
	c.Touched(s)
	c.resident = append(c.resident, s)
	c.used += size
	for c.used > c.capacity {
		if v := c.evict(now); v != o {
			victims = append(victims, v)
		}
	}
	return false, victims
}

// write replaces the value of a resident object.
func (c *Naive) write(o policies.Object, size int64, now int) (victims []policies.Object) {
	i := slices.IndexFunc(c.resident, func(s *NaiveObject) bool { return s.Object == o })
	s := c.resident[i]
	if size > c.capacity {
		c.resident = slices.Delete(c.resident, i, i+1)
		c.used -= s.Size
		c.past[o] = s.Past + s.Requests
		return []policies.Object{o}
	}
	c.used += size - s.Size
	s.Size = size
	s.Requests++
	s.Last = now
	c.Touched(s)
	for c.used > c.capacity {
		victims = append(victims, c.evict(now))
	}
	return victims
}

func (c *Naive) evict(now int) policies.Object {
	v := 0
	for i, s := range c.resident {
		least := c.resident[v]
		if a, b := c.Rank(s, now), c.Rank(least, now); a < b || a == b && c.Tie(s) < c.Tie(least) {
			v = i
		}
	}
	s := c.resident[v]
	c.resident = slices.Delete(c.resident, v, v+1)
	c.used -= s.Size
	c.past[s.Object] = s.Past + s.Requests
	c.Evicted(s)
	return s.Object
}

// Named returns the constructor of the policy that spec names.
func Named(t rapid.TB, spec string) func(policies.Config) policies.Policy {
	t.Helper()
	s := must.Get(policies.Registry.Parse(spec))(t)
	return func(c policies.Config) policies.Policy {
		c.Params = s.Params
		return must.Get(s.Entry.New(c))(t)
	}
}

// CheckAgainstNaive compares the policy that spec names with a reference.
func CheckAgainstNaive(t *testing.T, spec string, reference func(capacity int64) *Naive) {
	t.Helper()
	CheckBuilt(t, Named(t, spec), reference)
}

// CheckRanked compares the policy that spec names with one that evicts the object of the smallest rank.
func CheckRanked(t *testing.T, spec string, rank func(*NaiveObject) int) {
	t.Helper()
	CheckAgainstNaive(t, spec, func(capacity int64) *Naive {
		c := NewNaive(capacity)
		c.Rank = func(o *NaiveObject, _ int) float64 { return float64(rank(o)) }
		return c
	})
}

// CheckBuilt replays random traces, by objects and by bytes, and requires the same hits and the same victims in the
// same order. Now and then Remove takes an object out of both caches, and a write gives one another size.
func CheckBuilt(t *testing.T, build func(policies.Config) policies.Policy, reference func(capacity int64) *Naive) {
	rapid.Check(t, func(t *rapid.T) {
		w := DrawWorkload(t)
		removeEvery := rapid.IntRange(5, 100).Draw(t, "removeEvery")
		writeEvery := rapid.IntRange(1, 10).Draw(t, "writeEvery")
		got, want := Built(build, w.Config), reference(w.Config.Capacity)
		for i, o := range w.Trace {
			if i%removeEvery == removeEvery-1 && len(want.resident) > 0 {
				gone := want.resident[i%len(want.resident)]
				want.used -= gone.Size
				want.past[gone.Object] = gone.Past + gone.Requests
				want.resident = slices.DeleteFunc(want.resident, func(s *NaiveObject) bool { return s == gone })
				got.Policy.Remove(gone.Object)
				got.Drop(gone.Object)
			}
			if got.Stored[o] != 0 && !w.Config.Unit && i%writeEvery == 0 {
				w.Sizes[o] = NewSize(t)
				_, victims := got.Write(o, w.Sizes[o], i)
				if naive := want.write(o, w.Sizes[o], i); !slices.Equal(victims, naive) {
					t.Fatalf("request %d writes object %d with size %d: victims %v; naive: %v", i, o, w.Sizes[o], victims, naive)
				}
				continue
			}
			hit, victims := got.Serve(o, w.Sizes[o], i)
			wantHit, wantVictims := want.Serve(o, w.Sizes[o], i)
			if hit != wantHit || !slices.Equal(victims, wantVictims) {
				t.Fatalf("request %d (object %d): hit %v, victims %v; naive: hit %v, victims %v",
					i, o, hit, victims, wantHit, wantVictims)
			}
		}
	})
}
