package route

import (
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// The parameters of SGLang's router, with the defaults of SGLang v0.4.
var (
	cacheThresholdParam = params.Param{Name: "cache_threshold", Default: 0.5, Min: 0, Max: 1,
		Doc: "share of the prompt's tokens above which the longest match decides"}
	balanceAbsParam = params.Param{Name: "balance_abs_threshold", Default: 32, Min: 0, Max: 1e9,
		Doc: "prompts in flight that the most loaded node may have more than the least loaded one"}
	balanceRelParam = params.Param{Name: "balance_rel_threshold", Default: 1.0001, Min: 0, Max: 1e9,
		Doc: "how many times as many it may have; beyond both thresholds the least loaded node serves the prompt"}
	intervalParam = params.Param{Name: "eviction_interval", Default: 60.0, Min: 0, Max: 1e9,
		Doc: "seconds after which trees are cut to max_tree_size; before that, when one has twice as many tokens"}
	maxTreeParam = params.Param{Name: "max_tree_size", Default: 1 << 22, Min: 1, Max: 1 << 40,
		Doc: "tokens of a node's tree; SGLang's 2^24 characters, at 4 characters per token"}
)

const sglangRouter = "sgl-project/sglang, sgl-router/src/policies/cache_aware.rs at 026f853b and tree.rs at " +
	"4d40eec0; defaults of SGLang v0.4, rust/py_src/sglang_router/router.py at 33ba2c96"

var prefixAwareEntry = Entry{
	Name: "prefix-aware",
	Summary: "SGLang's cache_aware: the node whose approximate tree of earlier prompts matches the longest prefix; " +
		"below a threshold the node with the smallest tree; if loads are out of balance, the least loaded node",
	Source: sglangRouter,
	Params: []params.Param{cacheThresholdParam, balanceAbsParam, balanceRelParam, intervalParam, maxTreeParam},
	Bytes:  sentBytes,
	New:    func(c Config) Router { return newPrefixAware(c, newTrees(c)) },
}

var prefixExactEntry = Entry{
	Name: "prefix-exact",
	Summary: "as prefix-aware, but it knows which blocks are resident on which node; below the threshold it chooses the " +
		"node with the fewest resident blocks, of several the least loaded one",
	Source: "ours; the rules of " + sglangRouter,
	Params: []params.Param{cacheThresholdParam, balanceAbsParam, balanceRelParam},
	New:    func(c Config) Router { return newPrefixAware(c, residents{c}) },
}

// prefixIndex says what a router believes to be cached.
type prefixIndex interface {
	// match returns the tokens of the longest prefix of a prompt that one of the first n nodes has, and such a node. Nodes
	// from n on have nothing.
	match(p Prompt, n int) (tokens, node int)
	// emptiest returns which of the first n nodes has the least.
	emptiest(n int) (node int)
	// sent says that a prompt was sent to a node.
	sent(p Prompt, node int)
	keep(n int)
}

type prefixAware struct {
	index    prefixIndex
	state    State
	share    float64 // cache_threshold
	absolute int
	relative float64
}

func newPrefixAware(c Config, index prefixIndex) *prefixAware {
	return &prefixAware{index: index, state: c.State, share: c.Params.Float(cacheThresholdParam.Name),
		absolute: c.Params.Int(balanceAbsParam.Name), relative: c.Params.Float(balanceRelParam.Name)}
}

func (r *prefixAware) Route(p Prompt, n int) (node int) {
	if r.unbalanced(n) {
		node = leastLoaded(n, r.state.Prompts)
	} else if tokens, holder := r.index.match(p, n); float64(tokens) > float64(r.share*float64(p.Tokens)) {
		node = holder
	} else {
		node = r.index.emptiest(n)
	}
	r.index.sent(p, node)
	return node
}

// unbalanced reports whether the most loaded of the first n nodes exceeds the least loaded one by both thresholds.
func (r *prefixAware) unbalanced(n int) bool {
	least := r.state.Prompts(0)
	most := least
	for node := 1; node < n; node++ {
		load := r.state.Prompts(node)
		least, most = min(least, load), max(most, load)
	}
	return most-least > r.absolute && float64(most) > r.relative*float64(least)
}

func (r *prefixAware) Keep(n int) { r.index.keep(n) }

// matchedTokens returns the tokens of the first blocks of a prompt.
func matchedTokens(p Prompt, blocks, blockTokens int) int { return min(blocks*blockTokens, p.Tokens) }

// trees are what a router remembers of the prompts that it has sent to each node. It does not know what the nodes
// evict. Sometimes a tree evicts its oldest leaves, by the last match or sending, until it has at most room blocks; it
// never has more than twice as many.
//
// A prompt moves its blocks to the front of the list of recent blocks, from the last to the first. So a block is always
// before its successors in prompts, and the last of the list is a leaf.
type trees struct {
	sentBlocks
	blockTokens int
	room        int64
	interval    time.Duration
	due         time.Duration // the next time at which trees are cut
}

func newTrees(c Config) *trees {
	interval := time.Duration(c.Params.Float(intervalParam.Name) * float64(time.Second))
	return &trees{sentBlocks: newSentBlocks(c), blockTokens: c.BlockTokens,
		room: c.onSample(int64(c.Params.Int(maxTreeParam.Name))) / int64(c.BlockTokens), interval: interval, due: interval}
}

// match also refreshes the prefix in the tree of the node, whether the prompt is sent there or not, as in SGLang. Of
// several trees with the longest prefix it takes the one with the lowest number, where SGLang takes any.
func (t *trees) match(p Prompt, _ int) (tokens, node int) {
	blocks := t.known(p.Blocks)
	if blocks == 0 {
		return 0, 0
	}
	for !t.has(node, p.Blocks[blocks-1]) {
		node++
	}
	t.refresh(p.Blocks[:blocks], node)
	return matchedTokens(p, blocks, t.blockTokens), node
}

// refresh moves a prefix to the front of a node's list, and adds blocks that are missing.
func (t *trees) refresh(blocks []dense.Object, node int) {
	for i := len(blocks) - 1; i >= 0; i-- {
		t.touch(node, blocks[i])
	}
}

func (t *trees) emptiest(n int) int {
	return leastLoaded(n, func(node int) int64 { return t.of[node].blocks })
}

func (t *trees) sent(p Prompt, node int) {
	t.refresh(p.Blocks, node)
	if p.Now < t.due && t.of[node].blocks <= 2*t.room {
		return
	}
	for node := range t.of {
		t.shrink(node, t.room)
	}
	t.due = p.Now + t.interval
}

// residents know what is resident.
type residents struct{ c Config }

// match prefers, of several nodes with the longest prefix, the one with the lowest load, then the lowest number.
func (r residents) match(p Prompt, n int) (tokens, node int) {
	longest := -1
	for k := range n {
		blocks := 0
		for blocks < len(p.Blocks) && r.c.State.Has(k, p.Blocks[blocks]) {
			blocks++
		}
		if blocks > longest || blocks == longest && r.c.State.Prompts(k) < r.c.State.Prompts(node) {
			node, longest = k, blocks
		}
	}
	return matchedTokens(p, longest, r.c.BlockTokens), node
}

// emptiest prefers, of several nodes with the fewest blocks, as all are when they are full, the one with the lowest
// load.
func (r residents) emptiest(n int) (node int) {
	s := r.c.State
	for k := 1; k < n; k++ {
		switch blocks, fewest := s.Resident(k), s.Resident(node); {
		case blocks < fewest, blocks == fewest && s.Prompts(k) < s.Prompts(node):
			node = k
		}
	}
	return node
}

func (r residents) sent(Prompt, int) {}
func (r residents) keep(int)         {}
