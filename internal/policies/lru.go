package policies

var lruEntry = Entry{
	Name:    "lru",
	Summary: "evicts the object that was requested longest ago",
	Source:  "Denning, The working set model for program behavior, CACM 1968",
	New:     func(c Config) (Policy, error) { return newLRU(c), nil },
}

type lru struct {
	queue    logQueue
	resident []bool // batch path only: smaller than the stamps of the queue, it stays in the processor's cache
	capacity int    // objects, batch path only
}

func newLRU(c Config) *lru {
	p := &lru{queue: newLogQueue(c.Objects), capacity: int(c.Capacity)}
	if c.Unit {
		p.resident = make([]bool, c.Objects)
	}
	return p
}

func (p *lru) Hit(r Request)         { p.queue.renew(r.Object) }
func (p *lru) Miss(Request)          {}
func (p *lru) Victim(Request) Object { return p.queue.pop() }
func (p *lru) Insert(r Request)      { p.queue.push(r.Object) }
func (p *lru) Remove(o Object)       { p.queue.remove(o) }

// ReplayUnit does what the methods of the queue do, with the queue's fields in registers.
func (p *lru) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	q, resident := &p.queue, p.resident
	log, stamp, tail, end, live := q.log, q.stamp, q.tail, q.end, q.live
	for _, o := range objects {
		switch {
		case resident[o]:
			hits++
		case live < p.capacity:
			live++
			resident[o] = true
		default:
			for stamp[log[tail]] != tail {
				tail++
			}
			resident[log[tail]] = false
			tail++
			evictions++
			resident[o] = true
		}
		if int(end) == len(log) {
			q.tail, q.end, q.live = tail, end, live
			q.compact()
			log, tail, end = q.log, q.tail, q.end
		}
		log[end] = o
		stamp[o] = end
		end++
	}
	q.tail, q.end, q.live = tail, end, live
	return hits, evictions
}
