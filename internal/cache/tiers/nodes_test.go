package tiers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// naiveTier is a tier with LRU: a list of blocks, the one used last at the front. With chained, only blocks without a
// resident block after them leave, and none that running prompts hold.
type naiveTier struct {
	blocks  []uint32
	size    int
	chained bool
	locks   map[uint32]int
}

func (t *naiveTier) has(o uint32) bool { return slices.Contains(t.blocks, o) }

func (t *naiveTier) drop(o uint32) bool {
	at := slices.Index(t.blocks, o)
	if at >= 0 {
		t.blocks = slices.Delete(t.blocks, at, at+1)
	}
	return at >= 0
}

func (t *naiveTier) front(o uint32) {
	t.drop(o)
	t.blocks = slices.Insert(t.blocks, 0, o)
}

// victim takes the block that leaves.
func (t *naiveTier) victim(parents []int32) uint32 {
	for i, o := range slices.Backward(t.blocks) {
		inner := slices.ContainsFunc(t.blocks, func(b uint32) bool { return parents[b] == int32(o) })
		if !t.chained || t.locks[o] == 0 && !inner {
			t.blocks = slices.Delete(t.blocks, i, i+1)
			return o
		}
	}
	panic("no block can leave")
}

// naiveNodes are nodes with tiers and LRU, those from a tier on shared, written for nothing but to be read.
type naiveNodes struct {
	mode    string
	parents []int32
	sizes   []int
	from    int
	nodes   map[int][]*naiveTier
	shared  []*naiveTier
	held    map[int][]int // per prompt and tier
}

func newNaiveNodes(mode string, parents []int32, sizes []int, from int) *naiveNodes {
	n := &naiveNodes{mode: mode, parents: parents, sizes: sizes, from: from, nodes: map[int][]*naiveTier{},
		held: map[int][]int{}}
	for at := from; at < len(sizes); at++ {
		n.shared = append(n.shared, n.tier(at))
	}
	return n
}

func (n *naiveNodes) tier(at int) *naiveTier {
	return &naiveTier{size: n.sizes[at], locks: map[uint32]int{},
		chained: at == 0 || n.mode == inclusive || n.mode == writeThrough}
}

func (n *naiveNodes) add(node int) {
	n.nodes[node] = nil
	for at := range n.from {
		n.nodes[node] = append(n.nodes[node], n.tier(at))
	}
	n.nodes[node] = append(n.nodes[node], n.shared...)
}

// evict makes room for a block in a tier.
func (n *naiveNodes) evict(tiers []*naiveTier, at int) {
	t := tiers[at]
	for len(t.blocks) >= t.size {
		o := t.victim(n.parents)
		above := slices.ContainsFunc(tiers[:at], func(a *naiveTier) bool { return a.has(o) || a.locks[o] > 0 })
		switch {
		case n.mode == exclusive || n.mode == writeBack && !above:
			n.offer(tiers, o, at+1)
		case n.mode == inclusive && at < n.from:
			for _, a := range tiers[:at] {
				a.drop(o)
			}
		case n.mode == inclusive:
			for _, other := range n.nodes {
				for _, a := range other[:at] {
					a.drop(o)
				}
			}
		}
	}
}

// offer writes a block to the first tier from one on, unless that has it.
func (n *naiveNodes) offer(tiers []*naiveTier, o uint32, at int) {
	if at < len(tiers) && !tiers[at].has(o) {
		n.evict(tiers, at)
		tiers[at].front(o)
	}
}

// lock holds the leading blocks of a prompt that fit, of which a run is resident.
func (t *naiveTier) lock(blocks []uint32) (run, held int) {
	for run < len(blocks) && t.has(blocks[run]) {
		run++
	}
	for _, o := range blocks[:run] {
		t.locks[o]++
	}
	locked := 0
	for _, n := range t.locks {
		if n > 0 {
			locked++
		}
	}
	held = run + min(len(blocks)-run, t.size-locked)
	for _, o := range blocks[run:held] {
		t.locks[o]++
	}
	return run, held
}

