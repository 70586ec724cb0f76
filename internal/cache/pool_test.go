package cache_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
)

// account is told of everything that happens in a pool, and works out from that what is in it.
type account struct {
	resident map[policies.Object]int64
	used     int64
	left     map[cache.Departure]int
	told     []event // in order
	renamed  bool    // objects go by the numbers of the renamed trace
}

// event is a hit (how below 0), a load for a Reason or, from 10 on, a Departure.
type event struct {
	how    int
	object policies.Object
}

func newAccount() *account {
	return &account{resident: map[policies.Object]int64{}, left: map[cache.Departure]int{}}
}

// number returns the number of an object in the trace that is not renamed.
func (a *account) number(o policies.Object) policies.Object {
	if a.renamed {
		return o / 2
	}
	return o
}

func (a *account) Hit(o policies.Object) { a.told = append(a.told, event{-1, a.number(o)}) }

func (a *account) Loaded(o policies.Object, size int64, why policies.Reason) {
	o = a.number(o)
	a.told = append(a.told, event{int(why), o})
	a.resident[o] = size
	a.used += size
}

func (a *account) Left(o policies.Object, _ int64, why cache.Departure) {
	o = a.number(o)
	a.told = append(a.told, event{10 + int(why), o})
	a.used -= a.resident[o]
	delete(a.resident, o)
	a.left[why]++
}

// check holds a pool to what it told.
func (a *account) check(t *rapid.T, p *cache.Pool, objects int) {
	t.Helper()
	if p.Used() != a.used || p.Len() != len(a.resident) || p.Used() > p.Capacity() {
		t.Fatalf("%d of %d used by %d objects; told of %d by %d", p.Used(), p.Capacity(), p.Len(), a.used, len(a.resident))
	}
	left := 0
	for _, n := range a.left {
		left += n
	}
	if p.Evictions() != int64(left) {
		t.Fatalf("%d evictions; told of %d", p.Evictions(), left)
	}
	for o := range policies.Object(objects) {
		name := o
		if a.renamed {
			name = 2*o + 1
		}
		if _, ok := a.resident[o]; ok != p.Resident(name) {
			t.Fatalf("object %d is resident: %v; told %v", o, p.Resident(name), ok)
		}
	}
}

// renamed returns tr with twice as many numbers for its objects, of which it uses the odd ones.
func renamed(tr *traces.Trace) *traces.Trace {
	other := *tr
	other.NumObjects, other.Objects, other.ObjectSizes = 2*tr.NumObjects, nil, make([]int64, 2*tr.NumObjects)
	for _, o := range tr.Objects {
		other.Objects = append(other.Objects, 2*o+1)
		other.ObjectSizes[2*o+1] = tr.ObjectSizes[o]
	}
	return &other
}

// drive has pools do the same: requests of a trace and, between them, loads, changes of the capacity and drops. All but
// the first serve the renamed trace.
func drive(t *rapid.T, tr *traces.Trace, bytes bool, capacity int64, pools ...*cache.Pool) {
	accounts := make([]*account, len(pools))
	for i, p := range pools {
		accounts[i] = newAccount()
		accounts[i].renamed = i > 0
		p.Observe(accounts[i])
	}
	each := func(what string, act func(p *cache.Pool, name func(policies.Object) policies.Object) bool) {
		name := func(o policies.Object) policies.Object { return o }
		first := act(pools[0], name)
		for _, p := range pools[1:] {
			if act(p, func(o policies.Object) policies.Object { return 2*o + 1 }) != first {
				t.Fatalf("%s: one pool says %v, another %v", what, first, !first)
			}
		}
	}
	ask := func(what string, o policies.Object, pos int, why policies.Reason,
		act func(*cache.Pool, policies.Request) bool) {
		r := policies.Request{Pos: pos, Size: 1, Time: tr.Times[pos], Reason: why}
		if bytes {
			r.Size = tr.ObjectSizes[o]
		}
		each(what, func(p *cache.Pool, name func(policies.Object) policies.Object) bool {
			r.Object, r.Query = name(o), name(o)
			return act(p, r)
		})
	}
	for pos, o := range tr.Objects {
		ask("request", o, pos, policies.Demand, (*cache.Pool).Request)
		other := rapid.SampledFrom(tr.Objects[:pos+1]).Draw(t, "object")
		switch rapid.IntRange(0, 9).Draw(t, "besides") {
		case 0, 1:
			ask("prefetch", other, pos, policies.Prefetch, (*cache.Pool).Load)
		case 2:
			ask("restore", other, pos, policies.Restore, (*cache.Pool).Load)
		case 3:
			each("drop", func(p *cache.Pool, name func(policies.Object) policies.Object) bool { return p.Drop(name(other)) })
		case 4:
			to := rapid.Int64Range(0, 2*capacity).Draw(t, "capacity")
			each("resize", func(p *cache.Pool, _ func(policies.Object) policies.Object) bool { p.Resize(to); return true })
		}
		for i, p := range pools {
			accounts[i].check(t, p, tr.NumObjects)
			if got, want := accounts[i].told, accounts[0].told; !slices.Equal(got, want) {
				t.Fatalf("pool %d did %v, the first %v", i, got, want)
			}
		}
		for _, a := range accounts {
			a.told = a.told[:0]
		}
	}
}

