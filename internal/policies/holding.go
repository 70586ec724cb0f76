package policies

import (
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// holdingQueue is lru or fifo in a cache that holds objects: among the objects that are not held, it evicts the one
// requested (or loaded) longest ago. A hit only records the time, since the order of held objects is never needed.
// Memory: 4 bytes per object and an eighth of a byte per request of the trace; 4 to 8 more per request that it sees
// without Config.Sequence.
type holdingQueue struct {
	byLoad   bool
	last     []uint32 // per object: the position of its last request, or of its load with byLoad
	free     *oracle.Bitmap
	objectAt []Object // per position of an object that is not held; Config.Sequence, unless own
	own      bool
	end      uint32 // free stores end-position, so that the oldest is the largest
}

func newHoldingQueue(c Config, byLoad bool) *holdingQueue {
	p := &holdingQueue{
		byLoad: byLoad, last: make([]uint32, c.Objects), objectAt: c.Sequence, own: c.Sequence == nil,
		free: oracle.NewBitmap(c.Requests), end: uint32(c.Requests - 1),
	}
	return p
}

func (p *holdingQueue) Hit(r Request) {
	if !p.byLoad {
		p.last[r.Object] = uint32(r.Pos)
	}
}

func (p *holdingQueue) Miss(Request) {}

func (p *holdingQueue) Victim(Request) Object {
	oldest, _ := p.free.Max()
	p.free.Clear(oldest)
	return p.objectAt[p.end-oldest]
}

func (p *holdingQueue) Insert(r Request) { p.last[r.Object] = uint32(r.Pos) }
func (p *holdingQueue) Remove(o Object)  { p.free.Clear(p.end - p.last[o]) }
func (p *holdingQueue) Grow(objects int) { p.last = dense.Grown(p.last, objects) }
func (p *holdingQueue) Hold(o Object)    { p.Remove(o) }

func (p *holdingQueue) Release(o Object) {
	at := p.last[o]
	if p.own { // on one of several nodes there are fewer requests than in the trace
		p.objectAt = dense.Grown(p.objectAt, int(at)+1)
		p.objectAt[at] = o
	}
	p.free.Set(p.end - at)
}

// holdingLFU is lfu in a cache that holds objects. A held object stays in the heap until it comes to the top.
type holdingLFU struct {
	lfuInHeap
	held   []bool
	parked []bool // held, and taken from the heap
}

func newHoldingLFU(c Config, heap lfuInHeap) *holdingLFU {
	return &holdingLFU{lfuInHeap: heap, held: make([]bool, c.Objects), parked: make([]bool, c.Objects)}
}

func (p *holdingLFU) Victim(r Request) Object {
	for {
		v := p.lfuInHeap.Victim(r)
		if !p.held[v] {
			return v
		}
		p.parked[v] = true
	}
}

func (p *holdingLFU) Insert(r Request) {
	p.lfuInHeap.Insert(r)
	p.held[r.Object] = true
}

func (p *holdingLFU) Grow(objects int) {
	p.lfuInHeap.Grow(objects)
	p.held, p.parked = dense.Grown(p.held, objects), dense.Grown(p.parked, objects)
}

func (p *holdingLFU) Hold(o Object) { p.held[o] = true }

func (p *holdingLFU) Release(o Object) {
	p.held[o] = false
	if p.parked[o] {
		p.parked[o] = false
		p.heap.PutBack(o)
	}
}

// holdingMarker is marker in a cache that holds objects: a phase ends when every object that is not held is marked.
type holdingMarker struct {
	marker          // over the objects that are not held
	marks  []uint32 // per object: the phase in which it was last marked
	phase  uint32
}

func newHoldingMarker(c Config) *holdingMarker {
	return &holdingMarker{marker: *newMarker(c), marks: make([]uint32, c.Objects)}
}

func (p *holdingMarker) Hit(r Request)    { p.marks[r.Object] = p.phase }
func (p *holdingMarker) Insert(r Request) { p.marks[r.Object] = p.phase }

func (p *holdingMarker) Victim(r Request) Object {
	if p.marked == len(p.resident) {
		if r.Reason != Demand {
			return p.evictMarked()
		}
		p.phase++
	}
	return p.evict()
}

func (p *holdingMarker) Grow(objects int) {
	p.marker.Grow(objects)
	p.marks = dense.Grown(p.marks, objects)
}

func (p *holdingMarker) Hold(o Object) { p.Remove(o) }

func (p *holdingMarker) Release(o Object) {
	p.insert(o, p.marks[o] == p.phase)
}
