package adaptive

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var clockProEntry = policies.Entry{
	Name:    "clock-pro",
	Look:    policies.Look{Color: policies.Green, Mark: policies.Hexagon},
	Memory:  policies.Memory{PerObject: 17, PerSlot: 0},
	Aliases: []string{"clockpro"},
	Summary: "lirs on a clock: hot and cold objects in one circle with three hands; a cold object that is requested " +
		"again during its test becomes hot; the share of cold ones follows how many tests are passed",
	Source: "Jiang, Chen and Zhang, CLOCK-Pro: an effective improvement of the CLOCK replacement, USENIX 2005",
	Params: []policies.Param{
		{Name: "min-cold", Default: 0.01, Min: 0, Max: 1, Doc: "least share of the capacity for cold objects"},
		{Name: "max-cold", Default: 0.99, Min: 0, Max: 1, Doc: "largest share of the capacity for cold objects"},
		{Name: "nonresident", Default: 2.0, Min: 0, Max: 16, Doc: "capacity for evicted objects in their test, as a " +
			"multiple of the cache's; the paper has 1"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newClockPro(c, false), nil },
}

var clockProPlusEntry = policies.Entry{
	Name:    "clock-pro-plus",
	Look:    policies.Look{Color: policies.Violet, Mark: policies.Hexagon},
	Memory:  policies.Memory{PerObject: 17, PerSlot: 0},
	Aliases: []string{"clockproplus"},
	Summary: "clock-pro whose share of cold objects grows when an evicted object returns during its test, and shrinks " +
		"when one that was hot before is requested again, as arc's target does",
	Source: "Li, CLOCK-Pro+: improving CLOCK-Pro cache replacement with utility-driven adaptation, SYSTOR 2019",
	Params: []policies.Param{
		{Name: "min-cold", Default: 0.01, Min: 0, Max: 1, Doc: "least share of the capacity for cold objects"},
		{Name: "max-cold", Default: 0.5, Min: 0, Max: 1, Doc: "largest share of the capacity for cold objects"},
		{Name: "nonresident", Default: 1.0, Min: 0, Max: 16, Doc: "capacity for evicted objects in their test, as a " +
			"multiple of the cache's"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newClockPro(c, true), nil },
}

// clockPro has one circle with all objects, of which a list is the order: new ones come in front, and hands move from
// the back. Sizes of hot and cold objects are sums of charges.
type clockPro struct {
	list    dense.Lists
	colds   dense.Lists // the resident cold objects in the same order: the cold hand is at its back
	state   []uint8     // per object: its status, and the marks above it
	charged dense.Charges
	used    [clockProStatuses]int64 // by status
	demoted int64                   // of the objects with clockProDemoted

	hot, test policies.Object // the other hands; NoObject where there is nothing to point to

	capacity         int64
	target           int64 // for resident cold objects
	minCold, maxCold int64
	ghosts           int64 // limit on evicted objects
	plus             bool
	config           policies.Config

	last policies.Object // a request that repeats the last one is no second request
	full bool            // something has been evicted; until then new objects are hot while there is room for that
}

// The statuses of an object. Those in a test are cold, and those from clockProHot to clockProTested are resident.
const (
	clockProOut    = iota
	clockProHot    //
	clockProCold   // its test is over
	clockProTested // in its test
	clockProGhost  // evicted, in its test
	clockProStatuses
)

// What else the state of an object says.
const (
	clockProStatus  = 7 // mask of the status
	clockProMarked  = 8 // requested since it came to its place
	clockProDemoted = 16
)

func newClockPro(c policies.Config, plus bool) *clockPro {
	p := &clockPro{
		list: dense.NewLists(c.Objects, 1), colds: dense.NewLists(c.Objects, 1), state: make([]uint8, c.Objects),
		charged: dense.NewCharges(c.Objects, c.Unit), plus: plus, config: c,
		hot: policies.NoObject, test: policies.NoObject, last: policies.NoObject,
	}
	p.limit(c.Capacity)
	return p
}

// leastCold is the least number of cold objects, or bytes, whatever the shares say.
const leastCold = 2

// limit sets what depends on the capacity.
func (p *clockPro) limit(capacity int64) {
	p.capacity = capacity
	p.minCold = min(max(leastCold, dense.Multiple(capacity, p.config.Params.Float("min-cold"))), max(1, capacity/2))
	p.maxCold = max(p.minCold, min(capacity-p.minCold, dense.Multiple(capacity, p.config.Params.Float("max-cold"))))
	p.ghosts = dense.Multiple(capacity, p.config.Params.Float("nonresident"))
	p.adjust(0)
}

func (p *clockPro) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	p.limit(capacity)
	p.trim()
	p.turn()
}

func (p *clockPro) Grow(objects int) {
	p.list.Grow(objects)
	p.colds.Grow(objects)
	p.state = dense.Grown(p.state, objects)
	p.charged.Grow(objects)
}

func (p *clockPro) status(o policies.Object) uint8  { return p.state[o] & clockProStatus }
func (p *clockPro) marked(o policies.Object) bool   { return p.state[o]&clockProMarked != 0 }
func (p *clockPro) inTest(o policies.Object) bool   { return p.status(o) >= clockProTested }
func (p *clockPro) resident(o policies.Object) bool { return isResident(p.state[o]) }

func isCold(status uint8) bool { return status == clockProCold || status == clockProTested }

func isResident(state uint8) bool { return state&clockProStatus-1 < clockProTested }

func (p *clockPro) coldUsed() int64 { return p.used[clockProCold] + p.used[clockProTested] }

func (p *clockPro) Hit(r policies.Request) {
	if r.Object != p.last {
		p.state[r.Object] |= clockProMarked
		p.last = r.Object
	}
}

func (p *clockPro) Miss(r policies.Request) {
	if r.Reason == policies.Demand {
		p.last = r.Object
	} else if p.status(r.Object) == clockProGhost {
		p.take(r.Object)
		p.turn()
	}
}

func (p *clockPro) Victim(policies.Request) policies.Object {
	p.full = true
	for {
		if p.coldUsed() == 0 {
			p.demoteOne()
		}
		if o, ok := p.runCold(); ok {
			return o
		}
	}
}

func (p *clockPro) Insert(r policies.Request) {
	o := r.Object
	status := uint8(clockProTested)
	switch {
	case !p.full && p.capacity-p.used[clockProHot]-p.coldUsed() > p.minCold:
		status = clockProHot
	case p.full && p.canPromote(o):
		status = clockProHot
	}
	if p.status(o) != clockProOut {
		p.take(o)
	}
	p.charged.Set(o, r.Size)
	p.put(o, status)
	p.turn()
}

func (p *clockPro) Remove(o policies.Object) {
	p.take(o)
	p.turn()
}

// Resized implements SizeFollower.
func (p *clockPro) Resized(o policies.Object, size int64) {
	by := p.charged.Change(o, size)
	p.used[p.status(o)] += by
	if p.state[o]&clockProDemoted != 0 {
		p.demoted += by
	}
}

// put puts o, which is not in the circle, in front.
func (p *clockPro) put(o policies.Object, status uint8) {
	p.list.PushFront(0, o)
	if isCold(status) {
		p.colds.PushFront(0, o)
	}
	p.state[o] = status
	p.used[status] += p.charged.Of(o)
}

// take takes o out of the circle. The hands that point to it move on.
func (p *clockPro) take(o policies.Object) {
	next := p.before(o)
	if next == o {
		next = policies.NoObject
	}
	for _, hand := range []*policies.Object{&p.hot, &p.test} {
		if *hand == o {
			*hand = next
		}
	}
	p.list.Unlink(o)
	if isCold(p.status(o)) {
		p.colds.Unlink(o)
	}
	p.used[p.status(o)] -= p.charged.Of(o)
	p.unmarkDemoted(o)
	p.state[o] = clockProOut
}

// move takes o, which stays in the circle, to the front, without its mark.
func (p *clockPro) move(o policies.Object, status uint8) {
	p.take(o)
	p.put(o, status)
}

// setStatus gives o, which is cold, another status in its place: it is evicted, or its test ends.
func (p *clockPro) setStatus(o policies.Object, status uint8) {
	if status == clockProGhost {
		p.colds.Unlink(o)
	}
	p.used[p.status(o)] -= p.charged.Of(o)
	p.state[o] = p.state[o]&^clockProStatus | status
	p.used[status] += p.charged.Of(o)
}

// before returns the object that a hand reaches after o.
func (p *clockPro) before(o policies.Object) policies.Object {
	if newer, ok := p.list.Before(o); ok {
		return newer
	}
	return p.oldest()
}

func (p *clockPro) oldest() policies.Object {
	o, _ := p.list.Back(0)
	return o
}

// adjust moves the target for resident cold objects.
func (p *clockPro) adjust(by int64) { p.target = min(max(p.target+by, p.minCold), p.maxCold) }

// adjustByUse moves the target of clock-pro-plus for o, by as much more as the other kind of object is more frequent.
func (p *clockPro) adjustByUse(o policies.Object, grow bool) {
	over, under, sign := p.demoted, p.used[clockProGhost], int64(1)
	if !grow {
		over, under, sign = under, over, -1
	}
	by := int64(1)
	if under != 0 {
		by = max(1, over/under)
	}
	p.adjust(sign * by * p.charged.Of(o))
}

// canPromote makes room for o among the hot objects, and reports whether there is: o must still be in its test when the
// hot hand has found objects that may become cold.
func (p *clockPro) canPromote(o policies.Object) bool {
	if !p.inTest(o) {
		return false
	}
	if !p.plus {
		p.adjust(p.charged.Of(o))
		p.state[o] &^= clockProMarked
	} else if !p.resident(o) {
		p.adjustByUse(o, true)
	}
	for p.used[clockProHot] >= p.capacity-p.target {
		if p.used[clockProHot] == 0 || !p.inTest(o) || !p.runHot(o) {
			return false
		}
	}
	return true
}

// runCold moves the cold hand by one object, the oldest cold one, and reports whether that was evicted.
func (p *clockPro) runCold() (o policies.Object, evicted bool) {
	o, _ = p.colds.Back(0)
	switch {
	case p.marked(o) && p.inTest(o):
		status := uint8(clockProTested)
		if p.canPromote(o) {
			status = clockProHot
		}
		p.move(o, status)
	case p.marked(o):
		if p.plus && p.state[o]&clockProDemoted != 0 {
			p.adjustByUse(o, false)
		}
		p.move(o, clockProTested)
	case p.inTest(o):
		p.setStatus(o, clockProGhost)
		evicted = true
	default:
		p.take(o)
		evicted = true
	}
	if evicted {
		p.trim()
	}
	return o, evicted
}

// trim ends the tests of the oldest evicted objects that are too many.
func (p *clockPro) trim() {
	for p.used[clockProGhost] > p.ghosts {
		p.turnTest()
		p.endTest(p.test)
	}
}

// runHot moves the hot hand until a hot object has become cold, and reports whether one has before the hand reached by.
func (p *clockPro) runHot(by policies.Object) (demoted bool) {
	if p.hot == policies.NoObject { // the first hot object has come since the hands last turned
		p.turnHot()
	}
	for !demoted && p.hot != by {
		o := p.hot
		switch {
		case p.status(o) == clockProHot && p.marked(o):
			p.move(o, clockProHot)
		case p.status(o) == clockProHot:
			p.demote(o)
			demoted = true
		default:
			if p.marked(o) && p.state[o]&clockProDemoted != 0 {
				p.adjustByUse(o, false)
				p.unmarkDemoted(o)
			}
			p.hot = p.before(o)
			p.endTest(o)
		}
	}
	p.turnHot()
	return demoted
}

// demote makes a hot object cold.
func (p *clockPro) demote(o policies.Object) {
	p.move(o, clockProCold)
	if p.plus {
		p.state[o] |= clockProDemoted
		p.demoted += p.charged.Of(o)
	}
}

func (p *clockPro) unmarkDemoted(o policies.Object) {
	if p.state[o]&clockProDemoted != 0 {
		p.state[o] &^= clockProDemoted
		p.demoted -= p.charged.Of(o)
	}
}

// demoteOne makes one hot object cold where there is no resident cold one: after removals, or in a cache that shrinks.
func (p *clockPro) demoteOne() {
	p.turnHot()
	for p.marked(p.hot) {
		p.move(p.hot, clockProHot)
		p.turnHot()
	}
	p.demote(p.hot)
	p.turn()
}

// endTest ends the test of o, if that is in one.
func (p *clockPro) endTest(o policies.Object) {
	if !p.inTest(o) {
		return
	}
	by := -p.charged.Of(o)
	if p.marked(o) {
		by = -by
	}
	if p.resident(o) {
		p.setStatus(o, clockProCold)
	} else {
		p.take(o)
	}
	if !p.plus {
		p.adjust(by)
	}
}

// turn moves each hand on to the next object that it may point to.
func (p *clockPro) turn() {
	p.turnHot()
	p.turnTest()
}

// turnHot ends the tests of the objects that it passes: these are older than every hot object.
func (p *clockPro) turnHot() {
	if p.used[clockProHot] == 0 {
		p.hot = policies.NoObject
		return
	}
	if p.hot == policies.NoObject {
		p.hot = p.oldest()
	}
	for p.status(p.hot) != clockProHot {
		o := p.hot
		p.hot = p.before(o)
		p.endTest(o)
	}
	p.turnTest()
}

func (p *clockPro) turnTest() {
	if p.used[clockProTested]+p.used[clockProGhost] == 0 {
		p.test = policies.NoObject
		return
	}
	if p.test == policies.NoObject {
		p.test = p.hot
	}
	if p.test == policies.NoObject {
		p.test = p.oldest()
	}
	for !p.inTest(p.test) {
		p.test = p.before(p.test)
	}
}

func (p *clockPro) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if state := p.state[o]; isResident(state) {
			hits++
			if o != p.last {
				p.state[o] = state | clockProMarked
				p.last = o
			}
			continue
		}
		r := policies.Request{Object: o, Size: 1}
		p.Miss(r)
		if p.used[clockProHot]+p.coldUsed() == p.capacity {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
