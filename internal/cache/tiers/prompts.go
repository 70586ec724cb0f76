package tiers

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies"
)

// chains is a hierarchy for prompts, which are chains of blocks. A prompt hits as far as each of its leading blocks is
// in some tier.
//
// The first tier is a prefix cache: it has a block only with all blocks before it, and running prompts hold their
// blocks there. If tiers have copies (inclusive, write-through), all of them are such caches, except stores. Otherwise
// blocks come down one by one, the last blocks of a prefix first. The lower tiers then are pools and evict any block.
// Blocks behind a gap cannot hit until the gap is closed.
type chains struct {
	hierarchy
	prefix.Front
	held [][]prefix.Held // per tier, per prompt: what it holds there, if that has a tree
	// deepestFirst says that lower tiers see the last block of a prompt first, so that they evict it first, too. Policies
	// that look up positions see the first one first.
	deepestFirst bool

	oneTree *prefix.HiCache // if the tiers are one tree; nil otherwise
	longer  int             // prompts with more blocks than fit into the first tier

	// buffers
	in   []int8 // per block of the prompt: the first tier that has it, -1 for none
	runs []int
	// the last prompt: its leading blocks that hit, and its tokens
	hits   int
	tokens int64
}

func (c *chains) Serve(w cache.Window, n *cache.Counts) { c.InFlight.Serve(c, w, n) }

func (c *chains) Begin(prompt int, n *cache.Counts) (hitTokens int64) {
	if c.nodes != nil {
		return c.nodes.begin(c, prompt, n)
	}
	return c.beginHere(prompt, n)
}

// beginHere serves a prompt from the tiers of a node, and those that it shares.
func (c *chains) beginHere(prompt int, n *cache.Counts) (hitTokens int64) {
	p := c.arrive(prompt)
	before, gone := *n, c.gone
	switch {
	case c.oneTree != nil:
		c.hits = c.serveOneTree(prompt, p, n)
	case c.swap != nil:
		c.hits = c.serveSwapping(prompt, p, n)
	case c.moves:
		c.hits = c.serveMoving(prompt, p, n)
	default:
		c.hits = c.serveCopies(prompt, p, n)
	}
	if p.Apart && !c.held[0][prompt].Apart {
		n.Oversized++
	}
	n.Evictions += c.gone - gone
	c.tokens = int64(c.Columns.InputTokens[prompt])
	c.countHits()
	return c.Count(prompt, c.hits, before, n)
}

// arrive returns a prompt that begins now, and notifies all who follow the requests.
func (c *chains) arrive(prompt int) prefix.Prompt {
	p := c.Arrive(prompt)
	blocks, _ := c.Trace.Group(prompt)
	c.ahead = c.nextPos - p.First
	if c.nodes != nil {
		c.nodes.groups.Begin(c.nextPos, len(blocks))
	}
	c.nextPos += len(blocks)
	c.pos, c.time = p.First, p.Now
	if c.Columns.Arrivals != nil {
		c.at(c.Columns.Arrivals[prompt])
	} else {
		c.at(p.Now)
	}
	c.requests += int64(c.Columns.Requested(prompt, blocks))
	if len(c.admitting)+len(c.predictors) > 0 {
		for i, o := range blocks {
			c.see(policies.Request{Object: o, Query: o, Pos: p.First + i, Size: 1, Time: p.Now})
			c.observe(o, p.First+i)
		}
	}
	if int64(len(p.Blocks)) > c.levels[0].pool.Capacity() {
		c.longer++
	}
	return p
}

// countHits counts the hits of the last prompt in their tiers.
func (c *chains) countHits() {
	each, left := int64(c.Columns.BlockTokens), c.tokens
	for from := 0; from < c.hits; { // blocks that follow each other in one tier are counted at once
		to, at := from+1, c.in[from]
		for to < c.hits && c.in[to] == at {
			to++
		}
		blocks, n := int64(to-from), c.levels[at].counts
		tokens := min(each*blocks, left)
		n.hits += blocks
		n.readBytes += c.bytes * blocks
		n.hitTokens += tokens
		left -= tokens
		from = to
	}
}

func (h *hierarchy) Tiers() (names []string) {
	for _, l := range h.levels {
		names = append(names, l.name)
	}
	return names
}

