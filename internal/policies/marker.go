package policies

import "math/rand/v2"

var markerEntry = Entry{
	Name:    "marker",
	Summary: "marks what is requested and evicts an unmarked object at random; where all are marked, all marks go and a phase begins",
	Source:  "Fiat, Karp, Luby, McGeoch, Sleator and Young, Competitive paging algorithms, Journal of Algorithms 1991",
	New:     func(c Config) (Policy, error) { return newMarker(c), nil },
}

// marker keeps the marked members of set before the unmarked ones.
type marker struct {
	set      objectSet
	marked   int
	rng      *rand.PCG
	capacity int // objects, batch path only
}

func newMarker(c Config) *marker {
	return &marker{set: newObjectSet(c.Objects), rng: rand.NewPCG(c.Seed, 0), capacity: int(c.Capacity)}
}

func (p *marker) Hit(r Request) { p.mark(r.Object) }

func (p *marker) Miss(Request) {}

func (p *marker) Victim(Request) Object { return p.evict() }

func (p *marker) Insert(r Request) { p.add(r.Object) }

func (p *marker) Remove(o Object) {
	at := int(p.set.slot[o]) - 1
	if at < p.marked {
		p.marked--
		p.set.swap(at, p.marked)
	}
	p.set.remove(o)
}

func (p *marker) mark(o Object) {
	at := int(p.set.slot[o]) - 1
	if at >= p.marked {
		p.set.swap(at, p.marked)
		p.marked++
	}
}

func (p *marker) add(o Object) {
	p.set.add(o)
	p.mark(o)
}

func (p *marker) evict() Object {
	if p.marked == len(p.set.members) {
		p.marked = 0
	}
	v := p.set.members[p.marked+draw(p.rng, len(p.set.members)-p.marked)]
	p.set.remove(v)
	return v
}

func (p *marker) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.set.has(o) {
			hits++
			p.mark(o)
			continue
		}
		if len(p.set.members) == p.capacity {
			p.evict()
			evictions++
		}
		p.add(o)
	}
	return hits, evictions
}
