package prefix

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// Tree keeps the predecessors of every resident block resident, back to the first block of its prompts. So only leaves
// can be evicted: blocks without a resident block behind them that no running prompt holds.
//
// The resident blocks of a prompt are thus a prefix of it. Every missing block is loaded, and evicts another one if the
// cache is full, but never a block of a running prompt. A prompt fits if it has no more blocks than the capacity less
// the blocks that others hold. The last blocks of a longer prompt bypass the cache: they miss and are not loaded.
//
// With last=computed a last block that is not full is not loaded, but takes room while its prompt runs; and a last full
// block that is resident is computed again, for which there must be room for a moment, as engines need it before they
// find that they have the block. With last=kept this applies to every last block, and all are loaded.
//
// The optimum. Let the policy be Belady's: it evicts the block whose next request is farthest away in the sequence of
// blocks. No other schedule misses less, whether it keeps to the tree or not, as long as it loads what is missing as
// described above.
//
//   - It keeps to the tree by itself: of two resident blocks, one ahead of the other in its prompts, the deeper one is
//     requested last. For each prompt with the deeper one also has the other, at an earlier position; hence the next
//     position of the other is smaller, or both are never requested again. (Without locks this fails: the newest block
//     of a prompt must stay, and the one ahead of it may be the farthest of the rest.) So the block of largest next
//     position among those of no running prompt is a leaf, or, if several are never requested again, a leaf is among
//     them; and it makes no difference which of these is evicted.
//   - No schedule that may evict any block of no running prompt misses fewer blocks. Take an optimal one, S, that
//     agrees with Belady's up to a prompt at which Belady's drops x and S drops y instead, so that the next prompt with
//     y is not later than that with x. Let S' drop x, and from there on do as S does, with y in its cache where S has
//     x. If S drops x before y is requested, S' drops y, and both are equal. Otherwise there comes the first prompt
//     with y: S loads y, and S' loads x in its place, which at that prompt is requested too, or later; from there on
//     both are equal, and S' has loaded no more than S. What S' loads too early it may load later, or never. So S' is
//     optimal and agrees with Belady's for longer; by repetition Belady's is optimal.
//   - A schedule that does not keep to the tree has at most as many hits as it has requested blocks that are resident,
//     since a hit is one of these.
//
// Blocks with the same next prompt differ only in position, which the second argument leaves open; so deeper-first ties
// cost nothing. That prompts hold their blocks for longer than they are served (concurrency) changes nothing either: a
// prompt holds as many of its first blocks as fit beside those that are held, so what is held is the same in every
// schedule.
//
// If blocks may be bypassed, what is held depends on the schedule: a block that is loaded keeps its place while its
// prompt runs, and a block that hits does, too. Then Belady's rule, with bypassing, is not optimal: it may load a block
// that is soon requested again, though another would have used its place before. The bound opt-unheld ignores what is
// held. If a model lets prompts overlap, when they end depends on the schedule even if nothing may be bypassed.
type Tree struct {
	pool     *cache.Pool
	policy   policies.Holder       // of the pool
	groups   policies.GroupMisser  // nil where the policy does not care what is missed together
	follower policies.PromptHolder // nil where the policy does not follow prompts as wholes
	nodes    []node
	shared   []uint32 // per block: further running prompts that hold it; nil until a block has some
	parents  []int32
	locked   int // blocks that running prompts hold
	apart    int // running prompts with a last block that takes room and is not loaded

	// deepestFirst is the chooser if its policy is notified of the last block of a prompt before the others; else nil.
	deepestFirst *chooser

	// segments is nil if blocks are evicted one by one.
	segments *segments
	page     int // tokens in a block

	moreEvents bool // see policies.Config

	// gone is notified of each block that is no longer resident; may be nil.
	gone func(o policies.Object, why cache.Departure)
	// loading is notified of each block before there is room for it, if the policy follows prompts; may be nil.
	loading func(o policies.Object)
	// hitting is notified of the leading blocks of a prompt that hit; may be nil.
	hitting func(blocks []policies.Object)
}

// node is the state of a block: how many blocks behind it are resident, in units of oneChild, and whether a running
// prompt holds it. 0 is a leaf that can be evicted, if the pool has it.
type node uint32

const (
	heldBit  node = 1
	oneChild node = 2
)

