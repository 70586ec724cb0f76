package tiers

import (
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies"
)

// store is the part of a tier with copies of blocks of prompts, as an engine offloads them. Any block can be evicted. A
// prompt loads from it what follows the blocks that it has from above. If it loads something, it offers what comes
// behind that, otherwise all of its blocks. What the prompt uses, it has used when it ends.
type store struct {
	policy  policies.PromptStore
	did     []access          // per request of the trace
	missing []policies.Object // a buffer
}

// access is what a prompt has done with a block in a store.
type access uint8

const (
	untouched access = iota
	written
	used
)

// isStore reports whether a tier of prompts below the first one is a store.
func isStore(e policies.Entry, mode string) bool {
	return policies.Can[policies.PromptStore](e) && mode == writeThrough
}

// serveStore serves a prompt from a store, and writes to it what the prompt offers. Of the prompt's blocks `hits` hit
// in some tier, and `up` are copied to the first one. It reports whether the store has room for all offered blocks;
// otherwise it takes none.
func (c *chains) serveStore(l *level, prompt int, p prefix.Prompt, up, hits int) (stored bool) {
	did := c.accesses(l, prompt)
	clear(did)
	from := 0
	for from < hits && int(c.in[from]) < l.at {
		from++
	}
	to := from // also a last block of which a token is computed again
	for ; to < len(p.Blocks) && l.pool.Has(p.Blocks[to]); to++ {
		did[to] = used
	}
	if to == from {
		to = 0
	}
	l.store.missing = l.store.missing[:0]
	offered := 0
	for i, o := range p.Blocks[to:] {
		switch {
		case l.pool.Has(o):
			did[to+i] = used
		case c.keepsFrom(l, to+i, up, hits) || !l.admits(c.moved(o, 1)):
			continue
		default:
			did[to+i] = written
			l.store.missing = append(l.store.missing, o)
		}
		offered++
	}
	if len(l.store.missing) == 0 {
		return true
	}
	l.store.policy.Offer(p.Blocks[to:], l.store.missing)
	stored = int64(offered) <= l.pool.Capacity()
	c.write(l, did[to:], p.Blocks[to:], stored)
	return stored
}

// keepsFrom reports whether a tier is kept from having a block that hits below it, and that does not move up.
func (c *chains) keepsFrom(l *level, i, up, hits int) bool {
	return i < hits && int(c.in[i]) > l.at && i >= up
}

// write loads the missing blocks that a prompt offers, if there is room for all.
func (c *chains) write(l *level, did []access, blocks []policies.Object, room bool) {
	if room {
		l.pool.MakeRoom(int64(len(l.store.missing)))
	}
	for i, o := range blocks {
		switch {
		case did[i] != written:
		case !room:
			did[i] = untouched
		default:
			r := c.moved(o, 1)
			r.Pos = l.position(r.Pos)
			l.pool.Miss(r)
			l.entered(o, 1)
		}
	}
}

func (c *chains) finishStore(l *level, prompt int) {
	blocks, _ := c.Trace.Group(prompt)
	did := c.accesses(l, prompt)
	for i := len(blocks) - 1; i >= 0; i-- {
		switch o := blocks[i]; {
		case did[i] == untouched || !l.pool.Has(o): // it may have been evicted since
		case did[i] == written:
			l.store.policy.Renew(o)
		default:
			r := c.moved(o, 1)
			r.Pos = l.position(r.Pos)
			l.pool.Hit(r)
		}
	}
}

// accessesIn returns room for what the prompts of a trace do in a store. Nodes share it: a prompt is served on one.
func (h *hierarchy) accessesIn(at, requests int) []access {
	if h.nodes == nil {
		return make([]access, requests)
	}
	if h.nodes.did[at] == nil {
		h.nodes.did[at] = make([]access, requests)
	}
	return h.nodes.did[at]
}

// accesses are what a prompt has done with each of its blocks in a store.
func (c *chains) accesses(l *level, prompt int) []access {
	blocks, at := c.Trace.Group(prompt)
	return l.store.did[at:][:len(blocks)]
}
