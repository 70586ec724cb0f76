package engines

import (
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// rule says in which order leaves are evicted.
type rule int

const (
	byRelease   rule = iota // since the last prompt that had them ended
	byRecency               // since they were matched
	byFrequency             // by the number of prompts, then by recency
	byCreation              // since they were loaded, or split off the blocks behind them
	bySegment               // those of a single prompt before others, then by recency
	byPriority              // by the highest priority of a prompt, then by recency
)

// protectedFrom is the number of prompts from which bySegment protects a node.
const protectedFrom = 2

// followerOf completes the entry of a policy that evicts leaves by a rule.
func followerOf(e policies.Entry, r rule) policies.Entry {
	e.Holds = true
	e.Memory = policies.Memory{PerObject: 4} // and 4 bytes per event, of which prompts have two each
	if r.ranks() {
		e.Memory = policies.Memory{PerObject: 12, PerSlot: 24}
	}
	e.New = func(c policies.Config) (policies.Policy, error) { return newLeaves(c, r), nil }
	return e
}

func (r rule) counts() bool { return r == byFrequency || r == bySegment }

// ranks reports whether something decides before the event.
func (r rule) ranks() bool { return r.counts() || r == byPriority }

// leaves evicts the leaves of a tree of prompts by a rule. It knows a node of SGLang's radix tree by its last block:
// all blocks of a node have been requested by the same prompts, so what holds for a node is kept per block, and a split
// copies nothing.
//
// Time is counted in events: a prompt begins or ends. What a prompt holds can be evicted only after its end, which is a
// match, too (SGLang inserts the prompt again). So the beginning matters only to nodes that are split: the match renews
// the whole node, and then divides it.
//
// No two leaves have the same event. The blocks that get it are a chain, in which only the last can be a leaf: the
// blocks of a prompt, or the rest of a node that was split.
type leaves struct {
	rule     rule
	queue    eventQueue      // of the leaves that no prompt holds, if the event decides alone
	heap     dense.KeyedHeap // of them, otherwise
	event    uint32
	at       []uint32 // per object: the event of its release, match or creation
	prompts  []uint32 // per object: how many have had it since its load; nil unless the rule counts
	priority []int32  // per object: the highest of a prompt that had it since its load; nil unless the rule is byPriority
	current  int32    // priority of the prompt that begins
}

func newLeaves(c policies.Config, r rule) *leaves {
	p := &leaves{rule: r, at: make([]uint32, c.Objects)}
	if r.ranks() {
		p.heap = dense.NewKeyedHeap(c.Objects)
	} else {
		p.queue = newEventQueue(2*len(c.Groups) + 1)
	}
	if r.counts() {
		p.prompts = make([]uint32, c.Objects)
	}
	if r == byPriority {
		p.priority = make([]int32, c.Objects)
	}
	return p
}

func (p *leaves) Begin(prompt policies.Prompt) {
	p.event++
	p.current = prompt.Priority
	switch {
	case p.prompts != nil:
		for _, o := range prompt.Hits {
			p.prompts[o]++
		}
	case p.priority != nil:
		for _, o := range prompt.Hits {
			p.priority[o] = max(p.priority[o], p.current)
		}
	}
}

func (p *leaves) Split(at, last policies.Object) {
	switch p.rule {
	case byRelease:
	case byCreation:
		p.at[at] = p.event
	default:
		free := p.isFree(last)
		if free {
			p.Remove(last)
		}
		if p.at[last] = p.event; free {
			p.Release(last)
		}
	}
}

func (p *leaves) Finish(blocks []policies.Object) {
	p.event++
	if p.rule == byCreation {
		return
	}
	for _, o := range blocks {
		p.at[o] = p.event
	}
}

// Hit implements Policy for a block that is computed again.
func (p *leaves) Hit(r policies.Request) {
	switch {
	case p.prompts != nil:
		p.prompts[r.Object]++
	case p.priority != nil:
		p.priority[r.Object] = max(p.priority[r.Object], p.current)
	}
}

func (p *leaves) Miss(policies.Request) {}

func (p *leaves) Insert(r policies.Request) {
	p.at[r.Object] = p.event
	switch {
	case p.prompts != nil:
		p.prompts[r.Object] = 1
	case p.priority != nil:
		p.priority[r.Object] = p.current
	}
}

func (p *leaves) Victim(policies.Request) policies.Object {
	if !p.rule.ranks() {
		return p.queue.pop()
	}
	o, _ := p.heap.Least()
	p.heap.Remove(o)
	return o
}

func (p *leaves) isFree(o policies.Object) bool {
	if !p.rule.ranks() {
		return p.queue.has(o, p.at[o])
	}
	return p.heap.Has(o)
}

func (p *leaves) Remove(o policies.Object) {
	if !p.rule.ranks() {
		p.queue.remove(p.at[o])
	} else {
		p.heap.Remove(o)
	}
}

func (p *leaves) Hold(o policies.Object) { p.Remove(o) }

func (p *leaves) Release(o policies.Object) {
	if !p.rule.ranks() {
		p.queue.add(o, p.at[o])
	} else {
		p.heap.Set(o, p.rank(o), uint64(p.at[o]))
	}
}

// rank returns what decides before the event does.
func (p *leaves) rank(o policies.Object) float64 {
	switch p.rule {
	case byFrequency:
		return float64(p.prompts[o])
	case bySegment:
		return float64(min(p.prompts[o], protectedFrom))
	case byPriority:
		return float64(p.priority[o])
	}
	return 0
}

func (p *leaves) Grow(objects int) {
	p.heap.Grow(objects)
	p.at = dense.Grown(p.at, objects)
	if p.prompts != nil {
		p.prompts = dense.Grown(p.prompts, objects)
	}
	if p.priority != nil {
		p.priority = dense.Grown(p.priority, objects)
	}
}

// eventQueue is a queue of objects in the order of their events. No two objects in it have the same event.
// Memory: a little over 4 bytes per event.
type eventQueue struct {
	objects []policies.Object // per event of an object in the queue
	members *oracle.Bitmap    // last-event, so that the oldest is the largest
	last    uint32            // the last event that can be
}

func newEventQueue(events int) eventQueue {
	return eventQueue{make([]policies.Object, events), oracle.NewBitmap(events), uint32(events - 1)}
}

func (q *eventQueue) add(o policies.Object, event uint32) {
	q.objects[event] = o
	q.members.Set(q.last - event)
}

func (q *eventQueue) has(o policies.Object, event uint32) bool {
	return q.members.Has(q.last-event) && q.objects[event] == o
}

func (q *eventQueue) remove(event uint32) { q.members.Clear(q.last - event) }

func (q *eventQueue) pop() policies.Object {
	oldest, _ := q.members.Max()
	q.members.Clear(oldest)
	return q.objects[q.last-oldest]
}
