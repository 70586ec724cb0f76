package queues

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestFIFOEqualsNaive(t *testing.T) {
	policytest.CheckRanked(t, "fifo", func(o *policytest.NaiveObject) int { return o.Loaded })
}

func TestExamples(t *testing.T) {
	for _, test := range []struct {
		name     string
		spec     string
		capacity int64
		trace    []uint32
		want     []uint32 // victims in order
	}{
		{"the order of loading counts", "fifo", 2, []uint32{0, 1, 0, 2, 3}, []uint32{0, 1}},
		{"0 was requested again and gets one turn", "clock", 3, []uint32{0, 1, 2, 0, 0, 3, 4, 5}, []uint32{1, 2, 0}},
		{"with 2 bits its two requests give two turns", "clock(bits=2)", 3, []uint32{0, 1, 2, 0, 0, 3, 4, 5}, []uint32{1, 2,
			3}},
		{"3 turns are the most that 2 bits count", "clock(bits=2)", 1, []uint32{0, 0, 0, 0, 0, 0, 1}, []uint32{0}},
		// The hand passes 0, takes 1 and stays between the old 0 and the arrivals, which it takes one after another.
		{"the hand stays with the arrivals", "sieve", 3, []uint32{0, 1, 2, 0, 3, 4, 5}, []uint32{1, 2, 3}},
		// The hand clears 6 and 7, wraps round, clears 0 and takes 6.
		{"the hand wraps round", "sieve", 3, []uint32{0, 1, 2, 0, 3, 0, 4, 5, 6, 7, 6, 7, 8}, []uint32{1, 2, 3, 4, 5, 6}},
		// The hand passes 0 and takes 1, the newest; so the next search begins at 0, not at the arrival 2.
		{"a hand that took the newest starts over", "sieve", 2, []uint32{0, 1, 0, 2, 3}, []uint32{1, 0}},
		// Small queue 2, main 2. 4 makes the small queue hand 0 on to the main queue and evict 1.
		{"two more requests lead to the main queue", "s3fifo(small=0.5)", 4, []uint32{0, 0, 0, 1, 2, 3, 4}, []uint32{1}},
		{"one does not", "s3fifo(small=0.5)", 4, []uint32{0, 0, 1, 2, 3, 4}, []uint32{0}},
		{"unless move=1", "s3fifo(small=0.5,move=1)", 4, []uint32{0, 0, 1, 2, 3, 4}, []uint32{1}},
		// 1 and 3 come back from the ghost into the main queue, which is then over its 2 and evicts 0.
		{"the ghost leads to the main queue", "s3fifo(small=0.5,rule=2024)", 4,
			[]uint32{0, 0, 0, 1, 2, 3, 4, 1, 5, 3, 6}, []uint32{1, 2, 3, 4, 0}},
		{"a request in the main queue gives another turn", "s3fifo(small=0.5,rule=2024)", 4,
			[]uint32{0, 0, 0, 1, 2, 3, 4, 0, 1, 5, 3, 6}, []uint32{1, 2, 3, 4, 1}},
		{"without a ghost nothing comes back", "s3fifo(small=0.5,ghost=0,rule=2024)", 4, []uint32{0, 1, 2, 3, 4, 0, 5, 6, 7,
			8}, []uint32{0, 1, 2, 3, 4, 0}},
		// Small queue 2: requests count once 1 other object has entered behind 0.
		{"a request right after the load does not count", "clock2q-plus(small=0.5)", 4, []uint32{0, 0, 1, 2, 3, 4},
			[]uint32{0}},
		{"one behind the window leads to the main queue", "clock2q-plus(small=0.5)", 4, []uint32{0, 1, 0, 2, 3, 4},
			[]uint32{1}},
		// Of the four in the small queue all but 0 are on probation; with skip=0.5 only 3 is.
		{"requests on probation do not count", "s4fifo(small=1,skip=1)", 4, []uint32{0, 1, 2, 3, 1, 1, 4, 5}, []uint32{0,
			1}},
		{"those after it do", "s4fifo(small=1,skip=0.5)", 4, []uint32{0, 1, 2, 3, 1, 1, 4, 5}, []uint32{0, 2}},
		// Kin 1, Kout 2. 0 returns from A1out into Am; 1 was dropped from A1out by 2 and 3 and is new again.
		{"A1out leads to Am", "2q", 4, []uint32{0, 1, 2, 3, 4, 0, 5, 6, 1, 3, 4, 5}, []uint32{0, 1, 2, 3, 4, 5, 6, 0}},
		{"Am is LRU", "2q", 4, []uint32{0, 1, 2, 3, 4, 0, 5, 6, 1, 3, 4, 0, 5}, []uint32{0, 1, 2, 3, 4, 5, 6, 3}},
		{"a hit in A1in changes nothing", "2q", 4, []uint32{0, 1, 2, 3, 0, 0, 4}, []uint32{0}},
		// The new object joins the queue first: 2 is reached behind 0 and 1, which have lost their turns when 3 comes.
		{"the hand comes to the new object", "clock(rule=caffeine)", 2, []uint32{0, 1, 0, 1, 2, 3}, []uint32{0}},
		// 4 moves 0, 1 and 2 to the main queue, which is then over its 2 and evicts 0 before the small queue evicts 3.
		{"a promotion evicts from the main queue", "s3fifo(small=0.5,rule=caffeine)", 4,
			[]uint32{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 5}, []uint32{0, 3}},
		// When 0 returns, the eviction of 1 pushes it out of the ghost: it is new.
		{"the ghost is read after the eviction", "s3fifo(small=0.5,ghost=0.25,rule=caffeine)", 4,
			[]uint32{0, 1, 2, 3, 4, 0, 5, 6, 7, 8}, []uint32{0, 1, 2, 3, 4, 0}},
	} {
		policytest.CheckExample(t, test.name, test.spec, test.capacity, test.trace, test.want)
	}
}

