package prefill

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// tiered is a cache whose prompts hit some tokens in each tier; peeked blocks have ten tokens each, and are in the last
// tier when a prompt begins.
type tiered struct {
	scripted
	tokens  [][]int64 // per prompt and tier
	peeked  []int     // per prompt: its blocks in some tier when it arrives
	inFirst int       // of these, those in the first tier; the others are in the last one
	last    int
}

func (c *tiered) Begin(i int) Hit {
	c.last = i
	return c.scripted.Begin(i)
}

func (c *tiered) Peek(i int, tokens []int64) (inFirst, blocks int) {
	if c.peeked == nil {
		return 0, 0
	}
	inFirst = min(c.inFirst, c.peeked[i])
	tokens[0] += int64(10 * inFirst)
	tokens[len(tokens)-1] += int64(10 * (c.peeked[i] - inFirst))
	return inFirst, c.peeked[i]
}

func (c *tiered) Loads(from, to int, tokens []int64) {
	for k, n := range c.tokens[c.last] {
		tokens[k] += n
	}
	tokens[len(tokens)-1] = max(0, tokens[len(tokens)-1]-int64(10*(to-from)))
}

// loading is a machine that takes 1 ms per computed token, and has keys and values of 1000 bytes: a load takes 20 ms
// and 1 ms per token from the second tier, and 5 ms and 2 ms per token from the third.
func loading() (Config, []Tier) {
	c := perToken()
	c.KV = 1000
	return c, []Tier{{}, {20 * time.Millisecond, 1e6}, {5 * time.Millisecond, 0.5e6}}
}

func firstTokens(t *testing.T, p Prompts, cache *tiered, c Config, loads LoadConfig) (times []time.Duration, l Loads) {
	t.Helper()
	served, l, err := RunTiered(t.Context(), p, cache, c, loads)
	must.Do(t, err)
	for _, s := range served {
		times = append(times, (s.FirstToken-s.Arrived)/time.Millisecond)
	}
	return times, l
}

// TestLoadsByHand: a prompt of 100 tokens of which 10 hit in the GPUs, 20 in the second tier and 30 in the third
// computes for 40 ms, and loads for 40 and for 65 ms at the same time.
func TestLoadsByHand(t *testing.T) {
	c, tiers := loading()
	cache := func() *tiered {
		return &tiered{scripted: scripted{hits: []Hit{{Tokens: 60}, {}}}, tokens: [][]int64{{10, 20, 30}, {0, 0, 0}}}
	}
	for _, test := range []struct {
		overlap bool
		first   time.Duration
		waited  time.Duration
	}{{false, 65 + 40, 65}, {true, 65, 25}} {
		got, l := firstTokens(t, prompts(100, 7), cache(), c, LoadConfig{Tiers: tiers, Overlap: test.overlap})
		if want := []time.Duration{test.first, 7}; !slices.Equal(got, want) {
			t.Errorf("overlap %v: first tokens after %v ms, want %v", test.overlap, got, want)
		}
		want := Loads{[]int64{0, 20_000, 30_000}, []int{1, 1, 1}, test.waited * time.Millisecond}
		if fmt.Sprint(l) != fmt.Sprint(want) {
			t.Errorf("overlap %v: loads %v, want %v", test.overlap, l, want)
		}
	}
	_, l := firstTokens(t, prompts(100, 7), cache(), c, LoadConfig{Tiers: tiers, From: 1})
	if fmt.Sprint(l) != fmt.Sprint(Loads{Bytes: []int64{0, 0, 0}, Links: []int{1, 1, 1}}) {
		t.Errorf("loads %v of the warm-up", l)
	}
}

// TestLoadsInTheQueue: what a waiting prompt loads delays nothing if it has arrived when the prefill begins.
func TestLoadsInTheQueue(t *testing.T) {
	c, tiers := loading()
	c.Concurrency, c.Arrivals = 9, FromTrace
	for _, test := range []struct {
		inQueue bool
		before  int32 // tokens that are computed first
		blocks  int   // of the second prompt that are in the third tier when it arrives: 5 + 20 each ms
		inFirst int   // of them, those that are in the first tier then
		want    time.Duration
	}{
		{false, 100, 3, 0, 100 + 65 + 70}, // as if it did not wait
		{true, 100, 3, 0, 100 + 70},       // all has arrived
		{true, 40, 3, 0, 65 + 70},         // the load ends after the first prefill
		{true, 100, 1, 0, 100 + 45 + 70},  // two blocks have come to the tier since, and are loaded now
		{true, 100, 5, 0, 100 + 5 + 70},   // two were loaded in vain, until 5 ms after the first prefill
		{true, 100, 3, 1, 100 + 25 + 70},  // one was in the GPUs, has come down since, and is loaded now
		{true, 100, 3, 3, 100 + 65 + 70},  // so were all
	} {
		p := prompts(test.before, 100)
		p.Arrivals = []int64{0, 0}
		cache := &tiered{scripted: scripted{hits: []Hit{{}, {Tokens: 30}}}, tokens: [][]int64{{0, 0, 0}, {0, 0, 30}},
			peeked: []int{0, test.blocks}, inFirst: test.inFirst}
		got, _ := firstTokens(t, p, cache, c, LoadConfig{Tiers: tiers, InQueue: test.inQueue})
		if got[1] != test.want {
			t.Errorf("%+v: first token after %d ms", test, got[1])
		}
	}
}

