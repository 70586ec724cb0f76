package tiers

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

const nodesOfSGLang = ",evict=node,last=computed)"

// modesOfHiCache are the modes, with what they are for the tree.
var modesOfHiCache = []struct {
	name    string
	copying prefix.Copying
}{{"write-through", prefix.AtFirst}, {"write-through-selective", prefix.AtSecond}, {"write-back", prefix.AtEviction}}

// treeAlone is HiCache without tiers around it.
type treeAlone struct {
	*prefix.HiCache
	front prefix.Front
	held  map[int]prefix.Held
}

func (a *treeAlone) begin(prompt int) (inGPU, inHost int) {
	inGPU, inHost, a.held[prompt] = a.Serve(a.front.Arrive(prompt))
	return inGPU, inHost
}

func (a *treeAlone) end(prompt int) {
	blocks, _ := a.front.Trace.Group(prompt)
	a.Finish(blocks, a.held[prompt])
}

// TestOneTreeCountsAsTiers: with a policy of SGLang, the tiers do what HiCache does, prompt by prompt, and count it as
// other tiers do. Before a prompt begins they say what will hit.
func TestOneTreeCountsAsTiers(t *testing.T) {
	names := []string{"sglang-lru", "sglang-lfu", "sglang-fifo", "sglang-slru", "sglang-mru", "sglang-filo", "sglang-tlru"}
	fromHost, gone := int64(0), int64(0)
	for seed := range brief.Of[uint64](300, 60) {
		rng := rand.New(rand.NewPCG(seed, 51))
		tr, hbm, host := partialPrompts(rng), 1+rng.Int64N(25), 1+rng.Int64N(60)
		mode, policy := modesOfHiCache[rng.IntN(3)], insideOf(t, names[rng.IntN(len(names))], policies.Values{})
		kind := fmt.Sprintf("tiers(hbm=%d,host=%d,mode=%s", hbm, host, mode.name) + nodesOfSGLang
		ours := newRunning(t, tr, kind, policy, hbm).(*chains)
		alone := cache.Config{Trace: tr, Capacity: hbm, Unit: true, Policy: policy,
			Params: params.Values{"concurrency": 1, "last": "computed"}}
		tree := &treeAlone{must.Get(prefix.NewHiCache(alone, host, mode.copying))(t), prefix.NewFront(alone),
			map[int]prefix.Held{}}
		var n cache.Counts
		want := make([]counts, 2)
		serveBoth(tr, rng, func(prompt int) {
			tokens := make([]int64, 2)
			first, blocks := ours.Peek(prompt, tokens)
			oversized := n.Oversized
			hit := ours.Begin(prompt, &n)
			inGPU, inHost := tree.begin(prompt)
			if hit != int64(inGPU+inHost)*16 {
				t.Fatalf("seed %d, %s, %s: prompt %d hits %d tokens, want %d", seed, policy, kind, prompt, hit,
					(inGPU+inHost)*16)
			}
			if n.Oversized == oversized && (first != inGPU || blocks != inGPU+inHost || tokens[1] != int64(inHost)*16) {
				t.Fatalf("seed %d, %s, %s: before prompt %d, %d of %d blocks and %d tokens would hit, but %d and %d blocks do",
					seed, policy, kind, prompt, first, blocks, tokens[1], inGPU, inHost)
			}
			want[0].hits += int64(inGPU)
			want[1].hits += int64(inHost)
		}, func(prompt int) {
			ours.Finish(prompt)
			tree.end(prompt)
		})
		for i, pool := range []*cache.Pool{tree.Pool(), tree.Host()} {
			want[i].hitTokens = 16 * want[i].hits
			want[i].written, want[i].evicted = pool.Evictions()+int64(pool.Len()), pool.Evictions()
		}
		want[1].promoted = want[1].hits
		if got := ours.tiers; got[0] != want[0] || got[1] != want[1] || n.Evictions != tree.Gone() {
			t.Fatalf("seed %d, %s, %s: %+v and %d evictions, want %+v and %d", seed, policy, kind, got, n.Evictions, want,
				tree.Gone())
		}
		fromHost += want[1].hits
		gone += tree.Gone()
	}
	if fromHost == 0 || gone == 0 {
		t.Errorf("%d hits in the host, %d blocks left both: nothing is tested of one of them", fromHost, gone)
	}
}

