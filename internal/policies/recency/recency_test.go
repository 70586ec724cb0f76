package recency

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestLRUEqualsNaive(t *testing.T) {
	policytest.CheckRanked(t, "lru", func(o *policytest.NaiveObject) int { return o.Last })
}

func TestMRUEqualsNaive(t *testing.T) {
	policytest.CheckRanked(t, "mru", func(o *policytest.NaiveObject) int { return -o.Last })
}

func TestExamples(t *testing.T) {
	for _, test := range []struct {
		name     string
		spec     string
		capacity int64
		trace    []uint32
		want     []uint32 // victims in order
	}{
		{"the order of requests counts", "lru", 2, []uint32{0, 1, 0, 2, 3}, []uint32{1, 0}},
		{"the last request goes", "mru", 2, []uint32{0, 1, 0, 2, 3}, []uint32{0, 2}},
		// Segments of 2: 0 and 1 low, 2 and 3 high. The hit on 0 lifts it and 2 falls; later the hit on 4 makes 3 fall.
		{"what overflows falls", "slru", 4, []uint32{0, 1, 2, 3, 0, 4, 5, 4, 6, 7}, []uint32{1, 2, 5, 3}},
		{"one segment is LRU", "slru(segments=1)", 3, []uint32{0, 1, 2, 0, 3, 4}, []uint32{1, 2}},
		{"more segments than objects", "slru(segments=64)", 2, []uint32{0, 1, 0, 2, 3}, []uint32{1, 2}},
		{"new objects enter the lowest segment", "slru(rule=caffeine)", 4, []uint32{0, 1, 2, 3, 4, 5, 6}, []uint32{0, 1, 2}},
	} {
		policytest.CheckExample(t, test.name, test.spec, test.capacity, test.trace, test.want)
	}
}

// naiveSLRU has equal segments; the lowest comes first and gets the remainder.
type naiveSLRU struct {
	capacity int
	limit    []int
	segments [][]uint32
}

func newNaiveSLRU(capacity, n int) *naiveSLRU {
	n = min(n, capacity)
	c := &naiveSLRU{capacity: capacity, limit: slices.Repeat([]int{capacity / n}, n), segments: make([][]uint32, n)}
	c.limit[0] += capacity % n
	return c
}

func (c *naiveSLRU) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []uint32) {
	resident := 0
	for k, segment := range c.segments {
		if slices.Contains(segment, o) {
			c.segments[k] = policytest.Without(segment, o)
			c.put(min(k+1, len(c.segments)-1), o)
			return true, nil
		}
		resident += len(segment)
	}
	if resident == c.capacity {
		lowest := slices.IndexFunc(c.segments, func(s []uint32) bool { return len(s) > 0 })
		victims = append(victims, c.segments[lowest][0])
		c.segments[lowest] = c.segments[lowest][1:]
	}
	for k := range c.segments {
		if len(c.segments[k]) < c.limit[k] {
			c.put(k, o)
			break
		}
	}
	return false, victims
}

// put makes o the most recent object of segment k and lets the overflow fall.
func (c *naiveSLRU) put(k int, o policies.Object) {
	c.segments[k] = append(c.segments[k], o)
	if k > 0 && len(c.segments[k]) > c.limit[k] {
		falling := c.segments[k][0]
		c.segments[k] = c.segments[k][1:]
		c.put(k-1, falling)
	}
}

func TestQueuesEqualNaive(t *testing.T) {
	type server interface {
		Serve(o policies.Object, size int64, now int) (hit bool, victims []uint32)
	}
	for spec, naive := range map[string]func(capacity int) server{
		"slru":             func(capacity int) server { return newNaiveSLRU(capacity, 2) },
		"slru(segments=4)": func(capacity int) server { return newNaiveSLRU(capacity, 4) },
	} {
		t.Run(spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := policytest.DrawUnitWorkload(t)
				w.SameVictims(t, policytest.Drive(t, spec, w.Config), naive(int(w.Config.Capacity)))
			})
		})
	}
}

// Extreme parameters at small capacities: no queue may be asked for an object it does not have.
func TestExtremeParameters(t *testing.T) {
	for _, spec := range []string{
		"slru(segments=64)", "slru(segments=3,protected=1)", "slru(segments=2,protected=0.01)", "ttl(order=lru)",
		"ttl(order=fifo)",
	} {
		t.Run(spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := policytest.DrawWorkload(t)
				d := policytest.Drive(t, spec, w.Config)
				w.AfterEachRequest(t, d, func() {
					sum := int64(0)
					for _, size := range d.Stored {
						sum += size
					}
					if sum != d.Used() || sum > w.Config.Capacity {
						t.Fatalf("objects of %d in a cache of %d that counts %d: an object left that was not there",
							sum, w.Config.Capacity, d.Used())
					}
				})
			})
		})
	}
}

