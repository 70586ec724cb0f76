package prefix_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
)

// twoMemories is SGLang's HiCache, over tokens, as its rules are: see docs/policies-engines.md. Its nodes are those of
// radixTree, each in the GPU, in the host or in both. They are scanned for every eviction.
type twoMemories struct {
	radixTree
	copying prefix.Copying
	host    int          // pages that fit there
	doubles []*radixNode // that have been in both memories, in the order in which they first were
	gone    int          // pages that have left the tree
	dropped int          // nodes that left the GPU and for which the host had no room
	reduced int          // nodes that left the host and stayed in the GPU
}

func (t *twoMemories) pages(n *radixNode) int { return len(n.tokens) / t.page }

// pagesOf returns how many pages the nodes of a kind have.
func (t *twoMemories) pagesOf(is func(*radixNode) bool) (pages int) {
	t.each(t.root, func(n *radixNode) {
		if is(n) {
			pages += t.pages(n)
		}
	})
	return pages
}

func inGPU(n *radixNode) bool  { return n.inGPU }
func inHost(n *radixNode) bool { return n.inHost }

// isLeaf reports whether the GPU can evict a node now.
func isLeaf(n *radixNode) bool {
	return n.inGPU && n.locks == 0 && !slices.ContainsFunc(n.children, inGPU)
}

// first returns the node of a kind that is evicted first, nil if there is none.
func (t *twoMemories) first(is func(*radixNode) bool) (victim *radixNode) {
	t.each(t.root, func(n *radixNode) {
		if is(n) && (victim == nil || t.before(n, victim)) {
			victim = n
		}
	})
	return victim
}

func (t *twoMemories) remove(n *radixNode) {
	t.gone += t.pages(n)
	n.parent.children = slices.DeleteFunc(n.parent.children, func(c *radixNode) bool { return c == n })
	t.doubles = slices.DeleteFunc(t.doubles, func(d *radixNode) bool { return d == n })
}

// makeRoom evicts from the GPU until so many pages fit, beside those that are in no node.
func (t *twoMemories) makeRoom(pages int) {
	for t.pagesOf(inGPU)+t.partial+pages > t.capacity {
		n := t.first(isLeaf)
		if n == nil {
			return
		}
		if !n.inHost && (t.copying != prefix.AtEviction || !t.copyToHost(n)) {
			t.dropped++
			t.remove(n)
		}
		n.inGPU = false
	}
}

// copyToHost copies a node to the host, and reports whether there is room.
func (t *twoMemories) copyToHost(n *radixNode) bool {
	if missing := t.pagesOf(inHost) + t.pages(n) - t.host; missing > 0 && !t.makeRoomInHost(missing) {
		return false
	}
	n.inHost = true
	t.note(n)
	return true
}

// note remembers a node that is in both memories.
func (t *twoMemories) note(n *radixNode) {
	if n.inGPU && n.inHost && !slices.Contains(t.doubles, n) {
		t.doubles = append(t.doubles, n)
	}
}

// makeRoomInHost evicts so many pages from the host, and reports whether it could.
func (t *twoMemories) makeRoomInHost(missing int) bool {
	for _, spares := range []bool{true, false} {
		t.doubles = slices.DeleteFunc(t.doubles, func(n *radixNode) bool {
			switch {
			case t.copying != prefix.AtEviction || missing <= 0:
				return false
			case !n.inGPU || !n.inHost:
				return true
			case spares && isLeaf(n):
				return false
			}
			t.reduced++
			n.inHost = false
			missing -= t.pages(n)
			return true
		})
	}
	for missing > 0 {
		n := t.first(func(n *radixNode) bool { return !n.inGPU && n.locks == 0 && len(n.children) == 0 })
		if n == nil {
			return false
		}
		missing -= t.pages(n)
		t.remove(n)
	}
	return true
}

// divide is split for nodes that may be in both memories.
func (t *twoMemories) divide(n *radixNode, at int) *radixNode {
	first := t.split(n, at)
	t.note(first)
	return first
}

// match returns the nodes with the first tokens of a prompt.
func (t *twoMemories) match(tokens []int) (path []*radixNode) {
	n, time := t.root, t.now()
	for len(tokens) > 0 {
		if n = t.child(n, tokens); n == nil {
			break
		}
		n.accessed = time
		if same := t.common(n.tokens, tokens); same < len(n.tokens) {
			return append(path, t.divide(n, same))
		}
		path, tokens = append(path, n), tokens[len(n.tokens):]
	}
	return path
}