// TestOneTreeOnNodes: what happens on a node depends on its prompts only.
func TestOneTreeOnNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 52))
	tr := policytest.RandomPrompts(rng, 300, 7, 4)
	for _, mode := range modesOfHiCache {
		c := configOf(t, tr, "tiers(hbm=12,host=2x,mode="+mode.name+nodesOfSGLang, "lru", 12, true)
		c.Policy = insideOf(t, "sglang-lfu", policies.Values{})
		both, alone := must.Get(newNodes(c))(t), must.Get(newNodes(c))(t)
		node, other, want := must.Get(both.New(0))(t), must.Get(both.New(1))(t), must.Get(alone.New(0))(t)
		hits := int64(0)
		for i := range tr.Groups {
			if rng.IntN(3) > 0 {
				hits += serveOne(other, i).Hits
			} else if n, wanted := serveOne(node, i), serveOne(want, i); n != wanted {
				t.Fatalf("%s: prompt %d: %+v, want %+v as on one node", mode.name, i, n, wanted)
			}
		}
		if hits == 0 {
			t.Errorf("%s: nothing hits on a node", mode.name)
		}
	}
}

// TestOneTreeDoesNotAllocate: once it is full, serving a prompt takes no more memory.
func TestOneTreeDoesNotAllocate(t *testing.T) {
	tr := policytest.RandomPrompts(rand.New(rand.NewPCG(1, 53)), 400, 6, 4)
	for _, mode := range modesOfHiCache {
		on := newRunning(t, tr, "tiers(hbm=8,host=4x,mode="+mode.name+nodesOfSGLang, insideOf(t, "sglang-lru",
			policies.Values{}), 8)
		i := 0
		var n cache.Counts
		serve := func() {
			on.Begin(i, &n)
			on.Finish(i)
			i++
		}
		for range 200 {
			serve()
		}
		if allocated := testing.AllocsPerRun(100, serve); allocated > 0 {
			t.Errorf("%s: %v allocations per prompt", mode.name, allocated)
		}
	}
}

// TestHiCacheRefuses what SGLang's has not, and policies that are not SGLang's.
func TestHiCacheRefuses(t *testing.T) {
	sglang, lru := insideOf(t, "sglang-lru", policies.Values{}).Entry, must.Get(parsePolicy("lru"))(t)
	const through = "mode=write-through"
	for _, test := range []struct {
		kind   string
		policy policies.Entry
		want   string
	}{
		{"host=4x," + through, sglang, ""},
		{"hbm=10,host=5,mode=write-back", sglang, ""},
		{"hbm=10,host=20,mode=write-through-selective", sglang, ""},
		{"host=4x", sglang, "mode=exclusive is not one of its modes; write mode=write-through"},
		{"host=4x,mode=inclusive", sglang, "mode=inclusive is not one of its modes"},
		{"hbm=10", sglang, "its tiers are hbm and host"},
		{"ssd=4x," + through, sglang, "its tiers are hbm and host"},
		{"memory=10,host=4x," + through, sglang, "its tiers are hbm and host"},
		{"host=4x,remote=9x," + through, sglang, "its tiers are hbm and host"},
		{"host=4x,promote=0," + through, sglang, "remove promote=0"},
		{"host=4x,policies=/lru," + through, sglang, "remove policies=/lru"},
		{"host=4x,shared=host," + through, sglang, "remove shared=host"},
		{"host=4x,joined=true," + through, sglang, "no second tier"},
		{"host=4x," + through, lru, "evict=node is of SGLang's HiCache"},
	} {
		spec := must.Get(cache.Registry.Parse("tiers(" + test.kind + ",evict=node)"))(t)
		if err := spec.Entry.Check(spec.Params, test.policy); test.want == "" {
			must.Do(t, err)
		} else {
			must.Fail(t, err, test.want, test.kind)
		}
	}
	spec := must.Get(cache.Registry.Parse("tiers(host=4x,mode=write-through-selective)"))(t)
	must.Fail(t, spec.Entry.Check(spec.Params, lru), "mode=write-through-selective is of SGLang's HiCache", "selective")
}
