package policies

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Simple versions of the policies, on slices, oldest object first, for objects of one size.

// naiveS3FIFO is algorithm 1 of the S3-FIFO paper as libCacheSim reads it: objects that move on while the small queue
// looks for a victim may take the main queue over its share.
type naiveS3FIFO struct {
	capacity, smallLimit, ghostLimit int
	small, main, ghost               []Object
	requests                         map[Object]int
}

func newNaiveS3FIFO(capacity int) *naiveS3FIFO {
	return &naiveS3FIFO{capacity: capacity, smallLimit: max(1, capacity/10), ghostLimit: capacity * 9 / 10,
		requests: map[Object]int{}}
}

func (c *naiveS3FIFO) serve(o Object, _ int64, _ int) (hit bool, victims []Object) {
	if slices.Contains(c.small, o) || slices.Contains(c.main, o) {
		c.requests[o] = min(c.requests[o]+1, 3)
		return true, nil
	}
	returns := slices.Contains(c.ghost, o)
	c.ghost = without(c.ghost, o)
	if len(c.small)+len(c.main) == c.capacity {
		victims = append(victims, c.evict())
	}
	c.requests[o] = 0
	if returns {
		c.main = append(c.main, o)
	} else {
		c.small = append(c.small, o)
	}
	return false, victims
}

func (c *naiveS3FIFO) evict() Object {
	fromMain := len(c.main) > c.capacity-c.smallLimit
	for !fromMain && len(c.small) > 0 {
		o := c.small[0]
		c.small = c.small[1:]
		if c.requests[o] < 2 {
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

// naive2Q is the full version of the 2Q paper.
type naive2Q struct {
	capacity, kin, kout int
	in, out, am         []Object
}

func newNaive2Q(capacity int) *naive2Q {
	return &naive2Q{capacity: capacity, kin: max(1, capacity/4), kout: capacity / 2}
}

func (c *naive2Q) serve(o Object, _ int64, _ int) (hit bool, victims []Object) {
	switch {
	case slices.Contains(c.am, o):
		c.am = append(without(c.am, o), o)
		return true, nil
	case slices.Contains(c.in, o):
		return true, nil
	}
	returns := slices.Contains(c.out, o)
	c.out = without(c.out, o)
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

func (c *naive2Q) evict() (v Object) {
	if len(c.in) <= c.kin && len(c.am) > 0 {
		v, c.am = c.am[0], c.am[1:]
		return v
	}
	v, c.in = c.in[0], c.in[1:]
	c.out = append(c.out, v)
	c.out = c.out[max(0, len(c.out)-c.kout):]
	return v
}

// naiveSLRU has equal segments; the lowest comes first and gets the remainder.
type naiveSLRU struct {
	capacity int
	limit    []int
	segments [][]Object
}

func newNaiveSLRU(capacity, n int) *naiveSLRU {
	n = min(n, capacity)
	c := &naiveSLRU{capacity: capacity, limit: slices.Repeat([]int{capacity / n}, n), segments: make([][]Object, n)}
	c.limit[0] += capacity % n
	return c
}

func (c *naiveSLRU) serve(o Object, _ int64, _ int) (hit bool, victims []Object) {
	resident := 0
	for k, segment := range c.segments {
		if slices.Contains(segment, o) {
			c.segments[k] = without(segment, o)
			c.put(min(k+1, len(c.segments)-1), o)
			return true, nil
		}
		resident += len(segment)
	}
	if resident == c.capacity {
		lowest := slices.IndexFunc(c.segments, func(s []Object) bool { return len(s) > 0 })
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
func (c *naiveSLRU) put(k int, o Object) {
	c.segments[k] = append(c.segments[k], o)
	if k > 0 && len(c.segments[k]) > c.limit[k] {
		falling := c.segments[k][0]
		c.segments[k] = c.segments[k][1:]
		c.put(k-1, falling)
	}
}

// naiveLIRS is section 3.3 of the LIRS paper, with the authors' two rules: the queue has at least two places, and an
// object requested twice in a row stays what it is.
type naiveLIRS struct {
	capacity, lirLimit int
	stack, queue       []Object
	lir                map[Object]bool
}

func newNaiveLIRS(capacity int) *naiveLIRS {
	return &naiveLIRS{capacity: capacity, lirLimit: capacity - max(1, min(2, capacity-1)), lir: map[Object]bool{}}
}

func (c *naiveLIRS) serve(o Object, _ int64, _ int) (hit bool, victims []Object) {
	inStack := slices.Contains(c.stack, o)
	hit = c.lir[o] || slices.Contains(c.queue, o)
	if !hit && len(c.lir)+len(c.queue) == c.capacity {
		victims = append(victims, c.queue[0])
		c.queue = c.queue[1:]
	}
	switch {
	case hit && !c.lir[o] && inStack && c.stack[len(c.stack)-1] == o:
		return true, nil
	case c.lir[o]:
	case inStack, !hit && len(c.lir) < c.lirLimit:
		c.lir[o] = true
		c.queue = without(c.queue, o)
	default:
		c.queue = append(without(c.queue, o), o)
	}
	c.stack = append(without(c.stack, o), o)
	c.prune()
	for len(c.lir) > c.lirLimit {
		delete(c.lir, c.stack[0])
		c.queue = append(c.queue, c.stack[0])
		c.prune()
	}
	return hit, victims
}

func (c *naiveLIRS) prune() {
	for len(c.stack) > 0 && !c.lir[c.stack[0]] {
		c.stack = c.stack[1:]
	}
}

func TestQueuesEqualNaive(t *testing.T) {
	type server interface {
		serve(o Object, size int64, now int) (hit bool, victims []Object)
	}
	for spec, naive := range map[string]func(capacity int) server{
		"s3fifo":           func(capacity int) server { return newNaiveS3FIFO(capacity) },
		"2q":               func(capacity int) server { return newNaive2Q(capacity) },
		"slru":             func(capacity int) server { return newNaiveSLRU(capacity, 2) },
		"slru(segments=4)": func(capacity int) server { return newNaiveSLRU(capacity, 4) },
		"lirs":             func(capacity int) server { return newNaiveLIRS(capacity) },
	} {
		t.Run(spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawUnitWorkload(t)
				checkSameVictims(t, w, drive(t, spec, w.config), naive(int(w.config.Capacity)))
			})
		})
	}
}