// sizedByAll are policies that size a sketch or a unit of age by how many objects there are in all, which a pool with
// members does not know: where capacities count bytes, and where the capacity is larger than that.
var sizedByAll = map[string]bool{"lhd": true, "tinylfu": true, "w-tinylfu": true}

// Whatever is asked of a pool, in objects and in bytes, what it tells adds up, it never holds more than its capacity,
// and numbering its members itself changes nothing.
func TestPoolAddsUp(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		t.Run(map[bool]string{false: "objects", true: "bytes"}[bytes], func(t *testing.T) {
			policytest.ForSample(t, bytes, func(t *testing.T, e policies.Entry) {
				rapid.Check(t, func(rt *rapid.T) {
					tr := policytest.Trace(rapid.Uint64Range(0, 1<<20).Draw(rt, "trace"), 40, 24)
					capacity := rapid.Int64Range(1, 12).Draw(rt, "capacity")
					if bytes {
						capacity *= 40
					}
					spec := must.Get(policies.Registry.Parse(policytest.Spec(e)))(t)
					plain := cache.NewPool(policytest.Build(t, e, tr, capacity, !bytes), capacity, tr.NumObjects)
					pools := []*cache.Pool{plain}
					other := renamed(tr)
					for _, partition := range []*cache.Partition{nil, cache.NewPartition(other.NumObjects)} {
						config := policytest.ConfigOf(t, e, other, capacity, !bytes)
						if key := config.Key; key != nil { // objects keep their keys
							config.Key = func(o policies.Object) uint64 { return key(o / 2) }
						}
						pool := must.Get(cache.NewMemberPool(spec, config, cache.NewMembers(partition)))(t)
						pools = append(pools, pool)
					}
					if sizedByAll[e.Name] {
						pools = pools[:1]
					}
					drive(rt, tr, bytes, capacity, pools...)
				})
			})
		})
	}
}

// A pool shrinks to nothing and back, by hand: what was requested longest ago leaves first.
func TestPoolResizes(t *testing.T) {
	tr := policytest.Trace(1, 50, 20)
	spec := must.Get(policies.Registry.Parse("lru"))(t)
	pool := cache.NewPool(policytest.Build(t, spec.Entry, tr, 3, true), 3, tr.NumObjects)
	told := newAccount()
	pool.Observe(told)
	ask := func(objects ...policies.Object) (hits []bool) {
		for i, o := range objects {
			hits = append(hits, pool.Request(policies.Request{Object: o, Query: o, Pos: i, Size: 1}))
		}
		return hits
	}
	ask(0, 1, 2, 0)
	pool.Resize(1)
	if got := ask(0); !got[0] || pool.Used() != 1 || told.left[cache.Shrunk] != 2 {
		t.Errorf("object 0 hits: %v, %d used, %d shrunk; want the last requested to stay alone", got, pool.Used(),
			told.left[cache.Shrunk])
	}
	pool.Resize(0)
	if got := ask(0); got[0] || pool.Used() != 0 || pool.Oversized() != 1 {
		t.Errorf("object 0 hits: %v, %d used, %d oversized; want nothing to fit", got, pool.Used(), pool.Oversized())
	}
	pool.Resize(2)
	if got := ask(0, 1, 0, 1); !slices.Equal(got, []bool{false, false, true, true}) {
		t.Errorf("after growing again: %v", got)
	}
	if pool.Load(policies.Request{Object: 1, Query: 1, Size: 1, Reason: policies.Prefetch}) {
		t.Error("a resident object was loaded")
	}
	if !pool.Drop(1) || pool.Drop(1) || pool.Len() != 1 {
		t.Errorf("dropping object 1 twice leaves %d", pool.Len())
	}
}

