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
	Memory:  policies.Memory{PerObject: 16, PerSlot: 96},
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

// lecar follows Algorithms 1 and 2 of the paper and the authors' program (sylab/LeCaR). What both experts need to know
// of an object is in one place: frequencies has the links of LFU, and as a note where the object is in the log that
// orders the resident objects by recency, or in the history of the expert that evicted it.
type lecar struct {
	experts
	frequencies dense.Frequencies[lecarPlace]
	log         []policies.Object            // an entry is stale if the place of its object is another
	oldest, end uint32                       // no live entry is before the first; where the next one goes
	keyed       *dense.FrequencyHeap         // instead of the links, where ties go to the smallest key
	key         func(policies.Object) uint64 // set with keyed
	history     [2]lecarHistory
	limit       int64   // on the size of each history
	bound       float64 // limit, as a multiple of the capacity
	continued   uint32  // requests of the object being loaded that were remembered
	charge      dense.Charges
	rate        float64
	logDiscount float64
	counts      bool
	now         uint32 // requests so far
	resident    int64
	capacity    int64 // batch path only
}

// lecarPlace is 0 for an object that is not known, the index of its entry in the log for a resident one, and otherwise
// says which expert evicted it, and by which push its ghost came into the history.
type lecarPlace uint32

// lecarEvicted is the lowest place of an evicted object.
const lecarEvicted lecarPlace = 1 << 31

func placeOfGhost(by expert, entry uint32) lecarPlace {
	return lecarEvicted | lecarPlace(entry)<<1 | lecarPlace(by)
}

func (at lecarPlace) isResident() bool { return at-1 < lecarEvicted-1 }
func (at lecarPlace) isGhost() bool    { return at >= lecarEvicted }
func (at lecarPlace) by() expert       { return expert(at & 1) }

// entry returns the number of the push, of which the ring needs the lower bits alone.
func (at lecarPlace) entry() uint32 { return uint32(at &^ lecarEvicted >> 1) }

// lecarHistory is what one expert evicted. An object that is requested again leaves a gap.
type lecarHistory struct {
	dense.RingOf[lecarGhost]
	live int // objects that are remembered
	size int64
}

// lecarGhost is what is remembered of an object.
type lecarGhost struct {
	object   policies.Object // NoObject: a gap
	evicted  uint32
	requests uint32
}

func newLeCaR(c policies.Config) *lecar {
	p := &lecar{
		experts:     newExperts(c.Seed),
		frequencies: dense.NewFrequencies[lecarPlace](c.Objects, c.Requests),
		log:         make([]policies.Object, 64),
		oldest:      1,
		end:         1,
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
	}
	return p
}

func (p *lecar) Hit(r policies.Request) { p.hit(r.Object) }

func (p *lecar) hit(o policies.Object) {
	p.now++
	p.renew(o)
	if p.keyed != nil {
		p.keyed.Touch(o)
	} else {
		p.frequencies.Touch(o)
	}
}

// renew makes a resident object the most recent one.
func (p *lecar) renew(o policies.Object) {
	if int(p.end) == len(p.log) {
		p.compact()
	}
	p.log[p.end] = o
	*p.frequencies.Note(o) = lecarPlace(p.end)
	p.end++
}

// compact moves the live entries to the start of the log, which doubles if they fill more than a quarter of it. Whether
// an entry is live is unpredictable, so the loop does not branch on it.
func (p *lecar) compact() {
	old := p.log[p.oldest:p.end]
	if 4*p.resident > int64(len(p.log)) {
		p.log = make([]policies.Object, 2*len(p.log))
	}
	end := uint32(1)
	for i, o := range old {
		p.log[end] = o
		at := p.frequencies.Note(o)
		place, next := *at, end
		live := place == lecarPlace(p.oldest)+lecarPlace(i)
		if live {
			next++
		}
		if live {
			place = lecarPlace(end)
		}
		*at = place
		end = next
	}
	p.oldest, p.end = 1, end
}

