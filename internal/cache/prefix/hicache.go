package prefix

import (
	"math"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// Copying says when HiCache copies a node from the GPU to the host.
type Copying int

const (
	AtFirst    Copying = iota // when the first prompt has had it (SGLang: write_through)
	AtSecond                  // when the second prompt has had it (write_through_selective)
	AtEviction                // when the GPU evicts it (write_back)
)

// leastLoad is how many tokens are worth a load from the host (load_back_threshold); fewer are computed.
const leastLoad = 10

// HiCache is the blocks of prompts in the memories of the GPU and of the host, as SGLang keeps them
// (unified_tree_core.py): one radix tree, with each node in one of the memories or in both.
//
//   - The GPU has a node only with all nodes before it.
//   - It evicts nodes behind which it has none and that no running prompt holds. The host evicts nodes that only it
//     has, with none behind them in the tree. Both evict whole nodes, in the order of the same rule.
//   - A node that is in neither memory leaves the tree.
//   - A prompt hits as far as the tree goes. What only the host has is loaded, and the copies stay. With AtEviction
//     they are the first to leave a full host, in the order in which the nodes first were in both memories.
type HiCache struct {
	*Tree               // the blocks in the GPU; its segments are the nodes of the whole tree
	host    *cache.Pool // the blocks in the host
	queues  *queues     // of the nodes that each memory can evict
	copying Copying
	behind  []uint32 // per block: how many blocks behind it are in the tree
	had     []uint8  // per block: prompts that have had it, up to 2; nil unless the second one counts
	free    int      // nodes that the host can evict
	copies  *copies  // nil unless they are the first to leave
	gone    int64    // blocks that have left the tree
}

// NewHiCache returns an empty tree. The config has the capacity of the GPU.
func NewHiCache(c cache.Config, host int64, copying Copying) (*HiCache, error) {
	objects := c.Trace.NumObjects
	columns := prompts.Of(c.Trace.Kind)
	h := &HiCache{copying: copying, behind: make([]uint32, objects)}
	switch copying {
	case AtSecond:
		h.had = make([]uint8, objects)
	case AtEviction:
		h.copies = newCopies(objects)
	}
	config := c.PolicyConfig()
	config.Holds, config.BlockTokens, config.Uncounted = true, columns.BlockTokens, copying == AtEviction
	ofGPU, err := c.Policy.Entry.New(config)
	if err != nil {
		return nil, err
	}
	ofHost, err := c.Policy.Entry.New(config)
	if err != nil {
		return nil, err
	}
	h.queues = &queues{ofGPU.(policies.PromptHolder), ofHost.(policies.PromptHolder), h}
	h.Tree = &Tree{nodes: make([]node, objects), parents: columns.Parents, segments: newSegments(objects),
		page: columns.BlockTokens, policy: h.queues, follower: h.queues}
	h.pool = newPool(c, h.queues)
	h.pool.Observe(h)
	h.host = cache.NewPool(hostPolicy{h.queues.host}, min(host, int64(objects)), objects)
	return h, nil
}

func (h *HiCache) Host() *cache.Pool { return h.host }
func (h *HiCache) Gone() int64       { return h.gone }

// Serve serves a prompt. It returns how many blocks hit in each memory, and what the prompt holds until Finish. If it
// does not fit into the GPU beside what others hold, its first blocks are kept, and the others are neither loaded nor
// hit.
func (h *HiCache) Serve(p Prompt) (inGPU, inHost int, held Held) {
	inGPU = h.Run(p.Blocks[:p.Reusable], p.Now)
	found := inGPU
	for found < p.Reusable && h.host.Has(p.Blocks[found]) {
		found++
	}
	h.hold(p.Blocks[:inGPU])
	held = h.fit(p, inGPU)
	blocks := p.Blocks[:held.Blocks]
	if n := min(found, len(blocks)) - inGPU; n*h.page >= leastLoad {
		inHost = n
	}
	hits := inGPU + inHost
	begins := p.begins(blocks[:hits], len(blocks))
	begins.Found = p.Blocks[hits:found]
	h.queues.Begin(begins)
	h.split(p.Blocks[:found])
	h.split(blocks[:hits])
	others := h.apart
	if held.Apart {
		others--
	}
	h.load(blocks[:hits], inGPU, p, others)
	h.makeRoom(len(blocks)-hits+h.apart+h.spareAfter(p), h.locked)
	h.insert(blocks, hits, p)
	return inGPU, inHost, held
}

// load loads the blocks from one on from the host.
func (h *HiCache) load(blocks []policies.Object, from int, p Prompt, apart int) {
	if from == len(blocks) {
		return
	}
	h.holdInHost(blocks[from:])
	h.pool.MakeRoom(int64(len(blocks) - from + apart))
	for i := from; i < len(blocks); i++ {
		h.place(blocks[i], p, i)
	}
	for i := len(blocks) - 1; i >= from; i-- { // SGLang goes from the last node to the first
		if h.segments.behind[blocks[i]] < 0 {
			h.copies.add(blocks[i], innerCopy)
		}
	}
}

// place puts a block of a prompt into the GPU, which has room.
func (h *HiCache) place(o policies.Object, p Prompt, at int) {
	h.pool.Miss(policies.Request{Object: o, Query: o, Pos: p.First + at, Size: 1, Time: p.Now})
	h.link(o)
}

// holdInHost holds blocks that only the host has and that follow each other.
func (h *HiCache) holdInHost(blocks []policies.Object) {
	if last := blocks[len(blocks)-1]; h.isHostLeaf(last) {
		h.queues.host.Hold(last)
		h.free--
	}
	h.lockAll(blocks)
}

// isHostLeaf reports whether the host can evict the node that ends with o.
func (h *HiCache) isHostLeaf(o policies.Object) bool {
	return h.behind[o] == 0 && !h.nodes[o].isHeld() && h.host.Has(o) && !h.pool.Has(o)
}

// insert puts a prompt into the tree, node by node. Its first blocks hit and are in the GPU, for the others there is
// room: they are computed, also where the tree has them. Where it is due, a node is copied to the host.
func (h *HiCache) insert(blocks []policies.Object, hits int, p Prompt) {
	for from := 0; from < len(blocks); {
		isNew := !h.pool.Has(blocks[from]) && !h.host.Has(blocks[from])
		to := len(blocks)
		if from < p.own() { // the answer is a node of its own
			to = min(to, p.own())
		}
		if !isNew {
			to = h.endOfNode(blocks, from)
			h.split(blocks[:to])
		}
		if from >= hits {
			h.compute(blocks[:to], from, p)
		}
		h.count(blocks[from:to], isNew)
		if h.isDue(blocks[to-1]) && (from == 0 || h.host.Has(blocks[from-1])) {
			h.copyToHost(blocks[to-1], to-from)
		}
		from = to
	}
}

// endOfNode returns where the node that begins with a block of a prompt ends, or the prompt does.
func (h *HiCache) endOfNode(blocks []policies.Object, from int) int {
	to := from + 1
	for to < len(blocks) && h.segments.behind[blocks[to-1]] == int32(blocks[to]) {
		to++
	}
	return to
}

// compute puts a node into the GPU that has been computed: the blocks from one on.
func (h *HiCache) compute(blocks []policies.Object, from int, p Prompt) {
	computed := blocks[from:]
	last := computed[len(computed)-1]
	inGPU, inHost := h.pool.Has(last), h.host.Has(last)
	switch {
	case inGPU:
		h.hold(computed)
	case inHost:
		h.holdInHost(computed)
	default:
		h.lockAll(computed)
		h.segments.add(computed)
	}
	for i := from; i < len(blocks); i++ {
		if !inGPU {
			h.place(blocks[i], p, i)
		}
		switch {
		case inGPU || inHost:
			h.queues.Hit(policies.Request{Object: blocks[i], Query: blocks[i], Pos: p.First + i, Size: 1, Time: p.Now})
		case h.parents[blocks[i]] >= 0:
			h.behind[h.parents[blocks[i]]]++
		}
	}
	if inHost && !inGPU {
		h.copies.add(last, innerCopy)
	}
}

// count counts a prompt for the blocks of a node.
func (h *HiCache) count(blocks []policies.Object, isNew bool) {
	if h.had == nil {
		return
	}
	for _, o := range blocks {
		if isNew {
			h.had[o] = 0
		}
		h.had[o] = min(h.had[o]+1, 2)
	}
}

// isDue reports whether the node that ends with o is to be copied to the host.
func (h *HiCache) isDue(o policies.Object) bool {
	switch {
	case h.copying == AtEviction || h.host.Has(o):
		return false
	case h.copying == AtSecond:
		return h.had[o] == 2
	}
	return true
}

// copyToHost copies the node that ends with o, of a number of blocks, and reports whether the host has room for it.
func (h *HiCache) copyToHost(o policies.Object, blocks int) bool {
	if !h.makeRoomInHost(int64(blocks)) {
		return false
	}
	for more := true; more; o, more = h.segments.before(o, h.parents[o]) {
		h.host.Miss(policies.Request{Object: o, Query: o, Size: 1})
	}
	return true
}

// makeRoomInHost evicts from the host until so many blocks fit, and reports whether they do.
func (h *HiCache) makeRoomInHost(blocks int64) bool {
	missing := h.host.Used() + blocks - h.host.Capacity()
	if h.copies != nil && missing > 0 {
		missing -= h.dropCopies(missing)
	}
	for missing > 0 && h.free > 0 {
		missing -= h.evictFromHost()
	}
	return missing <= 0
}

// dropCopies evicts from the host nodes that the GPU has, too, until so many blocks have left, and returns how many
// have. Those that the GPU can evict are the last ones, since they may soon be written again.
func (h *HiCache) dropCopies(blocks int64) (dropped int64) {
	c, last := h.copies, uint64(0)
	for _, from := range []*dense.KeyedHeap{&c.of[innerCopy], &c.of[leafCopy]} {
		for dropped < blocks && from.Len() > 0 {
			o, _ := from.Least()
			last = max(last, c.since[o])
			c.forget(o)
			dropped += h.takeFromHost(o)
		}
		if dropped < blocks {
			last = math.MaxUint64
		}
	}
	c.forgetHostOnly(last)
	return dropped
}

// evictFromHost evicts a node that only the host has, and returns how many blocks that are.
func (h *HiCache) evictFromHost() (blocks int64) {
	o := h.queues.host.Victim(policies.Request{})
	h.free--
	blocks = h.takeFromHost(o)
	h.remove(o)
	return blocks
}

// takeFromHost removes the node that ends with o from the host, and returns how many blocks that are.
func (h *HiCache) takeFromHost(o policies.Object) (blocks int64) {
	for more := true; more; o, more = h.segments.before(o, h.parents[o]) {
		h.host.Forget(o)
		blocks++
	}
	return blocks
}

// Left implements cache.Observer for the GPU, whose policy has evicted the node that ends with a block.
func (h *HiCache) Left(last policies.Object, _ int64, _ cache.Departure) {
	first, blocks := last, 1
	for {
		before, more := h.segments.before(first, h.parents[first])
		if !more {
			break
		}
		h.pool.Forget(before)
		first = before
		blocks++
	}
	stays := h.host.Has(last) || h.copying == AtEviction && h.copyToHost(last, blocks)
	for o, more := last, true; more; o, more = h.segments.before(o, h.parents[o]) {
		h.detach(o)
	}
	if stays {
		h.copies.add(last, hostOnly)
		h.releaseInHost(last)
	} else {
		h.remove(last)
	}
	if parent := h.parents[first]; parent >= 0 && h.evictable(policies.Object(parent)) {
		h.queues.Release(policies.Object(parent))
	}
}

// remove removes the node that ends with o from the tree. It is in no memory any more, and no node is behind it: the
// host had no room for it, so it has evicted all nodes that only it had.
func (h *HiCache) remove(o policies.Object) {
	h.copies.forget(o)
	for more := true; more; {
		h.gone++
		parent := h.parents[o]
		if parent >= 0 {
			h.behind[parent]--
		}
		if o, more = h.segments.cut(o, parent); !more && parent >= 0 {
			h.releaseInHost(policies.Object(parent))
		}
	}
}

// releaseInHost lets the host evict the node that ends with o, if it can now.
func (h *HiCache) releaseInHost(o policies.Object) {
	if h.isHostLeaf(o) {
		h.queues.host.Release(o)
		h.free++
	}
}

// queues are the policy of the tree: two instances of one, since each memory evicts other nodes. Both know what happens
// to all nodes. As a policy it is that of the GPU.
type queues struct {
	policies.PromptHolder
	host policies.PromptHolder
	of   *HiCache
}

func (q *queues) Begin(p policies.Prompt) {
	q.PromptHolder.Begin(p)
	q.host.Begin(p)
}

func (q *queues) Split(at, last policies.Object) {
	q.PromptHolder.Split(at, last)
	q.host.Split(at, last)
	if q.of.pool.Has(at) && q.of.host.Has(at) {
		q.of.copies.add(at, innerCopy)
	}
}

func (q *queues) Finish(blocks []policies.Object) {
	q.PromptHolder.Finish(blocks)
	q.host.Finish(blocks)
}

func (q *queues) Hit(r policies.Request) {
	q.PromptHolder.Hit(r)
	q.host.Hit(r)
}

// Insert has nothing to do for a block that the host has: the tree has known it before.
func (q *queues) Insert(r policies.Request) {
	if !q.of.host.Has(r.Object) {
		q.PromptHolder.Insert(r)
		q.host.Insert(r)
	}
}

func (q *queues) Hold(o policies.Object) {
	q.PromptHolder.Hold(o)
	q.of.copies.move(o, innerCopy)
}

func (q *queues) Release(o policies.Object) {
	q.PromptHolder.Release(o)
	q.of.copies.move(o, leafCopy)
}

// hostPolicy is the policy of the host as its pool sees it, which only keeps the accounts.
type hostPolicy struct{ policies.Policy }

func (hostPolicy) Insert(policies.Request) {}

// The kinds of nodes in copies.
const (
	innerCopy = iota // of nodes in both memories that the GPU cannot evict now
	leafCopy         // of those that it can
	hostOnly         // of nodes that have left the GPU
	copyKinds
)

// copies are the nodes that have been in both memories, by their last blocks, in the order in which they first were.
// Those that only the host has keep their place until a search for copies has gone past it, as in SGLang.
type copies struct {
	since []uint64 // per block: the place; 0 for none
	last  uint64   // the last place
	of    [copyKinds]dense.KeyedHeap
}

func newCopies(objects int) *copies {
	c := &copies{since: make([]uint64, objects)}
	for kind := range c.of {
		c.of[kind] = dense.NewKeyedHeap(objects)
	}
	return c
}

// add gives a node a place, if it has none, and says of which kind it is. Nil keeps nothing.
func (c *copies) add(o policies.Object, kind int) {
	if c == nil {
		return
	}
	if c.since[o] == 0 {
		c.last++
		c.since[o] = c.last
	}
	c.move(o, kind)
}

// move says of which kind a node is now, if it has a place.
func (c *copies) move(o policies.Object, kind int) {
	if c == nil || c.since[o] == 0 {
		return
	}
	for k := range c.of {
		c.of[k].Remove(o)
	}
	c.of[kind].Set(o, 0, c.since[o])
}

func (c *copies) forget(o policies.Object) {
	if c == nil {
		return
	}
	c.since[o] = 0
	for k := range c.of {
		c.of[k].Remove(o)
	}
}

// forgetHostOnly takes the places up to one away from nodes that only the host has.
func (c *copies) forgetHostOnly(upTo uint64) {
	for of := &c.of[hostOnly]; of.Len() > 0; {
		o, _ := of.Least()
		if c.since[o] > upTo {
			return
		}
		c.forget(o)
	}
}