func (n node) isHeld() bool     { return n&heldBit != 0 }
func (n node) children() uint32 { return uint32(n / oneChild) }

func newTree(c cache.Config) (*Tree, error) {
	t := emptyTree(c)
	return t, t.usePolicy(c)
}

// emptyTree returns a tree without a policy.
func emptyTree(c cache.Config) *Tree {
	columns := prompts.Of(c.Trace.Kind)
	t := &Tree{nodes: make([]node, c.Trace.NumObjects), parents: columns.Parents, page: columns.BlockTokens}
	// The optimum evicts single blocks in any case: policies are compared with it whatever they evict.
	if c.Params.Text("evict") == evictNode && c.Policy.Entry.Kind != policies.Offline {
		t.segments = newSegments(c.Trace.NumObjects)
	}
	return t
}

// usePolicy builds the policy, and makes it choose leaves if it does not do so by itself.
func (t *Tree) usePolicy(c cache.Config) error {
	config := c.PolicyConfig()
	config.MoreEvents = t.moreEvents
	config.Holds, config.BlockTokens = policies.Can[policies.Holder](c.Policy.Entry), prompts.Of(c.Trace.Kind).BlockTokens
	if config.Holds && !c.AnyOrder {
		config.Sequence = c.Trace.Objects
	}
	silenced := silence(&config)
	p, err := c.Policy.Entry.New(config)
	if err != nil {
		return err
	}
	t.groups, _ = p.(policies.GroupMisser)
	if config.Holds {
		t.policy = p.(policies.Holder)
		t.follower, _ = p.(policies.PromptHolder)
	} else {
		chooser := newChooser(p, t, c.Policy.Entry.Kind == policies.Offline, silenced)
		// What has no limit refuses blocks where there is one.
		if e := c.Policy.Entry; e.Kind == policies.Online && !policies.Can[policies.PredictorUser](e) &&
			!e.Bypasses(c.Policy.Params) && !e.Unbounded {
			t.deepestFirst = chooser
		}
		t.policy = chooser.holder()
	}
	if t.pool = newPool(c, t.policy); t.moreEvents { // prompts have blocks of their own that the tree has, too
		t.pool = cache.NewPool(t.policy, c.Capacity, c.Trace.NumObjects)
	}
	t.pool.Observe(t)
	if c.Observer != nil {
		t.follow(c.Observer)
	}
	return nil
}

// follow notifies an observer of the blocks that come, hit and go.
func (t *Tree) follow(o cache.Observer) {
	t.gone = func(block policies.Object, why cache.Departure) { o.Left(block, 1, why) }
	if loads, ok := o.(cache.LoadObserver); ok {
		t.pool.Observe(followedTree{t, loads})
	}
	if hits, ok := o.(cache.HitObserver); ok {
		t.hitting = func(blocks []policies.Object) {
			for _, block := range blocks {
				hits.Hit(block)
			}
		}
	}
}

// followedTree is a tree whose loads are observed. It implements cache.LoadObserver.
type followedTree struct {
	*Tree
	loads cache.LoadObserver
}

func (t followedTree) Loaded(o policies.Object, size int64, why policies.Reason) {
	t.loads.Loaded(o, size, why)
}

// newPool returns an empty pool for the blocks of prompts. More room than for all of them, and one block of each prompt
// that is not kept, changes nothing.
func newPool(c cache.Config, p policies.Policy) *cache.Pool {
	all := int64(c.Trace.NumObjects) + int64(len(c.Trace.Groups)) + 1
	return cache.NewPool(p, min(c.Capacity, all), c.Trace.NumObjects)
}

// NewTier returns an empty tier of a hierarchy, which says which blocks of a prompt it gets. gone is notified of each
// block that is no longer resident; it must not call the tier.
func NewTier(c cache.Config, gone func(o policies.Object, why cache.Departure)) (*Tree, error) {
	c.Params = params.Values{"evict": evictLeaf}
	t, err := newTree(c)
	if err == nil {
		t.gone = gone
	}
	return t, err
}

func (t *Tree) Swapper() (s policies.Swapper, ok bool) {
	s, ok = t.policy.(policies.Swapper)
	return s, ok
}

