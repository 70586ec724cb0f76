package queues

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// sizedTwoQ is 2Q where sizes count, as libCacheSim has it: Am has its share as a limit of its own, also while the
// cache has room. By objects that limit never decides, since A1in is never below its share once an object returns.
type sizedTwoQ struct {
	*twoQ
	dense.Late
}

func (p *sizedTwoQ) Resize(capacity int64) {
	p.twoQ.Resize(capacity)
	p.limitAm(0)
}

// Admit refuses an object that does not fit its queue.
func (p *sizedTwoQ) Admit(r policies.Request) bool {
	return p.twoQ.Admit(r) && (!p.returning || r.Size <= p.Limit[am])
}

func (p *sizedTwoQ) Victim(r policies.Request) policies.Object {
	if len(p.Late) > 0 { // the cache has shrunk
		return p.Next()
	}
	return p.twoQ.Victim(r)
}

func (p *sizedTwoQ) Insert(r policies.Request) {
	if p.returning {
		p.limitAm(r.Size)
	}
	p.twoQ.Insert(r)
}

// Resized implements SizeFollower. An object of Am may be evicted for its own growth. One on its way out stays so.
func (p *sizedTwoQ) Resized(o policies.Object, size int64) {
	if p.Segment[o] == 0 {
		p.Charged.Set(o, size)
		return
	}
	p.twoQ.Resized(o, size)
	p.limitAm(0)
}

// limitAm evicts from Am until it has room for a size.
func (p *sizedTwoQ) limitAm(size int64) {
	for p.Used[am]+size > p.Limit[am] {
		o, ok := p.Pop(am)
		if !ok {
			return
		}
		p.Late = append(p.Late, o)
	}
}

func (p *sizedTwoQ) Remove(o policies.Object) {
	if !p.Strike(o) {
		p.twoQ.Remove(o)
	}
}
