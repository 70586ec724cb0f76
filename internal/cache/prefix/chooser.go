package prefix

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// chooser turns any policy into a Holder. If the policy names a block that cannot be evicted, a leaf behind it is
// evicted instead. The leaf is worth no more: it is requested only when the block is. Of several blocks behind one, the
// path to the leaf takes the least recently requested. If all leaves behind it are held, one behind the nearest block
// ahead of it is evicted. The policy is then notified that the leaf was evicted and, when the miss has been served,
// that the named block was requested and is resident again.
//
// A policy of this kind is notified of the last block of a prompt first, so that most policies name a leaf before the
// blocks ahead of it. Policies that use positions, or that bypass blocks, need the order of the requests instead.
type chooser struct {
	policy policies.Policy
	tree   *Tree
	// list o: the resident blocks behind block o, the one requested last in front; the last list: those with none ahead
	children dense.Lists
	runs     runs
	observer *silentPredictor // nil where the policy asks no predictor
	// requested is per object the position of its last request, where the policy looks up its next one; else nil.
	requested []int

	named   policies.Object // a block that the policy has forgotten and that is still resident
	isNamed bool
	inner   int64 // blocks that the policy named and that were not evicted

	expects bool  // blocks come after those behind them, and expect knows them before
	forking int32 // the block behind which blocks were expected last
}

func newChooser(p policies.Policy, t *Tree, offline bool, observer *silentPredictor) *chooser {
	c := &chooser{policy: p, tree: t, children: dense.NewLists(len(t.nodes), len(t.nodes)+1), runs: newRuns(t.parents),
		observer: observer, forking: nothing}
	if offline {
		c.requested = make([]int, len(t.nodes))
	}
	return c
}

// holder returns what the pool of the tree uses: an Expirer if the policy is one.
func (c *chooser) holder() policies.Holder {
	switch p := c.policy.(type) {
	case policies.Expirer:
		return &expiringChooser{chooser: c, expirer: p}
	case policies.Admitter:
		return admittingChooser{c, p}
	}
	return c
}

func (c *chooser) Counters() []policies.Counter {
	return append(cache.CountersOf(c.policy), policies.Count(innerVictims, float64(c.inner)))
}

// listOf returns the list that has o while it is resident.
func (c *chooser) listOf(o policies.Object) int {
	if parent := c.tree.parents[o]; parent >= 0 {
		return int(parent)
	}
	return len(c.tree.nodes)
}

func (c *chooser) Hit(r policies.Request) {
	c.children.MoveToFront(c.listOf(r.Object), r.Object)
	c.note(r)
	c.policy.Hit(r)
}

func (c *chooser) note(r policies.Request) {
	if c.requested != nil {
		c.requested[r.Object] = r.Pos
	}
}

func (c *chooser) Miss(r policies.Request) { c.policy.Miss(r) }

func (c *chooser) Victim(r policies.Request) policies.Object {
	v := c.policy.Victim(r)
	if v == r.Object {
		return v
	}
	leaf := c.leafNear(v)
	if leaf == v {
		c.unlink(v)
		return v
	}
	c.inner++
	c.named, c.isNamed = v, true
	c.Remove(leaf)
	if r.Reason == policies.Shrink { // no Insert follows
		c.isNamed = false
		c.reload(v, r)
	}
	return leaf
}

// expect notes which blocks come next, each with the one ahead of it, if they come in another order than this.
func (c *chooser) expect(blocks []policies.Object) {
	if len(blocks) > 0 {
		c.expects = true
		c.forking = c.tree.parents[blocks[0]]
		c.runs.addAll(blocks, c.lastBehind(c.forking))
	}
}

// lastBehind returns the block behind one that was requested least recently, or nothing.
func (c *chooser) lastBehind(o int32) int {
	if o >= 0 {
		if child, ok := c.children.Back(int(o)); ok {
			return int(child)
		}
	}
	return nothing
}

func (c *chooser) Insert(r policies.Request) {
	if !c.expects {
		c.runs.add(r.Object, c.lastBehind(c.tree.parents[r.Object]))
	}
	c.children.PushFront(c.listOf(r.Object), r.Object)
	c.note(r)
	c.policy.Insert(r)
	if c.isNamed {
		c.isNamed = false
		c.reload(c.named, r)
	}
}

func (c *chooser) Remove(o policies.Object) {
	c.unlink(o)
	if c.isNamed && o == c.named { // the policy has forgotten it already
		c.isNamed = false
		return
	}
	c.policy.Remove(o)
}

func (c *chooser) unlink(o policies.Object) {
	c.children.Unlink(o)
	c.runs.remove(o)
}

// Hold and Release have nothing to do: the tree knows.
func (c *chooser) Hold(policies.Object)    {}
func (c *chooser) Release(policies.Object) {}

// leafNear returns an evictable leaf: o itself, one behind it, or one behind the nearest block ahead. There is one.
func (c *chooser) leafNear(o policies.Object) policies.Object {
	if leaf, ok := c.leafFrom(o); ok {
		return leaf
	}
	for {
		first, _ := c.runs.of(o)
		list := c.listOf(first)
		if leaf, ok := c.leafOn(list, int(first)); ok { // behind o there is none
			return leaf
		}
		o = policies.Object(list)
		if _, only := c.only(o); only {
			c.runs.join(o, first)
		}
	}
}

