package experts

import (
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var cacheusEntry = policies.Entry{
	Name:    "cacheus",
	Look:    policies.Look{Color: policies.Vermilion, Mark: policies.Plus},
	Memory:  policies.Memory{PerObject: 28, PerSlot: 0},
	Summary: "evicts by a scan-resistant LRU or a churn-resistant LFU, at random with weights whose learning rate adapts",
	Source:  "Rodriguez et al., Learning cache replacement with CACHEUS, FAST 2021",
	Params: []policies.Param{
		{Name: "history", Default: 0.5, Doc: "bound on the evicted objects remembered for each of the two, as a multiple " +
			"of the capacity"},
	},
	Random: true,
	New:    func(c policies.Config) (policies.Policy, error) { return newCacheus(c), nil },
}

// cacheus follows the paper and the authors' program (sylab/cacheus). SR-LRU splits the cache: list R holds reused
// objects, list SR new objects and those demoted from R; victims come from SR. CR-LFU evicts the least frequent object;
// ties go to the one requested last.
type cacheus struct {
	experts
	rate        learningRate
	lists       dense.Lists
	objects     []cacheusObject
	frequencies dense.Frequencies // of resident objects
	charge      dense.Charges
	size        [cacheusLists]int64
	limitR      int64
	demoted     int64   // resident objects that were demoted from R
	fresh       int64   // fresh objects among those that SR-LRU evicted
	history     float64 // limit on either history, as a multiple of the capacity
	historyMax  int64
	resident    int64
	capacity    int64
	evicting    bool   // an object is being loaded that does not fit without an eviction
	returning   bool   // it is requested, and was remembered
	requests    uint32 // of it before its eviction; 0 if it was not remembered
}

type cacheusObject struct {
	requests uint32 // before its eviction, while the object is remembered
	list     cacheusList
	demoted  bool
	fresh    bool // entered a full SR as a new object; hits do not change that
}

type cacheusList uint8

const (
	cacheusR cacheusList = iota
	cacheusSR
	cacheusByLRU // remembered, evicted by SR-LRU
	cacheusByLFU // remembered, evicted by CR-LFU
	cacheusLists
	cacheusAbsent = cacheusLists
)

// cacheusSRShare is the initial share of SR in the cache.
const cacheusSRShare = 0.01

func newCacheus(c policies.Config) *cacheus {
	p := &cacheus{
		experts:     newExperts(c.Seed),
		lists:       dense.NewLists(c.Objects, int(cacheusLists)),
		objects:     make([]cacheusObject, c.Objects),
		frequencies: dense.NewFrequencies(c.Objects, c.Requests),
		charge:      dense.NewCharges(c.Objects, c.Unit),
		limitR:      c.Capacity - max(1, int64(math.Round(cacheusSRShare*float64(c.Capacity)))),
		history:     c.Params.Float("history"),
		historyMax:  dense.Multiple(c.Capacity, c.Params.Float("history")),
		capacity:    c.Capacity,
	}
	if c.Unit {
		p.rate.start(c.Capacity)
	}
	for o := range p.objects {
		p.objects[o].list = cacheusAbsent
	}
	return p
}

// take removes o from its list.
func (p *cacheus) take(o policies.Object) {
	x := &p.objects[o]
	p.lists.Unlink(o)
	p.size[x.list] -= p.charge.Of(o)
	x.list = cacheusAbsent
}

// put makes o, which is on no list, the most recent object of list l.
func (p *cacheus) put(o policies.Object, l cacheusList) {
	p.objects[o].list = l
	p.lists.PushFront(int(l), o)
	p.size[l] += p.charge.Of(o)
}

func (p *cacheus) Hit(r policies.Request) {
	p.rate.request(p.rng)
	p.rate.hits++
	p.frequencies.Touch(r.Object)
	x := &p.objects[r.Object]
	if x.list == cacheusSR {
		p.reuse(r)
		return
	}
	p.lists.Unlink(r.Object)
	p.lists.PushFront(int(cacheusR), r.Object)
}

// reuse moves a requested object from SR to R. If R had demoted it, R was too small.
func (p *cacheus) reuse(r policies.Request) {
	x := &p.objects[r.Object]
	if x.demoted {
		p.growR(r.Size * ratio(p.fresh, p.demoted))
		x.demoted = false
		p.demoted--
	}
	p.take(r.Object)
	for p.size[cacheusR]+p.charge.Of(r.Object) > p.limitR && p.size[cacheusR] > 0 {
		p.demote()
	}
	p.put(r.Object, cacheusR)
}

// growR moves the border between R and SR; both keep at least 1.
func (p *cacheus) growR(by int64) {
	p.limitR = max(1, min(p.limitR+by, p.capacity-1))
}

// ratio returns a/b rounded, at least 1.
func ratio(a, b int64) int64 {
	return max(1, int64(float64(a)/float64(max(b, 1))+0.5))
}

// demote moves the least recently requested object of R to SR.
func (p *cacheus) demote() {
	o, _ := p.lists.Back(int(cacheusR))
	p.take(o)
	p.put(o, cacheusSR)
	p.objects[o].demoted = true
	p.demoted++
}

// Miss blames the expert that evicted the object. If SR-LRU evicted it as a fresh object, SR was too small. The object
// leaves its history before an eviction can push it out.
func (p *cacheus) Miss(r policies.Request) {
	p.evicting = p.size[cacheusR]+p.size[cacheusSR]+r.Size > p.capacity
	// A copy, since forget clears the record before the experts are blamed by it.
	x := p.objects[r.Object]
	remembered := x.list != cacheusAbsent
	p.returning, p.requests = remembered && r.Reason == policies.Demand, x.requests
	if remembered {
		p.forget(r.Object)
	}
	if r.Reason != policies.Demand {
		return
	}
	p.rate.request(p.rng)
	switch x.list {
	case cacheusByLRU:
		if x.fresh {
			p.growR(-r.Size * ratio(p.demoted, p.fresh))
		}
		p.regret(recency, p.rate.now)
	case cacheusByLFU:
		p.regret(frequency, p.rate.now)
	}
}

// Victim asks both experts. If they agree, neither can be blamed, and the object is not remembered.
func (p *cacheus) Victim(policies.Request) policies.Object {
	if !p.rate.started() {
		// With sizes, how many objects the cache holds is known only once it is full.
		p.rate.start(p.resident)
	}
	oldest, ok := p.lists.Back(int(cacheusSR))
	if !ok { // sized objects: SR may be empty
		oldest, _ = p.lists.Back(int(cacheusR))
	}
	rarest := p.frequencies.NewestLeast()
	switch {
	case oldest == rarest:
		p.Remove(oldest)
		return oldest
	case p.choose() == recency:
		if p.objects[oldest].fresh {
			p.fresh++
		}
		p.evict(oldest, cacheusByLRU)
		return oldest
	default:
		p.evict(rarest, cacheusByLFU)
		return rarest
	}
}

// evict remembers o among the victims of one expert.
func (p *cacheus) evict(o policies.Object, to cacheusList) {
	requests, fresh := p.frequencies.Frequency(o), p.objects[o].fresh
	p.Remove(o)
	p.objects[o].requests, p.objects[o].fresh = requests, fresh
	p.put(o, to)
	p.trim(to)
}

// trim forgets the oldest victims of one expert until the rest are within the bound.
func (p *cacheus) trim(list cacheusList) {
	for p.size[list] > p.historyMax {
		old, _ := p.lists.Back(int(list))
		p.forget(old)
	}
}

// Resize keeps the share of R.
func (p *cacheus) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	share := float64(p.limitR) / float64(p.capacity)
	p.limitR = max(min(int64(math.Round(share*float64(capacity))), capacity-1), min(1, capacity-1))
	p.capacity = capacity
	p.historyMax = dense.Multiple(capacity, p.history)
	p.trim(cacheusByLRU)
	p.trim(cacheusByLFU)
	if p.charge == nil {
		p.rate.rewindow(capacity)
	}
}

