package tiers

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// swap is the second memory of an engine. A block that the first tier evicts changes places with the next slot of the
// second memory, and joins the end of the queue of its priority. A block that hits there changes places with a slot of
// the first tier. That leaves an empty slot at the end of the default queue, which takes room until its turn. The block
// in a slot that is taken is forgotten, and so are the blocks behind it; their slots keep their places.
type swap struct {
	policy   policies.Swapper // of the first tier
	least    int              // priority below which a block is forgotten instead
	parents  []int32
	children dense.Lists       // per block: those behind it that are in the second memory
	queues   dense.Lists       // of slots, by priority: the back of the lowest one that is not empty is taken next
	content  []policies.Object // per slot: NoObject if it is empty
	slots    []uint32          // per block that is in the second memory
	fresh    int64             // slots that have never been used; they are taken first
	queued   int               // slots in queues

	// while a prompt is served
	reuse   int             // further blocks that can hit, if all before them do
	loaded  policies.Object // the block that is being loaded and that the second memory has; NoObject: it has not
	claimed uint32          // its slot, if it hits
	hits    bool
}

// swaps reports whether the tiers are an engine's two memories.
func swaps(all []tier, cell policies.Entry, mode string) bool {
	return policies.Can[policies.Swapper](cell) && areTwoMemories(all, mode)
}

func areTwoMemories(all []tier, mode string) bool {
	return len(all) == 2 && !all[0].hasPolicy && !all[1].hasPolicy && mode == exclusive
}

// checkSwaps rejects parameters that have no meaning where tiers are an engine's two memories, or only there.
func checkSwaps(all []tier, v params.Values, policy policies.Entry) error {
	switch least, promote, shared := v.Int("min-priority"), v.Int("promote"), v.Text("shared"); {
	case !swaps(all, policy, v.Text("mode")):
		if least != minPriority.Default {
			return fmt.Errorf("min-priority=%d needs two exclusive tiers without policies of their own, under the policy of "+
				"TensorRT-LLM; remove it", least)
		}
	case promote != 1:
		return fmt.Errorf("promote=%d: the engine of policy %s moves each block that hits to its first memory; leave it out",
			promote, policy.Name)
	case shared != "":
		return fmt.Errorf("shared=%s: the second memory of the engine of policy %s is its own; leave it out", shared,
			policy.Name)
	}
	return nil
}

// newSwap returns the empty second memory of a tier of prompts.
func newSwap(c cache.Config, first *prefix.Tree, parents []int32, capacity int64) *swap {
	policy, _ := first.Swapper()
	fresh := min(capacity, int64(len(c.Trace.Objects))) // no more are ever used
	return &swap{policy: policy, least: c.Params.Int("min-priority"), parents: parents,
		children: dense.NewLists(len(parents), len(parents)+1), queues: dense.NewLists(0, policies.HighestPriority+1),
		slots: make([]uint32, c.Room()), fresh: fresh, loaded: policies.NoObject}
}

// The memory of a second memory: per block of the trace, and per slot, with what it has grown ahead.
const (
	swappedBytes = 20
	slotBytes    = 15
)

// swapBytes estimates the second memories of all nodes: of the slots that fit, each request takes one at most.
func swapBytes(c cache.Config, nodes int64) int64 {
	slots := int64(len(c.Trace.Objects))
	if n, err := whole(c); err == nil && n < slots/nodes { // an error also ends the replay
		slots = n * nodes
	}
	return swappedBytes*int64(c.Trace.NumObjects)*nodes + slotBytes*slots
}

// enqueue adds a slot to the end of a queue.
func (s *swap) enqueue(slot uint32, priority int) {
	s.queues.PushFront(priority, slot)
	s.queued++
}

func (s *swap) dequeue(slot uint32) {
	s.queues.Unlink(slot)
	s.queued--
}

// next takes the slot that is next, if there is one.
func (s *swap) next() (slot uint32, ok bool) {
	if s.fresh > 0 {
		s.fresh--
		s.content = append(s.content, policies.NoObject)
		s.queues.Grow(cap(s.content)) // as many slots as requests would be too many: each node has slots of its own
		return uint32(len(s.content) - 1), true
	}
	if s.queued == 0 {
		return 0, false
	}
	priority := 0
	for s.queues.Empty(priority) {
		priority++
	}
	slot, _ = s.queues.Back(priority)
	s.dequeue(slot)
	return slot, true
}

