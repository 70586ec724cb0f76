package route

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var llmdEntry = Entry{
	Name: "llm-d",
	Summary: "llm-d's scorers: the node with the largest weighted sum of the share of the prompt's blocks that an LRU " +
		"of sent blocks has, of a short queue, and of free memory for keys and values; ties go to one at random",
	Source: "llm-d, llm-d-inference-scheduler, commit 520af478: " +
		"pkg/epp/framework/plugins/scheduling/scorer/prefix, queuedepth, kvcacheutilization, picker/maxscore, " +
		"requestcontrol/dataproducer/approximateprefix; weights of pkg/epp/config/loader/defaults.go",
	Params: []params.Param{
		{Name: "prefix", Default: 3.0, Min: 0, Max: 1e6, Doc: "weight of the prefix"},
		{Name: "queue", Default: 2.0, Min: 0, Max: 1e6, Doc: "weight of the queue"},
		{Name: "kv", Default: 2.0, Min: 0, Max: 1e6, Doc: "weight of the free memory"},
		{Name: "match_blocks", Default: 256, Min: 1, Max: 1e9, Doc: "first blocks of a prompt that count"},
		{Name: "lru_blocks", Default: 0, Min: 0, Max: 1 << 40, Doc: "blocks of a node's LRU; 0: as the node's cache has, " +
			"which is llm-d's autoTune"},
	},
	Random: true,
	Bytes:  sentBytes,
	New:    newLLMD,
}

// llmd scores nodes.
type llmd struct {
	prefix, queue, kv float64 // weights
	first             int     // blocks that count
	state             State
	draws             random.Draws
	sent              sentBlocks
	room              int64 // blocks of a node that it remembers
	matched           []int // a buffer: per node
}

func newLLMD(c Config) Router {
	room := c.onSample(int64(c.Params.Int("lru_blocks")))
	if c.Params.Int("lru_blocks") == 0 {
		room = c.Capacity
	}
	return &llmd{prefix: c.Params.Float("prefix"), queue: c.Params.Float("queue"), kv: c.Params.Float("kv"),
		first: c.Params.Int("match_blocks"), state: c.State, draws: random.NewDraws(c.Seed),
		sent: newSentBlocks(c), room: room, matched: make([]int, c.Nodes)}
}

func (r *llmd) Route(p Prompt, n int) (node int) {
	blocks := p.Blocks[:min(r.first, len(p.Blocks))]
	matched := r.matched[:n]
	r.match(blocks, matched)
	shortest, longest := r.state.Waiting(0), r.state.Waiting(0)
	for k := 1; k < n; k++ {
		waiting := r.state.Waiting(k)
		shortest, longest = min(shortest, waiting), max(longest, waiting)
	}
	best, ties := -1.0, uint64(0)
	for k := range n {
		queue := 1.0 // all are equal
		if longest > shortest {
			queue = float64(longest-r.state.Waiting(k)) / float64(longest-shortest)
		}
		score := float64(r.prefix*float64(matched[k])/float64(len(blocks))) + float64(r.queue*queue) +
			float64(r.kv*(1-r.state.Usage(k)))
		switch {
		case score > best:
			node, best, ties = k, score, 1
		case score == best:
			if ties++; r.draws.Below(ties) == 0 { // each of them is equally likely
				node = k
			}
		}
	}
	for _, block := range blocks { // the first one is evicted before those behind it
		r.sent.touch(node, block)
		r.sent.shrink(node, r.room)
	}
	return node
}

// match counts for each node how many blocks it has of those before the first one that no node has.
func (r *llmd) match(blocks []dense.Object, matched []int) {
	clear(matched)
	for _, block := range blocks[:r.sent.known(blocks)] {
		for node := range matched {
			if r.sent.has(node, block) {
				matched[node]++
			}
		}
	}
}

func (r *llmd) Keep(n int) { r.sent.keep(n) }
