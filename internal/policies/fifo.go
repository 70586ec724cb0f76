package policies

import "github.com/cachesim/cachesim/internal/policies/dense"

var fifoEntry = Entry{
	Name:    "fifo",
	Memory:  Memory{PerObject: 5, PerSlot: 4},
	Summary: "evicts the object that was loaded longest ago",
	Source:  "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 1966",
	Holds:   true,
	New: func(c Config) (Policy, error) {
		if c.Holds {
			return newHoldingQueue(c, true), nil
		}
		return newFIFO(c), nil
	},
}

type fifo struct {
	queue dense.LogQueue

	// Batch path: the resident objects in order of arrival, in a circle.
	ring     []Object
	next     int // where the next arrival goes
	filled   bool
	resident []bool
}

func newFIFO(c Config) *fifo {
	p := &fifo{queue: dense.NewLogQueue(c.Objects)}
	if c.Unit {
		p.ring = make([]Object, min(c.Capacity, int64(c.Objects)))
		p.resident = make([]bool, c.Objects)
	}
	return p
}

func (p *fifo) Hit(Request)           {}
func (p *fifo) Miss(Request)          {}
func (p *fifo) Victim(Request) Object { return p.queue.Pop() }
func (p *fifo) Insert(r Request)      { p.queue.Push(r.Object) }
func (p *fifo) Remove(o Object)       { p.queue.Remove(o) }

func (p *fifo) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	ring, resident, next := p.ring, p.resident, p.next
	for _, o := range objects {
		if resident[o] {
			hits++
			continue
		}
		if p.filled {
			resident[ring[next]] = false
			evictions++
		}
		ring[next] = o
		resident[o] = true
		if next++; next == len(ring) {
			next, p.filled = 0, true
		}
	}
	p.next = next
	return hits, evictions
}
