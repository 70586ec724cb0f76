package policies

import "github.com/cachesim/cachesim/internal/policies/dense"

var fifoEntry = Entry{
	Name:        "fifo",
	Look:        Look{Color: Pink, Mark: Triangle},
	Memory:      Memory{PerObject: 5, PerSlot: 4},
	Summary:     "evicts the object that was loaded longest ago",
	Source:      "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 1966",
	IgnoresHits: true,
	Holds:       true,
	Guarantee:   kCompetitive,
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
	config   Config
}

func newFIFO(c Config) *fifo { return &fifo{queue: dense.NewLogQueue(c.Objects), config: c} }

func (p *fifo) Hit(Request)           {}
func (p *fifo) Miss(Request)          {}
func (p *fifo) Victim(Request) Object { return p.queue.Pop() }
func (p *fifo) Insert(r Request)      { p.queue.Push(r.Object) }
func (p *fifo) Remove(o Object)       { p.queue.Remove(o) }
func (p *fifo) Grow(objects int)      { p.queue.Grow(objects) }

func (p *fifo) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	if p.ring == nil {
		p.ring = make([]Object, p.config.room())
		p.resident = make([]bool, p.config.Objects)
	}
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
