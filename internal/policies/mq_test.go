package policies

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMQWithOneQueueIsLRU(t *testing.T) {
	checkAgainstNaive(t, "mq(queues=1,ghost=0)", func(capacity int64) *naive {
		c := newNaive(capacity)
		c.rank = func(s *naiveObject, _ int) float64 { return float64(s.last) }
		return c
	})
}

// slowMQ is the pseudo-code of section 4 of the paper on slices; element 0 is the head of a queue.
type slowMQ struct {
	capacity, out, lifetime int
	queues                  [][]Object
	qout                    []Object
	requests, expire        map[Object]int
	now                     int
}

func (s *slowMQ) serve(b Object, _ int64, _ int) (hit bool, victims []Object) {
	resident := 0
	for k, q := range s.queues {
		resident += len(q)
		hit = hit || slices.Contains(q, b)
		s.queues[k] = without(q, b)
	}
	if !hit {
		if resident == s.capacity {
			victims = append(victims, s.evict())
		}
		// Qout is trimmed before it is searched, so it may lose the very object that returns.
		if slices.Contains(s.qout, b) {
			s.qout = without(s.qout, b)
		} else {
			s.requests[b] = 0
		}
	}
	s.requests[b]++
	s.enqueue(b, min(bits.Len(uint(s.requests[b]))-1, len(s.queues)-1))
	s.now++
	for k := 1; k < len(s.queues); k++ {
		if q := s.queues[k]; len(q) > 0 && s.expire[q[0]] < s.now {
			s.queues[k] = q[1:]
			s.enqueue(q[0], k-1)
		}
	}
	return hit, victims
}

func (s *slowMQ) enqueue(b Object, k int) {
	s.queues[k] = append(slices.Clone(s.queues[k]), b)
	s.expire[b] = s.now + s.lifetime
}

func (s *slowMQ) evict() Object {
	k := slices.IndexFunc(s.queues, func(q []Object) bool { return len(q) > 0 })
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
				w := drawUnitWorkload(t)
				want := &slowMQ{
					capacity: int(w.config.Capacity),
					out:      int(float64(w.config.Capacity) * test.ghost),
					lifetime: test.lifetime,
					queues:   make([][]Object, test.queues),
					requests: map[Object]int{},
					expire:   map[Object]int{},
				}
				checkSameVictims(t, w, drive(t, test.spec, w.config), want)
			})
		})
	}
}

// Requests to an object come every 3000 requests. Once measured, that is the lifetime, rounded up to a power of two.
func TestMQMeasuresLifetime(t *testing.T) {
	d := drive(t, "mq", Config{Capacity: 100, Unit: true, Objects: 3000, Requests: 9000})
	p := d.policy.(*mq)
	for i := range 9000 {
		d.serve(Object(i%3000), 1, i)
	}
	if p.lifetime != 100 { // the ghosts were forgotten: only the cache bounds the lifetime
		t.Errorf("without any known distance: lifetime %d, want the capacity", p.lifetime)
	}
	d = drive(t, "mq", Config{Capacity: 2900, Unit: true, Objects: 3000, Requests: 9000})
	p = d.policy.(*mq)
	for i := range 9000 {
		d.serve(Object(i%3000), 1, i)
	}
	if p.lifetime != 4096 {
		t.Errorf("lifetime %d, want 4096 for distances of 3000", p.lifetime)
	}
}

func TestMQSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorkload(t)
		spec := rapid.SampledFrom([]string{"mq", "mq(queues=3,lifetime=5,ghost=0.5)"}).Draw(t, "spec")
		checkAfterEachRequest(t, spec, w, func(d *driven) {
			p := d.policy.(*mq)
			var ghosts int64
			for _, o := range listed(&p.lists, p.queues) {
				ghosts += w.sizes[o]
			}
			if ghosts != p.ghosts || ghosts > p.limit || int(p.resident) != len(d.stored) {
				t.Fatalf("Qout holds %d, counted %d, limit %d; %d resident, counted %d",
					ghosts, p.ghosts, p.limit, len(d.stored), p.resident)
			}
		})
	})
}
