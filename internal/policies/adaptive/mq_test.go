package adaptive

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestMQWithOneQueueIsLRU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		w.SameVictims(t, policytest.Drive(t, "mq(queues=1,ghost=0)", w.Config), policytest.Drive(t, "lru", w.Config))
	})
}

// slowMQ is the pseudo-code of section 4 of the paper on slices; element 0 is the head of a queue. Other than there,
// Qout is searched before the victim enters it. If measures is set, the lifetime is the measured one of mq.go.
type slowMQ struct {
	capacity, out, lifetime int
	queues                  [][]policies.Object
	qout                    []policies.Object
	requests, queued, last  map[policies.Object]int
	now                     int

	measures  bool
	distances []int // since the last measurement
	next      int   // measurement
}

func newSlowMQ(capacity, queues, lifetime int, ghost float64) *slowMQ {
	s := &slowMQ{
		capacity: capacity,
		out:      int(float64(capacity) * ghost),
		lifetime: lifetime,
		queues:   make([][]policies.Object, queues),
		requests: map[policies.Object]int{},
		queued:   map[policies.Object]int{},
		last:     map[policies.Object]int{},
	}
	if lifetime == 0 {
		s.lifetime, s.measures, s.next = 1<<40, true, 1024
	}
	return s
}

func (s *slowMQ) resident() (n int) {
	for _, q := range s.queues {
		n += len(q)
	}
	return n
}

func (s *slowMQ) Serve(b policies.Object, _ int64, _ int) (hit bool, victims []policies.Object) {
	full := s.resident() == s.capacity
	for k, q := range s.queues {
		hit = hit || slices.Contains(q, b)
		s.queues[k] = without(q, b)
	}
	if !hit {
		if slices.Contains(s.qout, b) {
			s.qout = without(s.qout, b)
		} else {
			s.requests[b] = 0
		}
		if full {
			victims = append(victims, s.evict())
		}
	}
	if s.requests[b] > 0 {
		s.distances = append(s.distances, s.now-s.last[b])
	}
	s.requests[b]++
	s.last[b] = s.now
	s.enqueue(b, min(bits.Len(uint(s.requests[b]))-1, len(s.queues)-1))
	s.now++
	if s.measures && s.now >= s.next {
		s.measure()
	}
	for k := 1; k < len(s.queues); k++ {
		if q := s.queues[k]; len(q) > 0 && s.queued[q[0]]+s.lifetime < s.now {
			s.queues[k] = q[1:]
			s.enqueue(q[0], k-1)
		}
	}
	return hit, victims
}

// measure sets the lifetime to the least power of two above the most frequent distances, those below the same power
// taken together, and to the number of residents at least.
func (s *slowMQ) measure() {
	most := 0
	s.lifetime = 1
	for power := 1; power <= 1<<32; power *= 2 {
		n := 0
		for _, d := range s.distances {
			if d < power && 2*d >= power {
				n++
			}
		}
		if n > most {
			most, s.lifetime = n, power
		}
	}
	s.lifetime = max(s.lifetime, s.resident())
	s.distances, s.next = nil, s.now+max(1024, s.resident())
}

func (s *slowMQ) enqueue(b policies.Object, k int) {
	s.queues[k] = append(slices.Clone(s.queues[k]), b)
	s.queued[b] = s.now
}

func (s *slowMQ) evict() policies.Object {
	k := slices.IndexFunc(s.queues, func(q []policies.Object) bool { return len(q) > 0 })
	v := s.queues[k][0]
	s.queues[k] = s.queues[k][1:]
	s.qout = append(s.qout, v)
	s.qout = s.qout[max(0, len(s.qout)-s.out):]
	return v
}

func TestMQEqualsPaper(t *testing.T) {
	for _, test := range []struct {
		spec             string
		queues, lifetime int
		ghost            float64
	}{
		{"mq(lifetime=1)", 8, 1, 4},
		{"mq(lifetime=20)", 8, 20, 4},
		{"mq(queues=3,lifetime=7,ghost=0.5)", 3, 7, 0.5},
		{"mq(queues=2,lifetime=60,ghost=0)", 2, 60, 0},
	} {
		t.Run(test.spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := policytest.DrawWorkload(t)
				w.Config.Unit = true
				want := newSlowMQ(int(w.Config.Capacity), test.queues, test.lifetime, test.ghost)
				for o := range w.Sizes {
					w.Sizes[o] = 1
				}
				w.SameVictims(t, policytest.Drive(t, test.spec, w.Config), want)
			})
		})
	}
}

