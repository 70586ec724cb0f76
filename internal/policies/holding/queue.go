// Package holding has the queue with which lru and fifo serve caches that hold objects.
package holding

import (
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Queue is lru, or fifo with byLoad, in a cache that holds objects: among the objects that are not held, it evicts the
// one requested (or loaded) longest ago. A hit only records the time, since the order of held objects is never needed.
// Memory: 4 bytes per object and an eighth of a byte per request of the trace; 4 to 8 more per request that it sees
// without Config.Sequence.
type Queue struct {
	byLoad   bool
	last     []uint32 // per object: the position of its last request, or of its load with byLoad
	free     *oracle.Bitmap
	objectAt []policies.Object // per position of an object that is not held; Config.Sequence, unless own
	own      bool
	end      uint32 // free stores end-position, so that the oldest is the largest
}

func New(c policies.Config, byLoad bool) *Queue {
	p := &Queue{
		byLoad: byLoad, last: make([]uint32, c.Objects), objectAt: c.Sequence, own: c.Sequence == nil,
		free: oracle.NewBitmap(c.Requests), end: uint32(c.Requests - 1),
	}
	return p
}

func (p *Queue) Hit(r policies.Request) {
	if !p.byLoad {
		p.last[r.Object] = uint32(r.Pos)
	}
}

func (p *Queue) Miss(policies.Request) {}

func (p *Queue) Victim(policies.Request) policies.Object {
	oldest, _ := p.free.Max()
	p.free.Clear(oldest)
	return p.objectAt[p.end-oldest]
}

func (p *Queue) Insert(r policies.Request) { p.last[r.Object] = uint32(r.Pos) }
func (p *Queue) Remove(o policies.Object)  { p.free.Clear(p.end - p.last[o]) }
func (p *Queue) Grow(objects int)          { p.last = dense.Grown(p.last, objects) }
func (p *Queue) Hold(o policies.Object)    { p.Remove(o) }

func (p *Queue) Release(o policies.Object) {
	at := p.last[o]
	if p.own { // on one of several nodes there are fewer requests than in the trace
		p.objectAt = dense.Grown(p.objectAt, int(at)+1)
		p.objectAt[at] = o
	}
	p.free.Set(p.end - at)
}