// Peek adds to tokens, per tier, those of the leading blocks of a prompt that the tiers have. It returns how many
// blocks these are, and how many of them are in the first tier, which are the first ones. It changes nothing.
func (c *chains) Peek(prompt int, tokens []int64) (inFirst, blocks int) {
	all, _ := c.Trace.Group(prompt)
	left := int64(c.Columns.InputTokens[prompt])
	_, reusable, _ := c.Limits(prompt)
	for _, o := range all[:reusable] {
		at := c.find(o)
		if at < 0 {
			break
		}
		each := min(int64(c.Columns.BlockTokens), left)
		tokens[at] += each
		left -= each
		if blocks++; at == 0 {
			inFirst = blocks
		}
	}
	return inFirst, blocks
}

// Loads adds to tokens, per tier, those that hit there when the last prompt began, without its blocks between two.
func (c *chains) Loads(from, to int, tokens []int64) {
	left := c.tokens
	for i, at := range c.in[:c.hits] {
		each := min(int64(c.Columns.BlockTokens), left)
		if i < from || i >= to {
			tokens[at] += each
		}
		left -= each
	}
}

func (c *chains) Remark() string {
	if c.longer == 0 || len(c.levels) == 1 {
		return ""
	}
	first, scaled := c.levels[0], ""
	if rate := c.Trace.SampleRate; rate > 0 && rate < 1 {
		scaled = fmt.Sprintf(" (scaled to the sample of %v, as all capacities are; prompts are not, so that fewer fit "+
			"than in the whole trace)", rate)
	}
	return fmt.Sprintf("cache tiers: %d of %d prompts have more blocks than the %d of the first tier, %s%s; the optimum "+
		"of one cache as large as all tiers is no bound then", c.longer, len(c.Trace.Groups), first.pool.Capacity(),
		first.name, scaled)
}

func (c *chains) Finish(prompt int) {
	blocks, _ := c.Trace.Group(prompt)
	for i, l := range c.levels {
		switch {
		case l.tree != nil:
			l.tree.Finish(blocks, c.held[i][prompt])
		case l.store != nil:
			c.finishStore(l, prompt)
		}
	}
}

// serveMoving serves a prompt if blocks come down to pools. It returns how many leading blocks hit.
func (c *chains) serveMoving(prompt int, p prefix.Prompt, n *cache.Counts) (hits int) {
	top, blocks := c.levels[0], p.Blocks
	c.expire(p.Now)
	run := top.tree.Run(blocks, p.Now)
	hits = min(c.locate(blocks, run), p.Reusable)
	up := c.movingUp(blocks, run, hits)
	own := p
	if up < hits { // what is new follows a block that is not in the first tier
		own.Blocks = blocks[:up]
	}
	lock := top.tree.Lock(own, run)
	held := int(lock.Blocks)
	c.noteAll(blocks, p.First)
	c.clear(blocks, run, held)
	now, before := top.tree.Load(own, run, lock)
	c.held[0][prompt] = now
	loaded := int(now.Blocks)
	if c.mode == exclusive { // blocks that are computed again may have moved down to make room for themselves
		for i := before; i < min(run, held); i++ {
			for _, l := range c.levels[1:] {
				l.pool.Drop(blocks[i])
			}
		}
	}
	for i := before; i < loaded; i++ {
		top.entered(blocks[i], 1)
		if at := c.in[i]; at > 0 && i < hits {
			c.levels[at].promoted++
		}
	}
	n.Oversized += int64(max(0, run-held)) // a last block that is resident, with no room to compute it again
	c.serveBelow(blocks, max(loaded, run), held, n)
	return hits
}

// locate finds the tier of each block, and returns the length of the leading run that some tier has. The first `run`
// blocks are in the first tier.
func (c *chains) locate(blocks []policies.Object, run int) (hits int) {
	c.in = c.in[:0]
	for range run {
		c.in = append(c.in, 0)
	}
	hits = run
	for _, o := range blocks[run:] {
		at := c.find(o)
		if at >= 0 && hits == len(c.in) {
			hits++
		}
		c.in = append(c.in, int8(at))
	}
	return hits
}

// movingUp counts the hits that the first tier lacks, from run on, and returns the end of those that all move up.
func (c *chains) movingUp(blocks []policies.Object, run, hits int) (up int) {
	up = run
	for i := run; i < hits; i++ {
		if c.due(blocks[i]) && up == i {
			up++
		}
	}
	return up
}

func (c *chains) noteAll(blocks []policies.Object, first int) {
	if c.last == nil {
		return
	}
	for i, o := range blocks {
		c.last[o] = uint32(first + i)
	}
}

