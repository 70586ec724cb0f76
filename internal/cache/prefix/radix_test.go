package prefix_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// radixTree is SGLang's radix tree, over tokens, as its rules are: see docs/policies-engines.md. It knows nothing of
// blocks and events. Nodes are scanned for every eviction.
type radixTree struct {
	root     *radixNode
	page     int
	capacity int // pages
	used     int // pages in the tree
	partial  int // pages of running prompts that are not full, which no node has
	clock    int
	before   func(a, b *radixNode) bool // which leaf is evicted first
}

type radixNode struct {
	parent                         *radixNode
	children                       []*radixNode
	tokens                         []int
	locks, hits, accessed, created int
	priority                       int
	history                        int  // the most tokens that the tree has had up to the end of a node from here on
	inGPU, inHost                  bool // of a tree in two memories
}

// radixRun is a prompt that runs.
type radixRun struct {
	node     *radixNode // locked, with all nodes before it
	tokens   []int      // what the tree has of it
	priority int
	length   int // of the prompt
	partial  bool
}

var radixOrders = map[string]func(a, b *radixNode) bool{
	"sglang-lru":      func(a, b *radixNode) bool { return a.accessed < b.accessed },
	"sglang-lfu":      byThen(func(n *radixNode) int { return n.hits }),
	"sglang-fifo":     func(a, b *radixNode) bool { return a.created < b.created },
	"sglang-slru":     byThen(func(n *radixNode) int { return min(n.hits, 2) }),
	"sglang-priority": byThen(func(n *radixNode) int { return n.priority }),
	"sglang-mru":      func(a, b *radixNode) bool { return a.accessed > b.accessed },
	"sglang-filo":     func(a, b *radixNode) bool { return a.created > b.created },
}

// tailOptimized is the order of T-LRU: nodes that can be spared are as good as infinitely old.
func tailOptimized(threshold, estimate int) func(a, b *radixNode) bool {
	return byThen(func(n *radixNode) int {
		if n.canBeSpared(threshold, estimate) {
			return -1
		}
		return 0
	})
}

// canBeSpared reports whether the next prompt, with an estimate of new tokens, has no more than threshold tokens to
// compute without n.
func (n *radixNode) canBeSpared(threshold, estimate int) bool {
	before := 0
	for up := n.parent; up != nil; up = up.parent {
		before += len(up.tokens)
	}
	return n.history+estimate-before <= threshold
}

// byThen orders by a property, then by recency.
func byThen(of func(*radixNode) int) func(a, b *radixNode) bool {
	return func(a, b *radixNode) bool {
		return cmp.Or(cmp.Compare(of(a), of(b)), cmp.Compare(a.accessed, b.accessed)) < 0
	}
}

// now returns a time later than all before.
func (t *radixTree) now() int {
	t.clock++
	return t.clock
}

// aligned returns the whole pages of a prompt.
func (t *radixTree) aligned(tokens []int) []int { return tokens[:len(tokens)/t.page*t.page] }

// common returns how many tokens two lists have in common at the beginning, in whole pages.
func (t *radixTree) common(a, b []int) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n / t.page * t.page
}

// child returns the child with the first page of tokens, nil if there is none.
func (t *radixTree) child(n *radixNode, tokens []int) *radixNode {
	for _, c := range n.children {
		if t.common(c.tokens, tokens) > 0 {
			return c
		}
	}
	return nil
}

// split divides a node behind its first tokens, and returns the node that has these.
func (t *radixTree) split(n *radixNode, at int) *radixNode {
	time := t.now()
	first := &radixNode{parent: n.parent, children: []*radixNode{n}, tokens: n.tokens[:at], locks: n.locks, hits: n.hits,
		priority: n.priority, accessed: time, created: n.created, history: n.history, inGPU: n.inGPU, inHost: n.inHost}
	n.parent.children[slices.Index(n.parent.children, n)] = first
	n.parent, n.tokens = first, n.tokens[at:]
	return first
}

// match returns how many tokens the tree has, and the node that ends with them.
func (t *radixTree) match(tokens []int) (found int, n *radixNode) {
	n = t.root
	time := t.now()
	for len(tokens) > 0 {
		child := t.child(n, tokens)
		if child == nil {
			return found, n
		}
		child.accessed = time
		same := t.common(child.tokens, tokens)
		found += same
		if same < len(child.tokens) {
			return found, t.split(child, same)
		}
		n, tokens = child, tokens[same:]
	}
	return found, n
}

// insert adds what the tree lacks of a prompt. With count, the prompt counts as one for its nodes.
func (t *radixTree) insert(tokens []int, priority int, count bool) *radixNode {
	n, time, all := t.root, t.now(), len(tokens)
	for len(tokens) > 0 {
		child := t.child(n, tokens)
		if child == nil {
			child = &radixNode{parent: n, tokens: tokens, accessed: time, created: t.now()}
			n.children = append(n.children, child)
			t.used += len(tokens) / t.page
			for up := child; up != nil; up = up.parent {
				up.history = max(up.history, all)
			}
		}
		child.accessed = time
		if same := t.common(child.tokens, tokens); same < len(child.tokens) {
			child = t.split(child, same)
		}
		child.priority = max(child.priority, priority)
		if count {
			child.hits++
		}
		n, tokens = child, tokens[len(child.tokens):]
	}
	return n
}

