package prefix_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// naiveTree serves prompts with tables, slowly and plainly.
type naiveTree struct {
	trace     *traces.Trace
	predictor predict.Predictor // nil without
	capacity  int
	last      map[uint32]int // per resident block: the prompt that requested it last
	loaded    map[uint32]int // per resident block: the prompt that loaded it
	held      map[uint32]bool
	position  int
}

// naiveChooser names one of the leaves that may leave, which come in order of their last requests.
type naiveChooser interface {
	begin(t *naiveTree, prompt int, missing []uint32)
	victim(t *naiveTree, leaves []uint32) uint32
}

func (t *naiveTree) replay(concurrency int, c naiveChooser) (hits int64) {
	t.last, t.loaded = map[uint32]int{}, map[uint32]int{}
	holds := make([][]uint32, len(t.trace.Groups))
	for i := range t.trace.Groups {
		t.held = map[uint32]bool{}
		for k := max(0, i-concurrency+1); k < i; k++ {
			for _, o := range holds[k] {
				t.held[o] = true
			}
		}
		blocks := promptOf(t.trace, i)
		run := 0
		for ; run < len(blocks); run++ {
			if _, resident := t.last[blocks[run]]; !resident {
				break
			}
			t.held[blocks[run]] = true
		}
		hits += int64(run)
		for k, o := range blocks[:run] {
			t.request(i, t.trace.Groups[i]+k, o)
		}
		end := min(len(blocks), run+t.capacity-len(t.held))
		for _, o := range blocks[run:end] {
			t.held[o] = true
		}
		c.begin(t, i, blocks[run:end])
		for k := run; k < end; k++ {
			t.position = t.trace.Groups[i] + k
			if len(t.last) == t.capacity {
				v := c.victim(t, t.leaves())
				delete(t.last, v)
				delete(t.loaded, v)
			}
			t.loaded[blocks[k]] = i
			t.request(i, t.position, blocks[k])
		}
		holds[i] = blocks[:end]
	}
	return hits
}

func (t *naiveTree) request(prompt, pos int, o uint32) {
	t.last[o] = prompt
	if t.predictor != nil {
		t.predictor.Observe(o, pos)
	}
}

func (t *naiveTree) leaves() (leaves []uint32) {
	inner := map[uint32]bool{}
	for o := range t.last {
		if parent := prompts.Of(t.trace.Kind).Parents[o]; parent >= 0 {
			inner[uint32(parent)] = true
		}
	}
	for o := range t.last {
		if !inner[o] && !t.held[o] {
			leaves = append(leaves, o)
		}
	}
	slices.SortFunc(leaves, func(a, b uint32) int { return cmp.Compare(t.last[a], t.last[b]) })
	return leaves
}

// latest returns the one of the leaves that is predicted to be requested last, the first of equal ones.
func (t *naiveTree) latest(leaves []uint32) uint32 {
	next := make([]float64, len(leaves))
	t.predictor.Predict(leaves, t.position, next)
	latest := 0
	for i := range next {
		if next[i] > next[latest] {
			latest = i
		}
	}
	return leaves[latest]
}

type naiveLRU struct{}

func (naiveLRU) begin(*naiveTree, int, []uint32)             {}
func (naiveLRU) victim(_ *naiveTree, leaves []uint32) uint32 { return leaves[0] }

type naiveFIFO struct{ naiveLRU }

func (naiveFIFO) victim(t *naiveTree, leaves []uint32) uint32 {
	return slices.MinFunc(leaves, func(a, b uint32) int { return cmp.Compare(t.loaded[a], t.loaded[b]) })
}

type naiveHF struct {
	naiveLRU
	candidates int
}

func (c naiveHF) victim(t *naiveTree, leaves []uint32) uint32 {
	return t.latest(leaves[:min(c.candidates, len(leaves))])
}

// naiveLARU is algorithm 1 of LCR (arXiv 2509.20979, section 3) with a prompt for a request and leaves for the cache,
// as its section 5.1 has it for the radix tree.
type naiveLARU struct {
	decayEvery   int
	old, evicted map[uint32]bool // O and E
	lambda       float64
	n14, credit  int
	prompt       int
	missing      []uint32
	counted      bool
	fallbacks    int
}

