package policies

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestRankedByTimeEqualNaive(t *testing.T) {
	for _, test := range []struct {
		name string
		rank func(s *naiveObject) int
	}{
		{"lru", func(s *naiveObject) int { return s.last }},
		{"mru", func(s *naiveObject) int { return -s.last }},
		{"fifo", func(s *naiveObject) int { return s.loaded }},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkAgainstNaive(t, test.name, func(capacity int64) *naive {
				c := newNaive(capacity)
				c.rank = func(s *naiveObject, _ int) float64 { return float64(test.rank(s)) }
				return c
			})
		})
	}
}

// The examples are small enough to follow by hand.
func TestQueueExamples(t *testing.T) {
	for _, test := range []struct {
		name     string
		spec     string
		capacity int64
		trace    []Object
		want     []Object // victims in order
	}{
		{"the order of requests counts", "lru", 2, []Object{0, 1, 0, 2, 3}, []Object{1, 0}},
		{"the order of loading counts", "fifo", 2, []Object{0, 1, 0, 2, 3}, []Object{0, 1}},
		{"the last request goes", "mru", 2, []Object{0, 1, 0, 2, 3}, []Object{0, 2}},

		{"0 was requested again and gets one turn", "clock", 3, []Object{0, 1, 2, 0, 0, 3, 4, 5}, []Object{1, 2, 0}},
		{"with 2 bits its two requests give two turns", "clock(bits=2)", 3, []Object{0, 1, 2, 0, 0, 3, 4, 5}, []Object{1, 2,
			3}},
		{"3 turns are the most that 2 bits count", "clock(bits=2)", 1, []Object{0, 0, 0, 0, 0, 0, 1}, []Object{0}},

		// The hand passes 0, takes 1 and stays between the old 0 and the arrivals, which it takes one after another.
		{"the hand stays with the arrivals", "sieve", 3, []Object{0, 1, 2, 0, 3, 4, 5}, []Object{1, 2, 3}},
		// The hand clears 6 and 7, wraps round, clears 0 and takes 6.
		{"the hand wraps round", "sieve", 3, []Object{0, 1, 2, 0, 3, 0, 4, 5, 6, 7, 6, 7, 8}, []Object{1, 2, 3, 4, 5, 6}},
		// The hand passes 0 and takes 1, the newest; so the next search begins at 0, not at the arrival 2.
		{"a hand that took the newest starts over", "sieve", 2, []Object{0, 1, 0, 2, 3}, []Object{1, 0}},

		// Small queue 2, main 2. 4 makes the small queue hand 0 on to the main queue and evict 1.
		{"two more requests lead to the main queue", "s3fifo(small=0.5)", 4, []Object{0, 0, 0, 1, 2, 3, 4}, []Object{1}},
		{"one does not", "s3fifo(small=0.5)", 4, []Object{0, 0, 1, 2, 3, 4}, []Object{0}},
		{"unless move=1", "s3fifo(small=0.5,move=1)", 4, []Object{0, 0, 1, 2, 3, 4}, []Object{1}},
		// 1 and 3 come back from the ghost into the main queue, which is then over its 2 and evicts 0.
		{"the ghost leads to the main queue", "s3fifo(small=0.5)", 4, []Object{0, 0, 0, 1, 2, 3, 4, 1, 5, 3, 6}, []Object{1,
			2, 3, 4, 0}},
		{"a request in the main queue gives another turn", "s3fifo(small=0.5)", 4,
			[]Object{0, 0, 0, 1, 2, 3, 4, 0, 1, 5, 3, 6}, []Object{1, 2, 3, 4, 1}},
		{"without a ghost nothing comes back", "s3fifo(small=0.5,ghost=0)", 4, []Object{0, 1, 2, 3, 4, 0, 5, 6, 7,
			8}, []Object{0, 1, 2, 3, 4, 0}},

		// Kin 1, Kout 2. 0 returns from A1out into Am; 1 was dropped from A1out by 2 and 3 and is new again.
		{"A1out leads to Am", "2q", 4, []Object{0, 1, 2, 3, 4, 0, 5, 6, 1, 3, 4, 5}, []Object{0, 1, 2, 3, 4, 5, 6, 0}},
		{"Am is LRU", "2q", 4, []Object{0, 1, 2, 3, 4, 0, 5, 6, 1, 3, 4, 0, 5}, []Object{0, 1, 2, 3, 4, 5, 6, 3}},
		{"a hit in A1in changes nothing", "2q", 4, []Object{0, 1, 2, 3, 0, 0, 4}, []Object{0}},

		// Segments of 2: 0 and 1 low, 2 and 3 high. The hit on 0 lifts it and 2 falls; later the hit on 4 makes 3 fall.
		{"what overflows falls", "slru", 4, []Object{0, 1, 2, 3, 0, 4, 5, 4, 6, 7}, []Object{1, 2, 5, 3}},
		{"one segment is LRU", "slru(segments=1)", 3, []Object{0, 1, 2, 0, 3, 4}, []Object{1, 2}},
		{"more segments than objects", "slru(segments=64)", 2, []Object{0, 1, 0, 2, 3}, []Object{1, 2}},

		// The new object joins the queue first: 2 is reached behind 0 and 1, which have lost their turns when 3 comes.
		{"the hand comes to the new object", "clock(rule=caffeine)", 2, []Object{0, 1, 0, 1, 2, 3}, []Object{0}},
		{"new objects enter the lowest segment", "slru(rule=caffeine)", 4, []Object{0, 1, 2, 3, 4, 5, 6}, []Object{0, 1, 2}},
		// 4 moves 0, 1 and 2 to the main queue, which is then over its 2 and evicts 0 before the small queue evicts 3.
		{"a promotion evicts from the main queue", "s3fifo(small=0.5,rule=caffeine)", 4,
			[]Object{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 5}, []Object{0, 3}},
		// When 0 returns, the eviction of 1 pushes it out of the ghost: it is new.
		{"the ghost is read after the eviction", "s3fifo(small=0.5,ghost=0.25,rule=caffeine)", 4,
			[]Object{0, 1, 2, 3, 4, 0, 5, 6, 7, 8}, []Object{0, 1, 2, 3, 4, 0}},

		{"nothing ever leaves", "uniform", 2, []Object{0, 1, 2, 3, 0, 1}, nil},
	} {
		t.Run(test.spec+": "+test.name, func(t *testing.T) {
			c := Config{Capacity: test.capacity, Unit: true, Objects: 10, Requests: len(test.trace)}
			if got := drive(t, test.spec, c).serveAll(test.trace...); !slices.Equal(got, test.want) {
				t.Errorf("trace %v: victims %v, want %v", test.trace, got, test.want)
			}
		})
	}
}