// begin serves a prompt and returns the tier of each of the leading blocks that hit.
func (n *naiveNodes) begin(node, prompt int, blocks []uint32) (in []int) {
	tiers := n.nodes[node]
	where := make([]int, len(blocks))
	for i, o := range blocks {
		where[i] = slices.IndexFunc(tiers, func(t *naiveTier) bool { return t.has(o) })
	}
	for i := range blocks {
		if where[i] < 0 {
			break
		}
		in = append(in, where[i])
	}
	held := make([]int, len(tiers))
	n.held[prompt] = held
	if n.mode == inclusive || n.mode == writeThrough {
		limit := len(blocks)
		for at, t := range slices.Backward(tiers) {
			_, held[at] = t.lock(blocks[:limit])
			n.load(tiers, at, blocks[:held[at]])
			if n.mode == inclusive {
				limit = held[at]
			}
		}
		return in
	}
	run, top := tiers[0].lock(blocks)
	held[0] = top
	for i := top - 1; i >= 0; i-- {
		switch {
		case n.mode == writeBack:
			n.touch(tiers[1:], blocks[i])
		case where[i] >= 0 && i >= run:
			tiers[where[i]].drop(blocks[i])
		}
	}
	n.load(tiers, 0, blocks[:top])
	for i := len(blocks) - 1; i >= top; i-- {
		if where[i] > 0 {
			n.touch(tiers[where[i]:], blocks[i])
		} else {
			n.offer(tiers, blocks[i], 1)
		}
	}
	return in
}

// load requests the blocks of a prompt in a tier, the last one first.
func (n *naiveNodes) load(tiers []*naiveTier, at int, blocks []uint32) {
	for _, o := range slices.Backward(blocks) {
		if !tiers[at].has(o) {
			n.evict(tiers, at)
		}
		tiers[at].front(o)
	}
}

func (n *naiveNodes) touch(tiers []*naiveTier, o uint32) {
	for _, t := range tiers {
		if t.has(o) {
			t.front(o)
		}
	}
}

func (n *naiveNodes) finish(tiers []*naiveTier, prompt int, blocks []uint32) {
	for at, held := range n.held[prompt] {
		for _, o := range blocks[:held] {
			tiers[at].locks[o]--
		}
	}
}

// emptyNodes returns nodes that have nothing on them yet.
func emptyNodes(tb must.TB, t *traces.Trace, kind, policy string, capacity int64, warmup int) *nodes {
	tb.Helper()
	c := configOf(tb, t, kind, policy, capacity, true)
	c.Warmup = warmup
	return must.Get(newNodes(c))(tb).(*nodes)
}