// Resized implements policies.SizeFollower. What no longer fits R falls to SR, as when a hit moves an object there.
func (p *cacheus) Resized(o policies.Object, size int64) {
	p.size[p.objects[o].list] += p.charge.Change(o, size)
	for p.size[cacheusR] > p.limitR {
		p.demote()
	}
}

func (p *cacheus) Grow(objects int) {
	p.lists.Grow(objects)
	p.objects = dense.GrownWith(p.objects, objects, cacheusObject{list: cacheusAbsent})
	p.frequencies.Grow(objects)
	p.charge.Grow(objects)
}

// forget drops a remembered object.
func (p *cacheus) forget(o policies.Object) {
	x := &p.objects[o]
	if x.list == cacheusByLRU && x.fresh {
		p.fresh--
	}
	p.take(o)
	*x = cacheusObject{list: cacheusAbsent}
}

// Insert puts a returning object into R, with the requests that it had. Other objects go to SR, but to R as long as SR
// is unused. Only objects that enter a full SR count as fresh: there is nothing to learn while the cache fills, nor
// from loads without a request.
func (p *cacheus) Insert(r policies.Request) {
	p.charge.Set(r.Object, r.Size)
	p.resident++
	p.frequencies.Add(r.Object, max(p.requests, 1))
	switch {
	case p.returning:
		p.put(r.Object, cacheusR)
		p.limitToR()
	case p.size[cacheusSR] == 0 && p.size[cacheusR]+r.Size <= p.limitR:
		p.put(r.Object, cacheusR)
	case !p.evicting && p.size[cacheusSR] < p.capacity-p.limitR:
		p.put(r.Object, cacheusSR)
	default:
		p.objects[r.Object].fresh = r.Reason == policies.Demand
		p.put(r.Object, cacheusSR)
		p.limitToR()
	}
}

