package experts

import (
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var lecarEntry = policies.Entry{
	Name:    "lecar",
	Look:    policies.Look{Color: policies.Olive, Mark: policies.Square},
	Memory:  policies.Memory{PerObject: 29, PerSlot: 50},
	Summary: "evicts by LRU or by LFU, at random with weights that follow regret",
	Source:  "Vietri et al., Driving cache replacement with ML-based LeCaR, HotStorage 2018",
	Params: []policies.Param{
		{Name: "rate", Default: 0.45, Doc: "learning rate"},
		{Name: "discount", Default: 0.005, Min: 1e-12, Max: 1, Doc: "share of a regret that remains after as many requests " +
			"as objects are resident"},
		{Name: "history", Default: 1.0, Doc: "bound on the evicted objects remembered for each of the two, as a multiple " +
			"of the capacity"},
		{Name: "counts", Default: true, Doc: "a remembered object continues its request count; false starts again at 1, as " +
			"libCacheSim does"},
		{Name: "ties", Default: "lru", Choices: []string{"lru", lecarTiesKey}, Doc: "which of the objects with the " +
			"fewest requests LFU evicts. lru: the one requested longest ago; key: the one of the smallest key, as in the " +
			"authors' program, if all keys are integers, otherwise as lru"},
	},
	Keys:   func(v policies.Values) bool { return v.Text("ties") == lecarTiesKey },
	Random: true,
	New:    func(c policies.Config) (policies.Policy, error) { return newLeCaR(c), nil },
}

// lecarTiesKey is the value of ties with which LFU compares keys.
const lecarTiesKey = "key"

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
	w := float64(x.weights[e] * math.Exp(-amount))
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
	where  []lecarPlace
	recent dense.LogQueue // resident objects by recency
	// Resident objects by frequency: keyed where ties go to the smallest key, otherwise nil, and frequencies has them.
	keyed       *dense.FrequencyHeap
	frequencies dense.Frequencies
	key         func(policies.Object) uint64 // set with keyed
	history     [2]lecarHistory
	limit       int64   // on the size of each history
	bound       float64 // limit, as a multiple of the capacity
	ghosts      []lecarGhost
	continued   uint32 // requests of the object being loaded that were remembered
	charge      dense.Charges
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

// lecarHistory is what one expert evicted. An object that is requested again leaves a gap. Unlike a dense.LogQueue the
// history need not access an object to drop a gap.
type lecarHistory struct {
	dense.Ring
	live int // objects that are remembered
	size int64
}

// lecarGap is the entry of an object that was requested again.
const lecarGap = math.MaxUint32

// lecarGhost is the state of a remembered object.
type lecarGhost struct {
	evicted  uint32
	requests uint32
	entry    uint32 // in the ring of the history, counted by its pushes
}

func newLeCaR(c policies.Config) *lecar {
	p := &lecar{
		experts:     newExperts(c.Seed),
		where:       make([]lecarPlace, c.Objects),
		recent:      dense.NewLogQueue(c.Objects),
		ghosts:      make([]lecarGhost, c.Objects),
		charge:      dense.NewCharges(c.Objects, c.Unit),
		limit:       dense.Multiple(c.Capacity, c.Params.Float("history")),
		bound:       c.Params.Float("history"),
		rate:        c.Params.Float("rate"),
		logDiscount: math.Log(c.Params.Float("discount")),
		counts:      c.Params.Bool("counts"),
		capacity:    c.Capacity,
	}
	if c.Params.Text("ties") == lecarTiesKey && c.Key != nil {
		p.keyed, p.key = dense.NewFrequencyHeap(c.Objects), c.Key
	} else {
		p.frequencies = dense.NewFrequencies(c.Objects, c.Requests)
	}
	return p
}

func (p *lecar) Hit(r policies.Request) {
	p.now++
	p.recent.Renew(r.Object)
	if p.keyed != nil {
		p.keyed.Touch(r.Object)
	} else {
		p.frequencies.Touch(r.Object)
	}
}

// rarest returns the object that LFU would evict.
func (p *lecar) rarest() policies.Object {
	if p.keyed != nil {
		return p.keyed.Least()
	}
	return p.frequencies.OldestLeast()
}

func (p *lecar) requests(o policies.Object) uint32 {
	if p.keyed != nil {
		return p.keyed.Frequency(o)
	}
	return p.frequencies.Frequency(o)
}

// Miss blames the expert that evicted the object: the sooner it is requested again, the more.
func (p *lecar) Miss(r policies.Request) {
	asked := r.Reason == policies.Demand
	if asked {
		p.now++
	}
	p.continued = 0
	if p.where[r.Object] < lecarEvicted {
		return
	}
	blamed := expert(p.where[r.Object] - lecarEvicted)
	ghost := p.ghosts[r.Object]
	p.continued = ghost.requests
	if asked {
		age := float64(p.now - ghost.evicted)
		p.regret(blamed, p.rate*math.Exp(p.logDiscount*age/float64(max(p.resident, 1))))
	}
	*p.history[blamed].At(ghost.entry) = lecarGap
	p.forget(r.Object, blamed)
}

// Victim asks both experts. If they agree, neither can be blamed, and the object is not remembered.
func (p *lecar) Victim(policies.Request) policies.Object {
	oldest, rarest := p.recent.Back(), p.rarest()
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

// evict remembers o among the victims of the expert by.
func (p *lecar) evict(o policies.Object, by expert) {
	h := &p.history[by]
	if h.Len() == len(h.Slots) {
		p.closeGaps(h)
	}
	ghost := lecarGhost{evicted: p.now, entry: h.Head}
	if p.counts {
		ghost.requests = p.requests(o)
	}
	p.Remove(o)
	p.ghosts[o] = ghost
	p.where[o] = lecarEvicted + lecarPlace(by)
	h.Push(o)
	h.live++
	h.size += p.charge.Of(o)
	p.trim(by)
}

// trim forgets the oldest victims of the expert by until the rest are within the bound.
func (p *lecar) trim(by expert) {
	h := &p.history[by]
	for h.size > p.limit {
		if old := h.Pop(); old != lecarGap {
			p.forget(old, by)
		}
	}
}

func (p *lecar) Resize(capacity int64) {
	p.limit = dense.Multiple(capacity, p.bound)
	p.trim(recency)
	p.trim(frequency)
}

// Resized implements policies.SizeFollower. Only the sizes of the experts' victims are summed up.
func (p *lecar) Resized(o policies.Object, size int64) { p.charge.Set(o, size) }

func (p *lecar) Grow(objects int) {
	p.where = dense.Grown(p.where, objects)
	p.recent.Grow(objects)
	if p.keyed != nil {
		p.keyed.Grow(objects)
	} else {
		p.frequencies.Grow(objects)
	}
	p.ghosts = dense.Grown(p.ghosts, objects)
	p.charge.Grow(objects)
}

// forget removes o from the victims of the expert by.
func (p *lecar) forget(o policies.Object, by expert) {
	h := &p.history[by]
	h.live--
	h.size -= p.charge.Of(o)
	p.where[o] = lecarAbsent
}

// closeGaps makes room in the ring of h for at least as many entries as it keeps.
func (p *lecar) closeGaps(h *lecarHistory) {
	kept := dense.NewRing(max(2*h.live, 64))
	for h.Len() > 0 {
		if o := h.Pop(); o != lecarGap {
			p.ghosts[o].entry = kept.Head
			kept.Push(o)
		}
	}
	h.Ring = kept
}

func (p *lecar) Insert(r policies.Request) {
	o := r.Object
	p.charge.Set(r.Object, r.Size)
	p.resident++
	p.where[o] = lecarResident
	p.recent.Push(o)
	if r.Reason == policies.Demand {
		p.continued++
	}
	if p.keyed != nil {
		p.keyed.Add(o, max(p.continued, 1), p.key(o))
	} else {
		p.frequencies.Add(o, max(p.continued, 1))
	}
}

func (p *lecar) Remove(o policies.Object) {
	p.recent.Remove(o)
	if p.keyed != nil {
		p.keyed.Remove(o)
	} else {
		p.frequencies.Remove(o)
	}
	p.where[o] = lecarAbsent
	p.resident--
}

// ReplayUnit serves hits with the log of the recent objects in registers.
func (p *lecar) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	where, q, keyed := p.where, &p.recent, p.keyed
	log, stamp, end, now := q.Log, q.Stamp, q.End, p.now
	for _, o := range objects {
		if where[o] == lecarResident && int(end) < len(log) {
			hits++
			now++
			log[end] = o
			stamp[o] = end
			end++
			if keyed != nil {
				keyed.Touch(o)
			} else if !p.frequencies.TouchAbove(o) {
				p.frequencies.Climb(o)
			}
			continue
		}
		q.End, p.now = end, now
		if where[o] == lecarResident {
			hits++
			p.Hit(policies.Request{Object: o})
		} else {
			evictions += p.loadUnit(o)
		}
		log, end, now = q.Log, q.End, p.now
	}
	q.End, p.now = end, now
	return hits, evictions
}

// loadUnit serves a miss and returns the number of objects evicted.
func (p *lecar) loadUnit(o policies.Object) (evictions int) {
	r := policies.Request{Object: o, Size: 1}
	p.Miss(r)
	if p.resident == p.capacity {
		p.Victim(r)
		evictions = 1
	}
	p.Insert(r)
	return evictions
}