// siblings is the list of the blocks in the second memory that have the same block before them.
func (s *swap) siblings(o policies.Object) int {
	if parent := s.parents[o]; parent >= 0 {
		return int(parent)
	}
	return len(s.parents)
}

// serveSwapping serves a prompt from the two memories of an engine. It returns how many leading blocks hit.
func (c *chains) serveSwapping(prompt int, p prefix.Prompt, n *cache.Counts) (hits int) {
	top := c.levels[0]
	c.expire(p.Now)
	run := top.tree.Run(p.Blocks, p.Now)
	c.in = append(c.in[:0], make([]int8, run)...)
	c.swap.reuse = max(0, p.Reusable-run)
	lock := top.tree.Lock(p, run)
	now, before := top.tree.Load(p, run, lock)
	c.endSwap()
	c.held[0][prompt] = now
	for _, o := range p.Blocks[before:max(before, int(now.Blocks))] {
		top.entered(o, 1)
	}
	n.Oversized += int64(len(p.Blocks)) - int64(lock.Blocks)
	return min(len(c.in), p.Reusable)
}

// loading is notified of each block that the first tier is about to load, before there is room for it. If the block
// hits in the second memory, its slot is in no queue until both have changed places.
func (c *chains) loading(o policies.Object) {
	c.endSwap()
	s, second := c.swap, c.levels[1]
	if !second.pool.Has(o) {
		s.reuse = 0
		return
	}
	s.loaded, s.hits = o, s.reuse > 0
	if s.hits {
		s.reuse--
		c.in = append(c.in, 1)
		second.promoted++
		s.claimed = s.slots[o]
		s.dequeue(s.claimed)
		c.leaveSecond(o)
	}
}

// endSwap ends the load of a block that the second memory had, unless what made room has taken its slot.
func (c *chains) endSwap() {
	s := c.swap
	switch {
	case s.loaded == policies.NoObject:
	case s.hits:
		s.enqueue(s.claimed, policies.DefaultPriority)
	case c.levels[1].pool.Has(s.loaded):
		c.leaveSecond(s.loaded)
	}
	s.loaded = policies.NoObject
}

// leaveSecond removes a block from the second memory, and leaves its slot empty.
func (h *hierarchy) leaveSecond(o policies.Object) {
	h.swap.children.Unlink(o)
	h.swap.content[h.swap.slots[o]] = policies.NoObject
	h.levels[1].pool.Drop(o)
}

// forget removes a block that nothing can find any more, and those behind it, from the second memory.
func (h *hierarchy) forget(o policies.Object) {
	h.forgetBehind(o)
	h.leaveSecond(o)
	h.levels[1].evicted++
	h.gone++
}

func (h *hierarchy) forgetBehind(o policies.Object) {
	s := h.swap
	for child, ok := s.children.Back(int(o)); ok; child, ok = s.children.Back(int(o)) {
		h.forget(child)
	}
}

// swapDown moves a block that the first tier has evicted to the second memory, or forgets it.
func (h *hierarchy) swapDown(o policies.Object) {
	s, second, r := h.swap, h.levels[1], h.moved(o, 1)
	priority := s.policy.VictimPriority()
	if priority < s.least || !second.admits(r) {
		h.forgetBehind(o)
		return
	}
	slot, ok := s.next()
	if !ok {
		h.forgetBehind(o)
		return
	}
	if was := s.content[slot]; was != policies.NoObject {
		h.forget(was)
	}
	s.content[slot], s.slots[o] = o, slot
	s.enqueue(slot, priority)
	s.children.PushFront(s.siblings(o), o)
	second.pool.Miss(r)
	second.entered(o, 1)
}

// unasked is the policy of a second memory, which takes slots from its queues before a block comes.
type unasked struct{}

var unaskedEntry = policies.Entry{New: func(policies.Config) (policies.Policy, error) { return unasked{}, nil }}

func (unasked) Hit(policies.Request)                    {}
func (unasked) Miss(policies.Request)                   {}
func (unasked) Victim(policies.Request) policies.Object { panic("tiers: no slot was taken") }
func (unasked) Insert(policies.Request)                 {}
func (unasked) Remove(policies.Object)                  {}

// minPriority is the parameter that says which blocks come to a second memory.
var minPriority = params.Param{Name: "min-priority", Default: 30, Min: 0, Max: policies.HighestPriority, Doc: "" +
	"of two exclusive tiers under the policy of TensorRT-LLM: the least priority at which an evicted block comes to the " +
	"second one (secondary_offload_min_priority)"}
