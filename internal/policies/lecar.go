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

// expert is one of the two that LeCaR and CACHEUS choose between.
type expert int

const (
	recency expert = iota
	frequency
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
	where       []lecarPlace
	recent      logQueue    // resident objects by recency
	frequencies Frequencies // of resident objects
	history     [2]logQueue // what each expert evicted
	historySize [2]int64
	limit       int64
	ghosts      []lecarGhost
	charge      charges
	rate        float64
	logDiscount float64
	counts      bool
	now         uint32 // requests so far
	resident    int64
	capacity    int64 // batch path only
}

// lecarPlace is lecarAbsent, lecarResident or, for a remembered object, lecarEvicted plus the expert that evicted it.
type lecarPlace uint8

const (
	lecarAbsent lecarPlace = iota
	lecarResident
	lecarEvicted
)

// lecarGhost is what is known of a remembered object.
type lecarGhost struct{ evicted, requests uint32 }

func newLeCaR(c Config) *lecar {
	return &lecar{
		experts:     newExperts(c.Seed),
		where:       make([]lecarPlace, c.Objects),
		recent:      newLogQueue(c.Objects),
		frequencies: NewFrequencies(c.Objects, c.Requests),
		history:     [2]logQueue{newLogQueue(c.Objects), newLogQueue(c.Objects)},
		ghosts:      make([]lecarGhost, c.Objects),
		charge:      newCharges(c),
		limit:       multiple(c.Capacity, c.Params.Float("history")),
		rate:        c.Params.Float("rate"),
		logDiscount: math.Log(c.Params.Float("discount")),
		counts:      c.Params.Bool("counts"),
		capacity:    c.Capacity,
	}
}

func (p *lecar) Hit(r Request) {
	p.now++
	p.recent.renew(r.Object)
	p.frequencies.Touch(r.Object)
}

// Miss takes the blame to the expert that evicted the object: the sooner it returns the more.
func (p *lecar) Miss(r Request) {
	p.now++
	if p.where[r.Object] < lecarEvicted {
		return
	}
	blamed := expert(p.where[r.Object] - lecarEvicted)
	age := float64(p.now - p.ghosts[r.Object].evicted)
	p.regret(blamed, p.rate*math.Exp(p.logDiscount*age/float64(max(p.resident, 1))))
	p.forget(r.Object, blamed)
}

// Victim asks both experts. Where they agree none can be blamed and the object is not remembered.
func (p *lecar) Victim(Request) Object {
	oldest, rarest := p.recent.back(), p.frequencies.OldestLeast()
	switch {
	case oldest == rarest:
		p.Remove(oldest)
		return oldest
	case p.choose() == recency:
		p.evict(oldest, recency)
		return oldest
	default:
		p.evict(rarest, frequency)
		return rarest
	}
}

// evict remembers o among what the expert by evicted.
func (p *lecar) evict(o Object, by expert) {
	ghost := &p.ghosts[o]
	ghost.evicted = p.now
	if p.counts {
		ghost.requests = p.frequencies.Frequency(o)
	}
	p.Remove(o)
	p.where[o] = lecarEvicted + lecarPlace(by)
	p.history[by].push(o)
	p.historySize[by] += p.charge.of(o)
	for p.historySize[by] > p.limit {
		old := p.history[by].back()
		p.forget(old, by)
		p.ghosts[old].requests = 0
	}
}

// forget takes o out of what the expert by evicted.
func (p *lecar) forget(o Object, by expert) {
	p.history[by].remove(o)
	p.historySize[by] -= p.charge.of(o)
	p.where[o] = lecarAbsent
}

func (p *lecar) Insert(r Request) {
	o := r.Object
	p.charge.set(r)
	p.resident++
	p.where[o] = lecarResident
	p.recent.push(o)
	p.frequencies.Add(o, p.ghosts[o].requests+1)
	p.ghosts[o].requests = 0
}

func (p *lecar) Remove(o Object) {
	p.recent.remove(o)
	p.frequencies.Remove(o)
	p.where[o] = lecarAbsent
	p.resident--
}

func (p *lecar) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	where, recent, frequencies := p.where, &p.recent, &p.frequencies
	for _, o := range objects {
		if where[o] == lecarResident {
			hits++
			p.now++
			recent.renew(o)
			frequencies.Touch(o)
			continue
		}
		r := Request{Object: o, Size: 1}
		p.Miss(r)
		if p.resident == p.capacity {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