// handed is clock or sieve on a slice, oldest first.
type handed struct {
	capacity int
	objects  []Object
	turns    map[Object]int
	top      int
	sieve    bool
	hand     int
}

func (h *handed) serve(o Object, _ int64, _ int) (hit bool, victims []Object) {
	if slices.Contains(h.objects, o) {
		h.turns[o] = min(h.turns[o]+1, h.top)
		return true, nil
	}
	if len(h.objects) == h.capacity {
		victims = append(victims, h.evict())
	}
	h.objects = append(h.objects, o)
	h.turns[o] = 0
	return false, victims
}

func (h *handed) evict() Object {
	for {
		h.hand %= len(h.objects)
		v := h.objects[h.hand]
		if h.turns[v] == 0 {
			h.objects = slices.Delete(h.objects, h.hand, h.hand+1)
			if h.hand == len(h.objects) {
				h.hand = 0
			}
			return v
		}
		h.turns[v]--
		if h.sieve {
			h.hand++
		} else {
			h.objects = append(h.objects[1:], v)
		}
	}
}

func TestClockAndSieveEqualNaive(t *testing.T) {
	for _, test := range []struct {
		spec string
		handed
	}{
		{"sieve", handed{top: 1, sieve: true}},
		{"clock", handed{top: 1}},
		{"clock(bits=3)", handed{top: 7}},
	} {
		t.Run(test.spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawUnitWorkload(t)
				want := test.handed
				want.capacity, want.turns = int(w.config.Capacity), map[Object]int{}
				checkSameVictims(t, w, drive(t, test.spec, w.config), &want)
			})
		})
	}
}

// Extreme parameters at small capacities: no queue may be asked for an object it does not have.
func TestExtremeParameters(t *testing.T) {
	for _, spec := range []string{
		"s3fifo(small=0,ghost=0)", "s3fifo(small=1,ghost=16)", "s3fifo(small=0,ghost=1,move=0)", "s3fifo(bits=6,move=63)",
		"2q(kin=0,kout=0)", "2q(kin=1,kout=16)", "2q(kin=0,kout=1)",
		"slru(segments=64)", "slru(segments=3,protected=1)", "slru(segments=2,protected=0.01)",
		"clock(bits=7)", "sieve", "ttl(order=lru)", "ttl(order=fifo)", "marker", "random",
	} {
		t.Run(spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				checkAfterEachRequest(t, spec, drawWorkload(t), func(d *driven) {
					sum := int64(0)
					for _, size := range d.stored {
						sum += size
					}
					if sum != d.used || sum > d.capacity {
						t.Fatalf("objects of %d in a cache of %d that counts %d: an object left that was not there",
							sum, d.capacity, d.used)
					}
				})
			})
		})
	}
}