// What the cache has had the policy forget leaves the accounts once, and nobody is told.
func TestPoolForgets(t *testing.T) {
	tr := policytest.Trace(1, 50, 20)
	spec := must.Get(policies.Registry.Parse("lru"))(t)
	policy := policytest.Build(t, spec.Entry, tr, 2, true)
	pool := cache.NewPool(policy, 2, tr.NumObjects)
	for i, o := range []policies.Object{0, 1} {
		pool.Miss(policies.Request{Object: o, Query: o, Pos: i, Size: 1})
	}
	told := newAccount()
	pool.Observe(told)
	policy.Remove(0)
	pool.Forget(0)
	if pool.Has(0) || !pool.Has(1) || pool.Used() != 1 || pool.Evictions() != 1 || len(told.left) != 0 {
		t.Errorf("used %d, evictions %d, told %v", pool.Used(), pool.Evictions(), told.left)
	}
	defer func() {
		if recover() == nil {
			t.Error("an object was forgotten twice")
		}
	}()
	pool.Forget(0)
}

// changes is an account that can be notified of many changes at once, and is not notified of hits.
type changes struct {
	account *account
	batches int
}

func (c *changes) Loaded(o policies.Object, size int64, why policies.Reason) {
	c.account.Loaded(o, size, why)
}

func (c *changes) Left(o policies.Object, size int64, why cache.Departure) {
	c.account.Left(o, size, why)
}

func (c *changes) Changed(objects []policies.Object) {
	c.batches++
	for _, o := range objects {
		if c.account.resident[o] == 0 {
			c.Loaded(o, 1, policies.Demand)
		} else {
			c.Left(o, 1, cache.ForDemand)
		}
	}
}

// TestPoolRequestsAll compares requests that come together with requests that come one by one.
func TestPoolRequestsAll(t *testing.T) {
	policytest.ForSample(t, false, func(t *testing.T, e policies.Entry) {
		rapid.Check(t, func(rt *rapid.T) {
			tr := policytest.Trace(rapid.Uint64Range(0, 1<<20).Draw(rt, "trace"), 60, 24)
			capacity := rapid.Int64Range(1, 12).Draw(rt, "capacity")
			single := cache.NewPool(policytest.Build(t, e, tr, capacity, true), capacity, tr.NumObjects)
			policy := policytest.Build(t, e, tr, capacity, true)
			all := cache.NewPool(policy, capacity, tr.NumObjects)
			want, got := newAccount(), &changes{account: newAccount()}
			single.Observe(want)
			all.Observe(got)
			for from := 0; from < len(tr.Objects); {
				to := min(len(tr.Objects), from+rapid.IntRange(1, 20).Draw(rt, "requests"))
				for pos := from; pos < to; pos++ {
					o := tr.Objects[pos]
					single.Request(policies.Request{Object: o, Query: o, Pos: pos, Size: 1, Time: tr.Times[from]})
				}
				all.RequestAll(tr.Objects[from:to], policies.Request{Pos: from, Time: tr.Times[from]})
				from = to
				size := rapid.Int64Range(0, 12).Draw(rt, "capacity")
				single.Resize(size)
				all.Resize(size)
				want.check(rt, single, tr.NumObjects)
				got.account.check(rt, all, tr.NumObjects)
			}
			if _, batches := policy.(policies.UnitServer); batches && got.batches == 0 {
				t.Errorf("the batch path of %s is not used", e.Name)
			}
			if told := got.account.told; !slices.Equal(loadsAndLeavings(want.told), told) {
				rt.Fatalf("together %v, one by one %v", told, want.told)
			}
		})
	})
}

// loadsAndLeavings returns the events that are no hits.
func loadsAndLeavings(told []event) []event {
	return slices.DeleteFunc(slices.Clone(told), func(e event) bool { return e.how < 0 })
}
