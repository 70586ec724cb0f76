package admission

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// The segments hold just what the cache holds, the border between them moves without room lost or won, and the sketch
// and the climber agree on the sample, whatever is requested, written, removed or resized.
func TestCaffeineKeepsItsBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		d := policytest.Drive(t, "caffeine", w.Config)
		p := d.Policy.(*caffeine)
		protected := p.Limit[inWindow] + p.Limit[inProtected]
		w.AfterEachRequest(t, d, func() {
			if p.used() != d.Used() || p.resident != len(d.Stored) {
				t.Fatalf("%d objects of %d in segments, %d of %d in the cache", p.resident, p.used(), len(d.Stored), d.Used())
			}
			if p.Limit[inWindow]+p.Limit[inProtected] != protected || p.Limit[inProtected] < 0 || p.Limit[inWindow] < 1 {
				t.Fatalf("limits %d and %d, together %d before", p.Limit[inWindow], p.Limit[inProtected], protected)
			}
			if p.counting && p.sketch.Counters() < caffeineLeast*dense.WordCounters {
				t.Fatalf("%d counters", p.sketch.Counters())
			}
		})
	})
}

// Where objects are requested twice within a short time, and never again, the window grows, in caches of each kind of
// climber.
func TestCaffeineClimbs(t *testing.T) {
	for _, capacity := range []int{400, 1000, 6000} {
		requests := 200 * capacity
		d := policytest.Drive(t, "caffeine", policies.Config{Capacity: int64(capacity), Unit: true, Objects: requests,
			Requests: requests, Seed: 1})
		reuse := capacity / 10
		for i := range requests {
			o := i / 2
			if i%2 == 1 && i > reuse {
				o = (i - reuse) / 2 // the last request to it
			}
			d.Serve(policies.Object(o), 1, i)
		}
		if share := float64(d.Policy.(*caffeine).Limit[inWindow]) / float64(capacity); share < 0.2 {
			t.Errorf("capacity %d: a window of %.3f of the cache", capacity, share)
		}
	}
}

// A new cache counts nothing until it is half full, like the library: the order of the window is that of arrival.
func TestCaffeineCountsFromHalf(t *testing.T) {
	d := policytest.Drive(t, "caffeine", policies.Config{Capacity: 100, Unit: true, Objects: 200, Requests: 200})
	p := d.Policy.(*caffeine)
	for i := range 49 {
		d.Serve(policies.Object(i), 1, i)
		d.Serve(policies.Object(i), 1, i)
	}
	if p.counting || p.climber.sample.requests() != 0 {
		t.Fatalf("49 of 100 objects: counting %v, %d requests in the sample", p.counting, p.climber.sample.requests())
	}
	d.Serve(49, 1, 49)
	if d.Serve(49, 1, 50); !p.counting || p.climber.sample.requests() != 2 ||
		p.sketch.EstimateHash(p.hash(49)) != 2 || p.sketch.EstimateHash(p.hash(0)) != 0 {
		t.Errorf("50 objects: counting %v, %d requests in the sample, %d of object 49, %d of object 0", p.counting,
			p.climber.sample.requests(), p.sketch.EstimateHash(p.hash(49)), p.sketch.EstimateHash(p.hash(0)))
	}
}

// By bytes an object larger than the window is the next to compete, with the oldest object on probation, or with
// nothing but itself if all others have been requested again.
func TestCaffeineLargeObjects(t *testing.T) {
	d := policytest.Drive(t, "caffeine(jitter=0)", policies.Config{Capacity: 100, Objects: 4, Requests: 8})
	d.Serve(0, 60, 0)
	if d.Serve(1, 60, 1); d.Stored[1] != 0 || d.Stored[0] == 0 {
		t.Errorf("1 request won against 1: stored %v", d.Stored)
	}
	if d.Serve(1, 60, 2); d.Stored[1] == 0 || d.Stored[0] != 0 {
		t.Errorf("2 requests lost against 1: stored %v", d.Stored)
	}
	d.Serve(1, 60, 3)
	for i := range 9 {
		if d.Serve(2, 60, 4+i); d.Stored[1] == 0 {
			t.Errorf("%d requests won against the protected segment: stored %v", i+1, d.Stored)
		}
	}
}

// The hashes of the library, whose keys are java.lang.Long: computed there.
func TestCaffeineHashes(t *testing.T) {
	keys := []int64{0, 1, -1, 42, 1 << 40, -1234567890123}
	want := []uint64{0x0000000000000000, 0x042741d6c0e9b0e1, 0x0000000000000000, 0x9a675f947309a200,
		0x462d98bdca74d92d, 0x7b770f77545a1c04}
	c := policies.Config{Capacity: 10, Unit: true, Objects: len(keys), Requests: 1,
		Key: func(o policies.Object) uint64 { return uint64(keys[o]) ^ 1<<63 }}
	p := policytest.Drive(t, "caffeine", c).Policy.(*caffeine)
	for o, k := range keys {
		p.setCode(policies.Object(o))
		if got := p.hash(policies.Object(o)); got != want[o] {
			t.Errorf("key %d: hash %#x, want %#x", k, got, want[o])
		}
	}
}
