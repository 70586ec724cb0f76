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

// Where an object is. The names of the queues are those of the paper.
const (
	twoQAbsent = iota
	twoQOut
	twoQIn
	twoQMain
)

type twoQ struct {
	place       []uint8
	sizes       objectSizes
	in, out, am sizedQueue
	capacity    int64
	returning   bool // the object now missed was in the ghost queue
}

func newTwoQ(c Config) *twoQ {
	sizes := newObjectSizes(c)
	kin := max(1, int64(float64(c.Capacity)*c.Params.Float("kin")))
	kout := int64(float64(c.Capacity) * c.Params.Float("kout"))
	return &twoQ{
		place:    make([]uint8, c.Objects),
		sizes:    sizes,
		in:       newSizedQueue(c.Objects, sizes, kin),
		out:      newSizedQueue(c.Objects, sizes, kout),
		am:       newSizedQueue(c.Objects, sizes, c.Capacity-kin),
		capacity: c.Capacity,
	}
}

func (p *twoQ) Hit(r Request) { p.hit(r.Object) }

func (p *twoQ) Miss(r Request) { p.miss(r.Object) }

// Admit refuses an object that does not fit the queue of new objects.
func (p *twoQ) Admit(r Request) bool { return p.sizes == nil || r.Size <= p.in.limit }

func (p *twoQ) Victim(Request) Object { return p.evict() }

func (p *twoQ) Insert(r Request) {
	p.sizes.set(r)
	p.insert(r.Object)
}

func (p *twoQ) Remove(o Object) {
	if p.place[o] == twoQIn {
		p.in.remove(o)
	} else {
		p.am.remove(o)
	}
	p.place[o] = twoQAbsent
}

func (p *twoQ) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.place[o] >= twoQIn {
			hits++
			p.hit(o)
			continue
		}
		p.miss(o)
		if p.in.used+p.am.used == p.capacity {
			p.evict()
			evictions++
		}
		p.insert(o)
	}
	return hits, evictions
}

func (p *twoQ) hit(o Object) {
	if p.place[o] == twoQMain {
		p.am.renew(o)
	}
}

func (p *twoQ) miss(o Object) {
	p.returning = p.place[o] == twoQOut
	if p.returning {
		p.out.remove(o)
		p.place[o] = twoQAbsent
	}
}

func (p *twoQ) insert(o Object) {
	if p.returning {
		p.am.push(o)
		p.place[o] = twoQMain
		return
	}
	p.in.push(o)
	p.place[o] = twoQIn
}

func (p *twoQ) evict() Object {
	if p.in.used <= p.in.limit && p.am.live > 0 {
		o := p.am.pop()
		p.place[o] = twoQAbsent
		return o
	}
	o := p.in.pop()
	p.remember(o)
	return o
}

// remember puts o into the ghost queue.
func (p *twoQ) remember(o Object) {
	p.place[o] = twoQAbsent
	size := p.sizes.of(o)
	if size > p.out.limit {
		return
	}
	for p.out.used+size > p.out.limit {
		p.place[p.out.pop()] = twoQAbsent
	}
	p.out.push(o)
	p.place[o] = twoQOut
}
