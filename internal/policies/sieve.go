package policies

var sieveEntry = Entry{
	Name:    "sieve",
	Summary: "a hand moves from the oldest object to the newest and evicts the first that was not requested since its last visit; nothing moves",
	Source:  "Zhang, Yang, Yue, Vigfusson and Rashmi, SIEVE is simpler than LRU, NSDI 2024, algorithm 1",
	New:     func(c Config) (Policy, error) { return newSieve(c), nil },
}

// What sieve knows of an object. The hand halves it.
const (
	sieveAbsent    = 0
	sieveUnvisited = 1
	sieveVisited   = 3
)

// sieve keeps the objects in order of arrival in an array. An object that leaves is overwritten with gone, whose state is
// always sieveAbsent; where the array is full, what is left moves to its start.
type sieve struct {
	state    []uint8
	order    []Object // oldest first
	slot     []uint32 // per resident object: its index in order
	hand     int
	end      int // length of order in use; order[end-1] is never gone
	live     int
	gone     Object
	capacity int // objects, batch path only
}

func newSieve(c Config) *sieve {
	return &sieve{
		state: make([]uint8, c.Objects+1), order: make([]Object, 64), slot: make([]uint32, c.Objects),
		gone: Object(c.Objects), capacity: int(c.Capacity),
	}
}

func (p *sieve) Hit(r Request) { p.state[r.Object] = sieveVisited }

func (p *sieve) Miss(Request) {}

func (p *sieve) Victim(Request) Object { return p.evict() }

func (p *sieve) Insert(r Request) { p.insert(r.Object) }

func (p *sieve) Remove(o Object) { p.drop(int(p.slot[o])) }

func (p *sieve) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	state := p.state
	for _, o := range objects {
		if s := state[o]; s != sieveAbsent {
			hits++
			if s != sieveVisited {
				state[o] = sieveVisited
			}
			continue
		}
		if p.live == p.capacity {
			p.evict()
			evictions++
		}
		p.insert(o)
	}
	return hits, evictions
}

// evict moves the hand to the first unvisited object, takes it out and returns it.
func (p *sieve) evict() Object {
	at := p.hand
	for {
		o := p.order[at]
		s := p.state[o]
		if s == sieveUnvisited {
			p.hand = at + 1
			p.drop(at)
			return o
		}
		p.state[o] = s / 2
		if at++; at == p.end {
			at = 0
		}
	}
}

func (p *sieve) insert(o Object) {
	if p.end == len(p.order) {
		p.compact()
	}
	p.order[p.end] = o
	p.slot[o] = uint32(p.end)
	p.state[o] = sieveUnvisited
	p.end++
	p.live++
}

// drop takes out the object at order[at]. A hand that has nothing newer before it starts again from the oldest.
func (p *sieve) drop(at int) {
	p.state[p.order[at]] = sieveAbsent
	p.order[at] = p.gone
	p.live--
	for p.end > 0 && p.order[p.end-1] == p.gone {
		p.end--
	}
	if p.hand >= p.end {
		p.hand = 0
	}
}

// compact moves what is left to the start of order, which doubles where that is more than half of it.
//
//go:noinline
func (p *sieve) compact() {
	old := p.order
	if 2*p.live > len(old) {
		p.order = make([]Object, 2*len(old))
	}
	hand, end := 0, 0
	for at, o := range old {
		if at == p.hand {
			hand = end
		}
		if o != p.gone {
			p.order[end] = o
			p.slot[o] = uint32(end)
			end++
		}
	}
	p.hand, p.end = hand, end
}
