package frequency

import (
	"math/bits"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var campEntry = policies.Entry{
	Name:   "camp",
	Look:   policies.Look{Color: policies.Pink, Mark: policies.Hexagon},
	Memory: policies.Memory{PerObject: 18, PerSlot: 0},
	Summary: "greedy dual size with rounded values: objects worth the same by byte share an LRU queue, and the oldest " +
		"of one of the queues leaves",
	Source: "Ghandeharizadeh, Irani, Lam and Yap, CAMP: a cost adaptive multi-queue eviction policy for key-value " +
		"stores, Middleware 2014",
	Params: []policies.Param{
		{Name: "precision", Default: 5, Min: 1, Max: 10, Doc: "how many bits of an object's value count"},
		{Name: "ties", Default: "cost", Choices: []string{"cost", "lru"}, Doc: "which of the queues gives the victim if " +
			"several could: cost, the one of the smallest value, as in the authors' program; lru, the one whose object was " +
			"requested longest ago, as in the paper"},
	},
	New: func(c policies.Config) (policies.Policy, error) { return newCAMP(c), nil },
}

// camp has one LRU queue for each rounded value of an object, and a heap of the queues by the priorities of their
// oldest objects. A value is how often the object's size fits into the largest one seen.
type camp struct {
	queues    dense.Lists
	lists     int      // how many queues there are: the first ones
	queue     []uint16 // per object: 1 + its queue; 0 if it is absent
	priority  []int64  // per object: its value, and the inflation at its last request
	order     []int64  // per object: the number of its last request; nil unless it breaks ties
	heap      dense.KeyedHeap
	values    values
	inflation int64 // the lowest priority after the last eviction
	now       int64
	precision int
	room      int64 // batch path: objects that still fit
}

func newCAMP(c policies.Config) *camp {
	precision := c.Params.Int("precision")
	p := &camp{
		queue: make([]uint16, c.Objects), priority: make([]int64, c.Objects), values: newValues(c), precision: precision,
		room: c.Capacity,
	}
	p.queues = dense.NewLists(c.Objects, 0)
	if c.Params.Text("ties") == "lru" {
		p.order = make([]int64, c.Objects)
	}
	return p
}

func (p *camp) Grow(objects int) {
	p.queues.Grow(objects)
	p.queue, p.priority = dense.Grown(p.queue, objects), dense.Grown(p.priority, objects)
	p.values.charges.Grow(objects)
	if p.order != nil {
		p.order = dense.Grown(p.order, objects)
	}
}

// round leaves as many of the highest bits of a value as count.
func (p *camp) round(value int64) int64 {
	drop := max(0, bits.Len64(uint64(value))-p.precision)
	return value >> drop << drop
}

// queueOf returns the number of the queue for a value: the queues are in the order of their values.
func (p *camp) queueOf(value int64) int {
	drop := max(0, bits.Len64(uint64(value))-p.precision)
	return drop<<(p.precision-1) + int(value>>drop)
}

// value returns what o is worth, which may have grown since its last request.
func (p *camp) value(o policies.Object) int64 { return p.round(p.values.of(o)) }

// put puts o, which is in no queue, to the front of the one for its value.
func (p *camp) put(o policies.Object) {
	value := p.value(o)
	k := p.queueOf(value)
	for ; p.lists <= k; p.lists++ {
		p.queues.Add()
	}
	p.priority[o] = p.inflation + value
	if p.order != nil {
		p.now++
		p.order[o] = p.now
	}
	p.queues.PushFront(k, o)
	p.queue[o] = uint16(k + 1)
	if p.queues.IsBack(k, o) {
		p.rank(k)
	}
}

// rank puts queue k to its place in the heap.
func (p *camp) rank(k int) {
	oldest, ok := p.queues.Back(k)
	if !ok {
		p.heap.Remove(uint32(k))
		return
	}
	tie := uint64(k)
	if p.order != nil {
		tie = uint64(p.order[oldest])
	}
	p.heap.Set(uint32(k), float64(p.priority[oldest]), tie)
}

// take takes o out of its queue.
func (p *camp) take(o policies.Object) {
	k := int(p.queue[o]) - 1
	oldest := p.queues.IsBack(k, o)
	p.queues.Unlink(o)
	p.queue[o] = 0
	if oldest {
		p.rank(k)
	}
}

func (p *camp) Hit(r policies.Request) {
	o := r.Object
	if k := int(p.queue[o]) - 1; p.order == nil && k == p.queueOf(p.value(o)) && !p.queues.IsBack(k, o) {
		p.queues.MoveToFront(k, o)
		p.priority[o] = p.inflation + p.value(o)
		return
	}
	p.take(o)
	p.put(o)
}

func (p *camp) Miss(policies.Request) {}

func (p *camp) Victim(policies.Request) policies.Object {
	k, _ := p.heap.Least()
	o, _ := p.queues.Back(int(k))
	p.Remove(o)
	if p.heap.Len() > 0 {
		_, least := p.heap.Least()
		p.inflation = int64(least)
	}
	return o
}

func (p *camp) Insert(r policies.Request) {
	p.values.load(r.Object, r.Size)
	p.put(r.Object)
}

func (p *camp) Remove(o policies.Object) {
	p.values.remove(o)
	p.take(o)
}

// Resized implements SizeFollower.
func (p *camp) Resized(o policies.Object, size int64) {
	p.take(o)
	p.values.resized(o, size)
	p.put(o)
}

func (p *camp) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		r := policies.Request{Object: o, Size: 1}
		switch {
		case p.queue[o] != 0:
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
