package policies

var lruEntry = Entry{
	Name:    "lru",
	Summary: "evicts the object that was requested longest ago",
	Source:  "Denning, The working set model for program behavior, CACM 1968",
	New:     func(c Config) (Policy, error) { return newLRU(c), nil },
}

type lru struct {
	list     Lists
	resident []bool // used by the batch path only; the cache keeps its own otherwise
	free     int64  // objects that still fit, batch path only
}

func newLRU(c Config) *lru {
	p := &lru{list: NewLists(c.Objects, 1)}
	if c.Unit {
		p.resident, p.free = make([]bool, c.Objects), c.Capacity
	}
	return p
}

func (p *lru) Hit(r Request) {
	p.list.Unlink(r.Object)
	p.list.PushFront(0, r.Object)
}

func (p *lru) Miss(Request) {}

func (p *lru) Victim(Request) Object {
	o, _ := p.list.Back(0)
	p.list.Unlink(o)
	return o
}

func (p *lru) Insert(r Request) { p.list.PushFront(0, r.Object) }

func (p *lru) Remove(o Object) { p.list.Unlink(o) }

func (p *lru) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.resident[o] {
			hits++
			p.list.Unlink(o)
			p.list.PushFront(0, o)
			continue
		}
		if p.free > 0 {
			p.free--
		} else {
			v, _ := p.list.Back(0)
			p.list.Unlink(v)
			p.resident[v] = false
			evictions++
		}
		p.resident[o] = true
		p.list.PushFront(0, o)
	}
	return hits, evictions
}
