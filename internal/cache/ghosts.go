package cache

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Ghosts remember the last objects that were evicted from each of several pools, without their data: requests for them
// say what more capacity would be worth. An object is a ghost of one pool at a time. Memory: 12 bytes per object.
type Ghosts struct {
	most   int
	lists  dense.Lists
	of     []uint32 // per object: 1 + the pool whose ghost it is; 0 for none
	counts []int    // per pool
}

// NewGhosts returns ghosts of objects 0..objects-1, at most `most` of each pool.
func NewGhosts(objects, most int) *Ghosts {
	return &Ghosts{most: most, lists: dense.NewLists(objects, 0), of: make([]uint32, objects)}
}

// Add makes an object that was evicted from a pool its latest ghost; the oldest one is forgotten if there are too many.
func (g *Ghosts) Add(pool int, o policies.Object) {
	for len(g.counts) <= pool {
		g.counts = append(g.counts, 0)
		g.lists.Add()
	}
	g.forget(o)
	g.lists.PushFront(pool, o)
	g.of[o] = uint32(pool) + 1
	if g.counts[pool]++; g.counts[pool] > g.most {
		oldest, _ := g.lists.Back(pool)
		g.forget(oldest)
	}
}

// Take forgets an object, because it is requested or loaded, and reports whether it was a ghost of the pool.
func (g *Ghosts) Take(pool int, o policies.Object) (was bool) {
	was = g.of[o] == uint32(pool)+1
	g.forget(o)
	return was
}

func (g *Ghosts) forget(o policies.Object) {
	if of := g.of[o]; of != 0 {
		g.lists.Unlink(o)
		g.of[o] = 0
		g.counts[of-1]--
	}
}

func (g *Ghosts) Clear(pool int) {
	if pool >= len(g.counts) {
		return
	}
	for o, ok := g.lists.Back(pool); ok; o, ok = g.lists.Back(pool) {
		g.forget(o)
	}
}
