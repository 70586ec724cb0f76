package prefill

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// scripted is a cache whose answers are written down.
type scripted struct {
	hits   []Hit // per prompt
	events []string
}

func (s *scripted) Begin(i int) Hit {
	s.events = append(s.events, fmt.Sprintf("begin %d", i))
	return s.hits[i]
}

func (s *scripted) Finish(i int) { s.events = append(s.events, fmt.Sprintf("finish %d", i)) }

func mustRun(t testing.TB, p Prompts, cache *scripted, c Config) []Served {
	t.Helper()
	return must.Get(Run(t.Context(), p, cache, c))(t)
}

// perToken is a machine that takes 1 ms per computed token and 10 ms per output token, and nothing besides.
func perToken() Config {
	return Config{
		Shape: Shape{Active: 0.5e9, Decode: 0.010}, Hardware: Hardware{Peak: 1e12, Bandwidth: 1e12, Utilisation: 1},
		Concurrency: 1, Arrivals: Closed,
	}
}

func prompts(tokens ...int32) Prompts {
	return Prompts{Tokens: tokens, Outputs: slices.Repeat([]int32{3}, len(tokens))}
}

// configOf returns a model on hardware.
func configOf(t must.TB, model, hardware string) Config {
	t.Helper()
	m, err := llm.Find(model)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := m.Shape.KeyValues("", 1)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Shape: ShapeOf(m.Shape.Compute, kv.PerToken())}
	if c.Hardware, err = ParseHardware(hardware, c.Bits); err != nil {
		t.Fatal(err)
	}
	c.Utilisation = UtilisationOf(m.Shape.Compute)
	return c
}

// anyConfig draws a model and hardware.
func anyConfig(t *rapid.T) Config {
	model := rapid.SampledFrom([]string{"qwen2.5-32b-awq", "deepseek-r1", "gpt-oss-120b", "glm-5.2", "gemma-2-27b",
		"deepseek-v4-pro", "mistral-7b-v0.1"}).Draw(t, "model")
	return configOf(t, model, "8x"+rapid.SampledFrom(AcceleratorNames()).Draw(t, "hardware"))
}

// TestPairs counts what tokens attend to within a window one by one.
func TestPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known, computed := rapid.IntRange(0, 50).Draw(t, "known"), rapid.IntRange(1, 50).Draw(t, "computed")
		window, want := rapid.IntRange(0, 60).Draw(t, "window"), 0
		for i := known + 1; i <= known+computed; i++ {
			if window == 0 {
				want += i
			} else {
				want += min(i, window)
			}
		}
		if got := pairs(float64(known), float64(computed), window); got != float64(want) {
			t.Fatalf("%d tokens after %d within %d: %v pairs, want %d", computed, known, window, got, want)
		}
	})
}

func TestHardware(t *testing.T) {
	for text, want := range map[string][2]float64{"8xh100": {8 * 989.5e12, 8 * 3350e9}, "H100": {989.5e12, 3350e9},
		"4x4090": {4 * 165.2e12, 4 * 1008e9}, "2xMI300X": {2 * 1307.4e12, 2 * 5300e9}, "256xtpu-v5e": {256 * 197e12,
			256 * 819e9}} {
		if h, err := ParseHardware(text, 16); err != nil || h.Peak != want[0] || h.Bandwidth != want[1] {
			t.Errorf("%s: %+v, %v", text, h, err)
		}
	}
	for bits, want := range map[int]float64{16: 2250e12, 8: 4500e12, 4: 9000e12} {
		if h := must.Get(ParseHardware("b200", bits))(t); h.Peak != want {
			t.Errorf("%d bits: %v", bits, h.Peak)
		}
	}
	if h := must.Get(ParseHardware("h200", 4))(t); h.Peak != 1979e12 { // it multiplies 8 bits at least
		t.Errorf("%v", h.Peak)
	}
	for _, text := range []string{"", "8x", "0xh100", "h99", "8xh99", "-1xh100", "99999999999999999999xh100"} {
		must.NotGet(ParseHardware(text, 16))(t, "hardware="+text, text)
	}
}