func (t *radixTree) lock(n *radixNode, by int) {
	for ; n != t.root; n = n.parent {
		n.locks += by
	}
}

// lockedPages returns how many pages the locked nodes have.
func (t *radixTree) lockedPages() (pages int) {
	t.each(t.root, func(n *radixNode) {
		if n.locks > 0 {
			pages += len(n.tokens) / t.page
		}
	})
	return pages
}

func (t *radixTree) each(n *radixNode, f func(*radixNode)) {
	for _, c := range n.children {
		f(c)
		t.each(c, f)
	}
}

// spare returns how many more pages there must be for tokens than they take.
func (t *radixTree) spare() int { return min(1, t.page-1) }

// evict makes room for a number of pages, node by node, as far as it can.
func (t *radixTree) evict(pages int) {
	for t.used+t.partial+pages > t.capacity {
		var victim *radixNode
		t.each(t.root, func(n *radixNode) {
			if len(n.children) == 0 && n.locks == 0 && (victim == nil || t.before(n, victim)) {
				victim = n
			}
		})
		if victim == nil {
			return
		}
		t.used -= len(victim.tokens) / t.page
		victim.parent.children = slices.DeleteFunc(victim.parent.children, func(n *radixNode) bool { return n == victim })
	}
}

// begin serves a prompt, and returns how many of its tokens need not be computed. SGLang lets a prompt wait that does
// not fit; here as many of its first pages are kept as fit, as in ours.
func (t *radixTree) begin(tokens []int, priority int) (cached int, run *radixRun) {
	cached, n := t.match(t.aligned(tokens[:len(tokens)-1]))
	t.lock(n, 1)
	whole := t.aligned(tokens)
	missing, free := (len(whole)-cached)/t.page, t.capacity-t.partial-t.lockedPages()
	run = &radixRun{priority: priority, length: len(tokens), tokens: whole[:cached+t.page*min(missing, free)],
		partial: len(whole) < len(tokens) && free > missing}
	// Every page behind what was found needs room, also one that the tree has: it is computed again.
	computed := min(missing, free)
	if run.partial {
		t.evict(computed + 1 + t.spare())
		t.partial++
	} else {
		t.evict(computed + t.spare())
	}
	run.node = t.insert(run.tokens, priority, true)
	t.lock(n, -1)
	t.lock(run.node, 1)
	return cached, run
}

// answer adds what the tree lacks of a prompt and its answer when it has been decoded: a node of its own.
func (t *radixTree) answer(run *radixRun, tokens []int) {
	if run.partial {
		t.partial--
	}
	whole, found := t.aligned(tokens), len(run.tokens)/t.page
	if run.partial = false; found < len(t.aligned(run.tokens))/t.page {
		return
	}
	free := t.capacity - t.partial - t.lockedPages()
	computed := min(len(whole)/t.page-found, free)
	run.partial = len(whole) < len(tokens) && free > computed
	for decoded := run.length; decoded < len(tokens); decoded++ { // token by token
		t.evict(min(decoded/t.page, found+computed) - found + min(1, decoded%t.page) + 1)
	}
	if run.partial {
		t.partial++
	}
	t.lock(run.node, -1)
	run.tokens = whole[:t.page*(found+computed)]
	run.node = t.insert(run.tokens, run.priority, false)
	t.lock(run.node, 1)
}

// end inserts a prompt again, and unlocks it.
func (t *radixTree) end(run *radixRun) {
	if run.partial {
		t.partial--
	}
	t.insert(run.tokens, run.priority, false)
	t.lock(run.node, -1)
}

// tokenPrompts are prompts of single tokens, with a trace of their pages.
type tokenPrompts struct {
	tokens [][]int
	trace  *traces.Trace
}

func newTokenPrompts(page int) *tokenPrompts {
	return &tokenPrompts{trace: &traces.Trace{Name: "tokens", SampleRate: 1, Kind: &prompts.Columns{BlockTokens: page}}}
}

// randomTokens draws prompts that often continue, repeat or fork from earlier ones.
func randomTokens(rng *rand.Rand, n, length, page int) *tokenPrompts {
	p := newTokenPrompts(page)
	for len(p.tokens) < n {
		var tokens []int
		if len(p.tokens) > 0 && rng.IntN(10) < 8 {
			old := p.tokens[rng.IntN(len(p.tokens))]
			tokens = append(tokens, old[:rng.IntN(len(old)+1)]...)
			if rng.IntN(3) == 0 {
				tokens = append(tokens[:0], old...)
			}
		}
		for range rng.IntN(length + 1) {
			tokens = append(tokens, rng.IntN(3))
		}
		if len(tokens) > 4*length || len(tokens) == 0 {
			continue
		}
		p.tokens = append(p.tokens, tokens)
	}
	p.makeTrace(page)
	return p
}