// Phases with requests near and far apart let the measured lifetime grow and shrink; objects that were queued when it
// was long, or without end, must sink when it has become short.
func TestMQWithMeasuredLifetimeEqualsNaive(t *testing.T) {
	const objects, phase, requests = 600, 2500, 20_000
	for _, capacity := range []int{20, 100, 400} {
		for seed := range uint64(3) {
			rng := rand.New(rand.NewPCG(seed, uint64(capacity)))
			d := policytest.Drive(t, "mq", policies.Config{Capacity: int64(capacity), Unit: true, Objects: objects,
				Requests: requests})
			want := newSlowMQ(capacity, 8, 0, 4)
			lifetimes := map[int64]bool{}
			for i := range requests {
				o := policies.Object(i % objects)
				switch i / phase % 3 {
				case 0:
					o = policies.Object(rng.IntN(objects))
				case 1:
					o = policies.Object(min(rng.ExpFloat64()*10, objects-1))
				}
				hit, victims := d.Serve(o, 1, i)
				wantHit, wantVictims := want.Serve(o, 1, i)
				if hit != wantHit || !slices.Equal(victims, wantVictims) {
					t.Fatalf("capacity %d, seed %d, request %d (object %d): hit %v, victims %v; naive: hit %v, victims %v",
						capacity, seed, i, o, hit, victims, wantHit, wantVictims)
				}
				lifetimes[d.Policy.(*mq).lifetime] = true
			}
			if len(lifetimes) < 3 {
				t.Errorf("capacity %d: the lifetime was only one of %v, want several", capacity, lifetimes)
			}
		}
	}
}

// The oldest object in Qout is requested: its own load must not push it out, or its requests would be forgotten.
func TestMQRemembersTheOldestGhost(t *testing.T) {
	d := policytest.Drive(t, "mq(ghost=1)", policies.Config{Capacity: 2, Unit: true, Objects: 4, Requests: 5})
	d.ServeAll(0, 1, 2, 3, 0) // Qout has 0 and 1 when 0 is requested again
	if got := d.Policy.(*mq).blocks[0].requests; got != 2 {
		t.Errorf("the returned object has %d requests, want 2", got)
	}
}

// Requests to an object come every 3000 requests. Once measured, that is the lifetime, rounded up to a power of two.
func TestMQMeasuresLifetime(t *testing.T) {
	d := policytest.Drive(t, "mq", policies.Config{Capacity: 100, Unit: true, Objects: 3000, Requests: 9000})
	p := d.Policy.(*mq)
	for i := range 9000 {
		d.Serve(policies.Object(i%3000), 1, i)
	}
	if p.lifetime != 100 { // the ghosts were forgotten: only the cache bounds the lifetime
		t.Errorf("without any known distance: lifetime %d, want the capacity", p.lifetime)
	}
	d = policytest.Drive(t, "mq", policies.Config{Capacity: 2900, Unit: true, Objects: 3000, Requests: 9000})
	p = d.Policy.(*mq)
	for i := range 9000 {
		d.Serve(policies.Object(i%3000), 1, i)
	}
	if p.lifetime != 4096 {
		t.Errorf("lifetime %d, want 4096 for distances of 3000", p.lifetime)
	}
}

func TestMQSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawWorkload(t)
		spec := rapid.SampledFrom([]string{"mq", "mq(queues=3,lifetime=5,ghost=0.5)"}).Draw(t, "spec")
		d := policytest.Drive(t, spec, w.Config)
		w.AfterEachRequest(t, d, func() {
			p := d.Policy.(*mq)
			var ghosts int64
			for _, o := range policytest.Listed(&p.lists, p.queues) {
				ghosts += w.Sizes[o]
			}
			if ghosts != p.ghosts || ghosts > p.limit || int(p.resident) != len(d.Stored) {
				t.Fatalf("Qout holds %d, counted %d, limit %d; %d resident, counted %d",
					ghosts, p.ghosts, p.limit, len(d.Stored), p.resident)
			}
		})
	})
}

func without(l []policies.Object, o policies.Object) []policies.Object {
	return slices.DeleteFunc(slices.Clone(l), func(x policies.Object) bool { return x == o })
}