// TestPrefillOfQwen works out the roofline of 2048 tokens, 1024 of them cached, on four RTX 4090 by hand.
func TestPrefillOfQwen(t *testing.T) {
	c := configOf(t, "Qwen/Qwen2.5-32B-Instruct-AWQ", "4xrtx4090")
	c.Overhead = 5 * time.Millisecond
	// 2 x 32.76e9 x 1024 = 67.09e12 for the parameters; attention 1,310,720 x (1024 x 1024 + 1024 x 1025 / 2) = 2.062e12.
	operations := 2*32.76e9*1024 + 1310720*(1024*1024+1024*1025/2)
	want := 5 + 1e3*operations/(4*165.2e12*0.43)
	if got := c.Prefill(2048, 1024).Seconds() * 1e3; math.Abs(got-want) > 1e-4 {
		t.Errorf("prefill takes %.4f ms, want %.4f", got, want)
	}
	// One token is bound by memory: 32.76e9 weights of 4.5 bits and 2048 x 262,144 bytes of keys and values at 4.032 TB/s.
	want = 5 + 1e3*(32.76e9*4.5/8+2048*262144)/4.032e12
	for _, cached := range []int{2047, 2048} {
		if got := c.Prefill(2048, cached).Seconds() * 1e3; math.Abs(got-want) > 1e-4 {
			t.Errorf("with %d cached prefill takes %.4f ms, want %.4f", cached, got, want)
		}
	}
}

// TestUtilisationOfDeepSeek holds the utilisation against what it was taken from: 32,200 computed tokens per second on
// eight H800.
func TestUtilisationOfDeepSeek(t *testing.T) {
	c := configOf(t, "deepseek-r1", "8xh800")
	c.Attention, c.Active = 0, 37e9 // its share is not published; the active parameters are
	const tokens = 100_000
	rate := tokens / c.Prefill(tokens, 0).Seconds()
	if published := 73.7e3 * (1 - 0.563); math.Abs(rate/published-1) > 0.01 {
		t.Errorf("%.0f tokens per second, published %.0f", rate, published)
	}
}

func TestAloneTTFTIsThePrefill(t *testing.T) {
	cache := &scripted{hits: []Hit{{}, {Tokens: 60}, {Tokens: 100},
		{Tokens: 60, Calls: 2, Predictions: 3000, Trained: 1000}}}
	c := perToken()
	c.PredictCall, c.PredictRow, c.TrainUnit = 500*time.Microsecond, time.Microsecond, 6000
	served := mustRun(t, prompts(100, 100, 100, 100), cache, c)
	for i, want := range []time.Duration{100, 40, 1, 40 + 1 + 3 + 6} {
		if got := served[i].FirstToken - served[i].Arrived; got != want*time.Millisecond {
			t.Errorf("prompt %d: %v to the first token, want %d ms", i, got, want)
		}
		if i > 0 && served[i].Arrived != served[i-1].Done {
			t.Errorf("prompt %d came at %v, the one before it was done at %v", i, served[i].Arrived, served[i-1].Done)
		}
		if got := served[i].Done - served[i].FirstToken; got != 20*time.Millisecond {
			t.Errorf("prompt %d: %v for the two output tokens after the first", i, got)
		}
	}
}

// TestThePrefillGivesTheFirstToken: only the output tokens after it are decoded.
func TestThePrefillGivesTheFirstToken(t *testing.T) {
	p := prompts(10, 10, 10)
	p.Outputs = []int32{0, 1, 5}
	for i, s := range mustRun(t, p, &scripted{hits: make([]Hit, 3)}, perToken()) {
		if got, want := s.Done-s.FirstToken, []time.Duration{0, 0, 40}[i]*time.Millisecond; got != want {
			t.Errorf("%d output tokens: %v from the first to the last, want %v", p.Outputs[i], got, want)
		}
	}
}

// TestTwoInFlight: prefills come one at a time, decoding beside them, and prompts are locked from their prefill to
// their last token.
func TestTwoInFlight(t *testing.T) {
	cache := &scripted{hits: make([]Hit, 4)}
	c := perToken()
	c.Concurrency = 2
	served := mustRun(t, prompts(10, 50, 5, 5), cache, c)
	// 0 is prefilled 0-10 and decodes until 30; 1 waits, is prefilled 10-60 and decodes until 80; 2 comes at 30, waits for
	// 1, 60-65, until 85.
	ms := time.Millisecond
	want := []Served{{0, 10 * ms, 30 * ms}, {0, 60 * ms, 80 * ms}, {30 * ms, 65 * ms, 85 * ms},
		{80 * ms, 85 * ms, 105 * ms}}
	if !slices.Equal(served, want) {
		t.Errorf("served %v, want %v", served, want)
	}
	events := []string{"begin 0", "begin 1", "finish 0", "begin 2", "finish 1", "begin 3", "finish 2", "finish 3"}
	if !slices.Equal(cache.events, events) {
		t.Errorf("events %v, want %v", cache.events, events)
	}
}

