package recency

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// slruEvicting is SLRU as libCacheSim has it. Each segment has its share, rounded down, so that the rest of the
// capacity is used only while the cache fills. A hit that lifts an object pushes others down, and what then exceeds the
// share of the lowest segment is evicted at once, even if the cache has room. If nothing was pushed into the lowest
// segment, it stays as large as it is.
type slruEvicting struct {
	segments *slru
	dense.Late
}

func newSLRUEvicting(c policies.Config) *slruEvicting {
	p := &slruEvicting{segments: newSLRU(c)}
	p.limitLowest()
	return p
}

// limitLowest gives the lowest segment its share, which may be less than what the others leave.
func (p *slruEvicting) limitLowest() {
	s := p.segments
	s.Limit[0] = min(s.Limit[0], max(1, s.lowestShare()))
}

// Hit is a request to a resident object. The prefix cache serves several requests before it takes evicted objects, so
// it may also hit an evicted one, which then enters like a new one.
func (p *slruEvicting) Hit(r policies.Request) {
	s := p.segments
	if p.Strike(r.Object) {
		s.Insert(r)
		return
	}
	before := s.Used[0]
	if s.In(0, r.Object) && s.top > 0 {
		before -= s.Charged.Of(r.Object) // it leaves the segment
	}
	s.Hit(r)
	p.overflow(before)
}

// overflow evicts what exceeds the share of the lowest segment, if that has grown.
func (p *slruEvicting) overflow(before int64) {
	s := p.segments
	for pushed := s.Used[0] > before; pushed && s.Used[0] > s.Limit[0]; {
		o, _ := s.Pop(0)
		p.Late = append(p.Late, o)
	}
}

// Resized implements SizeFollower. An object that its own hit has pushed out stays on its way out.
func (p *slruEvicting) Resized(o policies.Object, size int64) {
	s := p.segments
	if s.Segment[o] == 0 {
		s.Charged.Set(o, size)
		return
	}
	before := s.Used[0]
	s.Resized(o, size)
	p.overflow(before)
}

func (p *slruEvicting) Miss(policies.Request)         {}
func (p *slruEvicting) Admit(r policies.Request) bool { return p.segments.Admit(r) }

func (p *slruEvicting) Victim(policies.Request) policies.Object {
	if len(p.Late) > 0 { // the cache has shrunk since the hit
		return p.Next()
	}
	return p.segments.evict()
}

func (p *slruEvicting) Insert(r policies.Request) { p.segments.Insert(r) }

func (p *slruEvicting) Remove(o policies.Object) {
	if !p.Strike(o) {
		p.segments.Remove(o)
	}
}

func (p *slruEvicting) Resize(capacity int64) {
	if capacity == p.segments.capacity {
		return
	}
	p.segments.Resize(capacity)
	p.limitLowest()
}

func (p *slruEvicting) Grow(objects int) { p.segments.Grow(objects) }