// insert puts a prompt into the tree and the GPU. With count, the prompt counts as one for its nodes.
func (t *twoMemories) insert(tokens []int, priority int, count bool) *radixNode {
	n, time, all := t.root, t.now(), len(tokens)
	for len(tokens) > 0 {
		child := t.child(n, tokens)
		if child == nil {
			child = &radixNode{parent: n, tokens: tokens, created: t.now(), inGPU: true}
			n.children = append(n.children, child)
			for up := child; up != nil; up = up.parent {
				up.history = max(up.history, all)
			}
		}
		child.accessed = time
		if same := t.common(child.tokens, tokens); same < len(child.tokens) {
			child = t.divide(child, same)
		}
		child.inGPU = true
		t.note(child)
		child.priority = max(child.priority, priority)
		if count && t.copying != prefix.AtEviction {
			child.hits++
			due := t.copying == prefix.AtFirst || child.hits >= 2
			if due && !child.inHost && (n == t.root || n.inHost) {
				t.copyToHost(child)
			}
		}
		n, tokens = child, tokens[len(child.tokens):]
	}
	return n
}

// begin serves a prompt, and returns how many of its tokens each memory had. SGLang lets a prompt wait that does not
// fit; here as many of its first pages are kept as fit, as in ours.
func (t *twoMemories) begin(tokens []int, priority int) (fromGPU, fromHost int, run *radixRun) {
	whole := t.aligned(tokens)
	path := t.match(t.aligned(tokens[:len(tokens)-1]))
	last, above := t.root, t.root
	for len(path) > 0 && path[0].inGPU {
		last, above = path[0], path[0]
		fromGPU += len(last.tokens)
		path = path[1:]
	}
	t.lock(last, 1)
	missing, free := (len(whole)-fromGPU)/t.page, t.capacity-t.partial-t.lockedPages()
	kept := fromGPU + t.page*min(missing, free)
	run = &radixRun{priority: priority, tokens: whole[:kept], partial: len(whole) < len(tokens) && free > missing}
	var load []*radixNode
	for _, n := range path {
		if room := kept - fromGPU - fromHost; room < len(n.tokens) {
			if room > 0 && fromHost+room >= 10 {
				load, fromHost = append(load, t.divide(n, room)), fromHost+room
			}
			break
		}
		load, fromHost = append(load, n), fromHost+len(n.tokens)
	}
	if fromHost < 10 {
		load, fromHost = nil, 0
	}
	if len(load) > 0 {
		above = load[len(load)-1]
	}
	t.lock(last, -1)
	t.lock(above, 1)
	t.makeRoom(fromHost / t.page)
	for _, n := range slices.Backward(load) {
		n.inGPU = true
		t.note(n)
	}
	computed := (kept - fromGPU - fromHost) / t.page
	if run.partial {
		t.makeRoom(computed + 1 + t.spare())
		t.partial++
	} else {
		t.makeRoom(computed + t.spare())
	}
	run.node = t.insert(run.tokens, priority, true)
	t.lock(above, -1)
	t.lock(run.node, 1)
	return fromGPU, fromHost, run
}

func (t *twoMemories) end(run *radixRun) {
	if run.partial {
		t.partial--
	}
	t.insert(run.tokens, run.priority, false)
	t.lock(run.node, -1)
}

// hiCache serves the prompts of a trace from our HiCache.
type hiCache struct {
	*prefix.HiCache
	prompts *tokenPrompts
	front   prefix.Front
	held    []prefix.Held
}

func newHiCache(t *testing.T, p *tokenPrompts, policy string, gpu, host int, copying prefix.Copying) *hiCache {
	cell := prefixCell(t, "prefix", policy, "", int64(gpu))
	c := cache.Config{Trace: p.trace, Capacity: int64(gpu), Unit: true, Policy: cell.Replayed().Policy,
		Params: params.Values{"concurrency": 1, "last": "computed"}}
	h := must.Get(prefix.NewHiCache(c, int64(host), copying))(t)
	return &hiCache{h, p, prefix.NewFront(c), make([]prefix.Held, len(p.tokens))}
}

func (h *hiCache) begin(i, priority int) (fromGPU, fromHost int) {
	page := h.front.Columns.BlockTokens
	p := h.front.Arrive(i)
	p.Priority = int32(priority)
	fromGPU, fromHost, h.held[i] = h.Serve(p)
	return fromGPU * page, fromHost * page
}

func (h *hiCache) end(i int) {
	blocks, _ := h.prompts.trace.Group(i)
	h.Finish(blocks, h.held[i])
}

// memories are those that have a page.
type memories struct{ gpu, host bool }

