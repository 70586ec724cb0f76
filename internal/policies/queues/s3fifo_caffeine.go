package queues

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// s3fifoSmallFirst is S3-FIFO as Caffeine's simulator has it. A victim comes from the small queue while that has its
// share or the main queue is empty. An object that is promoted into a main queue without room evicts from there at
// once, so that one miss may evict several objects. The ghost is read after the eviction, which may have pushed the
// requested object out of it.
type s3fifoSmallFirst struct {
	queues *s3fifo
	dense.Late
}

func (p *s3fifoSmallFirst) Hit(r policies.Request) { p.queues.Hit(r) }

func (p *s3fifoSmallFirst) Miss(r policies.Request) {
	if r.Reason != policies.Demand && p.queues.In(s3Ghost, r.Object) {
		p.queues.Take(r.Object)
	}
}

func (p *s3fifoSmallFirst) Victim(policies.Request) policies.Object {
	for len(p.Late) == 0 {
		p.evict()
	}
	return p.Next()
}

// evict appends what it evicts to late: nothing where every object of the small queue was promoted.
func (p *s3fifoSmallFirst) evict() {
	q := p.queues
	if q.Used[s3Small] < q.Limit[s3Small] && !q.List.Empty(s3Main) {
		p.Late = append(p.Late, q.evictMain())
		return
	}
	for {
		o, ok := q.Pop(s3Small)
		switch {
		case !ok:
			return
		case q.freq[o] < q.move:
			q.Remember(s3Ghost, o)
			p.Late = append(p.Late, o)
			return
		}
		q.freq[o] = 0
		q.Put(s3Main, o)
		if q.Used[s3Main] > q.Limit[s3Main] {
			p.Late = append(p.Late, q.evictMain())
		}
	}
}

func (p *s3fifoSmallFirst) Insert(r policies.Request) {
	p.queues.returning = p.queues.In(s3Ghost, r.Object)
	if p.queues.returning {
		p.queues.Take(r.Object)
	}
	p.queues.Insert(r)
}

func (p *s3fifoSmallFirst) Remove(o policies.Object) {
	if !p.Strike(o) {
		p.queues.Remove(o)
	}
}

// Resized implements SizeFollower. A promotion that overfills the main queue evicts, but a write does not.
func (p *s3fifoSmallFirst) Resized(o policies.Object, size int64) { p.queues.Resized(o, size) }

func (p *s3fifoSmallFirst) Resize(capacity int64) { p.queues.Resize(capacity) }
func (p *s3fifoSmallFirst) Grow(objects int)      { p.queues.Grow(objects) }