// only returns the block behind another one, if there is exactly one and none is expected.
func (c *chooser) only(o policies.Object) (behind policies.Object, ok bool) {
	if c.tree.nodes[o].children() != 1 || int32(o) == c.forking {
		return 0, false
	}
	return c.children.Back(int(o))
}

// nothing is no block.
const nothing = -1

// leafFrom returns an evictable leaf: o itself, or one behind it.
func (c *chooser) leafFrom(o policies.Object) (leaf policies.Object, ok bool) {
	for {
		_, last := c.runs.of(o)
		if c.tree.evictable(last) {
			return last, true
		}
		behind, only := c.only(last)
		if !only {
			return c.leafOn(int(last), nothing)
		}
		c.runs.join(last, behind)
		o = last
	}
}

// leafOn returns an evictable leaf among the blocks on a list, except one, or behind them.
func (c *chooser) leafOn(list, except int) (leaf policies.Object, ok bool) {
	for child, more := c.children.Back(list); more; child, more = c.children.Before(child) {
		if int(child) == except {
			continue
		}
		if leaf, ok := c.leafFrom(child); ok {
			return leaf, true
		}
	}
	return 0, false
}

// reload tells the policy that o, which it has forgotten, is resident. Predictors do not observe it: it is no request.
func (c *chooser) reload(o policies.Object, r policies.Request) {
	c.observer.setSilent(true)
	r.Object, r.Query = o, o
	if c.requested != nil {
		r.Pos = c.requested[o]
	}
	c.policy.Miss(r)
	c.policy.Insert(r)
	c.observer.setSilent(false)
}

// admittingChooser chooses with a policy that may refuse blocks.
type admittingChooser struct {
	*chooser
	policies.Admitter
}

// expiringChooser chooses with a policy under which blocks expire.
type expiringChooser struct {
	*chooser
	expirer policies.Expirer

	due   policies.Object // a block that has expired, evicted as soon as no block behind it is resident
	isDue bool
	held  []policies.Object // blocks that have expired and are held, in a search for one that is not

	searched bool  // a search at that time has found none, and nothing has happened since
	at       int64 // its time
}

func (c *expiringChooser) Hit(r policies.Request) {
	c.searched = false
	c.chooser.Hit(r)
}

func (c *expiringChooser) Victim(r policies.Request) policies.Object {
	c.searched = false
	return c.chooser.Victim(r)
}

func (c *expiringChooser) Insert(r policies.Request) {
	c.searched = false
	c.chooser.Insert(r)
}

func (c *expiringChooser) Remove(o policies.Object) {
	c.searched = false
	c.chooser.Remove(o)
}

func (c *expiringChooser) Release(o policies.Object) {
	c.searched = false
	c.chooser.Release(o)
}

// Admit implements policies.Admitter, whether or not the policy does.
func (c *expiringChooser) Admit(r policies.Request) bool {
	admitter, ok := c.policy.(policies.Admitter)
	return !ok || admitter.Admit(r)
}

// Expired implements policies.Expirer. An expired block is evicted after all blocks behind it. A block that a running
// prompt holds stays, and its lifetime starts again.
func (c *expiringChooser) Expired(now int64) (policies.Object, bool) {
	// Tiers ask twice. Each search reloads what is held, which a policy may not take alike every time.
	if c.searched && c.at == now || !c.isDue && !c.findDue(now) {
		c.searched, c.at = true, now
		return 0, false
	}
	leaf, _ := c.leafFrom(c.due)
	if leaf == c.due { // the policy has forgotten it already
		c.isDue = false
		c.unlink(leaf)
	} else {
		c.Remove(leaf)
	}
	return leaf, true
}

// findDue searches for an expired block that is not held. It reloads the held ones at the end: a policy may give up
// others for them, which may be held, too.
func (c *expiringChooser) findDue(now int64) bool {
	c.held = c.held[:0]
	o, ok := c.expirer.Expired(now)
	for ; ok && c.tree.nodes[o].isHeld(); o, ok = c.expirer.Expired(now) {
		c.held = append(c.held, o)
	}
	c.due, c.isDue = o, ok
	for _, h := range c.held {
		c.reload(h, policies.Request{Size: 1, Time: now})
	}
	return ok
}

// silentPredictor is a predictor that can be kept from observing.
type silentPredictor struct {
	predict.Predictor
	silent bool
}

// silence puts a silentPredictor into the config of a policy that asks a predictor.
func silence(c *policies.Config) *silentPredictor {
	if c.Predictor == nil {
		return nil
	}
	s := &silentPredictor{Predictor: c.Predictor}
	c.Predictor = s
	return s
}

func (s *silentPredictor) Observe(o policies.Object, pos int) {
	if !s.silent {
		s.Predictor.Observe(o, pos)
	}
}

func (s *silentPredictor) Unwrap() predict.Predictor { return s.Predictor }

func (s *silentPredictor) setSilent(silent bool) {
	if s != nil {
		s.silent = silent
	}
}
