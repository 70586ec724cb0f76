package policies

// s3fifoSmallFirst is S3-FIFO as Caffeine's simulator has it. A victim comes from the small queue while that has its
// share or the main queue is empty. An object that is promoted into a main queue without room evicts from there at
// once, so that one miss may evict several objects. The ghost is read after the eviction, which may have pushed the
// requested object out of it.
type s3fifoSmallFirst struct {
	queues *s3fifo
	late
}

func (p *s3fifoSmallFirst) Hit(r Request) { p.queues.Hit(r) }

func (p *s3fifoSmallFirst) Miss(r Request) {
	if r.Reason != Demand && p.queues.in(s3Ghost, r.Object) {
		p.queues.take(r.Object)
	}
}

func (p *s3fifoSmallFirst) Victim(Request) Object {
	for len(p.late) == 0 {
		p.evict()
	}
	return p.next()
}

// evict appends what it evicts to late: nothing where every object of the small queue was promoted.
func (p *s3fifoSmallFirst) evict() {
	q := p.queues
	if q.used[s3Small] < q.limit[s3Small] && !q.list.Empty(s3Main) {
		p.late = append(p.late, q.evictMain())
		return
	}
	for {
		o, ok := q.pop(s3Small)
		switch {
		case !ok:
			return
		case q.freq[o] < q.move:
			q.remember(s3Ghost, o)
			p.late = append(p.late, o)
			return
		}
		q.freq[o] = 0
		q.put(s3Main, o)
		if q.used[s3Main] > q.limit[s3Main] {
			p.late = append(p.late, q.evictMain())
		}
	}
}

func (p *s3fifoSmallFirst) Insert(r Request) {
	p.queues.returning = p.queues.in(s3Ghost, r.Object)
	if p.queues.returning {
		p.queues.take(r.Object)
	}
	p.queues.Insert(r)
}

func (p *s3fifoSmallFirst) Remove(o Object) {
	if !p.strike(o) {
		p.queues.Remove(o)
	}
}

// Resized implements SizeFollower. A promotion that overfills the main queue evicts, but a write does not.
func (p *s3fifoSmallFirst) Resized(o Object, size int64) { p.queues.Resized(o, size) }

func (p *s3fifoSmallFirst) Resize(capacity int64) { p.queues.Resize(capacity) }
func (p *s3fifoSmallFirst) Grow(objects int)      { p.queues.Grow(objects) }