// clear removes the lower copies of the blocks that the first tier gets: those from run on, up to held. If tiers keep
// copies, it reports the hits to them, also those of the blocks before, which the first tier has.
func (c *chains) clear(blocks []policies.Object, run, held int) {
	if c.mode == exclusive {
		for i := held - 1; i >= run; i-- {
			if at := c.in[i]; at >= 0 {
				c.levels[at].pool.Drop(blocks[i])
			}
		}
		return
	}
	for i := max(run, held) - 1; i >= 0; i-- {
		if at := int(c.in[i]); at >= 0 {
			c.touch(blocks[i], max(1, at))
		}
	}
}

// touch reports a request to the tiers from a level on that have a block.
func (c *chains) touch(o policies.Object, at int) {
	r := c.moved(o, 1)
	for _, l := range c.levels[at:] {
		if l.pool.Has(o) {
			own := r
			own.Pos = l.position(r.Pos)
			l.pool.Hit(own)
		}
	}
}

// serveBelow serves the blocks of a prompt that the first tier does not get. Blocks in a lower tier remain there,
// others are offered to the lower tiers. The policy of the first tier refused those below held.
func (c *chains) serveBelow(blocks []policies.Object, from, held int, n *cache.Counts) {
	for k := range len(blocks) - from {
		i := from + k
		if c.deepestFirst {
			i = len(blocks) - 1 - k
		}
		o, at := blocks[i], int(c.in[i])
		switch {
		case at > 0 && i < held && c.mode == exclusive: // clear has taken it
			c.putBack(c.moved(o, 1), c.levels[at])
		case at > 0 && i < held:
			if c.find(o) < 0 { // what came down has taken its place, and the first tier has refused it
				c.gone++
			}
		case at > 0:
			c.touch(o, at)
		case !c.offer(c.moved(o, 1), 1) && i >= held:
			n.Oversized++
		}
	}
}

// serveCopies serves a prompt if lower tiers have copies. It returns how many leading blocks hit.
func (c *chains) serveCopies(prompt int, p prefix.Prompt, n *cache.Counts) (hits int) {
	blocks := p.Blocks
	c.expire(p.Now)
	hits = c.locateCopies(blocks, p.Reusable, p.Now)
	up := c.movingUp(blocks, c.runs[0], hits)
	c.noteAll(blocks, p.First)
	most := 0 // blocks that some tier has now
	for at, l := range slices.Backward(c.levels) {
		if l.store != nil {
			if c.serveStore(l, prompt, p, up, hits) {
				most = len(blocks)
			}
			continue
		}
		limit := c.limit(blocks, at, up, hits)
		if c.mode == inclusive && at < len(c.levels)-1 {
			limit = min(limit, int(c.held[at+1][prompt].Blocks))
		}
		own, run := p, min(c.runs[at], limit)
		own.First, own.Blocks = l.position(p.First), blocks[:limit]
		if at > 0 { // a last block that is computed again is computed in the first tier; below it is only renewed
			own.Reusable, own.Apart = limit, false
		}
		lock := l.tree.Lock(own, run)
		now, before := l.tree.Load(own, run, lock)
		c.held[at][prompt] = now
		for _, o := range blocks[before:max(before, int(now.Blocks))] {
			l.entered(o, 1)
		}
		most = max(most, int(lock.Blocks))
	}
	for i := c.runs[0]; i < min(hits, int(c.held[0][prompt].Blocks)); i++ {
		c.levels[c.in[i]].promoted++
	}
	n.Oversized += int64(len(blocks) - most)
	return hits
}

// locateCopies is locate for the blocks that can hit, where tiers have copies. It notes the run in each tier of chains.
func (c *chains) locateCopies(blocks []policies.Object, reusable int, now int64) (hits int) {
	stores := false
	c.runs = c.runs[:0]
	for _, l := range c.levels {
		run := 0
		if l.tree != nil {
			run = l.tree.Run(blocks, now)
		}
		stores = stores || l.store != nil
		c.runs, hits = append(c.runs, run), max(hits, run)
	}
	if stores {
		return min(c.locate(blocks, c.runs[0]), reusable)
	}
	hits = min(hits, reusable)
	c.in = c.in[:0]
	for at, run := range c.runs {
		for len(c.in) < min(run, hits) {
			c.in = append(c.in, int8(at))
		}
	}
	return hits
}

// limit returns how many of a prompt's blocks a tier may have. It ends at a block that hits in a lower tier and does
// not move up, or that the tier does not admit.
func (c *chains) limit(blocks []policies.Object, at, up, hits int) int {
	l := c.levels[at]
	for i := c.runs[at]; i < len(blocks); i++ {
		if c.keepsFrom(l, i, up, hits) || !l.admits(c.moved(blocks[i], 1)) {
			return i
		}
	}
	return len(blocks)
}