// where says for each page of a prompt which memories have it.
func (t *twoMemories) where(tokens []int) (in []memories) {
	n := t.root
	for len(tokens) > 0 {
		if n = t.child(n, tokens); n == nil {
			break
		}
		same := t.common(n.tokens, tokens)
		for range same / t.page {
			in = append(in, memories{n.inGPU, n.inHost})
		}
		if tokens = tokens[same:]; same < len(n.tokens) {
			break
		}
	}
	return append(in, make([]memories, len(tokens)/t.page)...)
}

// compare reports a difference between what ours and theirs have of the first prompts in their memories.
func (h *hiCache) compare(t *twoMemories, first int) error {
	gpu, host := h.Pool(), h.Host()
	if int(h.Gone()) != t.gone {
		return fmt.Errorf("%d pages have left both, want %d", h.Gone(), t.gone)
	}
	if int(gpu.Used()) != t.pagesOf(inGPU) || int(host.Used()) != t.pagesOf(inHost) {
		return fmt.Errorf("%d pages in the GPU and %d in the host, want %d and %d", gpu.Used(), host.Used(),
			t.pagesOf(inGPU), t.pagesOf(inHost))
	}
	for i, tokens := range h.prompts.tokens[:first] {
		blocks, _ := h.prompts.trace.Group(i)
		for k, want := range t.where(t.aligned(tokens)) {
			if got := (memories{gpu.Has(blocks[k]), host.Has(blocks[k])}); got != want {
				return fmt.Errorf("page %d of prompt %d is in %+v, want %+v", k, i, got, want)
			}
		}
	}
	return nil
}

// TestHiCacheAgainstItsRules: for each prompt of 1000 workloads, ours loads and computes the same tokens as SGLang's
// HiCache, and has as many pages in each memory, whichever prompts run at the same time.
func TestHiCacheAgainstItsRules(t *testing.T) {
	names := []string{"sglang-lru", "sglang-lfu", "sglang-fifo", "sglang-slru", "sglang-priority", "sglang-mru",
		"sglang-filo", "sglang-tlru"}
	loaded, dropped, reduced := [3]int{}, [3]int{}, 0
	for seed := range brief.Of[uint64](1000, 200) {
		rng := rand.New(rand.NewPCG(seed, 12))
		page, length := []int{1, 3, 4, 16}[rng.IntN(4)], 2+rng.IntN(6)
		p := randomTokens(rng, 100, length*page, page)
		copying, atOnce := prefix.Copying(rng.IntN(3)), 1+rng.IntN(3)
		gpu := 1 + rng.IntN(4*length*atOnce+20)
		name, host := names[rng.IntN(len(names))], 1+rng.IntN(3*gpu)
		before, threshold, estimate := radixOrders[name], 0, rng.IntN(3*page)
		if name == "sglang-tlru" {
			threshold = estimate + 1 + rng.IntN(8*page)
			before = tailOptimized(threshold, estimate)
			name = fmt.Sprintf("sglang-tlru(threshold=%d,next-prompt-estimate=%d)", threshold, estimate)
		}
		ours := newHiCache(t, p, name, gpu, host, copying)
		theirs := &twoMemories{radixTree: radixTree{root: &radixNode{}, page: page, capacity: gpu, before: before},
			copying: copying, host: host}
		running := map[int]*radixRun{}
		for i, tokens := range p.tokens {
			priority := rng.IntN(3)
			wantGPU, wantHost, run := theirs.begin(tokens, priority)
			gotGPU, gotHost := ours.begin(i, priority)
			err := ours.compare(theirs, i+1)
			if gotGPU != wantGPU || gotHost != wantHost || err != nil {
				t.Fatalf("seed %d, %s, copying %d, pages of %d, %d in the GPU, %d in the host: prompt %d hits %d and %d tokens, "+
					"want %d and %d; %v", seed, name, copying, page, gpu, host, i, gotGPU, gotHost, wantGPU, wantHost, err)
			}
			running[i] = run
			loaded[copying] += wantHost
			for k := range i + 1 {
				if running[k] != nil && rng.IntN(atOnce) == 0 {
					theirs.end(running[k])
					ours.end(k)
					delete(running, k)
				}
			}
		}
		dropped[copying] += theirs.dropped
		reduced += theirs.reduced
	}
	if slices.Contains(loaded[:], 0) || slices.Contains(dropped[:], 0) || reduced == 0 {
		t.Errorf("%d tokens loaded, %d nodes dropped, %d copies dropped: nothing is tested of one of them", loaded, dropped,
			reduced)
	}
}