func TestTheNextTurnWaitsForTheOneBeforeIt(t *testing.T) {
	p := prompts(10, 20, 10, 10)
	p.Sessions = []int32{7, 7, 3, 7}
	c := perToken()
	c.Concurrency = 3
	served := mustRun(t, p, &scripted{hits: make([]Hit, 4)}, c)
	// 1 waits until 0 is done at 30, and 2 with it; 3 waits until 1 is done at 70.
	for i, want := range []time.Duration{0, 30, 30, 70} {
		if got := served[i].Arrived; got != want*time.Millisecond {
			t.Errorf("prompt %d came at %v, want %d ms", i, got, want)
		}
	}
}

func TestArrivalsOfTheTrace(t *testing.T) {
	p := prompts(10, 10, 10)
	ms := int64(time.Millisecond)
	p.Arrivals = []int64{1000 * ms, 1005 * ms, 1003 * ms}
	c := perToken()
	c.Concurrency, c.Arrivals = 5, FromTrace
	served := mustRun(t, p, &scripted{hits: make([]Hit, 3)}, c)
	for i, want := range []Served{{0, 10, 30}, {5, 20, 40}, {5, 30, 50}} {
		if got := served[i]; got.Arrived != want.Arrived*time.Millisecond ||
			got.FirstToken != want.FirstToken*time.Millisecond {
			t.Errorf("prompt %d: %v, want %v ms", i, got, want)
		}
	}
}

// TestPoissonArrivals: equal prompts that come at random wait for the prefills before them as in M/D/1.
func TestPoissonArrivals(t *testing.T) {
	const n, rho = 60_000, 0.6
	p := prompts(slices.Repeat([]int32{10}, n)...)
	c := perToken()
	c.Concurrency, c.Arrivals, c.Rate = n, Poisson, rho*100
	served := mustRun(t, p, &scripted{hits: make([]Hit, n)}, c)
	var sum time.Duration
	for _, s := range served {
		sum += s.FirstToken - s.Arrived
	}
	got, want := sum.Seconds()*1e3/n/10, 1+rho/(1-rho)/2
	if math.Abs(got/want-1) > 0.05 {
		t.Errorf("mean TTFT %.3f prefills, want %.3f", got, want)
	}
}

// TestMoreIsNeverSlower: more cached tokens and better hardware never make a prefill longer, nor a first token later
// while prompts come at given times.
func TestMoreIsNeverSlower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Shape:       anyConfig(t).Shape,
			Hardware:    anyConfig(t).Hardware,
			Concurrency: rapid.IntRange(1, 4).Draw(t, "concurrency"),
			Arrivals:    Poisson,
			Rate:        2,
		}
		n := rapid.IntRange(1, 20).Draw(t, "n")
		tokens, less, more := make([]int32, n), make([]Hit, n), make([]Hit, n)
		for i := range n {
			length := rapid.IntRange(1, 8000).Draw(t, "tokens")
			tokens[i] = int32(length)
			less[i].Tokens = rapid.IntRange(0, length).Draw(t, "hit")
			more[i].Tokens = rapid.IntRange(less[i].Tokens, length).Draw(t, "more")
		}
		p := Prompts{Tokens: tokens, Outputs: slices.Repeat([]int32{10}, n)}
		run := func(hits []Hit, c Config) []Served {
			return must.Get(Run(t.Context(), p, &scripted{hits: hits}, c))(t)
		}
		base := run(less, c)
		better := c
		better.Peak, better.Bandwidth = 1.5*c.Peak, 1.2*c.Bandwidth
		for name, other := range map[string][]Served{"more hits": run(more, c), "better hardware": run(less, better)} {
			for i := range n {
				if other[i].Arrived != base[i].Arrived || other[i].FirstToken > base[i].FirstToken {
					t.Fatalf("%s: prompt %d is served %v instead of %v", name, i, other[i], base[i])
				}
			}
		}
	})
}

