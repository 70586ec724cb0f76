package policies

var infiniteEntry = Entry{
	Name:    "infinite",
	Memory:  Memory{PerObject: 1, PerSlot: 0},
	Summary: "has room for everything: only the first request to an object misses",
	Source: "the compulsory misses of Hill and Smith, Evaluating associativity in CPU caches, IEEE Transactions on " +
		"Computers 1989",
	Unbounded: true,
	New:       func(c Config) (Policy, error) { return &infinite{seen: make([]bool, c.Objects)}, nil },
}

type infinite struct {
	seen []bool // batch path only
}

func (p *infinite) Hit(Request)    {}
func (p *infinite) Miss(Request)   {}
func (p *infinite) Insert(Request) {}
func (p *infinite) Remove(Object)  {}

// Victim refuses r; it is asked only by a cache that does have a limit.
func (p *infinite) Victim(r Request) Object { return r.Object }

func (p *infinite) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.seen[o] {
			hits++
		}
		p.seen[o] = true
	}
	return hits, 0
}