// TestNodesAgainstNaive compares nodes with tiers with naive ones, prompt by prompt, in all modes, with tiers that are
// shared and without, while nodes are removed and added, and prompts on them overlap.
func TestNodesAgainstNaive(t *testing.T) {
	fromShared, removed := 0, 0
	for range brief.Of(10, 1) { // a hundred cases each
		rapid.Check(t, func(t *rapid.T) {
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 21))
			tr := policytest.RandomPrompts(rng, 60, 6, 3)
			mode := rapid.SampledFrom([]string{exclusive, inclusive, writeThrough, writeBack}).Draw(t, "mode")
			sizes := []int{rapid.IntRange(1, 12).Draw(t, "hbm"), rapid.IntRange(1, 20).Draw(t, "host"),
				rapid.IntRange(1, 40).Draw(t, "remote")}
			if mode == inclusive {
				sizes[1] += sizes[0]
				sizes[2] += sizes[1]
			}
			from := rapid.IntRange(1, 3).Draw(t, "from")
			kind := fmt.Sprintf("tiers(hbm=%d,host=%d,remote=%d,mode=%s%s)", sizes[0], sizes[1], sizes[2], mode,
				[]string{"", ",shared=host", ",shared=remote", ""}[from])
			count := rapid.IntRange(1, 4).Draw(t, "nodes")
			overlap := rapid.IntRange(1, 6).Draw(t, "in flight")
			k, naive := emptyNodes(t, tr, kind, "lru", int64(sizes[0]), 0), newNaiveNodes(mode, prompts.Of(tr.Kind).Parents,
				sizes, from)
			caches := map[int]*chains{}
			add := func(node int) {
				caches[node] = must.Get(k.New(node))(t).(*chains)
				naive.add(node)
			}
			for node := range count {
				add(node)
			}
			on, twin := map[int]*chains{}, map[int][]*naiveTier{}
			var inFlight []int
			var sum cache.Counts
			hits := make([]int64, len(sizes))
			for i := range tr.Groups {
				for len(inFlight) >= overlap {
					done := inFlight[0]
					inFlight = inFlight[1:]
					on[done].Finish(done)
					blocks, _ := tr.Group(done)
					naive.finish(twin[done], done, blocks)
				}
				if rng.IntN(12) == 0 && count > 1 {
					k.Remove(count - 1)
					delete(naive.nodes, count-1)
					removed++
					if rng.IntN(2) == 0 {
						add(count - 1)
					} else {
						count--
					}
				}
				node := rng.IntN(count)
				blocks, _ := tr.Group(i)
				want := naive.begin(node, i, blocks)
				before := sum
				on[i], twin[i] = caches[node], naive.nodes[node]
				caches[node].Begin(i, &sum)
				inFlight = append(inFlight, i)
				if got := sum.Minus(before).Hits; int(got) != len(want) {
					t.Fatalf("%s: prompt %d on node %d: %d blocks hit, want %d", kind, i, node, got, len(want))
				}
				for _, at := range want {
					hits[at]++
					if at >= from {
						fromShared++
					}
				}
				compareNodes(t, fmt.Sprintf("%s: prompt %d", kind, i), tr, k, naive)
			}
			for at, l := range caches[0].levels {
				if l.hits != hits[at] {
					t.Fatalf("%s: %d hits in tier %d, want %d", kind, l.hits, at, hits[at])
				}
			}
		})
	}
	if fromShared == 0 || removed == 0 {
		t.Errorf("%d hits in shared tiers, %d nodes removed", fromShared, removed)
	}
}

// compareNodes compares what is resident where, and checks what each mode promises.
func compareNodes(t *rapid.T, when string, tr *traces.Trace, k *nodes, naive *naiveNodes) {
	for node, c := range k.here {
		want := naive.nodes[node]
		if (c == nil) != (want == nil) {
			t.Fatalf("%s: node %d exists %v", when, node, c != nil)
		}
		if c == nil {
			continue
		}
		for o := range policies.Object(tr.NumObjects) {
			copies := 0
			for at, l := range c.levels {
				if l.pool.Has(o) != want[at].has(o) {
					t.Fatalf("%s: block %d in tier %d of node %d: %v, want %v", when, o, at, node, l.pool.Has(o),
						want[at].has(o))
				}
				if l.pool.Has(o) && at < k.from {
					copies++
				}
				if below := at + 1; naive.mode == inclusive && below < len(c.levels) && l.pool.Has(o) &&
					!c.levels[below].pool.Has(o) {
					t.Fatalf("%s: block %d is in tier %d of node %d and not below", when, o, at, node)
				}
			}
			if naive.mode == exclusive && copies > 1 {
				t.Fatalf("%s: block %d is in %d tiers of node %d", when, o, copies, node)
			}
		}
		for at, l := range c.levels {
			if l.pool.Used() > int64(naive.sizes[at]) {
				t.Fatalf("%s: tier %d of node %d has %d blocks of %d", when, at, node, l.pool.Used(), naive.sizes[at])
			}
		}
	}
}