// scriptedNodes assign prompts as written down, the k-th call to the k-th node.
type scriptedNodes struct {
	nodes   int
	to      []int
	changes []time.Duration
	numbers []int // of nodes after each change
	events  []string
}

func (s *scriptedNodes) Nodes() int               { return s.nodes }
func (s *scriptedNodes) Changes() []time.Duration { return s.changes }

func (s *scriptedNodes) Resize() {
	s.nodes, s.numbers = s.numbers[0], s.numbers[1:]
}

func (s *scriptedNodes) Assign(i int, now time.Duration) (node int) {
	node, s.to = s.to[0], s.to[1:]
	s.events = append(s.events, fmt.Sprintf("%d to %d at %v", i, node, now))
	return node
}

// TestNodesHaveQueuesOfTheirOwn: prompts on one node wait for each other, those on two do not.
func TestNodesHaveQueuesOfTheirOwn(t *testing.T) {
	p := prompts(10, 20, 30, 40)
	p.Arrivals = make([]int64, 4)
	c := perToken()
	c.Arrivals, c.Concurrency = FromTrace, 9
	c.Nodes = &scriptedNodes{nodes: 2, to: []int{0, 1, 0, 1}}
	served := mustRun(t, p, &scripted{hits: make([]Hit, 4)}, c)
	for i, want := range []time.Duration{10, 20, 40, 60} {
		if got := served[i].FirstToken; got != want*time.Millisecond {
			t.Errorf("prompt %d has its first token at %v, want %d ms", i, got, want)
		}
	}
	// With one prompt in flight on a node, the third waits until the first is done at 30.
	c.Concurrency = 1
	c.Nodes = &scriptedNodes{nodes: 2, to: []int{0, 1, 0, 1}}
	served = mustRun(t, p, &scripted{hits: make([]Hit, 4)}, c)
	for i, want := range []time.Duration{10, 20, 60, 80} {
		if got := served[i].FirstToken; got != want*time.Millisecond {
			t.Errorf("one in flight: prompt %d has its first token at %v, want %d ms", i, got, want)
		}
	}
}

// TestPromptsOfARemovedNodeAreRoutedAgain: those that wait; the one that has begun ends there, and all keep the times
// at which they arrived.
func TestPromptsOfARemovedNodeAreRoutedAgain(t *testing.T) {
	p := prompts(100, 10, 10, 10)
	p.Arrivals = make([]int64, 4)
	c := perToken()
	c.Arrivals, c.Concurrency = FromTrace, 9
	ms := time.Millisecond
	nodes := &scriptedNodes{nodes: 2, to: []int{1, 1, 0, 1, 0, 0}, changes: []time.Duration{50 * ms, 500 * ms},
		numbers: []int{1, 2}}
	c.Nodes = nodes
	cache := &scripted{hits: make([]Hit, 4)}
	served := mustRun(t, p, cache, c)
	want := []Served{{0, 100 * ms, 120 * ms}, {0, 60 * ms, 80 * ms}, {0, 10 * ms, 30 * ms}, {0, 70 * ms, 90 * ms}}
	if !slices.Equal(served, want) {
		t.Errorf("served %v, want %v", served, want)
	}
	assigned := []string{"0 to 1 at 0s", "1 to 1 at 0s", "2 to 0 at 0s", "3 to 1 at 0s", "1 to 0 at 50ms",
		"3 to 0 at 50ms"}
	if !slices.Equal(nodes.events, assigned) {
		t.Errorf("assigned %v, want %v", nodes.events, assigned)
	}
	if nodes.nodes != 1 {
		t.Errorf("%d nodes: a change after the last prompt was made", nodes.nodes)
	}
}

// TestClosedLoopFollowsTheNodes: as many prompts are in flight as the nodes take.
func TestClosedLoopFollowsTheNodes(t *testing.T) {
	p := prompts(10, 10, 10, 10, 10)
	c := perToken()
	c.Nodes = &scriptedNodes{nodes: 1, to: []int{0, 1, 2, 0, 1}, changes: []time.Duration{5 * time.Millisecond},
		numbers: []int{3}}
	served := mustRun(t, p, &scripted{hits: make([]Hit, 5)}, c)
	for i, want := range []time.Duration{0, 5, 5, 30, 35} {
		if got := served[i].Arrived; got != want*time.Millisecond {
			t.Errorf("prompt %d came at %v, want %d ms", i, got, want)
		}
	}
}
