package policies

import (
	"math"
	"math/rand/v2"
)

var lecarEntry = Entry{
	Name:    "lecar",
	Summary: "evicts by LRU or by LFU, at random with weights that follow regret",
	Source:  "Vietri et al., Driving cache replacement with ML-based LeCaR, HotStorage 2018",
	Params: []Param{
		{Name: "rate", Default: 0.45, Doc: "learning rate"},
		{Name: "discount", Default: 0.005, Min: 1e-12, Max: 1, Doc: "what is left of a regret after as many requests as objects are resident"},
		{Name: "history", Default: 1.0, Doc: "bound on the evicted objects remembered for each of the two, as a multiple of the capacity"},
		{Name: "counts", Default: true, Doc: "a remembered object continues its request count; false starts again at 1, as libCacheSim does"},
	},
	New: func(c Config) (Policy, error) { return newLeCaR(c), nil },
}

// expert is one of the two that LeCaR and CACHEUS choose between, or none of them.
type expert int

const (
	recency expert = iota
	frequency
	both
)

// experts are the weights of the two; they sum to 1.
type experts struct {
	weights [2]float64
	rng     *rand.Rand
}

func newExperts(seed uint64) experts {
	return experts{weights: [2]float64{0.5, 0.5}, rng: rand.New(rand.NewPCG(seed, 0x1eca6))}
}

// regret lowers the weight of e by the factor exp(-amount). As in the authors' programs no weight falls below 0.01.
func (x *experts) regret(e expert, amount float64) {
	w := x.weights[e] * math.Exp(-amount)
	w = max(w/(w+x.weights[1-e]), 0.01)
	x.weights[e], x.weights[1-e] = w, 1-w
}

func (x *experts) choose() expert {
	if x.rng.Float64() < x.weights[recency] {
		return recency
	}
	return frequency
}

// lecar follows Algorithms 1 and 2 of the paper and the authors' program (sylab/LeCaR).
type lecar struct {
	experts
	lists       Lists // resident objects by recency, and what each expert evicted, last evicted in front
	where       []lecarList
	frequencies Frequencies // of resident objects
	ghosts      []lecarGhost
	charge      charges
	size        [3]int64 // of the lists of ghosts
	limit       int64
	rate        float64
	logDiscount float64
	counts      bool
	now         uint32 // requests so far
	resident    int64
	capacity    int64 // batch path only
}

type lecarList uint8

const (
	lecarRecency lecarList = iota // the numbers of the lists
	lecarByLRU
	lecarByLFU
	lecarAbsent
)

type lecarGhost struct{ evicted, requests uint32 }

func newLeCaR(c Config) *lecar {
	p := &lecar{
		experts:     newExperts(c.Seed),
		lists:       NewLists(c.Objects, 3),
		where:       make([]lecarList, c.Objects),
		frequencies: NewFrequencies(c.Objects, c.Requests),
		ghosts:      make([]lecarGhost, c.Objects),
		charge:      newCharges(c),
		limit:       multiple(c.Capacity, c.Params.Float("history")),
		rate:        c.Params.Float("rate"),
		logDiscount: math.Log(c.Params.Float("discount")),
		counts:      c.Params.Bool("counts"),
		capacity:    c.Capacity,
	}
	for o := range p.where {
		p.where[o] = lecarAbsent
	}
	return p
}

func (p *lecar) Hit(r Request) {
	p.now++
	p.lists.Unlink(r.Object)
	p.lists.PushFront(int(lecarRecency), r.Object)
	p.frequencies.Touch(r.Object)
}

// Miss takes the blame to the expert that evicted the object: the sooner it returns the more.
func (p *lecar) Miss(r Request) {
	p.now++
	var blamed expert
	switch p.where[r.Object] {
	case lecarByLRU:
		blamed = recency
	case lecarByLFU:
		blamed = frequency
	default:
		return
	}
	age := float64(p.now - p.ghosts[r.Object].evicted)
	p.regret(blamed, p.rate*math.Exp(p.logDiscount*age/float64(max(p.resident, 1))))
	p.leaveGhosts(r.Object)
}

// Victim asks both experts. Where they agree none can be blamed and the object is not remembered.
func (p *lecar) Victim(Request) Object {
	oldest, _ := p.lists.Back(int(lecarRecency))
	rarest := p.frequencies.OldestLeast()
	switch {
	case oldest == rarest:
		p.Remove(oldest)
		return oldest
	case p.choose() == recency:
		p.evict(oldest, lecarByLRU)
		return oldest
	default:
		p.evict(rarest, lecarByLFU)
		return rarest
	}
}

// evict remembers o among what one expert evicted.
func (p *lecar) evict(o Object, to lecarList) {
	p.ghosts[o].evicted = p.now
	if p.counts {
		p.ghosts[o].requests = p.frequencies.Frequency(o)
	}
	p.Remove(o)
	p.where[o] = to
	p.lists.PushFront(int(to), o)
	p.size[to] += p.charge.of(o)
	for p.size[to] > p.limit {
		old, _ := p.lists.Back(int(to))
		p.leaveGhosts(old)
		p.ghosts[old].requests = 0
	}
}

func (p *lecar) leaveGhosts(o Object) {
	p.lists.Unlink(o)
	p.size[p.where[o]] -= p.charge.of(o)
	p.where[o] = lecarAbsent
}

func (p *lecar) Insert(r Request) {
	o := r.Object
	p.charge.set(r)
	p.resident++
	p.where[o] = lecarRecency
	p.lists.PushFront(int(lecarRecency), o)
	p.frequencies.Add(o, p.ghosts[o].requests+1)
	p.ghosts[o].requests = 0
}

func (p *lecar) Remove(o Object) {
	p.lists.Unlink(o)
	p.frequencies.Remove(o)
	p.where[o] = lecarAbsent
	p.resident--
}

func (p *lecar) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		r := Request{Object: o, Size: 1}
		if p.where[o] == lecarRecency {
			hits++
			p.Hit(r)
			continue
		}
		p.Miss(r)
		if p.resident == p.capacity {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
