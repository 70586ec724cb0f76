package prefix

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
)

// stepFrom is leafFrom, one block at a time.
func (c *chooser) stepFrom(o policies.Object) (leaf policies.Object, ok bool) {
	if c.tree.evictable(o) {
		return o, true
	}
	return c.stepOn(int(o), nothing)
}

// stepOn is leafOn, one block at a time.
func (c *chooser) stepOn(list, except int) (leaf policies.Object, ok bool) {
	for child, more := c.children.Back(list); more; child, more = c.children.Before(child) {
		if int(child) != except {
			if leaf, ok := c.stepFrom(child); ok {
				return leaf, true
			}
		}
	}
	return 0, false
}

// stepNear is leafNear, one block at a time.
func (c *chooser) stepNear(o policies.Object) policies.Object {
	leaf, ok := c.stepFrom(o)
	for !ok {
		list := c.listOf(o)
		leaf, ok = c.stepOn(list, int(o))
		o = policies.Object(list)
	}
	return leaf
}

// wanderer is a policy that evicts any block, and compares the searches for leaves. It may refuse blocks, and blocks
// may expire.
type wanderer struct {
	tb       testing.TB
	rng      *rand.Rand
	chooser  *chooser
	resident []policies.Object
	refuses  bool
	searched int
}

func (p *wanderer) Hit(policies.Request)                        {}
func (p *wanderer) Miss(policies.Request)                       {}
func (p *wanderer) Insert(r policies.Request)                   { p.resident = append(p.resident, r.Object) }
func (p *wanderer) Admit(policies.Request) bool                 { return !p.refuses || p.rng.IntN(20) > 0 }
func (p *wanderer) Victim(policies.Request) (o policies.Object) { return p.take() }

func (p *wanderer) Remove(o policies.Object) {
	p.resident = slices.DeleteFunc(p.resident, func(other policies.Object) bool { return other == o })
}

// take forgets any block and returns it. First it compares the searches from a few.
func (p *wanderer) take() policies.Object {
	for range 3 {
		from := p.resident[p.rng.IntN(len(p.resident))]
		leaf, ok := p.chooser.leafFrom(from)
		want, found := p.chooser.stepFrom(from)
		if leaf != want || ok != found {
			p.tb.Fatalf("search %d: from block %d to leaf %d (%t), want %d (%t)", p.searched, from, leaf, ok, want, found)
		}
		p.searched++
		if _, ok := p.chooser.stepOn(len(p.chooser.tree.nodes), nothing); !ok { // running prompts hold all blocks
			continue
		}
		if leaf, want := p.chooser.leafNear(from), p.chooser.stepNear(from); leaf != want {
			p.tb.Fatalf("search %d: near block %d leaf %d, want %d", p.searched, from, leaf, want)
		}
	}
	o := p.resident[p.rng.IntN(len(p.resident))]
	p.Remove(o)
	return o
}

// expiring is a wanderer under which blocks expire at any time.
type expiring struct{ *wanderer }

func (p expiring) Expired(int64) (o policies.Object, ok bool) {
	if len(p.resident) < 4 || p.rng.IntN(4) > 0 {
		return 0, false
	}
	return p.take(), true
}

// branches is a trace of prompts of up to 40 blocks that go on from any place of an earlier one.
func branches(rng *rand.Rand) *traces.Trace {
	texts := []string{""}
	for range 300 {
		of := texts[rng.IntN(len(texts))]
		if rng.IntN(2) == 0 {
			of = texts[len(texts)-1]
		}
		text := []byte(of[:rng.IntN(len(of)+1)])
		for range 1 + rng.IntN(40-min(len(text), 39)) {
			text = append(text, byte('a'+rng.IntN(1+rng.IntN(2))))
		}
		texts = append(texts, string(text))
	}
	return policytest.Prompts(16, texts[1:]...)
}

// TestRunsOfBlocks: whatever comes, leaves, expires, is dropped or refused, the leaf that a search along runs finds is
// the one that steps from block to block lead to.
func TestRunsOfBlocks(t *testing.T) {
	for seed := range brief.Of[uint64](8, 2) {
		for _, kind := range []string{"prefix", "prefix(concurrency=3)", "prefix(evict=node,concurrency=2)",
			"prefix(last=computed)"} {
			for _, refuses := range []bool{false, true} {
				for _, expires := range []bool{false, true} {
					rng := rand.New(rand.NewPCG(seed, 47))
					name := fmt.Sprint(seed, kind, refuses, expires)
					t.Run(name, func(t *testing.T) { searchBranches(t, rng, kind, refuses, expires) })
				}
			}
		}
	}
}

func searchBranches(t *testing.T, rng *rand.Rand, kind string, refuses, expires bool) {
	p := &wanderer{tb: t, rng: rng, refuses: refuses}
	entry := policies.Entry{Name: "wanderer", Kind: policies.Online, Bypass: refuses,
		New: func(policies.Config) (policies.Policy, error) {
			if expires {
				return expiring{p}, nil
			}
			return p, nil
		}}
	spec := must.Get(cache.Registry.Parse(kind))(t)
	tr := branches(rng)
	c := must.Get(New(cache.Config{Trace: tr, Capacity: 150, Unit: true, Params: spec.Params,
		Policy: policies.Spec{Entry: entry, Params: params.Values{}}}))(t)
	tree := c.store.(*Tree)
	p.chooser = chooserOf(tree.policy)
	var counts cache.Counts
	running := []int{}
	for i := range tr.Groups {
		if len(running) == max(1, spec.Params.Int("concurrency")) {
			c.Finish(running[0])
			running = running[1:]
		}
		if tree.segments == nil && rng.IntN(3) == 0 && len(p.resident) > 0 { // a lower tier drops what it had evicted
			if leaf, ok := p.chooser.leafFrom(p.resident[rng.IntN(len(p.resident))]); ok {
				tree.pool.Drop(leaf)
			}
		}
		c.Begin(i, &counts)
		running = append(running, i)
		if rng.IntN(10) == 0 {
			tree.pool.MakeRoom(int64(rng.IntN(25)))
		}
		checkTree(t, c)
	}
	if p.searched < 500 {
		t.Errorf("%d searches", p.searched)
	}
}

func chooserOf(h policies.Holder) *chooser {
	switch h := h.(type) {
	case *expiringChooser:
		return h.chooser
	case admittingChooser:
		return h.chooser
	}
	return h.(*chooser)
}
