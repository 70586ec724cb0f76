package engines

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// tails says which nodes the next prompt of a conversation can do without and still have no more than a number of
// tokens to compute (T-LRU, as SGLang has it).
//
// A node's reach is the depth of the deepest block that has been behind it while it was resident, also of those that
// have been evicted since. All blocks of a node have the same one, so a split copies nothing. Depths count blocks.
type tails struct {
	block     int64    // tokens
	allowance int64    // tokens that the next prompt may have to compute, of those that the cache has had
	first     int      // the position at which the prompt begins
	own       uint32   // blocks of the prompt; those behind them are a node of the answer
	inserted  bool     // the prompt has inserted a block
	start     uint32   // depth of the node that the prompt inserts
	depth     []uint32 // per object: blocks before it
	begins    []uint32 // per last block of a node: blocks before the node
	reaches   []uint32 // per object: the reach of its node, in blocks
}

func newTails(c policies.Config) *tails {
	return &tails{
		block: int64(c.BlockTokens), allowance: int64(c.Params.Int("threshold") - c.Params.Int("next-prompt-estimate")),
		depth: make([]uint32, c.Objects), begins: make([]uint32, c.Objects), reaches: make([]uint32, c.Objects),
	}
}

func (t *tails) begin(first, own int) { t.first, t.own, t.inserted = first, uint32(own), false }

// insert notes a new block. All that a prompt inserts are one node, and all of its answer another.
func (t *tails) insert(r policies.Request) {
	depth := uint32(r.Pos - t.first)
	if !t.inserted || depth == t.own {
		t.inserted, t.start = true, depth
	}
	t.depth[r.Object], t.begins[r.Object], t.reaches[r.Object] = depth, t.start, depth+1
}

// split notes that the node that ends with last is divided behind the block at.
func (t *tails) split(at, last policies.Object) {
	t.begins[at] = t.begins[last]
	t.begins[last] = t.depth[at] + 1
}

// reach notes that all of these blocks were resident together. That a prompt reports them at its end makes no
// difference, because it holds them until then.
func (t *tails) reach(blocks []policies.Object) {
	n := uint32(len(blocks))
	for _, o := range blocks {
		t.reaches[o] = max(t.reaches[o], n)
	}
}

// spare reports whether the node that ends with o can be evicted without the next prompt computing more than allowed.
func (t *tails) spare(o policies.Object) bool {
	return int64(t.begins[o])*t.block >= max(int64(t.reaches[o])*t.block-t.allowance, 0)
}

func (t *tails) grow(objects int) {
	t.depth, t.begins = dense.Grown(t.depth, objects), dense.Grown(t.begins, objects)
	t.reaches = dense.Grown(t.reaches, objects)
}