// Loading calls f before there is room for a block, under a policy that follows prompts. f must not call the tree.
func (t *Tree) Loading(f func(o policies.Object)) { t.loading = f }
func (t *Tree) Pool() *cache.Pool                 { return t.pool }
func (t *Tree) contents() contents                { return t.pool }

// Has reports whether a block is resident, or held and about to be.
func (t *Tree) Has(o policies.Object) bool { return t.nodes[o].isHeld() || t.pool.Has(o) }
func (t *Tree) Locked() int                { return t.locked + t.apart }

func (t *Tree) begin(p Prompt, n *cache.Counts) (hits int, h Held) {
	evictions := t.pool.Evictions()
	run := t.Run(p.Blocks, p.Now)
	if t.hitting != nil {
		t.hitting(p.Blocks[:min(run, p.Reusable)])
	}
	h = t.Lock(p, run)
	n.Oversized += int64(len(p.Blocks)) - int64(h.Blocks)
	if p.Apart && !h.Apart {
		n.Oversized++
	}
	h, _ = t.Load(p, run, h)
	n.Evictions += t.pool.Evictions() - evictions
	return min(run, p.Reusable), h
}

// Lock holds what fits of a prompt, whose first `run` blocks are resident. Load must follow. Of the resident blocks,
// those that do not hit are held there, because room is made for them first.
func (t *Tree) Lock(p Prompt, run int) (h Held) {
	hits := p.found(run)
	t.hold(p.Blocks[:hits])
	if h = t.fit(p, hits); int(h.Blocks) > run {
		t.lockAll(p.Blocks[run:h.Blocks])
	}
	return h
}

// Load requests the blocks that Lock holds, and loads those that are not resident. It returns what is resident and held
// until Finish, which is less if the policy refuses a block, and how many blocks were resident before room was made for
// a last one that is computed again.
func (t *Tree) Load(p Prompt, run int, h Held) (now Held, resident int) {
	blocks, hits := p.Blocks[:h.Blocks], p.found(run)
	if t.follower != nil {
		t.follower.Begin(p.begins(blocks[:hits], len(blocks)))
	}
	t.split(blocks[:hits])
	resident = min(run, len(blocks))
	if resident > hits { // the last block is computed again, or the answer is written again
		others := t.apart // without the last block of the answer, which comes later
		if h.Apart {
			others--
		}
		loads := int(h.Blocks) - resident // they are held already
		t.makeRoom(others+resident-hits+t.spare(p), t.locked-loads)
		again := hits
		for again < resident && t.pool.Has(blocks[again]) { // what made room may have been these blocks
			again++
		}
		if again > hits {
			t.hold(blocks[hits:again])
			t.split(blocks[:again])
		}
		t.lockAll(blocks[again:resident])
		resident = again
	}
	if t.segments != nil {
		asked := max(resident, min(p.own(), len(blocks)))
		t.segments.add(blocks[resident:asked])
		t.segments.add(blocks[asked:])
	}
	h.Blocks = int32(t.request(blocks, hits, resident, policies.Request{Size: 1, Pos: p.First, Time: p.Now}))
	if rest := t.apart + t.spareAfter(p); rest > 0 {
		t.makeRoom(rest, t.locked)
	}
	return h, resident
}

// spare returns for how many more blocks SGLang makes room than a prompt takes.
func (t *Tree) spare(p Prompt) int {
	if t.segments == nil || t.page == 1 || !p.Computes {
		return 0
	}
	return 1
}

// spareAfter returns the same after the answer: before each of its tokens there must be a free page, whether it begins
// one or not. The last one takes this page if it does.
func (t *Tree) spareAfter(p Prompt) int {
	if p.Written > p.Tokens && p.Written%t.page == 1 {
		return 0
	}
	return t.spare(p)
}

// makeRoom makes room for some blocks, or for as many as fit beside resident ones that are held.
func (t *Tree) makeRoom(blocks, held int) {
	t.pool.MakeRoom(min(int64(blocks), t.pool.Capacity()-int64(held)))
}

// Run returns the length of the leading run of blocks that are resident at a time. Hit and Miss do not expire anything,
// and the run must be known before them.
func (t *Tree) Run(blocks []policies.Object, now int64) (n int) {
	t.pool.Expire(now)
	for n < len(blocks) && t.pool.Has(blocks[n]) {
		n++
	}
	return n
}