// handed is clock or sieve on a slice, oldest first.
type handed struct {
	capacity int
	objects  []uint32
	turns    map[policies.Object]int
	top      int
	sieve    bool
	hand     int
}

func (h *handed) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []uint32) {
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

func (h *handed) evict() policies.Object {
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
				w := policytest.DrawUnitWorkload(t)
				want := test.handed
				want.capacity, want.turns = int(w.Config.Capacity), map[policies.Object]int{}
				w.SameVictims(t, policytest.Drive(t, test.spec, w.Config), &want)
			})
		})
	}
}

// Simple versions of the policies, on slices, oldest object first, for objects of one size.

// naiveS3FIFO is algorithm 1 of the S3-FIFO paper as libCacheSim reads it: objects that move on while the small queue
// looks for a victim may take the main queue over its share.
type naiveS3FIFO struct {
	capacity, smallLimit, ghostLimit int
	move                             int
	small, main, ghost               []uint32
	requests                         map[policies.Object]int
	filling                          bool // rule=current, and nothing has been evicted
}

func newNaiveS3FIFO(capacity int) *naiveS3FIFO {
	return &naiveS3FIFO{capacity: capacity, smallLimit: max(1, capacity/10), ghostLimit: capacity * 9 / 10, move: 2,
		requests: map[policies.Object]int{}}
}

func (c *naiveS3FIFO) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []uint32) {
	if slices.Contains(c.small, o) || slices.Contains(c.main, o) {
		c.requests[o] = min(c.requests[o]+1, 3)
		return true, nil
	}
	return c.load(o)
}

func (c *naiveS3FIFO) load(o policies.Object) (hit bool, victims []uint32) {
	returns := slices.Contains(c.ghost, o)
	c.ghost = policytest.Without(c.ghost, o)
	if len(c.small)+len(c.main) == c.capacity {
		victims = append(victims, c.evict())
		c.filling = false
	}
	c.requests[o] = 0
	if returns || c.filling && len(c.small) >= c.smallLimit {
		c.main = append(c.main, o)
	} else {
		c.small = append(c.small, o)
	}
	return false, victims
}

func (c *naiveS3FIFO) evict() policies.Object {
	fromMain := len(c.main) > c.capacity-c.smallLimit
	for !fromMain && len(c.small) > 0 {
		o := c.small[0]
		c.small = c.small[1:]
		if c.requests[o] < c.move {
			c.ghost = append(c.ghost, o)
			c.ghost = c.ghost[max(0, len(c.ghost)-c.ghostLimit):]
			return o
		}
		c.requests[o] = 0
		c.main = append(c.main, o)
	}
	for {
		o := c.main[0]
		c.main = c.main[1:]
		if c.requests[o] == 0 {
			return o
		}
		c.requests[o]--
		c.main = append(c.main, o)
	}
}