// TestNodesAreAlone: what happens on a node that shares no tier depends on the prompts of that node only, also under
// policies that count how many requests have passed.
func TestNodesAreAlone(t *testing.T) {
	for seed := range brief.Of[uint64](6, 2) {
		rng := rand.New(rand.NewPCG(seed, 24))
		tr := policytest.RandomPrompts(rng, 150, 7, 4)
		for _, kind := range []string{"tiers(hbm=15)", "tiers(hbm=10,host=2x)", "tiers(hbm=10,host=2x,mode=write-back)",
			"tiers(hbm=10,host=2x,mode=write-through)", "tiers(hbm=10,host=2x,mode=inclusive)"} {
			for _, policy := range []string{"lru", "hyperbolic", "lhd", "marker", "lecar", "cacheus", "lirs", "w-tinylfu"} {
				both, alone := emptyNodes(t, tr, kind, policy, 10, 0), emptyNodes(t, tr, kind, policy, 10, 0)
				node, other := must.Get(both.New(0))(t), must.Get(both.New(1))(t)
				want := must.Get(alone.New(0))(t)
				for i := range tr.Groups {
					if rng.IntN(3) > 0 {
						serveOne(other, i)
					} else if n, wanted := serveOne(node, i), serveOne(want, i); n != wanted {
						t.Fatalf("seed %d, %s in %s: prompt %d: %+v, want %+v as on one node", seed, policy, kind, i, n, wanted)
					}
				}
			}
		}
	}
}

// serveOne serves a prompt while no other one runs.
func serveOne(on cache.Replica, prompt int) (n cache.Counts) {
	on.Begin(prompt, &n)
	on.Finish(prompt)
	return n
}

// TestSharedTierSeesAllPrompts: a shared tier that is written through has what it has if one node serves all prompts,
// also under policies that count how many requests have passed.
func TestSharedTierSeesAllPrompts(t *testing.T) {
	const kind = "tiers(hbm=5,remote=20,mode=write-through,shared=remote)"
	for seed := range brief.Of[uint64](6, 2) {
		rng := rand.New(rand.NewPCG(seed, 25))
		tr := policytest.RandomPrompts(rng, 150, 7, 4)
		for _, policy := range []string{"lru", "hyperbolic", "lhd", "marker", "lirs"} {
			k, one := emptyNodes(t, tr, kind, policy, 5, 0), emptyNodes(t, tr, kind, policy, 5, 0)
			on := []cache.Replica{must.Get(k.New(0))(t), must.Get(k.New(1))(t)}
			all := must.Get(one.New(0))(t)
			for i := range tr.Groups {
				serveOne(on[rng.IntN(2)], i)
				serveOne(all, i)
				for o := range policies.Object(tr.NumObjects) {
					if k.shared[0].pool.Has(o) != one.shared[0].pool.Has(o) {
						t.Fatalf("seed %d, %s: after prompt %d block %d is in one of the shared tiers only", seed, policy, i, o)
					}
				}
			}
		}
	}
}

// TestNothingIsLostOnNodes: with a shared tier that has room for everything, each block that was requested is on some
// node or in the shared tier, in all modes.
func TestNothingIsLostOnNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 22))
		tr := policytest.RandomPrompts(rng, 60, 6, 3)
		mode := rapid.SampledFrom([]string{exclusive, inclusive, writeThrough, writeBack}).Draw(t, "mode")
		policy := rapid.SampledFrom([]string{"lru", "fifo", "random", "lfu", "s3fifo", "arc"}).Draw(t, "policy")
		k := emptyNodes(t, tr, fmt.Sprintf("tiers(host=2x,remote=%d,shared=remote,mode=%s)", tr.NumObjects, mode), policy,
			int64(rapid.IntRange(1, 10).Draw(t, "size")), 0)
		var on []cache.Replica
		for node := range 3 {
			on = append(on, must.Get(k.New(node))(t))
		}
		var n cache.Counts
		requested := map[uint32]bool{}
		for i := range tr.Groups {
			blocks, _ := tr.Group(i)
			c := on[rng.IntN(3)]
			before := n
			c.Begin(i, &n)
			c.Finish(i)
			known := 0
			for known < len(blocks) && requested[blocks[known]] {
				known++
			}
			// Written through, a block hits on every node from then on.
			if got := int(n.Minus(before).Hits); (mode == writeThrough || mode == inclusive) && got != known {
				t.Fatalf("%s, %s: prompt %d: %d blocks hit, of which %d were loaded before", mode, policy, i, got, known)
			}
			for _, o := range blocks {
				requested[o] = true
			}
			for o := range requested {
				if !k.shared[0].pool.Has(o) && !slices.ContainsFunc(on, func(c cache.Replica) bool { return c.Has(o) }) {
					t.Fatalf("%s, %s: block %d is nowhere", mode, policy, o)
				}
			}
		}
	})
}