// leastRecent returns the object that LRU would evict.
func (p *lecar) leastRecent() policies.Object {
	for {
		if o := p.log[p.oldest]; *p.frequencies.Note(o) == lecarPlace(p.oldest) {
			return o
		}
		p.oldest++
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

func (p *lecar) Miss(r policies.Request) { p.miss(r.Object, r.Reason == policies.Demand) }

// miss blames the expert that evicted the object: the sooner it is requested again, the more.
func (p *lecar) miss(o policies.Object, asked bool) {
	if asked {
		p.now++
	}
	p.continued = 0
	at := *p.frequencies.Note(o)
	if !at.isGhost() {
		return
	}
	blamed := at.by()
	ghost := p.history[blamed].At(at.entry())
	p.continued = ghost.requests
	if asked {
		age := float64(p.now - ghost.evicted)
		p.regret(blamed, p.rate*math.Exp(p.logDiscount*age/float64(max(p.resident, 1))))
	}
	ghost.object = policies.NoObject
	p.forget(o, blamed)
}

func (p *lecar) Victim(policies.Request) policies.Object { return p.victim() }

// victim asks both experts. If they agree, neither can be blamed, and the object is not remembered.
func (p *lecar) victim() policies.Object {
	oldest, rarest := p.leastRecent(), p.rarest()
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
		p.closeGaps(by)
	}
	ghost := lecarGhost{object: o, evicted: p.now}
	if p.counts {
		ghost.requests = p.requests(o)
	}
	p.Remove(o)
	*p.frequencies.Note(o) = placeOfGhost(by, h.Head)
	h.Push(ghost)
	h.live++
	h.size += p.charge.Of(o)
	p.trim(by)
}

// trim forgets the oldest victims of the expert by until the rest are within the bound.
func (p *lecar) trim(by expert) {
	h := &p.history[by]
	for h.size > p.limit {
		if old := h.Pop(); old.object != policies.NoObject {
			p.forget(old.object, by)
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
	p.frequencies.Grow(objects)
	if p.keyed != nil {
		p.keyed.Grow(objects)
	}
	p.charge.Grow(objects)
}

// forget removes o from the victims of the expert by.
func (p *lecar) forget(o policies.Object, by expert) {
	h := &p.history[by]
	h.live--
	h.size -= p.charge.Of(o)
	*p.frequencies.Note(o) = 0
}

// closeGaps makes room in the ring of the expert by for at least as many entries as it keeps.
func (p *lecar) closeGaps(by expert) {
	h := &p.history[by]
	kept := dense.NewRingOf[lecarGhost](max(2*h.live, 64))
	for h.Len() > 0 {
		if ghost := h.Pop(); ghost.object != policies.NoObject {
			*p.frequencies.Note(ghost.object) = placeOfGhost(by, kept.Head)
			kept.Push(ghost)
		}
	}
	h.RingOf = kept
}

func (p *lecar) Insert(r policies.Request) {
	p.charge.Set(r.Object, r.Size)
	p.insert(r.Object, r.Reason == policies.Demand)
}

func (p *lecar) insert(o policies.Object, asked bool) {
	p.resident++
	if asked {
		p.continued++
	}
	if p.keyed != nil {
		p.keyed.Add(o, max(p.continued, 1), p.key(o))
	} else {
		p.frequencies.Add(o, max(p.continued, 1))
	}
	p.renew(o)
}

func (p *lecar) Remove(o policies.Object) {
	if p.keyed != nil {
		p.keyed.Remove(o)
	} else {
		p.frequencies.Remove(o)
	}
	*p.frequencies.Note(o) = 0
	p.resident--
}

// ReplayUnit serves most hits with the log in registers.
func (p *lecar) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	log, end, now, keyed := p.log, p.end, p.now, p.keyed
	for _, o := range objects {
		at := p.frequencies.Note(o)
		if at.isResident() && int(end) < len(log) {
			hits++
			now++
			log[end] = o
			*at = lecarPlace(end)
			end++
			if keyed != nil {
				keyed.Touch(o)
			} else if !p.frequencies.TouchAbove(o) {
				p.frequencies.Climb(o)
			}
			continue
		}
		p.end, p.now = end, now
		if at.isResident() {
			hits++
			p.hit(o)
		} else {
			evictions += p.loadUnit(o)
		}
		log, end, now = p.log, p.end, p.now
	}
	p.end, p.now = end, now
	return hits, evictions
}

// loadUnit serves a miss and returns the number of objects evicted.
func (p *lecar) loadUnit(o policies.Object) (evictions int) {
	p.miss(o, true)
	if p.resident == p.capacity {
		p.victim()
		evictions = 1
	}
	p.insert(o, true)
	return evictions
}
