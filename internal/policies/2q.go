package policies

var twoQEntry = Entry{
	Name:    "2q",
	Aliases: []string{"twoq"},
	Summary: "a FIFO queue for new objects, a ghost queue of what it evicted, and an LRU queue for those requested again while in the ghost",
	Source:  "Johnson and Shasha, 2Q: a low overhead high performance buffer management replacement algorithm, VLDB 1994, full version",
	Params: []Param{
		{Name: "kin", Default: 0.25, Min: 0, Max: 1, Doc: "share of the capacity for the FIFO queue of new objects"},
		{Name: "kout", Default: 0.5, Min: 0, Max: 16, Doc: "capacity of the ghost queue as a share of the cache's"},
	},
	New: func(c Config) (Policy, error) { return newTwoQ(c), nil },
}

// The queues, with the names of the paper. The ghost comes first: an object above it is resident.
const (
	a1out = iota
	a1in
	am
)

type twoQ struct {
	segments
	capacity  int64
	returning bool // the object now missed was in the ghost queue
}

func newTwoQ(c Config) *twoQ {
	kin := max(1, multiple(c.Capacity, c.Params.Float("kin")))
	kout := multiple(c.Capacity, c.Params.Float("kout"))
	return &twoQ{segments: newSegments(c, kout, kin, c.Capacity-kin), capacity: c.Capacity}
}

func (p *twoQ) Hit(r Request) { p.hit(r.Object) }

func (p *twoQ) Miss(r Request) { p.miss(r.Object) }

// Admit refuses an object that does not fit the queue of new objects.
func (p *twoQ) Admit(r Request) bool { return p.charged == nil || r.Size <= p.limit[a1in] }

func (p *twoQ) Victim(Request) Object { return p.evict() }

func (p *twoQ) Insert(r Request) { p.load(p.target(), r) }

func (p *twoQ) Remove(o Object) { p.take(o) }

func (p *twoQ) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.segment[o] > a1out+1 {
			hits++
			p.hit(o)
			continue
		}
		p.miss(o)
		if p.used[a1in]+p.used[am] == p.capacity {
			p.evict()
			evictions++
		}
		p.put(p.target(), o)
	}
	return hits, evictions
}

func (p *twoQ) hit(o Object) {
	if p.in(am, o) {
		p.renew(o)
	}
}

func (p *twoQ) miss(o Object) {
	p.returning = p.in(a1out, o)
	if p.returning {
		p.take(o)
	}
}

// target returns the queue for the object now missed.
func (p *twoQ) target() int {
	if p.returning {
		return am
	}
	return a1in
}

func (p *twoQ) evict() Object {
	if p.used[a1in] <= p.limit[a1in] {
		if o, ok := p.pop(am); ok {
			return o
		}
	}
	o, _ := p.pop(a1in)
	p.remember(a1out, o)
	return o
}