// fit returns how much of a prompt fits beside what running prompts hold, and reserves the room of a block that is not
// loaded. The hits of the prompt are held already.
func (t *Tree) fit(p Prompt, hits int) (h Held) {
	missing, free := len(p.Blocks)-hits, int(t.pool.Capacity())-t.locked-t.apart
	h.Blocks = int32(hits + min(missing, free))
	if h.Apart = p.Apart && free > missing; h.Apart {
		t.apart++
	}
	return h
}

// split notes that a prompt ends with the last of the resident blocks, or forks behind it.
func (t *Tree) split(resident []policies.Object) {
	if t.segments == nil || len(resident) == 0 {
		return
	}
	at := resident[len(resident)-1]
	if last, ok := t.segments.split(at); ok && t.follower != nil {
		t.follower.Split(at, last)
	}
}

// request requests the blocks of a prompt that fit; r is the first request without its object. All are locked, and the
// first are resident. It returns how many are resident and held afterwards: fewer than all if the policy refuses one.
func (t *Tree) request(blocks []policies.Object, hits, resident int, r policies.Request) (held int) {
	if t.deepestFirst != nil {
		t.serveDeepestFirst(blocks, resident, r)
		return len(blocks)
	}
	if t.follower == nil { // otherwise it has been notified of the hits
		hits = 0
	}
	held = t.serve(blocks, hits, resident, r)
	t.unlock(blocks[held:]) // those that the policy refused are not resident, so the prompt does not hold them
	return held
}

// serve requests the blocks of a prompt from one on, those before resident as hits. It returns how many are resident
// afterwards: fewer than all if the policy refuses one.
func (t *Tree) serve(blocks []policies.Object, from, resident int, r policies.Request) int {
	first := r.Pos
	for i := from; i < resident; i++ {
		r.Object, r.Query, r.Pos = blocks[i], blocks[i], first+i
		t.policy.Hit(r)
	}
	if t.groups != nil && resident < len(blocks) {
		t.groups.MissGroup(blocks[resident:], resident)
	}
	for i := resident; i < len(blocks); i++ {
		r.Object, r.Query, r.Pos = blocks[i], blocks[i], first+i
		if t.loading != nil {
			t.loading(blocks[i])
		}
		if !t.pool.Miss(r) {
			return i
		}
		t.link(blocks[i])
	}
	return len(blocks)
}

// serveDeepestFirst is serve from the last block on. Positions are then no more than a clock.
func (t *Tree) serveDeepestFirst(blocks []policies.Object, hits int, r policies.Request) {
	t.deepestFirst.expect(blocks[hits:])
	for i := len(blocks) - 1; i >= 0; i-- {
		r.Object, r.Query = blocks[i], blocks[i]
		if i < hits {
			t.policy.Hit(r)
		} else if t.pool.Miss(r) {
			t.link(blocks[i])
		}
		r.Pos++
	}
}

// link notes that o has become resident: the block before it is a leaf no longer.
func (t *Tree) link(o policies.Object) {
	if parent := t.parents[o]; parent >= 0 {
		t.nodes[parent] += oneChild
	}
}

// Left implements cache.Observer. Of segments that are evicted as a whole, the rest follows, unless blocks expire.
func (t *Tree) Left(o policies.Object, _ int64, why cache.Departure) {
	for t.segments != nil && why != cache.Expired {
		before, ok := t.segments.cut(o, t.parents[o])
		if !ok {
			break
		}
		t.detach(o)
		t.tell(o, why)
		if t.follower == nil {
			t.policy.Release(before)
			t.policy.Remove(before)
		}
		t.pool.Forget(before)
		o = before
	}
	t.unlink(o)
	t.tell(o, why)
}

// tell notifies the hierarchy of tiers that o is no longer resident.
func (t *Tree) tell(o policies.Object, why cache.Departure) {
	if t.gone != nil {
		t.gone(o, why)
	}
}

// detach notes that o is no longer resident.
func (t *Tree) detach(o policies.Object) {
	if !t.evictable(o) {
		t.accuse(o)
	}
	if parent := t.parents[o]; parent >= 0 {
		t.nodes[parent] -= oneChild
	}
}