// naiveProbation is S3-FIFO with a small queue in which requests count only behind the part that entered last.
type naiveProbation struct {
	*naiveS3FIFO
	top     int
	onTrial func(queued, limit int) int // how many of the last to enter are on probation
}

func newNaiveProbation(capacity, move, top int, onTrial func(queued, limit int) int) *naiveProbation {
	c := newNaiveS3FIFO(capacity)
	c.filling, c.move = true, move
	return &naiveProbation{c, top, onTrial}
}

func (c *naiveProbation) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []uint32) {
	if at := slices.Index(c.small, o); at >= 0 {
		if len(c.small)-at > c.onTrial(len(c.small), c.smallLimit) {
			c.requests[o] = min(c.requests[o]+1, c.top)
		}
		return true, nil
	}
	if slices.Contains(c.main, o) {
		c.requests[o] = min(c.requests[o]+1, c.top)
		return true, nil
	}
	return c.load(o)
}

// naive2Q is the full version of the 2Q paper.
type naive2Q struct {
	capacity, kin, kout int
	in, out, am         []uint32
}

func newNaive2Q(capacity int) *naive2Q {
	return &naive2Q{capacity: capacity, kin: max(1, capacity/4), kout: capacity / 2}
}

func (c *naive2Q) Serve(o policies.Object, _ int64, _ int) (hit bool, victims []uint32) {
	switch {
	case slices.Contains(c.am, o):
		c.am = append(policytest.Without(c.am, o), o)
		return true, nil
	case slices.Contains(c.in, o):
		return true, nil
	}
	returns := slices.Contains(c.out, o)
	c.out = policytest.Without(c.out, o)
	if len(c.in)+len(c.am) == c.capacity {
		victims = append(victims, c.evict())
	}
	if returns {
		c.am = append(c.am, o)
	} else {
		c.in = append(c.in, o)
	}
	return false, victims
}

func (c *naive2Q) evict() (v policies.Object) {
	if len(c.in) <= c.kin && len(c.am) > 0 {
		v, c.am = c.am[0], c.am[1:]
		return v
	}
	v, c.in = c.in[0], c.in[1:]
	c.out = append(c.out, v)
	c.out = c.out[max(0, len(c.out)-c.kout):]
	return v
}

func TestQueuesEqualNaive(t *testing.T) {
	type server interface {
		Serve(o policies.Object, size int64, now int) (hit bool, victims []uint32)
	}
	for spec, naive := range map[string]func(capacity int) server{
		"s3fifo(rule=2024)": func(capacity int) server { return newNaiveS3FIFO(capacity) },
		"s3fifo": func(capacity int) server {
			c := newNaiveS3FIFO(capacity)
			c.filling = true
			return c
		},
		"clock2q-plus": func(capacity int) server {
			return newNaiveProbation(capacity, 1, 1, func(_, limit int) int { return (limit + 1) / 2 })
		},
		"s4fifo": func(capacity int) server {
			return newNaiveProbation(capacity, 2, 3, func(queued, _ int) int { return queued/4 - 1 })
		},
		"2q": func(capacity int) server { return newNaive2Q(capacity) },
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
		"s3fifo(small=0,ghost=0)", "s3fifo(small=1,ghost=16)", "s3fifo(small=0,ghost=1,move=0)",
		"s3fifo(bits=6,move=63)", "clock2q-plus(window=16,small=0)", "s4fifo(small=1,skip=1,ghost=0)",
		"2q(kin=0,kout=0)", "2q(kin=1,kout=16)", "2q(kin=0,kout=1)", "clock(bits=7)", "sieve",
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

func TestS3FIFOUnreachableThreshold(t *testing.T) {
	s := must.Get(policies.Registry.Parse("s3fifo(move=4)"))(t)
	if _, err := s.Entry.New(policies.Config{Capacity: 10, Unit: true, Objects: 10, Params: s.Params}); err == nil {
		t.Error("4 requests cannot be counted in 2 bits, but no error")
	}
}

// By bytes, an object must fit the queue that it enters; by objects it always does.
func TestAdmissionBySize(t *testing.T) {
	for _, test := range []struct {
		spec    string
		largest int64 // size that may enter a cache of 100
	}{
		{"s3fifo", 9}, {"2q", 25},
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