// TestInclusiveTiersOfNodes: what a tier has, those below it have, whatever evicts and whoever shares.
func TestInclusiveTiersOfNodes(t *testing.T) {
	for seed := range brief.Of[uint64](60, 12) {
		rng := rand.New(rand.NewPCG(seed, 24))
		tr := policytest.RandomPrompts(rng, 60, 6, 3)
		shared := []string{"host", "remote"}[seed%2]
		policy := []string{"random", "fifo", "lfu", "s3fifo", "arc"}[seed%5]
		k := emptyNodes(t, tr, "tiers(host=9,remote=12,mode=inclusive,shared="+shared+")", policy, 8, 0)
		var on []*chains
		for node := range 3 {
			on = append(on, must.Get(k.New(node))(t).(*chains))
		}
		var n cache.Counts
		for i := range tr.Groups {
			c := on[rng.IntN(3)]
			c.Begin(i, &n)
			c.Finish(i)
			for node, c := range on {
				for o := range policies.Object(tr.NumObjects) {
					for at, l := range c.levels[:2] {
						if l.pool.Has(o) && !c.levels[at+1].pool.Has(o) {
							t.Fatalf("seed %d, %s, shared=%s: block %d is in tier %d of node %d and not below", seed, policy,
								shared, o, at, node)
						}
					}
				}
			}
		}
	}
}

// TestNodesCountTogether: the hits of all tiers are those of all prompts after the warm-up, in whatever order these
// begin, on nodes that are removed, too.
func TestNodesCountTogether(t *testing.T) {
	for seed := range brief.Of[uint64](40, 8) {
		rng := rand.New(rand.NewPCG(seed, 23))
		tr := policytest.RandomPrompts(rng, 60, 6, 3)
		warmup := tr.Groups[20]
		k := emptyNodes(t, tr, "tiers(host=2x,remote=8x,shared=remote,mode=write-through)", "lru", 8, warmup)
		var on []cache.Replica
		for node := range 4 {
			on = append(on, must.Get(k.New(node))(t))
		}
		order := rng.Perm(len(tr.Groups))
		var want cache.Counts
		for step, i := range order {
			if step == 30 {
				k.Remove(3)
				on = on[:3]
			}
			var n cache.Counts
			c := on[rng.IntN(len(on))]
			c.Begin(i, &n)
			c.Finish(i)
			if i >= 20 {
				want = want.Plus(n)
			}
		}
		got := map[string]float64{}
		for _, c := range k.Counters() {
			got[c.Name()] = c.Value
		}
		var hits, tokens, share float64
		for _, name := range []string{"hbm", "host", "remote"} {
			hits += got[Hits.Of(name)]
			tokens += got[HitTokens.Of(name)]
			share += got[HitShare.Of(name)]
		}
		if int64(hits) != want.Hits || int64(tokens) != want.HitTokens {
			t.Errorf("seed %d: %v hits of %v tokens in the tiers, want %d of %d", seed, hits, tokens, want.Hits,
				want.HitTokens)
		}
		if ratio := float64(want.Hits) / float64(want.Requests); share < ratio-1e-9 || share > ratio+1e-9 {
			t.Errorf("seed %d: shares of %v, want %v", seed, share, ratio)
		}
		residents := 0
		for _, c := range on {
			residents += c.(*chains).levels[1].pool.Len()
		}
		if int(got[Residents.Of("host")]) != residents {
			t.Errorf("seed %d: %v blocks in the hosts, want %d", seed, got[Residents.Of("host")], residents)
		}
		if shared := k.shared[0].pool.Len(); int(got[Residents.Of("remote")]) != shared {
			t.Errorf("seed %d: %v blocks in the shared tier, want %d", seed, got[Residents.Of("remote")], shared)
		}
	}
}

