package engines

import (
	"math"

	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// rule says in which order leaves are evicted.
type rule int

const (
	byRelease    rule = iota // since the last prompt that had them ended
	byRecency                // since they were matched
	byFrequency              // by the number of prompts, then by recency
	byCreation               // since they were loaded
	bySegment                // those of a single prompt before others, then by recency
	byPriority               // by the highest priority of a prompt, then by recency
	byTail                   // those that the next prompt can do without before others, then by recency
	mostRecent               // the one matched last
	lastCreation             // the one loaded last
)

// unfinished is the event of blocks of an answer that is not in the tree yet; no event has this number.
const unfinished = 0

// protectedFrom is the number of prompts from which bySegment protects a node.
const protectedFrom = 2

// followerOf completes the entry of a policy that evicts leaves by a rule.
func followerOf(e policies.Entry, r rule) policies.Entry {
	e.Memory = policies.Memory{PerObject: 4} // and 4 bytes per event; a prompt has two
	switch {
	case r == byTail:
		e.Memory = policies.Memory{PerObject: 20, PerSlot: 24}
	case r.ranks():
		e.Memory = policies.Memory{PerObject: 12, PerSlot: 24}
	}
	if r == byPriority {
		e.Type = byPriorities{}
		e.New = func(c policies.Config) (policies.Policy, error) { return byPriorities{newLeaves(c, r)}, nil }
		return e
	}
	e.Type = (*leaves)(nil)
	e.New = func(c policies.Config) (policies.Policy, error) { return newLeaves(c, r), nil }
	return e
}

func (r rule) counts() bool { return r == byFrequency || r == bySegment }

// ranks reports whether something decides before the event.
func (r rule) ranks() bool { return r.counts() || r == byPriority || r == byTail }

// created reports whether the event of a block is that of its load.
func (r rule) created() bool { return r == byCreation || r == lastCreation }

// youngestFirst reports whether the last event decides, not the first.
func (r rule) youngestFirst() bool { return r == mostRecent || r == lastCreation }

// leaves evicts the leaves of a tree of prompts by a rule. It knows a node of SGLang's radix tree by its last block:
// all blocks of a node have been requested by the same prompts, so what holds for a node is kept per block, and a split
// copies nothing.
//
// Time is counted in events: a prompt begins or ends. A prompt's blocks can be evicted only after its end, which is a
// match, too (SGLang inserts the prompt again). So the beginning matters only in two cases. A split renews the part
// behind it, too, and both parts keep the node's creation time. And nodes may be found in a memory from which they are
// not loaded.
//
// No two leaves have the same event. It is given to a chain of blocks (a prompt, or the rest of a split node), and only
// the last of a chain can be a leaf.
type leaves struct {
	rule     rule
	queue    eventQueue      // of the leaves that no prompt holds, if the event decides alone
	heap     dense.KeyedHeap // of them, otherwise
	event    uint32
	at       []uint32        // per object: the event of its release, match or creation
	prompts  []uint32        // per object: how many have had it since its load; nil unless the rule counts
	priority []int32         // per object: the highest of a prompt that had it; nil unless the rule is byPriority
	current  policies.Prompt // that begins
	tails    *tails          // nil unless the rule is byTail
}

func newLeaves(c policies.Config, r rule) *leaves {
	if r.counts() && c.Uncounted {
		r = byRecency
	}
	p := &leaves{rule: r, at: make([]uint32, c.Objects)}
	if r.ranks() {
		p.heap = dense.NewKeyedHeap(c.Objects)
	} else {
		events := 2*len(c.Groups) + 1
		if c.MoreEvents {
			events += events + c.Requests
		}
		p.queue = newEventQueue(events, r.youngestFirst())
	}
	if r.counts() {
		p.prompts = make([]uint32, c.Objects)
	}
	if r == byPriority {
		p.priority = make([]int32, c.Objects)
	}
	if r == byTail {
		p.tails = newTails(c)
	}
	return p
}

func (p *leaves) Begin(prompt policies.Prompt) {
	p.event++
	p.current = prompt
	p.current.Hits, p.current.Found = nil, nil
	switch {
	case p.tails != nil:
		p.tails.begin(prompt.First, prompt.Own)
	case p.prompts != nil:
		for _, o := range prompt.Hits {
			p.prompts[o]++
		}
	case p.priority != nil:
		for _, o := range prompt.Hits {
			p.priority[o] = max(p.priority[o], p.priorityAt(prompt.First))
		}
	}
	for _, o := range prompt.Found {
		p.renew(o)
	}
}

func (p *leaves) Split(at, last policies.Object) {
	if p.tails != nil {
		p.tails.split(at, last)
	}
	p.renew(last)
}

// renew notes that a block is matched now, whether it is held or not. A leaf that is not held gets its new place.
func (p *leaves) renew(o policies.Object) {
	if p.rule == byRelease || p.rule.created() {
		return
	}
	free := p.isFree(o)
	if free {
		p.Remove(o)
	}
	if p.at[o] = p.event; free {
		p.Release(o)
	}
}

func (p *leaves) Finish(blocks []policies.Object) {
	p.event++
	for _, o := range blocks {
		if p.rule.created() && p.at[o] != unfinished {
			continue
		}
		p.at[o] = p.event
	}
	if p.tails != nil {
		p.tails.reach(blocks)
	}
}

// Hit implements Policy for a block that is computed again.
func (p *leaves) Hit(r policies.Request) {
	switch {
	case p.prompts != nil:
		p.prompts[r.Object]++
	case p.priority != nil:
		p.priority[r.Object] = max(p.priority[r.Object], p.priorityAt(r.Pos))
	}
}

// isOwn reports whether a block of the prompt that begins is its own, not its answer's.
func (p *leaves) isOwn(pos int) bool { return pos < p.current.First+p.current.Own }

// priorityAt returns the priority that the prompt that begins gives to a block. SGLang raises that of the prompt above
// that of its answer.
func (p *leaves) priorityAt(pos int) int32 {
	if p.current.Answered && p.isOwn(pos) && p.current.Priority < math.MaxInt32 {
		return p.current.Priority + 1
	}
	return p.current.Priority
}

func (p *leaves) Miss(policies.Request) {}

func (p *leaves) Insert(r policies.Request) {
	p.at[r.Object] = p.event
	if p.rule.created() && !p.isOwn(r.Pos) {
		p.at[r.Object] = unfinished
	}
	switch {
	case p.tails != nil:
		p.tails.insert(r)
	case p.prompts != nil:
		p.prompts[r.Object] = 1
	case p.priority != nil:
		p.priority[r.Object] = p.priorityAt(r.Pos)
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
	case byTail:
		if p.tails.spare(o) {
			return 0
		}
		return 1
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
	if p.tails != nil {
		p.tails.grow(objects)
	}
}

// eventQueue is a queue of objects in the order of their events. No two objects in it have the same event.
// Memory: a little over 4 bytes per event.
type eventQueue struct {
	objects []policies.Object // per place of an object in the queue
	members *oracle.Bitmap    // places; the first object of the queue has the largest
	// The place of an event is first+sign*event, where sign is 1, or the 32 bits of -1: then the oldest is the first.
	first, sign uint32
}

func newEventQueue(events int, youngestFirst bool) eventQueue {
	q := eventQueue{make([]policies.Object, events), oracle.NewBitmap(events), uint32(events - 1), math.MaxUint32}
	if youngestFirst {
		q.first, q.sign = 0, 1
	}
	return q
}

func (q *eventQueue) place(event uint32) uint32 { return q.first + q.sign*event }

func (q *eventQueue) add(o policies.Object, event uint32) {
	at := q.place(event)
	q.objects[at] = o
	q.members.Set(at)
}

func (q *eventQueue) has(o policies.Object, event uint32) bool {
	at := q.place(event)
	return q.members.Has(at) && q.objects[at] == o
}

func (q *eventQueue) remove(event uint32) { q.members.Clear(q.place(event)) }

func (q *eventQueue) pop() policies.Object {
	at, _ := q.members.Max()
	q.members.Clear(at)
	return q.objects[at]
}

// byPriorities is leaves with the rule byPriority.
type byPriorities struct{ *leaves }

func (byPriorities) FollowsPriorities() {}
