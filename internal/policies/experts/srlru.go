package experts

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var srLRUEntry = policies.Entry{
	Name:   "sr-lru",
	Look:   policies.Look{Color: policies.Violet, Mark: policies.Pentagon},
	Memory: policies.Memory{PerObject: 16, PerSlot: 0},
	Summary: "scan-resistant lru: objects that were reused have a part of the cache of their own, whose size follows " +
		"what is evicted too soon, and victims come from the rest",
	Source: "Rodriguez et al., Learning cache replacement with CACHEUS, FAST 2021, of which it is an expert",
	Params: []policies.Param{
		{Name: "history", Default: 1.0, Doc: "bound on the evicted objects remembered, as a multiple of the capacity"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return &aloneSRLRU{newSRLRU(c)}, nil },
}

// srLRU is SR-LRU of CACHEUS: list R holds reused objects, list SR new objects and those demoted from R; victims come
// from SR.
type srLRU struct {
	lists      dense.Lists
	objects    []cacheusObject
	charge     dense.Charges
	size       [cacheusLists]int64
	limitR     int64
	demoted    int64   // resident objects that were demoted from R
	fresh      int64   // fresh objects among those that SR-LRU evicted
	history    float64 // limit on either history, as a multiple of the capacity
	historyMax int64
	resident   int64
	capacity   int64
	evicting   bool // an object is being loaded that does not fit without an eviction
	returning  bool // it is requested, and was remembered
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

func newSRLRU(c policies.Config) srLRU {
	p := srLRU{
		lists:      dense.NewLists(c.Objects, int(cacheusLists)),
		objects:    make([]cacheusObject, c.Objects),
		charge:     dense.NewCharges(c.Objects, c.Unit),
		limitR:     c.Capacity - max(1, int64(math.Round(cacheusSRShare*float64(c.Capacity)))),
		history:    c.Params.Float("history"),
		historyMax: dense.Multiple(c.Capacity, c.Params.Float("history")),
		capacity:   c.Capacity,
	}
	for o := range p.objects {
		p.objects[o].list = cacheusAbsent
	}
	return p
}

// take removes o from its list.
func (p *srLRU) take(o policies.Object) {
	x := &p.objects[o]
	p.lists.Unlink(o)
	p.size[x.list] -= p.charge.Of(o)
	x.list = cacheusAbsent
}

// put makes o, which is on no list, the most recent object of list l.
func (p *srLRU) put(o policies.Object, l cacheusList) {
	p.objects[o].list = l
	p.lists.PushFront(int(l), o)
	p.size[l] += p.charge.Of(o)
}

func (p *srLRU) Hit(r policies.Request) {
	if p.objects[r.Object].list == cacheusSR {
		p.reuse(r)
		return
	}
	p.lists.MoveToFront(int(cacheusR), r.Object)
}

// reuse moves a requested object from SR to R. If R had demoted it, R was too small.
func (p *srLRU) reuse(r policies.Request) {
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
func (p *srLRU) growR(by int64) {
	p.limitR = max(1, min(p.limitR+by, p.capacity-1))
}

// ratio returns a/b rounded, at least 1.
func ratio(a, b int64) int64 {
	return max(1, int64(float64(a)/float64(max(b, 1))+0.5))
}

// demote moves the least recently requested object of R to SR.
func (p *srLRU) demote() {
	o, _ := p.lists.Back(int(cacheusR))
	p.take(o)
	p.put(o, cacheusSR)
	p.objects[o].demoted = true
	p.demoted++
}

// miss returns what was remembered of an object that is requested. If SR-LRU evicted it as a fresh object, SR was too
// small. The object leaves its history before an eviction can push it out.
func (p *srLRU) miss(r policies.Request) cacheusObject {
	p.evicting = p.size[cacheusR]+p.size[cacheusSR]+r.Size > p.capacity
	// A copy, since forget clears the record.
	x := p.objects[r.Object]
	remembered := x.list != cacheusAbsent
	p.returning = remembered && r.Reason == policies.Demand
	if remembered {
		p.forget(r.Object)
	}
	if r.Reason == policies.Demand && x.list == cacheusByLRU && x.fresh {
		p.growR(-r.Size * ratio(p.demoted, p.fresh))
	}
	return x
}

// oldest returns the victim of SR-LRU.
func (p *srLRU) oldest() policies.Object {
	oldest, ok := p.lists.Back(int(cacheusSR))
	if !ok { // sized objects: SR may be empty
		oldest, _ = p.lists.Back(int(cacheusR))
	}
	return oldest
}

// evict remembers o, with its requests, among the victims of one expert.
func (p *srLRU) evict(o policies.Object, requests uint32, to cacheusList) {
	fresh := p.objects[o].fresh
	if fresh && to == cacheusByLRU {
		p.fresh++
	}
	p.Remove(o)
	p.objects[o].requests, p.objects[o].fresh = requests, fresh
	p.put(o, to)
	p.trim(to)
}

// trim forgets the oldest victims of one expert until the rest are within the bound.
func (p *srLRU) trim(list cacheusList) {
	for p.size[list] > p.historyMax {
		old, _ := p.lists.Back(int(list))
		p.forget(old)
	}
}

// Resize keeps the share of R.
func (p *srLRU) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	share := float64(p.limitR) / float64(p.capacity)
	p.limitR = max(min(int64(math.Round(share*float64(capacity))), capacity-1), min(1, capacity-1))
	p.capacity = capacity
	p.historyMax = dense.Multiple(capacity, p.history)
	p.trim(cacheusByLRU)
	p.trim(cacheusByLFU)
}

// Resized implements policies.SizeFollower. What no longer fits R falls to SR, as when a hit moves an object there.
func (p *srLRU) Resized(o policies.Object, size int64) {
	p.size[p.objects[o].list] += p.charge.Change(o, size)
	for p.size[cacheusR] > p.limitR {
		p.demote()
	}
}

func (p *srLRU) Grow(objects int) {
	p.lists.Grow(objects)
	p.objects = dense.GrownWith(p.objects, objects, cacheusObject{list: cacheusAbsent})
	p.charge.Grow(objects)
}

// forget drops a remembered object.
func (p *srLRU) forget(o policies.Object) {
	x := &p.objects[o]
	if x.list == cacheusByLRU && x.fresh {
		p.fresh--
	}
	p.take(o)
	*x = cacheusObject{list: cacheusAbsent}
}

// Insert puts a returning object into R. Other objects go to SR, but to R as long as SR is unused. Only objects that
// enter a full SR count as fresh: there is nothing to learn while the cache fills, nor from loads without a request.
func (p *srLRU) Insert(r policies.Request) {
	p.charge.Set(r.Object, r.Size)
	p.resident++
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
func (p *srLRU) limitToR() {
	for p.size[cacheusR] >= p.limitR && p.size[cacheusR] > 0 {
		p.demote()
	}
}

func (p *srLRU) Remove(o policies.Object) {
	x := &p.objects[o]
	if x.demoted {
		p.demoted--
	}
	p.take(o)
	p.resident--
	*x = cacheusObject{list: cacheusAbsent}
}

// aloneSRLRU is SR-LRU without the other expert: it evicts all objects, and remembers them.
type aloneSRLRU struct{ srLRU }

func (p *aloneSRLRU) Miss(r policies.Request) { p.miss(r) }

func (p *aloneSRLRU) Victim(policies.Request) policies.Object {
	o := p.oldest()
	p.evict(o, 0, cacheusByLRU)
	return o
}

func (p *aloneSRLRU) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
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