// TestPoliciesOfRemovedNodesCount: what policies have counted on a node stays in the sum when the node goes.
func TestPoliciesOfRemovedNodesCount(t *testing.T) {
	tr := policytest.RandomPrompts(rand.New(rand.NewPCG(1, 25)), 400, 6, 4)
	k := emptyNodes(t, tr, "tiers(host=2x,remote=4x,shared=remote)", "duel(among=lru/mru,margin=0)", 8, 0)
	on := []cache.Replica{must.Get(k.New(0))(t), must.Get(k.New(1))(t)}
	var n cache.Counts
	for i := range tr.Groups {
		on[i%2].Begin(i, &n)
		on[i%2].Finish(i)
	}
	switches := func(counters []policies.Counter) (x float64) {
		for _, c := range counters {
			if c.Name() == "duel_switches" {
				x += c.Value
			}
		}
		return x
	}
	before, alone := switches(k.Counters()), 0.0
	for _, l := range k.here[0].levels {
		alone += switches(l.pool.Counters())
	}
	k.Remove(1)
	if got := switches(k.Counters()); got != before || before <= alone {
		t.Errorf("%v switches after node 1 was removed, %v before, %v without it", got, before, alone)
	}
}

// TestEachNodeCountsPromotions: a block moves up on the n-th hit of a node, whatever others hit.
func TestEachNodeCountsPromotions(t *testing.T) {
	tr := policytest.Prompts(16, "a", "a", "a", "a", "a", "a")
	k := emptyNodes(t, tr, "tiers(host=4,remote=9,shared=remote,mode=write-through,promote=2)", "lru", 4, 0)
	first, second := must.Get(k.New(0))(t), must.Get(k.New(1))(t)
	var n cache.Counts
	for i, step := range []struct {
		on   cache.Replica
		want bool // the second node has the block
	}{{first, false}, {first, false}, {second, false}, {first, false}, {second, true}, {second, true}} {
		step.on.Begin(i, &n)
		step.on.Finish(i)
		if got := second.Has(0); got != step.want {
			t.Errorf("prompt %d: the second node has the block: %v, want %v", i, got, step.want)
		}
	}
}

func TestSharedIsChecked(t *testing.T) {
	for _, test := range []struct{ kind, want string }{
		{"tiers(host=4x,shared=remote)", "that tier has no size"},
		{"tiers(host=4x,shared=cloud)", "no tier has that name"},
		{"tiers(hbm=4,host=8,shared=hbm)", "the first tier is in the nodes"},
		{"tiers(host=4x,remote=9x,shared=remote,joined=true)", "leave one of them out"},
		{"tiers(hbm=4,shared=remote)", "none, since there is one tier"},
	} {
		if _, err := cache.Registry.Parse(test.kind); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", test.kind, err, test.want)
		}
	}
}

// TestNodesDoNotAllocate: prompts on nodes with tiers allocate nothing once there are nodes, in all modes.
func TestNodesDoNotAllocate(t *testing.T) {
	tr := policytest.RandomPrompts(rand.New(rand.NewPCG(1, 26)), 400, 6, 4)
	for _, mode := range []string{exclusive, inclusive, writeThrough, writeBack} {
		k := emptyNodes(t, tr, "tiers(host=4x,remote=9x,shared=remote,mode="+mode+")", "lru", 8, 0)
		var on []cache.Replica
		for node := range 4 {
			on = append(on, must.Get(k.New(node))(t))
		}
		i := 0
		var n cache.Counts
		serve := func() {
			on[i%4].Begin(i, &n)
			on[i%4].Finish(i)
			i++
		}
		for range 200 {
			serve()
		}
		if allocated := testing.AllocsPerRun(100, serve); allocated > 0 {
			t.Errorf("%s: %v allocations per prompt", mode, allocated)
		}
	}
}