// makeTrace cuts the prompts into pages. The last page has an object of its own if it is not full.
func (p *tokenPrompts) makeTrace(page int) {
	objects, columns := map[string]uint32{}, prompts.Of(p.trace.Kind)
	for _, tokens := range p.tokens {
		p.trace.Groups = append(p.trace.Groups, len(p.trace.Objects))
		columns.InputTokens = append(columns.InputTokens, int32(len(tokens)))
		parent := int32(-1)
		for at := 0; at < len(tokens); at += page {
			key := fmt.Sprint(tokens[:min(at+page, len(tokens))])
			o, ok := objects[key]
			if !ok {
				o = uint32(len(objects))
				objects[key] = o
				columns.Parents = append(columns.Parents, parent)
			}
			p.trace.Objects = append(p.trace.Objects, o)
			parent = int32(o)
		}
	}
	p.trace.NumObjects = len(objects)
}

// newEngine builds our cache with the policy of an engine.
func newEngine(tb testing.TB, tr *traces.Trace, policy string, capacity int) *prefix.Cache {
	tb.Helper()
	return must.Get(prefix.New(configOf(tb, tr, policy, capacity)))(tb)
}

func configOf(tb testing.TB, tr *traces.Trace, policy string, capacity int) cache.Config {
	c := prefixCell(tb, "prefix", policy, "", int64(capacity))
	parts := c.Replayed()
	return cache.Config{Trace: tr, Capacity: int64(capacity), Unit: true, Params: parts.Cache.Params, Policy: parts.Policy}
}

// forEngineWorkloads calls f with random workloads: prompts, the capacity in pages, and whether each prompt that runs
// ends before the next begins.
func forEngineWorkloads(t *testing.T, length int,
	f func(seed uint64, p *tokenPrompts, page, capacity int, ends func() bool)) {
	for seed := range brief.Of[uint64](1000, 200) {
		rng := rand.New(rand.NewPCG(seed, 8))
		page := []int{1, 16, 3}[seed%3]
		p := randomTokens(rng, 60, length*page, page)
		capacity := 1 + rng.IntN(20*length)
		often := 1 + rng.IntN(4)
		f(seed, p, page, capacity, func() bool { return rng.IntN(often) == 0 })
	}
}

// TestSGLangAgainstItsRadixTree: for each prompt of 1000 workloads, ours computes the same tokens again as SGLang's
// radix tree, whichever prompts run at the same time.
func TestSGLangAgainstItsRadixTree(t *testing.T) {
	names := []string{"sglang-lru", "sglang-lfu", "sglang-fifo", "sglang-slru", "sglang-priority", "sglang-mru",
		"sglang-filo", "sglang-tlru"}
	reused, held, splits, spared := 0, 0, 0, 0
	forEngineWorkloads(t, 6, func(seed uint64, p *tokenPrompts, page, capacity int, ends func() bool) {
		name := names[seed/3%uint64(len(names))]
		rng := rand.New(rand.NewPCG(seed, 9))
		if name == "sglang-priority" {
			for range p.tokens {
				prompts.Of(p.trace.Kind).Priorities = append(prompts.Of(p.trace.Kind).Priorities, int32(rng.IntN(3)))
			}
		}
		before, threshold, estimate := radixOrders[name], 0, rng.IntN(3*page)
		if name == "sglang-tlru" {
			threshold = estimate + 1 + rng.IntN(8*page)
			before = tailOptimized(threshold, estimate)
			name = fmt.Sprintf("sglang-tlru(threshold=%d,next-prompt-estimate=%d)", threshold, estimate)
		}
		ours := newEngine(t, p.trace, name, capacity)
		theirs := &radixTree{root: &radixNode{}, page: page, capacity: capacity, before: before}
		running := map[int]*radixRun{}
		var n cache.Counts
		for i, tokens := range p.tokens {
			priority := 0
			if name == "sglang-priority" {
				priority = int(prompts.Of(p.trace.Kind).Priorities[i])
			}
			want, run := theirs.begin(tokens, priority)
			if got := ours.Begin(i, &n); got != int64(want) {
				t.Fatalf("seed %d, %s, pages of %d, capacity %d: prompt %d has %d cached tokens, want %d", seed, name, page,
					capacity, i, got, want)
			}
			running[i] = run
			reused += want
			if len(running) > 1 {
				held++
			}
			for k := range i + 1 {
				if running[k] != nil && ends() {
					theirs.end(running[k])
					ours.Finish(k)
					delete(running, k)
				}
			}
			if int(ours.Used()) != theirs.used {
				t.Fatalf("seed %d, %s, pages of %d, capacity %d: %d pages after prompt %d, want %d", seed, name, page, capacity,
					ours.Used(), i, theirs.used)
			}
		}
		theirs.each(theirs.root, func(n *radixNode) {
			if len(n.children) > 1 {
				splits++
			}
			if threshold > 0 && len(n.children) == 0 && n.canBeSpared(threshold, estimate) {
				spared++
			}
		})
	})
	if reused == 0 || held == 0 || splits == 0 || spared == 0 {
		t.Errorf("%d tokens reused, %d prompts began while others ran, %d forks, %d nodes spared: nothing is tested of one "+
			"of them", reused, held, splits, spared)
	}
}
