package policies

var slruEntry = Entry{
	Name:    "slru",
	Summary: "LRU segments one above another: a hit lifts an object to the next, what overflows a segment falls to the one below",
	Source:  "Karedla, Love and Wherry, Caching strategies to improve disk system performance, IEEE Computer 1994 (2 segments); Huang et al., An analysis of Facebook photo caching, SOSP 2013 (n segments)",
	Params: []Param{
		{Name: "segments", Default: 2, Min: 1, Max: 64, Doc: "number of segments"},
		{Name: "protected", Default: 0.0, Min: 0, Max: 1, Doc: "share of the capacity for the segments above the lowest, in equal parts; 0 makes all segments equal"},
	},
	New: func(c Config) (Policy, error) { return newSLRU(c), nil },
}

type slru struct {
	list     Lists
	segment  []uint8 // per object: 1 + its segment, from the lowest; 0 where it is not resident
	sizes    objectSizes
	used     []int64
	limit    []int64
	capacity int64
	total    int64 // batch path only: resident objects
}

func newSLRU(c Config) *slru {
	n := int(min(int64(c.Params.Int("segments")), c.Capacity))
	p := &slru{
		list:     NewLists(c.Objects, n),
		segment:  make([]uint8, c.Objects),
		sizes:    newObjectSizes(c),
		used:     make([]int64, n),
		limit:    make([]int64, n),
		capacity: c.Capacity,
	}
	upper := c.Capacity / int64(n)
	if protected := c.Params.Float("protected"); protected > 0 && n > 1 {
		upper = int64(float64(c.Capacity) * protected / float64(n-1))
		upper = max(1, min(upper, (c.Capacity-1)/int64(n-1)))
	}
	p.limit[0] = c.Capacity
	for k := 1; k < n; k++ {
		p.limit[k] = upper
		p.limit[0] -= upper
	}
	return p
}

func (p *slru) Hit(r Request) { p.hit(r.Object) }

func (p *slru) Miss(Request) {}

// Admit refuses an object that does not fit the smallest segment.
func (p *slru) Admit(r Request) bool {
	return p.sizes == nil || r.Size <= min(p.limit[0], p.limit[len(p.limit)-1])
}

func (p *slru) Victim(Request) Object { return p.evict() }

func (p *slru) Insert(r Request) {
	p.sizes.set(r)
	p.insert(r.Object)
}

func (p *slru) Remove(o Object) {
	p.take(o)
	p.segment[o] = 0
}

func (p *slru) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.segment[o] != 0 {
			hits++
			p.hit(o)
			continue
		}
		if p.total == p.capacity {
			p.evict()
			evictions++
		} else {
			p.total++
		}
		p.insert(o)
	}
	return hits, evictions
}

// hit lifts o by one segment. What overflows there falls, segment by segment, until everything but the lowest is within its limit.
func (p *slru) hit(o Object) {
	k := int(p.segment[o]) - 1
	p.take(o)
	k = min(k+1, len(p.limit)-1)
	p.put(k, o)
	for ; k > 0; k-- {
		for p.used[k] > p.limit[k] {
			v, _ := p.list.Back(k)
			p.take(v)
			p.put(k-1, v)
		}
	}
}

// insert puts o into the lowest segment with room for it; where none has, into the lowest.
func (p *slru) insert(o Object) {
	size := p.sizes.of(o)
	for k := range p.limit {
		if p.used[k]+size <= p.limit[k] {
			p.put(k, o)
			return
		}
	}
	p.put(0, o)
}

func (p *slru) evict() Object {
	for k := range p.limit {
		if o, ok := p.list.Back(k); ok {
			p.take(o)
			p.segment[o] = 0
			return o
		}
	}
	panic("slru: asked for a victim while nothing is resident")
}

func (p *slru) put(k int, o Object) {
	p.list.PushFront(k, o)
	p.segment[o] = uint8(k + 1)
	p.used[k] += p.sizes.of(o)
}

func (p *slru) take(o Object) {
	p.list.Unlink(o)
	p.used[p.segment[o]-1] -= p.sizes.of(o)
}