// By bytes, an object must fit the queue that it enters; by objects it always does.
func TestAdmissionBySize(t *testing.T) {
	for _, test := range []struct {
		spec    string
		largest int64 // size that may enter a cache of 100
	}{
		{"slru", 50}, {"slru(segments=4)", 25}, {"slru(protected=0.8)", 20},
	} {
		for _, unit := range []bool{false, true} {
			p := policytest.Drive(t, test.spec, policies.Config{Capacity: 100, Unit: unit,
				Objects: 10}).Policy.(policies.Admitter)
			if !p.Admit(policies.Request{Size: test.largest}) {
				t.Errorf("%s refuses size %d", test.spec, test.largest)
			}
			if got := p.Admit(policies.Request{Size: test.largest + 1}); got != unit {
				t.Errorf("%s, unit %v, admits size %d: %v", test.spec, unit, test.largest+1, got)
			}
		}
	}
}

func TestTTLExpiry(t *testing.T) {
	const second = int64(1e9)
	p := policytest.Drive(t, "ttl(ttl=1.5)", policies.Config{Capacity: 10, Unit: true, Objects: 3}).Policy.(*ttl)
	p.Insert(policies.Request{Object: 0, Time: 10 * second})
	p.Insert(policies.Request{Object: 1, Time: 11 * second})
	p.Hit(policies.Request{Object: 0, Time: 11 * second})
	if o, ok := p.Expired(10*second + 3*second/2 - 1); ok {
		t.Errorf("object %d expired a nanosecond early", o)
	}
	if o, ok := p.Expired(10*second + 3*second/2); !ok || o != 0 {
		t.Errorf("after exactly 1.5 seconds: %d, %v; want object 0, although it was hit", o, ok)
	}
	if o, ok := p.Expired(11 * second); ok {
		t.Errorf("object %d expired a second time or early", o)
	}
	p.Insert(policies.Request{Object: 0, Time: 12 * second})
	if o, ok := p.Expired(13 * second); !ok || o != 1 {
		t.Errorf("after 2 seconds: %d, %v; want object 1", o, ok)
	}
	if o, ok := p.Expired(13 * second); ok {
		t.Errorf("object %d expired by the time of its first loading", o)
	}
}

// A life of n requests ends with the n-th request after the one that began it.
func TestTTLInRequests(t *testing.T) {
	for spec, want := range map[string][]int{ // at which requests something expires
		"ttl(ttl=3,unit=requests)":                          {3, 5, 6, 7},
		"ttl(ttl=3,unit=requests,renew=true)":               {5, 7, 8},
		"ttl(ttl=0.3,unit=capacity,renew=true)":             {5, 7, 8},
		"ttl(ttl=3,unit=requests,renew=true,order=fifo)":    {5, 7, 8},
		"ttl(ttl=1e9,unit=requests)":                        nil,
		"ttl(ttl=9000000000,unit=capacity)":                 nil,
		"ttl(ttl=0.0000001,unit=requests,order=fifo)":       {1, 2, 3, 4, 5, 6, 7, 8},
		"ttl(ttl=0.0000001,unit=seconds,order=fifo)":        nil, // the clock does not advance
		"ttl(ttl=0.0000001,unit=capacity,order=lru)":        {1, 2, 3, 4, 5, 6, 7, 8},
		"ttl(ttl=0.0000001,unit=requests,renew=true)":       {1, 2, 3, 4, 5, 6, 7, 8},
		"ttl(ttl=5,unit=requests,renew=true,order=fifo)":    {7},
		"ttl(ttl=4,unit=requests,renew=false,order=fifo)":   {4, 6, 8},
		"ttl(ttl=4.9,unit=requests,renew=false,order=fifo)": {4, 6, 8}, // rounded down to whole requests
	} {
		p := policytest.Drive(t, spec, policies.Config{Capacity: 10, Unit: true, Objects: 5}).Policy
		resident := map[policies.Object]bool{}
		var got []int
		for pos, o := range []uint32{0, 0, 1, 0, 2, 0, 3, 4, 4} {
			for {
				expired, ok := p.(policies.Expirer).Expired(0)
				if !ok {
					break
				}
				if !resident[expired] {
					t.Fatalf("%s: object %d expires, which is not resident", spec, expired)
				}
				delete(resident, expired)
				if len(got) == 0 || got[len(got)-1] != pos {
					got = append(got, pos)
				}
			}
			if r := (policies.Request{Object: o, Pos: pos, Size: 1}); resident[o] {
				p.Hit(r)
			} else {
				p.Miss(r)
				p.Insert(r)
				resident[o] = true
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: something expires at %v, want %v", spec, got, want)
		}
	}
}

func TestTTLOrder(t *testing.T) {
	for order, want := range map[string][]uint32{"lru": {1, 0}, "fifo": {0, 1}} {
		d := policytest.Drive(t, fmt.Sprintf("ttl(order=%s)", order), policies.Config{Capacity: 2, Unit: true, Objects: 4})
		if got := d.ServeAll(0, 1, 0, 2, 3); !slices.Equal(got, want) {
			t.Errorf("order=%s: victims %v, want %v", order, got, want)
		}
	}
}
