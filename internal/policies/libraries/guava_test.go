package libraries

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// Segments of keys of java.lang.Long in a cache of four, as Guava's LocalCache computes them.
func TestGuavaSegments(t *testing.T) {
	keys := []int64{0, 1, -1, 42, 1 << 40, -1234567890123}
	p := newGuava(policies.Config{Capacity: 100, Unit: true, Objects: len(keys),
		Params: policies.Values{"concurrency": 4},
		Key:    func(o policies.Object) uint64 { return uint64(keys[o]) ^ 1<<63 }})
	for o, k := range keys {
		h := int32(k ^ int64(uint64(k)>>32))
		h += h<<15 ^ -0x3283
		h ^= int32(uint32(h) >> 10)
		h += h << 3
		h ^= int32(uint32(h) >> 6)
		h += h<<2 + h<<14
		h ^= int32(uint32(h) >> 16)
		if got, want := p.segment(policies.Object(o)), int(uint32(h)>>30); got != want {
			t.Errorf("key %d: segment %d, want %d", k, got, want)
		}
	}
}

func TestGuavaLimits(t *testing.T) {
	for _, test := range []struct {
		capacity int64
		want     []int64
	}{
		{19, []int64{19}}, {20, []int64{10, 10}}, {39, []int64{20, 19}}, {40, []int64{10, 10, 10, 10}},
		{1003, []int64{251, 251, 251, 250}},
	} {
		p := newGuava(policies.Config{Capacity: test.capacity, Unit: true, Params: policies.Values{"concurrency": 4}})
		if len(p.Limit) != len(test.want) {
			t.Fatalf("capacity %d: %d segments", test.capacity, len(p.Limit))
		}
		for i, limit := range p.Limit {
			if limit != test.want[i] {
				t.Errorf("capacity %d: segments of %v, want %v", test.capacity, p.Limit, test.want)
			}
		}
	}
}

// naiveGuava is one LRU list per segment. Which segment an object is in comes from the policy.
type naiveGuava struct {
	segments []naiveSegment
	of       func(policies.Object) int
}

type naiveSegment struct {
	limit, used int64
	order       []policies.Object // the one requested longest ago first
	sizes       map[policies.Object]int64
}

func (n *naiveGuava) serve(o policies.Object, size int64) (hit bool) {
	s := &n.segments[n.of(o)]
	if s.sizes[o] != 0 {
		s.order = append(policytest.Without(s.order, o), o)
		return true
	}
	if size > s.limit {
		return false
	}
	s.order = append(s.order, o)
	s.sizes[o] = size
	for s.used += size; s.used > s.limit; s.order = s.order[1:] {
		s.used -= s.sizes[s.order[0]]
		delete(s.sizes, s.order[0])
	}
	return false
}

func TestGuavaEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		w.Config.Capacity = rapid.Int64Range(1, 90).Draw(t, "larger capacity")
		d := policytest.Drive(t, "guava", w.Config)
		p := d.Policy.(*guava)
		naive := &naiveGuava{of: p.segment}
		for _, limit := range p.Limit {
			naive.segments = append(naive.segments, naiveSegment{limit: limit, sizes: map[policies.Object]int64{}})
		}
		for i, o := range w.Trace {
			for late, ok := p.Expired(0); ok; late, ok = p.Expired(0) {
				d.Drop(late)
			}
			if d.Stored[o] == 0 && !p.Admit(policies.Request{Object: o, Size: w.Sizes[o]}) {
				if naive.serve(o, w.Sizes[o]) {
					t.Fatalf("request %d: object %d is refused, and hits the naive cache", i, o)
				}
				continue
			}
			hit, _ := d.Serve(o, w.Sizes[o], i)
			if want := naive.serve(o, w.Sizes[o]); hit != want {
				t.Fatalf("request %d (object %d): hit %v, naive %v", i, o, hit, want)
			}
		}
	})
}
