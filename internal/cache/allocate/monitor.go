package allocate

import (
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/oracle"
)

// Monitor measures the curve of a pool: the hits of LRU with its requests at each capacity. It is a shadow directory,
// the utility monitor of Qureshi and Patt (MICRO 2006, section 3): it knows which objects an LRU cache of the whole
// capacity would hold. To bound its memory it follows a sample of the objects, chosen by a hash of their numbers, and
// scales depths up to all objects. When it follows too many it halves the sample (SHARDS of fixed size, Waldspurger et
// al., FAST 2015).
//
// Memory: about 80 bytes per object followed, and 8 per step of the capacity down to the deepest hit.
type Monitor struct {
	stack    *oracle.DepthStack
	capacity int64
	unit     int64 // capacity in a step
	tags     int   // most objects to follow; 0: all
	halvings uint  // one object in 2^halvings is followed
	seed     uint64

	requests float64   // all of them
	followed float64   // requests to followed objects, scaled to all objects
	hits     []float64 // per step, the requests with a depth within it
}

// NewMonitor returns a monitor for requests to a pool, which may have up to the whole capacity.
func NewMonitor(s Sampling, capacity int64, seed uint64) *Monitor {
	return &Monitor{stack: oracle.NewDepthStack(), capacity: capacity, unit: unitOf(capacity, s.Steps), tags: s.Tags,
		seed: seed}
}

// unitOf returns the capacity of a step so that there are from steps to twice as many. It is 1 if there are fewer units
// of capacity, or if steps is 0.
func unitOf(capacity int64, steps int) int64 {
	if steps == 0 {
		return 1
	}
	return max(1, capacity/int64(steps))
}

// Request adds a request to an object of size 1, or of its bytes. Unless it is counted, it only moves the object.
func (m *Monitor) Request(o uint32, size int64, counted bool) {
	if counted {
		m.requests++
	}
	if !m.follows(o) {
		return
	}
	stands := float64(uint64(1) << m.halvings)
	if counted {
		m.followed += stands
	}
	if size > m.capacity {
		return // it is bypassed
	}
	if depth, seen := m.stack.Request(o, size); seen && counted {
		m.count(depth, size, stands)
	}
	m.trim()
}

func (m *Monitor) follows(o uint32) bool {
	return m.halvings == 0 || random.Scramble(uint64(o)^m.seed)>>(64-m.halvings) == 0
}

// count adds a hit at a depth within the sample.
func (m *Monitor) count(depth, size int64, stands float64) {
	if others := depth - size; m.halvings > 0 && others > 0 {
		depth = size + others<<m.halvings
	}
	if depth > m.capacity {
		return
	}
	step := (depth - 1) / m.unit
	for step >= int64(len(m.hits)) {
		m.hits = append(m.hits, 0)
	}
	m.hits[step] += stands
}

// trim removes objects that are deeper than the capacity, and thins the sample while it is too large.
func (m *Monitor) trim() {
	for m.stack.Len() > 1 && m.stack.Weight() > m.capacity>>m.halvings {
		o, _ := m.stack.Bottom()
		m.stack.Remove(o)
	}
	for m.tags > 0 && m.stack.Len() > m.tags {
		m.halvings++
		m.stack.Filter(m.follows)
	}
}

// Curve returns the curve of the requests so far.
//
// Whether a few objects with very many requests are in the sample can move its number of requests away from the
// expected one. Such objects are near the top of the stack, so that the first step is corrected by the difference
// (SHARDS-adj in the same paper).
func (m *Monitor) Curve() Curve {
	var c Curve
	hits := m.requests - m.followed
	for step, n := range m.hits {
		if hits += n; hits > 0 && (len(c) == 0 || hits > c[len(c)-1].Hits) {
			c = append(c, Point{min(int64(step+1)*m.unit, m.capacity), hits})
		}
	}
	return c
}

// Age halves the counts, so that old requests count less than new ones.
func (m *Monitor) Age() {
	m.requests /= 2
	m.followed /= 2
	for i := range m.hits {
		m.hits[i] /= 2
	}
}