// unlink notes that o is no longer resident: the block before it may be a leaf now.
func (t *Tree) unlink(o policies.Object) {
	t.detach(o)
	if parent := t.parents[o]; parent >= 0 && t.evictable(policies.Object(parent)) {
		t.policy.Release(policies.Object(parent))
	}
}

// accuse stops at a broken policy. It is not inlined, to keep what happens at each eviction short.
//
//go:noinline
func (t *Tree) accuse(o policies.Object) {
	panic(fmt.Sprintf("policy %T evicts block %d, which is no leaf or is held", t.policy, o))
}

// evictable reports whether o, which is resident or being evicted, is a leaf that no running prompt holds.
func (t *Tree) evictable(o policies.Object) bool { return t.nodes[o] == 0 }

// hold holds resident blocks that follow each other.
func (t *Tree) hold(blocks []policies.Object) {
	// Of resident blocks only the last can be a leaf. This comes before the locks, which evictable looks at.
	if len(blocks) > 0 && t.evictable(blocks[len(blocks)-1]) {
		t.policy.Hold(blocks[len(blocks)-1])
	}
	t.lockAll(blocks)
}

func (t *Tree) lockAll(blocks []policies.Object) {
	nodes, locked := t.nodes, t.locked
	for _, o := range blocks {
		if nodes[o].isHeld() {
			t.share(o)
			continue
		}
		nodes[o] |= heldBit
		locked++
	}
	t.locked = locked
}

// share notes that a further running prompt holds o. Where prompts run one at a time, this needs no memory.
func (t *Tree) share(o policies.Object) {
	if t.shared == nil {
		t.shared = make([]uint32, len(t.nodes))
	}
	t.shared[o]++
}

func (t *Tree) unlock(blocks []policies.Object) {
	nodes, shared, locked := t.nodes, t.shared, t.locked
	for _, o := range blocks {
		if shared != nil && shared[o] > 0 {
			shared[o]--
			continue
		}
		nodes[o] &^= heldBit
		locked--
	}
	t.locked = locked
}

func (t *Tree) Finish(blocks []policies.Object, h Held) {
	blocks = blocks[:h.Blocks]
	if t.follower != nil {
		t.follower.Finish(blocks)
	}
	if h.Apart {
		t.apart--
	}
	t.release(blocks)
}

// release releases blocks that a prompt holds.
func (t *Tree) release(blocks []policies.Object) {
	t.unlock(blocks)
	if len(blocks) == 0 {
		return
	}
	// The others have a resident block behind them, so that only the last can be a leaf.
	if last := blocks[len(blocks)-1]; t.evictable(last) {
		t.policy.Release(last)
	}
}

// segments are the nodes of a radix tree: runs of blocks that were loaded together, within which no prompt has forked
// or ended since (SGLang, radix_cache.py). All blocks of a segment were requested by the same prompts, so what a policy
// knows about one it knows about all: a split copies nothing.
type segments struct {
	behind []int32 // per block: the block behind it in its segment, -1 for the last
}

func newSegments(objects int) *segments {
	s := &segments{behind: make([]int32, objects)}
	for o := range s.behind {
		s.behind[o] = -1
	}
	return s
}

// split ends a segment with o, unless one ends there, and returns the last block of what follows.
func (s *segments) split(o policies.Object) (last policies.Object, ok bool) {
	behind := s.behind[o]
	if behind < 0 {
		return 0, false
	}
	s.behind[o] = -1
	for {
		last = policies.Object(behind)
		if behind = s.behind[last]; behind < 0 {
			return last, true
		}
	}
}

// add makes a segment of blocks that will be loaded.
func (s *segments) add(blocks []policies.Object) {
	for i, o := range blocks {
		s.behind[o] = -1
		if i > 0 {
			s.behind[blocks[i-1]] = int32(o)
		}
	}
}

// before returns the block before o in its segment, if there is one; parent is the one before o in its prompts.
func (s *segments) before(o policies.Object, parent int32) (before policies.Object, ok bool) {
	if parent < 0 || s.behind[parent] != int32(o) {
		return 0, false
	}
	return policies.Object(parent), true
}

// cut removes o, the last block of its segment, from it, and returns the previous block in the segment if there is one.
func (s *segments) cut(o policies.Object, parent int32) (before policies.Object, ok bool) {
	if before, ok = s.before(o, parent); ok {
		s.behind[parent] = -1
	}
	return before, ok
}