func TestS3FIFOUnreachableThreshold(t *testing.T) {
	s := must.Get(Registry.Parse("s3fifo(move=4)"))(t)
	if _, err := s.Entry.New(Config{Capacity: 10, Unit: true, Objects: 10, Params: s.Params}); err == nil {
		t.Error("4 requests cannot be counted in 2 bits, but no error")
	}
}

// By bytes, an object must fit the queue that it enters; by objects it always does.
func TestAdmissionBySize(t *testing.T) {
	for _, test := range []struct {
		spec    string
		largest int64 // size that may enter a cache of 100
	}{
		{"s3fifo", 9}, {"2q", 25}, {"slru", 50}, {"slru(segments=4)", 25}, {"slru(protected=0.8)", 20},
	} {
		for _, unit := range []bool{false, true} {
			p := drive(t, test.spec, Config{Capacity: 100, Unit: unit, Objects: 10}).policy.(Admitter)
			if !p.Admit(Request{Size: test.largest}) {
				t.Errorf("%s refuses size %d", test.spec, test.largest)
			}
			if got := p.Admit(Request{Size: test.largest + 1}); got != unit {
				t.Errorf("%s, unit %v, admits size %d: %v", test.spec, unit, test.largest+1, got)
			}
		}
	}
}

// A phase has as many distinct objects as the cache holds, and an object requested within the phase stays to its end.
func TestMarkerKeepsThePhase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawUnitWorkload(t)
		d := drive(t, "marker", w.config)
		phase := map[Object]bool{}
		for i, o := range w.trace {
			if !phase[o] && len(phase) == int(w.config.Capacity) {
				clear(phase)
			}
			phase[o] = true
			_, victims := d.serve(o, 1, i)
			for _, v := range victims {
				if phase[v] {
					t.Fatalf("request %d: victim %d was requested in this phase", i, v)
				}
			}
		}
	})
}

// Over many seeds, each of four candidates is the victim about equally often: random chooses among all objects, and a
// phase of marker begins with all unmarked.
func TestRandomChoice(t *testing.T) {
	const seeds, candidates = 6000, 4
	for _, spec := range []string{"random", "marker"} {
		times := make([]int, candidates)
		for seed := range uint64(seeds) {
			d := drive(t, spec, Config{Capacity: candidates, Unit: true, Objects: 5, Seed: seed})
			for _, v := range d.serveAll(0, 1, 2, 3, 4) {
				times[v]++
			}
		}
		for o, n := range times {
			// The standard deviation is below 35.
			if want := seeds / candidates; n < want-175 || n > want+175 {
				t.Errorf("%s: object %d is the victim %d times of %d, want about %d", spec, o, n, seeds, want)
			}
		}
	}
}

func TestTTLExpiry(t *testing.T) {
	const second = int64(1e9)
	p := drive(t, "ttl(ttl=1.5)", Config{Capacity: 10, Unit: true, Objects: 3}).policy.(*ttl)
	p.Insert(Request{Object: 0, Time: 10 * second})
	p.Insert(Request{Object: 1, Time: 11 * second})
	p.Hit(Request{Object: 0, Time: 11 * second})
	if o, ok := p.Expired(10*second + 3*second/2 - 1); ok {
		t.Errorf("object %d expired a nanosecond early", o)
	}
	if o, ok := p.Expired(10*second + 3*second/2); !ok || o != 0 {
		t.Errorf("after exactly 1.5 seconds: %d, %v; want object 0, although it was hit", o, ok)
	}
	if o, ok := p.Expired(11 * second); ok {
		t.Errorf("object %d expired a second time or early", o)
	}
	p.Insert(Request{Object: 0, Time: 12 * second})
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
		p := drive(t, spec, Config{Capacity: 10, Unit: true, Objects: 5}).policy
		resident := map[Object]bool{}
		var got []int
		for pos, o := range []Object{0, 0, 1, 0, 2, 0, 3, 4, 4} {
			for {
				expired, ok := p.(Expirer).Expired(0)
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
			if r := (Request{Object: o, Pos: pos, Size: 1}); resident[o] {
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
	for order, want := range map[string][]Object{"lru": {1, 0}, "fifo": {0, 1}} {
		d := drive(t, fmt.Sprintf("ttl(order=%s)", order), Config{Capacity: 2, Unit: true, Objects: 4})
		if got := d.serveAll(0, 1, 0, 2, 3); !slices.Equal(got, want) {
			t.Errorf("order=%s: victims %v, want %v", order, got, want)
		}
	}
}
