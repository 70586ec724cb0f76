package policies

var lruEntry = Entry{
	Name:    "lru",
	Summary: "evicts the object that was requested longest ago",
	Source:  "Denning, The working set model for program behavior, CACM 1968",
	New:     func(c Config) (Policy, error) { return newLRU(c), nil },
}

type lru struct {
	queue    logQueue
	capacity int // objects, batch path only
}

func newLRU(c Config) *lru {
	return &lru{queue: newLogQueue(c.Objects), capacity: int(c.Capacity)}
}

func (p *lru) Hit(r Request)         { p.queue.renew(r.Object) }
func (p *lru) Miss(Request)          {}
func (p *lru) Victim(Request) Object { return p.queue.pop() }
func (p *lru) Insert(r Request)      { p.queue.push(r.Object) }
func (p *lru) Remove(o Object)       { p.queue.remove(o) }

func (p *lru) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	q := &p.queue
	for _, o := range objects {
		if q.has(o) {
			hits++
			q.renew(o)
			continue
		}
		if q.live == p.capacity {
			q.pop()
			evictions++
		}
		q.push(o)
	}
	return hits, evictions
}
