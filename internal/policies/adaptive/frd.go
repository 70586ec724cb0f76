package adaptive

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var frdEntry = policies.Entry{
	Name:   "frd",
	Look:   policies.Look{Color: policies.Magenta, Mark: policies.Hexagon},
	Memory: policies.Memory{PerObject: 17, PerSlot: 0},
	Units:  policies.UnitsObjects,
	Summary: "a small LRU list that new objects must pass, and a main one for those that return while lirs would " +
		"remember them: what a scan brings never reaches the main list",
	Source: "Park and Park, FRD: a filtering based buffer cache algorithm that considers both frequency and reuse " +
		"distance, MSST 2017",
	Params: []policies.Param{
		{Name: "main", Default: 0.9, Min: 0, Max: 1, Doc: "share of the capacity for the main list, with climb at first"},
		{Name: "climb", Default: "none", Choices: []string{"none", "hill", "indicator"}, Doc: "how that share moves: hill, " +
			"by a twentieth of the capacity after ten times as many requests as that, back when the hit ratio fell; " +
			"indicator, to what skew and frequencies of the requests suggest; both as in Caffeine's simulator"},
		{Name: "period", Default: 50_000, Min: 1, Max: 1 << 40, Doc: "requests between two moves by the indicator"},
	},
	Keys: func(v policies.Values) bool { return v.Text("climb") == "indicator" },
	New:  func(c policies.Config) (policies.Policy, error) { return newFRD(c), nil },
}

// frd has the filter, and the main stack: the residents of the main list in order of their last request, with the
// objects that were requested later than the oldest of these, resident in the filter or evicted from it.
type frd struct {
	filter, stack dense.Lists
	state         []uint8 // per object: its status, and whether it is in the stack
	mains         int     // residents of the main list
	filtered      int     // residents of the filter
	mainLimit     int
	capacity      int
	share         float64
	full          bool // something has been evicted; until then new objects enter the main list while it has room
	returning     bool // the missed object was in the stack
	climb         *frdClimb
}

// The status of an object. Evicted objects are in the stack.
const (
	frdOut = iota
	frdGhost
	frdFilter
	frdMain

	frdStatus  = 3 // mask of the status
	frdStacked = 4
)

func newFRD(c policies.Config) *frd {
	p := &frd{filter: dense.NewLists(c.Objects, 1), stack: dense.NewLists(c.Objects, 1), state: make([]uint8, c.Objects),
		share: c.Params.Float("main")}
	p.Resize(c.Capacity)
	p.climb = newFRDClimb(c)
	return p
}

func (p *frd) Resize(capacity int64) {
	if int(capacity) == p.capacity {
		return
	}
	if p.climb != nil {
		p.climb.restart()
	}
	p.capacity = int(capacity)
	p.mainLimit = int(dense.Multiple(capacity, p.share))
}

func (p *frd) Grow(objects int) {
	p.filter.Grow(objects)
	p.stack.Grow(objects)
	p.state = dense.Grown(p.state, objects)
}

func (p *frd) status(o policies.Object) uint8 { return p.state[o] & frdStatus }

func (p *frd) Hit(r policies.Request) {
	o := r.Object
	p.moveBorder(o, true)
	if p.status(o) == frdFilter {
		p.filter.MoveToFront(0, o)
		p.toTop(o)
		return
	}
	oldest := p.stack.IsBack(0, o)
	p.stack.MoveToFront(0, o)
	if oldest {
		p.prune()
	}
}

// toTop moves o to the top of the stack, or puts it there.
func (p *frd) toTop(o policies.Object) {
	if p.state[o]&frdStacked != 0 {
		p.stack.MoveToFront(0, o)
		return
	}
	p.stack.PushFront(0, o)
	p.state[o] |= frdStacked
}

// unstack takes o out of the stack, which is the end of a ghost.
func (p *frd) unstack(o policies.Object) {
	p.stack.Unlink(o)
	p.state[o] &^= frdStacked
	if p.status(o) == frdGhost {
		p.state[o] = frdOut
	}
}

// prune takes what is older than every resident of the main list out of the stack.
func (p *frd) prune() {
	for o, ok := p.stack.Back(0); ok && p.status(o) != frdMain; o, ok = p.stack.Back(0) {
		p.unstack(o)
	}
}

func (p *frd) Miss(r policies.Request) {
	p.returning = false
	if r.Reason == policies.Demand {
		p.moveBorder(r.Object, false)
	}
	if p.status(r.Object) != frdGhost {
		return
	}
	if p.returning = r.Reason == policies.Demand; !p.returning {
		p.unstack(r.Object)
	}
}

// Victim makes room in the list that the missed object enters, unless that is smaller than it may be.
func (p *frd) Victim(policies.Request) policies.Object {
	p.full = true
	fromMain := p.returning
	if p.climb != nil && p.returning {
		fromMain = p.mains >= p.mainLimit
	} else if p.climb != nil {
		fromMain = p.filtered < p.capacity-p.mainLimit
	}
	if p.filtered == 0 || fromMain && p.mains > 0 {
		return p.evictMain()
	}
	o := p.filter.PopBack(0)
	p.filtered--
	if p.state[o]&frdStacked != 0 {
		p.state[o] = frdGhost | frdStacked
	} else {
		p.state[o] = frdOut
	}
	return o
}

// evictMain evicts the oldest resident of the main list, without a ghost.
func (p *frd) evictMain() policies.Object {
	p.prune()
	o, _ := p.stack.Back(0)
	p.unstack(o)
	p.state[o] = frdOut
	p.mains--
	p.prune()
	return o
}

func (p *frd) Insert(r policies.Request) {
	o := r.Object
	if p.returning || !p.full && p.warmed() < p.mainLimit {
		p.toTop(o)
		p.state[o] = frdMain | frdStacked
		p.mains++
		return
	}
	p.filter.PushFront(0, o)
	p.filtered++
	p.state[o] = frdFilter
	if p.full {
		p.toTop(o)
	}
}

// warmed returns how many objects have entered while the cache fills, of those that count for the main list.
func (p *frd) warmed() int {
	if p.climb != nil {
		return p.mains + p.filtered
	}
	return p.mains
}

func (p *frd) Remove(o policies.Object) {
	if p.status(o) == frdFilter {
		p.filter.Unlink(o)
		p.filtered--
	} else {
		p.mains--
	}
	if p.state[o]&frdStacked != 0 {
		p.unstack(o)
	}
	p.state[o] = frdOut
	p.prune()
}

func (p *frd) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		r := policies.Request{Object: o, Size: 1}
		if p.status(o) >= frdFilter {
			hits++
			p.Hit(r)
			continue
		}
		p.Miss(r)
		if p.mains+p.filtered == p.capacity {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
