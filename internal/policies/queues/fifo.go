package queues

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/policies/holding"
)

var fifoEntry = policies.Entry{
	Name:        "fifo",
	Look:        policies.Look{Color: policies.Pink, Mark: policies.Triangle},
	Memory:      policies.Memory{PerObject: 5, PerSlot: 4},
	Summary:     "evicts the object that was loaded longest ago",
	Source:      "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 1966",
	IgnoresHits: true,
	Type:        (*holding.Queue)(nil),
	Guarantee:   policies.KCompetitive,
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Holds {
			return holding.New(c, true), nil
		}
		return newFIFO(c), nil
	},
}

type fifo struct {
	queue dense.LogQueue

	// Batch path: the resident objects in order of arrival, in a circle.
	ring     []policies.Object
	next     int // where the next arrival goes
	filled   bool
	resident []bool
	config   policies.Config
}

func newFIFO(c policies.Config) *fifo { return &fifo{queue: dense.NewLogQueue(c.Objects), config: c} }

func (p *fifo) Hit(policies.Request)                    {}
func (p *fifo) Miss(policies.Request)                   {}
func (p *fifo) Victim(policies.Request) policies.Object { return p.queue.Pop() }
func (p *fifo) Insert(r policies.Request)               { p.queue.Push(r.Object) }
func (p *fifo) Remove(o policies.Object)                { p.queue.Remove(o) }
func (p *fifo) Grow(objects int)                        { p.queue.Grow(objects) }

func (p *fifo) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	if p.ring == nil {
		p.ring = make([]policies.Object, p.config.Room())
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
