package kv

import (
	"cmp"
	"slices"
	"sync"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
)

// PQCache is the policy of PQCache.
var PQCache = policies.Entry{
	Name: "pqcache",
	Look: policies.Look{Color: policies.Magenta, Mark: policies.Ring},
	Summary: "in the cache attention: the KV heads of a layer share blocks of tokens; a step loads the tokens that it " +
		"lacks, and those blocks in which most tokens are wanted; LFU evicts blocks",
	Source: "Zhang et al., PQCache: product quantization-based KVCache for long context LLM inference (SIGMOD 2025), " +
		"as its code has it (HugoZHL/PQCache)",
	Type:  heads{},
	Units: policies.UnitsObjects,
	Params: []params.Param{{Name: "block", Default: 128, Min: 1, Max: 1 << 16,
		Doc: "tokens of a block, whose rows of all KV heads of a layer are loaded together"}},
}

// FullAttention keeps all rows.
var FullAttention = policies.Entry{
	Name:    "full-attention",
	Look:    policies.Look{Color: policies.Green, Mark: policies.Square},
	Summary: "in the cache attention: all rows of every head are on the GPU, whatever the capacity; nothing is lost",
	Source:  source,
	Type:    heads{},
	Units:   policies.UnitsObjects,
}

// layer is the cache that the KV heads of a layer share under PQCache. It keeps blocks by how many tokens of each all
// heads want. So it sums these first, and serves the steps when all heads of the layer have been served.
type layer struct {
	sync.Mutex
	waits  int     // for so many heads
	blocks int     // in the layer, of block tokens
	wanted []int32 // tokens per step and block, of all heads
}

func (r *replay) newLayers(p *plan) []*layer {
	if p.serving != servesLayer {
		return nil
	}
	block := p.Policy.Params.Int("block")
	layers := make([]*layer, len(r.shape.Layers))
	for i := range layers {
		layers[i] = &layer{waits: r.shape.KVHeads, blocks: (r.shape.Tokens() + block - 1) / block}
	}
	return layers
}

func (w *worker) layerOf(c *holding) *layer { return w.layers[c.number][w.head.Place/w.shape.KVHeads] }

// selectBlocks adds the tokens that the head wants in a step to those of its layer.
func (w *worker) selectBlocks(c *holding, step int) {
	l, block := w.layerOf(c), int32(c.Policy.Params.Int("block"))
	l.Lock()
	defer l.Unlock()
	if l.wanted == nil {
		l.wanted = make([]int32, w.shape.Steps*l.blocks)
	}
	row := l.wanted[step*l.blocks:][:l.blocks]
	for _, token := range c.set {
		row[token/block]++
	}
}

// serveLayer serves the steps of the layer if all its heads have been served.
func (w *worker) serveLayer(c *holding) error {
	l := w.layerOf(c)
	l.Lock()
	l.waits--
	last := l.waits == 0
	l.Unlock()
	if !last {
		return nil
	}
	block, heads := c.Policy.Params.Int("block"), int64(w.shape.KVHeads)
	cache := frequencies{room: min(w.held(c.plan)/block, l.blocks), resident: make([]resident, l.blocks)}
	tokens := func(b, step int) int64 { return int64(min(block, w.shape.Visible(step)-b*block)) }
	for step := range w.shape.Steps {
		wanted := l.wanted[step*l.blocks:][:l.blocks]
		var n StepCounts
		for b, tokens := range wanted {
			n.Lookups += int64(tokens)
			if cache.resident[b].count > 0 {
				n.Hits += int64(tokens)
			}
		}
		missed := n.Lookups - n.Hits
		n.Loaded, n.New = missed, missed
		for _, b := range cache.update(wanted) {
			n.Loaded += heads * tokens(b, step)
			n.New += heads*tokens(b, step) - int64(wanted[b])
		}
		n.Evictions = cache.evictions
		cache.evictions = 0
		if n.Loaded > 0 {
			n.Misses = heads
		}
		w.count(c, step, n)
		c.missed += missed
	}
	c.tally.set = int64(cache.room*block) * heads
	l.wanted = nil
	return nil
}

// frequencies is an LFU cache of blocks, as PQCache has it: a resident block counts the steps in which it is among
// those with most wanted tokens.
type frequencies struct {
	room, held int
	resident   []resident // per block
	steps      int        // so far
	evictions  int64
	order      []int
	loaded     []int
}

// resident is a block that is there if it has a count, with the step that loaded it.
type resident struct{ count, loaded int }

// update counts the blocks with most wanted tokens that there is room for, and returns those that it loads.
func (f *frequencies) update(wanted []int32) []int {
	f.order, f.loaded = f.order[:0], f.loaded[:0]
	for b, tokens := range wanted {
		if tokens > 0 {
			f.order = append(f.order, b)
		}
	}
	slices.SortStableFunc(f.order, func(a, b int) int { return cmp.Compare(wanted[b], wanted[a]) })
	for _, b := range f.order[:min(f.room, len(f.order))] {
		if f.resident[b].count > 0 {
			f.resident[b].count++
			continue
		}
		if f.held == f.room {
			f.evict()
		}
		f.resident[b] = resident{1, f.steps}
		f.held, f.loaded = f.held+1, append(f.loaded, b)
	}
	f.steps++
	return f.loaded
}

// evict removes the block with the lowest count. Ties go to the one loaded earliest, then to the lower number.
func (f *frequencies) evict() {
	victim := -1
	for b, r := range f.resident {
		if r.count == 0 {
			continue
		}
		if victim < 0 {
			victim = b
		}
		v := f.resident[victim]
		if r.count < v.count || r.count == v.count && r.loaded < v.loaded {
			victim = b
		}
	}
	f.resident[victim] = resident{}
	f.held, f.evictions = f.held-1, f.evictions+1
}
