package rac

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// recency has the entries that were used last and are therefore not evictable. The zero value has none, ever.
type recency struct {
	list  dense.Lists // the one used last in front
	held  []bool      // per object: it is on the list
	n     int
	limit int // at most so many
}

func newRecency(objects int) recency {
	return recency{list: dense.NewLists(objects, 1), held: make([]bool, objects)}
}

func (r *recency) has(o policies.Object) bool { return r.held != nil && r.held[o] }

func (r *recency) add(o policies.Object) {
	r.list.PushFront(0, o)
	r.held[o] = true
	r.n++
}

func (r *recency) remove(o policies.Object) {
	r.list.Unlink(o)
	r.held[o] = false
	r.n--
}

func (r *recency) grow(objects int) {
	if r.held != nil {
		r.list.Grow(objects)
		r.held = dense.Grown(r.held, objects)
	}
}

// limitFor returns how many entries are kept because they were used last: at a share of 1 all but one, so that the
// policy is LRU.
func limitFor(share float64, capacity int64) int {
	return int(min(share*float64(capacity), float64(capacity-1)))
}