// limitToR demotes objects until R is below its limit.
func (p *cacheus) limitToR() {
	for p.size[cacheusR] >= p.limitR && p.size[cacheusR] > 0 {
		p.demote()
	}
}

func (p *cacheus) Remove(o policies.Object) {
	x := &p.objects[o]
	if x.demoted {
		p.demoted--
	}
	p.take(o)
	p.frequencies.Remove(o)
	p.resident--
	*x = cacheusObject{list: cacheusAbsent}
}

func (p *cacheus) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		r := policies.Request{Object: o, Size: 1}
		if p.objects[o].list <= cacheusSR {
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

// learningRate climbs towards the rate with the best hit ratio. After every window of as many requests as the cache
// holds objects, it continues in the direction that helped or turns if that did not. It starts again after ten windows
// that got worse or had no hits.
type learningRate struct {
	now, before float64 // in this window and in the one before
	first       float64
	window      int64 // requests; 0 while unknown
	left        int64 // requests until the window ends
	hits        int64 // in this window
	lastRatio   float64
	worse, idle int
}

const (
	lowestRate  = 0.001
	highestRate = 1
	patience    = 10 // windows
)

func (l *learningRate) start(window int64) {
	l.window = max(window, 1)
	l.left = l.window
	l.now = math.Sqrt(2 * math.Ln2 / float64(l.window))
	l.first = min(max(l.now, lowestRate), highestRate)
}

// rewindow changes the length of the windows. The current one ends when the longer of the two would.
func (l *learningRate) rewindow(window int64) {
	l.left += window - l.window
	l.left = max(l.left, 1)
	l.window = window
}

func (l *learningRate) started() bool { return l.window > 0 }

// request counts a request before it is served, and ends the window if it is the last one.
func (l *learningRate) request(rng *rand.Rand) {
	if l.left--; l.left == 0 {
		l.left = l.window
		l.adapt(rng)
	}
}

// adapt ends a window. Ratios and rates are compared to three decimals, as in the authors' program.
func (l *learningRate) adapt(rng *rand.Rand) {
	ratio := thousandths(float64(l.hits) / float64(l.window))
	gain := thousandths(ratio - l.lastRatio)
	change := thousandths(l.now) - thousandths(l.before)
	next := l.now
	switch {
	case gain*change > 0:
		next = min(l.now+math.Abs(l.now*change), highestRate)
		l.worse, l.idle = 0, 0
	case gain*change < 0:
		next = max(l.now-math.Abs(l.now*change), lowestRate)
		l.worse, l.idle = 0, 0
	case gain < 0 || ratio == 0 && gain == 0:
		next = l.stuck(gain, rng)
	}
	l.before, l.now = l.now, next
	l.lastRatio, l.hits = ratio, 0
}

// stuck returns the next rate after a window in which the rate stayed the same and the hit ratio fell or was 0.
func (l *learningRate) stuck(gain float64, rng *rand.Rand) float64 {
	l.idle++
	if gain < 0 {
		l.worse++
	}
	switch {
	case l.idle >= patience:
		l.idle = 0
		return l.first
	case gain == 0:
		return l.now
	case l.worse >= patience:
		l.worse = 0
		return l.first
	case l.now >= highestRate:
		return 0.9
	case l.now <= lowestRate:
		return 0.005
	case rng.Uint64()&1 == 0:
		return min(l.now*1.25, highestRate)
	}
	return max(l.now*0.75, lowestRate)
}

func thousandths(x float64) float64 { return math.Round(x*1000) / 1000 }