func (c *naiveLARU) begin(t *naiveTree, prompt int, missing []uint32) {
	for o := range c.old {
		if t.last[o] == prompt {
			delete(c.old, o)
		}
	}
	c.prompt, c.missing, c.counted, c.credit = prompt, missing, false, 0
}

func (c *naiveLARU) victim(t *naiveTree, leaves []uint32) (v uint32) {
	if len(c.old) == 0 {
		c.old, c.evicted, c.lambda, c.n14, c.credit = map[uint32]bool{}, map[uint32]bool{}, 1, 0, 0
		for o, prompt := range t.last {
			if prompt != c.prompt {
				c.old[o] = true
			}
		}
	}
	if !c.counted {
		c.counted = true
		for _, o := range c.missing {
			if c.evicted[o] {
				c.credit++
			}
		}
	}
	candidates := max(1, int(c.lambda*float64(len(leaves))))
	switch {
	case c.credit > 0:
		c.credit--
		c.fallbacks++
		v = leaves[0]
		delete(c.evicted, v)
		if c.n14++; c.n14 == c.decayEvery {
			c.lambda, c.n14 = c.lambda/2, 0
		}
	case candidates == 1:
		v = leaves[0]
		delete(c.evicted, v)
	default:
		v = t.latest(leaves[:candidates])
		c.evicted[v] = true
	}
	delete(c.old, v)
	return v
}

func TestPrefixPoliciesAgainstNaive(t *testing.T) {
	fallbacks := 0
	for seed := range brief.Of[uint64](150, 40) {
		rng := rand.New(rand.NewPCG(seed, 6))
		tr := policytest.RandomPrompts(rng, 80, 6, 4)
		capacity, concurrency := 1+rng.IntN(40), 1+rng.IntN(3)
		laru, slow := &naiveLARU{decayEvery: 1}, &naiveLARU{decayEvery: 3}
		choosers := map[string]naiveChooser{
			"lru":           naiveLRU{},
			"fifo":          naiveFIFO{},
			"hf":            naiveHF{candidates: 4},
			"fpb":           naiveHF{candidates: tr.NumObjects},
			"laru":          laru,
			"laru(decay=3)": slow,
		}
		for _, policy := range slices.Sorted(maps.Keys(choosers)) {
			c := prefixCell(t, fmt.Sprintf("prefix(concurrency=%d)", concurrency), policy, "noisy(p=0.3)", int64(capacity))
			naive := naiveTree{trace: tr, capacity: capacity}
			if c.Predictor != nil {
				p := must.Get(c.Predictor.Entry.New(predict.Config{
					Objects: tr.Objects, Count: tr.NumObjects, NextUse: policytest.NextUse(tr), Seed: c.Seed,
					Params: c.Predictor.Params,
				}))(t)
				naive.predictor = p
			}
			got, want := replayPrompts(t, tr, c), naive.replay(concurrency, choosers[policy])
			if got.Hits != want {
				t.Fatalf("seed %d, %s, capacity %d, concurrency %d: %d hits, want %d", seed, policy, capacity,
					concurrency, got.Hits, want)
			}
		}
		fallbacks += laru.fallbacks + slow.fallbacks
	}
	if fallbacks == 0 {
		t.Error("LARU never fell back to LRU: nothing is tested of it")
	}
}

// With exact predictions LARU evicts what Belady's policy does, whatever the decay and the marks.
func TestPrefixExactPredictionsAreOptimal(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 7))
		tr := policytest.RandomPrompts(rng, 150, 8, 4)
		capacity := int64(1 + rng.IntN(80))
		want := replayPrompts(t, tr, prefixCell(t, "prefix", "opt", "", capacity))
		for _, policy := range []string{"fpb", "laru", "laru(decay=k/32)", "laru(decay=5,b=3)"} {
			if got := replayPrompts(t, tr, prefixCell(t, "prefix", policy, "oracle", capacity)); got.Hits != want.Hits {
				t.Fatalf("seed %d, capacity %d: %s has %d hits, opt %d", seed, capacity, policy, got.Hits, want.Hits)
			}
		}
	}
}
