package boosted

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// group is a segment as the naive version counts it from what it has seen.
type group struct {
	objects      []policies.Object
	bytes        int64
	hits, active int32
}

// groupsOf walks through the chain, and fails if a segment does not have what its counters say.
func groupsOf(t *rapid.T, p *glCache) (all []group, resident map[policies.Object]bool) {
	resident = map[policies.Object]bool{}
	for at, prev := p.first, 0; at != 0; prev, at = at, p.segments[at].next {
		s, g := p.segments[at], group{objects: p.appendObjects(nil, at), hits: p.segments[at].hits}
		for _, o := range g.objects {
			g.bytes += p.sizes.Of(o)
			resident[o] = true
			if p.isActive[o] {
				g.active++
			}
			if p.of[o] != uint32(at) {
				t.Fatalf("object %d is in segment %d, and said to be in %d", o, at, p.of[o])
			}
		}
		if s.objects != len(g.objects) || s.bytes != g.bytes || s.active != g.active || s.prev != prev || s.hits < s.active {
			t.Fatalf("segment %d: %+v, want %+v behind %d", at, s, g, prev)
		}
		if len(g.objects) == 0 && at != p.open {
			t.Fatalf("segment %d is empty", at)
		}
		all = append(all, g)
	}
	pending := p.appendObjects(nil, pendingList)
	if len(pending) != p.pending {
		t.Fatalf("%d objects are pending, %d are counted", len(pending), p.pending)
	}
	for _, o := range pending {
		resident[o] = true
	}
	return all, resident
}

// Segments and pending objects are what is resident; of merged segments those objects stay whose last request is most
// recent for their size, the others are pending.
func TestSegmentsHoldTheResidents(t *testing.T) {
	merges, rescued := int64(0), 0
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		spec := rapid.SampledFrom([]string{"gl-cache(retrain-intvl=40,trees=3)", "gl-cache(n-merge=3,retrain-intvl=30)",
			"gl-cache(merge-consecutive-segs=false,retrain-intvl=50,trees=2)"}).Draw(t, "policy")
		p := policytest.Drive(t, spec, w.Config).Policy.(*glCache)
		used, sizes := int64(0), map[policies.Object]int64{}
		for i, o := range w.Trace {
			r := policies.Request{Object: o, Pos: i, Size: w.Sizes[o]}
			if r.Size > w.Config.Capacity {
				continue
			}
			if sizes[o] != 0 {
				if p.of[o] == 0 {
					rescued++
				}
				p.Hit(r)
				if p.of[o] == 0 {
					t.Fatalf("request %d: object %d is still pending", i, o)
				}
				continue
			}
			p.Miss(r)
			for used+r.Size > w.Config.Capacity {
				merged := p.merges
				v := p.Victim(r)
				used -= sizes[v]
				delete(sizes, v)
				if p.merges > merged {
					checkMerged(t, p)
				}
			}
			p.Insert(r)
			sizes[o] = r.Size
			used += r.Size
			if _, resident := groupsOf(t, p); len(resident) != len(sizes) || len(sizes) != p.present {
				t.Fatalf("request %d: %d objects in segments or pending, %d counted, want %d", i, len(resident), p.present,
					len(sizes))
			}
		}
		merges += p.merges
	})
	seeded.Covers(t, merges > 0 && rescued > 0, "%d merges, %d hits of pending objects", merges, rescued)
}

// checkMerged demands that no object became pending whose cost is below that of one that stayed in the same merge.
func checkMerged(t *rapid.T, p *glCache) {
	t.Helper()
	if !slices.IsSortedFunc(p.keeping, func(a, b policies.Object) int {
		return int(min(max(p.cost(a)-p.cost(b), -1), 1))
	}) {
		t.Fatalf("merged objects %v are not in the order of their scores", p.keeping)
	}
}

// The label of a segment is the sum of 1/(time x size) over the requests to its objects after the snapshot, without as
// many first ones as stay when it is merged.
func TestUtilityOfSegments(t *testing.T) {
	d := policytest.Drive(t, "gl-cache", policies.Config{Capacity: 12, Unit: true, Objects: 20, Requests: 100})
	p := d.Policy.(*glCache)
	for i := range 13 { // segments of two objects; the first eviction takes a snapshot
		d.Serve(policies.Object(i), 1, i)
	}
	s := &p.snapshot
	if !s.taken || s.at != 13 || len(s.utility) != 5 || !slices.Equal(s.skip, []int32{1, 1, 1, 1, 1}) {
		t.Fatalf("snapshot at %d of %d segments, skipping %d; want at 13 of 5, skipping 1 each", s.at, len(s.utility), s.skip)
	}
	for i, o := range []policies.Object{4, 4, 5, 5, 1} { // 4 and 5 share a segment; 1 was evicted or is pending
		d.Serve(o, 1, 13+i)
	}
	// The first request to 4, and that to 1, are skipped.
	want := []float64{0, 0, utilityScale/3.0 + utilityScale/4.0 + utilityScale/5.0, 0, 0}
	if !near(s.utility, want) {
		t.Errorf("utilities %v, want %v", s.utility, want)
	}
}

// Trained segments keep what is requested again longer than the chain alone does.
func TestGroupsAreLearned(t *testing.T) {
	tr := policytest.Trace(3, 60_000, 3000)
	hits := func(spec string) (hits int) {
		d := policytest.Drive(t, spec, policies.Config{Capacity: 300, Unit: true, Objects: tr.NumObjects,
			Requests: len(tr.Objects), Seed: 1})
		for i, o := range tr.Objects {
			if hit, _ := d.Serve(o, 1, i); hit {
				hits++
			}
		}
		return hits
	}
	trained, untrained := hits("gl-cache"), hits("gl-cache(retrain-intvl=1000000)")
	if trained <= untrained {
		t.Errorf("%d hits with models, %d without", trained, untrained)
	}
}
