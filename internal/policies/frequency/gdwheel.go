package frequency

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var gdWheelEntry = policies.Entry{
	Name:   "gdwheel",
	Look:   policies.Look{Color: policies.Orange, Mark: policies.Pentagon},
	Memory: policies.Memory{PerObject: 14, PerSlot: 0},
	Summary: "greedy dual in constant time: wheels of LRU queues, a first for small costs and others for larger ones, " +
		"with hands that advance as objects leave",
	Source: "Li and Cox, GD-Wheel: a cost-aware replacement policy for key-value stores, EuroSys 2015",
	Params: []policies.Param{
		{Name: "wheels", Default: 2, Min: 1, Max: 4, Doc: "number of cost wheels"},
		{Name: "queues", Default: 256, Min: 2, Max: 4096, Doc: "queues of each wheel; costs are at most queues^wheels - " +
			"queues^(wheels-1)"},
		{Name: "cost", Default: "value", Choices: []string{"value", "one", "packets"}, Doc: "what a miss costs: value, how " +
			"often the object fits into the largest one seen, which is greedy dual size; one, the same for all, which is " +
			"lru; packets, 2 + size/536"},
	},
	Check: func(v policies.Values) error {
		if most := gdWheelMost(v); most > math.MaxUint32 {
			return fmt.Errorf("wheels=%d and queues=%d: costs of up to %.3g, of which at most %d are possible; give fewer "+
				"queues or wheels", v.Int("wheels"), v.Int("queues"), most, math.MaxUint32)
		}
		return nil
	},
	New: func(c policies.Config) (policies.Policy, error) { return newGDWheel(c), nil },
}

// gdWheelMost returns the largest cost that the wheels can tell from others.
func gdWheelMost(v policies.Values) float64 {
	queues := float64(v.Int("queues"))
	return (queues - 1) * math.Pow(queues, float64(v.Int("wheels")-1))
}

// gdWheel has one LRU queue for each place of each wheel. An object of cost c is c places ahead of the first wheel's
// hand, or c/queues^k ahead of the hand of wheel k; from there it comes to a wheel of smaller steps.
type gdWheel struct {
	lists  dense.Lists
	list   []uint16 // per object: 1 + its list; 0 if it is absent
	cost   []uint32 // per object, at its last request
	values values
	costs  func(policies.Object) int64
	queues int
	unit   []int64 // per wheel: how much one place is worth
	hand   []int   // per wheel
	most   int64
	room   int64 // batch path: objects that still fit
}

func newGDWheel(c policies.Config) *gdWheel {
	wheels, queues := c.Params.Int("wheels"), c.Params.Int("queues")
	p := &gdWheel{
		lists: dense.NewLists(c.Objects, wheels*queues), list: make([]uint16, c.Objects), cost: make([]uint32, c.Objects),
		values: newValues(c), queues: queues, unit: make([]int64, wheels), hand: make([]int, wheels),
		most: int64(gdWheelMost(c.Params)), room: c.Capacity,
	}
	p.costs = map[string]func(policies.Object) int64{
		"value":   p.values.of,
		"one":     func(policies.Object) int64 { return 1 },
		"packets": func(o policies.Object) int64 { return 2 + p.values.charges.Of(o)/536 },
	}[c.Params.Text("cost")]
	for k, unit := 0, int64(1); k < wheels; k, unit = k+1, unit*int64(queues) {
		p.unit[k] = unit
	}
	return p
}

func (p *gdWheel) Grow(objects int) {
	p.lists.Grow(objects)
	p.list, p.cost = dense.Grown(p.list, objects), dense.Grown(p.cost, objects)
	p.values.charges.Grow(objects)
}

// places returns a cost in places of a wheel, rounded.
func (p *gdWheel) places(cost int64, wheel int) int {
	return int((2*cost + p.unit[wheel]) / (2 * p.unit[wheel]))
}

// put puts o, which is on no list, as far ahead as it costs.
func (p *gdWheel) put(o policies.Object) {
	cost := min(p.costs(o), p.most)
	p.cost[o] = uint32(cost)
	wheel := len(p.unit) - 1
	for wheel > 0 && p.places(cost, wheel) == 0 {
		wheel--
	}
	p.push(o, wheel, p.places(cost, wheel))
}

// push puts o at the front of the queue that is so many places ahead of the hand of a wheel.
func (p *gdWheel) push(o policies.Object, wheel, ahead int) {
	list := wheel*p.queues + (p.hand[wheel]+min(ahead, p.queues-1))%p.queues
	p.lists.PushFront(list, o)
	p.list[o] = uint16(list + 1)
}

func (p *gdWheel) Hit(r policies.Request) {
	p.lists.Unlink(r.Object)
	p.put(r.Object)
}

func (p *gdWheel) Miss(policies.Request) {}

// Victim takes the oldest object of the first queue from the hand on that has one.
func (p *gdWheel) Victim(policies.Request) policies.Object {
	ahead, ok := p.next()
	for ; !ok; ahead, ok = p.next() {
		p.migrate(1)
	}
	at := p.hand[0] + ahead
	p.hand[0] = at % p.queues
	o, _ := p.lists.Back(p.hand[0])
	p.Remove(o)
	if at >= p.queues && len(p.unit) > 1 {
		p.migrate(1)
	}
	return o
}

// next returns how far ahead of the hand the first queue of the first wheel is that has an object; ok is false if there
// is none.
func (p *gdWheel) next() (ahead int, ok bool) {
	for ahead := range p.queues {
		if !p.lists.Empty((p.hand[0] + ahead) % p.queues) {
			return ahead, true
		}
	}
	return 0, false
}

// migrate advances the hand of a wheel by one place, and moves the objects there to the wheel below.
func (p *gdWheel) migrate(wheel int) {
	p.hand[wheel] = (p.hand[wheel] + 1) % p.queues
	if p.hand[wheel] == 0 && wheel+1 < len(p.unit) {
		p.migrate(wheel + 1)
	}
	list := wheel*p.queues + p.hand[wheel]
	for o, ok := p.lists.Front(list); ok; o, ok = p.lists.Front(list) {
		p.lists.Unlink(o)
		p.push(o, wheel-1, p.places(int64(p.cost[o])%p.unit[wheel], wheel-1))
	}
}

func (p *gdWheel) Insert(r policies.Request) {
	p.values.load(r.Object, r.Size)
	p.put(r.Object)
}

func (p *gdWheel) Remove(o policies.Object) {
	p.values.remove(o)
	p.lists.Unlink(o)
	p.list[o] = 0
}

// Resized implements SizeFollower.
func (p *gdWheel) Resized(o policies.Object, size int64) {
	p.lists.Unlink(o)
	p.values.resized(o, size)
	p.put(o)
}

func (p *gdWheel) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		r := policies.Request{Object: o, Size: 1}
		switch {
		case p.list[o] != 0:
			hits++
			p.Hit(r)
			continue
		case p.room > 0:
			p.room--
		default:
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