// TestTransfersQueue: two prompts that load from one tier at the same time share its link, first come first served.
func TestTransfersQueue(t *testing.T) {
	c, tiers := loading()
	c.Concurrency, c.Arrivals = 9, FromTrace
	p := prompts(31, 31, 31)
	p.Arrivals = []int64{0, 0, 0}
	cache := &tiered{scripted: scripted{hits: slices.Repeat([]Hit{{Tokens: 30}}, 3)},
		tokens: slices.Repeat([][]int64{{0, 0, 30}}, 3), peeked: []int{3, 3, 3}}
	// 60 ms each on the link, one after the other, and 5 ms of latency; a prefill takes 1 ms
	got, _ := firstTokens(t, p, cache, c, LoadConfig{Tiers: tiers, InQueue: true})
	if want := []time.Duration{66, 126, 186}; !slices.Equal(got, want) {
		t.Errorf("first tokens after %v ms, want %v", got, want)
	}
}

// TestNothingToLoad: where all hits are in the memory of the GPUs, times are those without tiers.
func TestNothingToLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, tiers := loading()
		c.Concurrency, c.Arrivals, c.Rate = rapid.IntRange(1, 4).Draw(t, "concurrency"), Poisson, 3
		n := rapid.IntRange(1, 20).Draw(t, "n")
		tokens, hits, in := make([]int32, n), make([]Hit, n), make([][]int64, n)
		for i := range n {
			tokens[i] = int32(rapid.IntRange(1, 500).Draw(t, "tokens"))
			hits[i].Tokens = rapid.IntRange(0, int(tokens[i])).Draw(t, "hit")
			in[i] = []int64{int64(hits[i].Tokens), 0, 0}
		}
		p := Prompts{Tokens: tokens, Outputs: slices.Repeat([]int32{10}, n)}
		want := must.Get(Run(t.Context(), p, &scripted{hits: hits}, c))(t)
		got, _, err := RunTiered(t.Context(), p, &tiered{scripted: scripted{hits: hits}, tokens: in}, c,
			LoadConfig{Tiers: tiers, InQueue: rapid.Bool().Draw(t, "queue"), Overlap: rapid.Bool().Draw(t, "overlap")})
		must.Do(t, err)
		if !slices.Equal(got, want) {
			t.Fatalf("served %v, want %v", got, want)
		}
	})
}

// TestBreakEvenAgainstSearch compares the break-even with a search through all lengths, and where none is below a limit
// with the limit.
func TestBreakEvenAgainstSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t)
		tier := Tier{time.Duration(rapid.IntRange(0, 20_000).Draw(t, "us")) * time.Microsecond,
			rapid.Float64Range(1e8, 1e11).Draw(t, "bandwidth")}
		const most = 4000
		want := most + 1
		for h := 1; h <= most; h++ {
			load := tier.Latency.Seconds() + float64(h)*c.KV/tier.Bandwidth
			if computed := (c.Prefill(h+1, 0) - c.Prefill(h+1, h)).Seconds(); load+2e-9 <= computed {
				want = h
				break
			}
		}
		got, ok := c.BreakEven(tier)
		if !ok {
			got = most + 1
		}
		if min(got, most+1) != want && min(got+1, most+1) != want { // the prefill is rounded to a nanosecond
			t.Fatalf("%v breaks even at %d, want %d", tier, got, want)
		}
	})
	c, _ := loading()
	if got, ok := c.BreakEven(Tier{time.Second, 1e3}); ok { // loading takes a second per token, computing a millisecond
		t.Errorf("breaks even at %d", got)
	}
	if got, ok := c.BreakEven(Tier{20 * time.Millisecond, 2e6}); !ok || got != 40 { // 20 + h/2 = h
		t.Errorf("breaks even at %d, want 40", got)
	}
}

// leaving is two nodes, the second of which goes after 100 ms: all prompts that arrive before go to it.
type leaving struct{ nodes int }

func (n *leaving) Nodes() int                    { return n.nodes }
func (n *leaving) Assign(int, time.Duration) int { return n.nodes - 1 }
func (n *leaving) Changes() []time.Duration      { return []time.Duration{100 * time.Millisecond} }
func (n *leaving) Resize()                       { n.nodes = 1 }

// forgetful is a cache that has 30 blocks of the second prompt on the second node, and none on the first.
type forgetful struct {
	tiered
	*leaving
}

func (c forgetful) Peek(i int, tokens []int64) (inFirst, blocks int) {
	if i == 0 || c.nodes == 1 {
		return 0, 0
	}
	tokens[2] += 300
	return 0, 30
}

// TestRoutedAgainLoadsAgain: what a prompt was loading to a node that goes is of no use on another one, and delays
// nothing there: with all of its 400 tokens to compute from 100 ms on, its first token comes after 500 ms.
func TestRoutedAgainLoadsAgain(t *testing.T) {
	c, tiers := loading()
	c.Concurrency, c.Arrivals = 9, FromTrace
	nodes := &leaving{2}
	c.Nodes = nodes
	p := prompts(1000, 400)
	p.Arrivals = []int64{0, 0}
	cache := forgetful{tiered{scripted: scripted{hits: []Hit{{}, {}}}, tokens: [][]int64{{0, 0, 0}, {0, 0, 0}}}, nodes}
	served, l, err := RunTiered(t.Context(), p, &cache, c, LoadConfig{Tiers: tiers, InQueue: true, Shared: 3})
	must.Do(t, err)
	if got := served[1].FirstToken; got != 500*time.Millisecond {
		t.Errorf("first token after %v, want 500 ms", got)
	}
	if fmt.Sprint(l.Links, l.Bytes) != "[2 2 2] [0 0 300000]" {
		t.Errorf("%v bytes over %v links", l.Bytes, l.Links)
	}
}
