package decode

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// simple is a model of one layer with one head, and a machine whose times are easy to compute by hand: a weight takes a
// microsecond to read, a token's key and value take 4 microseconds from the memory of the GPU and 40 from the host.
func simple(management Management) Config {
	return Config{
		Model:      Model{Layers: 1, QueryHeads: 1, KVHeads: 1, Dim: 1, Hidden: 2, FeedForward: 4, Vocabulary: 8},
		Machine:    Machine{Bandwidth: 1e6, Peak: 1e9, Memory: 1e9, PCIe: 1e5, Threads: 2, Costs: simpleCosts},
		Management: management, Tokens: 100, Batch: 1, Metadata: 0.5, Graph: true,
	}
}

var simpleCosts = Costs{Launch: 300 * microsecond, Kernel: 5 * microsecond, Lookup: 10 * microsecond,
	Update: 30 * microsecond, Block: 2 * microsecond}

func micros(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want*microsecond) > 1e-12 {
		t.Errorf("%s takes %v us, want %v", what, got/microsecond, want)
	}
}

// TestLayerInMicroseconds expects what a layer takes to be what is computed by hand: its weights are 2 x (2 + 2 + 12)
// numbers of two bytes.
func TestLayerInMicroseconds(t *testing.T) {
	work := Work{Managed: 1, Attended: 20, Retrieved: 90, Wanted: 10, Loaded: 3, Lookups: 5, Updates: 7}
	for _, c := range []struct {
		name       string
		management Management
		work       Work
		change     func(*Config)
		want       [Parts]float64 // exposed, in microseconds
	}{
		{"full attention", Whole, Work{Attended: 100}, nil, [Parts]float64{Computation: 64, Attention: 400}},
		{"launches that are longer than kernels", Whole, Work{Attended: 20}, func(c *Config) { c.Graph = false },
			[Parts]float64{Computation: 64, Attention: 80, Launches: 156}},
		{"kernels that are longer than launches", Whole, Work{Attended: 100}, func(c *Config) { c.Graph = false },
			[Parts]float64{Computation: 64, Attention: 400}},
		{"a set", Sets, work, nil,
			[Parts]float64{Computation: 64, Attention: 80, Retrieval: 50, Lookup: 5, Transfer: 120}},
		{"a set without a graph", Sets, work, func(c *Config) { c.Graph = false },
			[Parts]float64{Computation: 64, Attention: 80, Retrieval: 50, Launches: 101, Lookup: 5, Transfer: 120}},
		{"a predicted set", Predicted, work, nil,
			[Parts]float64{Computation: 64, Attention: 80, Retrieval: 50, Transfer: 120}},
		{"blocks, whose update is hidden", Blocks, work, nil,
			[Parts]float64{Computation: 64, Attention: 80, Retrieval: 50, Lookup: 20, Transfer: 120, Merge: 5 + 104}},
		{"blocks, whose update is not", Blocks, work, func(c *Config) { c.Costs.Update = 300 * microsecond },
			[Parts]float64{Computation: 64, Attention: 80, Retrieval: 50, Lookup: 20, Transfer: 120, Update: 114,
				Merge: 5 + 104}},
		{"a large batch, which computes longer than it reads", Whole, Work{Attended: 20},
			func(c *Config) { c.Batch, c.Peak = 10, 1e6 }, [Parts]float64{Computation: 640, Attention: 80}},
	} {
		config := simple(c.management)
		if c.change != nil {
			c.change(&config)
		}
		l := config.Layer(c.work, &Layer{})
		for p, want := range c.want {
			micros(t, c.name+": "+Part(p).String(), l.Exposed[p], want)
		}
	}
}

// TestAhead expects the transfer of a layer to be hidden behind the previous one, and that of the first not to be.
func TestAhead(t *testing.T) {
	c := simple(Sets)
	c.Ahead = true
	work := Work{Managed: 1, Attended: 20, Loaded: 5}
	sum, output := c.Step([]Work{work, work})
	micros(t, "transfer", sum.Exposed[Transfer], 200+200-64-80)
	micros(t, "transfer with its hidden part", sum.Busy[Transfer], 400)
	micros(t, "output", output, 32)
	work.Loaded = 3 // 120 us
	sum, _ = c.Step([]Work{work, work, work})
	micros(t, "transfer that is shorter than a layer", sum.Exposed[Transfer], 120)
	c.Graph = false
	work.Loaded = 8 // 320 us, while the previous layer takes 300 and spends 10 of them on lookup and retrieval
	sum, _ = c.Step([]Work{work, work})
	micros(t, "transfer behind launches", sum.Exposed[Transfer], 320+320-290)
}

// TestThreads expects heads to share threads of the CPU.
func TestThreads(t *testing.T) {
	c := simple(Blocks)
	l := c.Layer(Work{Managed: 8, Lookups: 24}, &Layer{}) // four heads per thread, twelve lookups
	micros(t, "lookup", l.Busy[Lookup], 4*10+12*2)
	l = c.Layer(Work{Managed: 1, Lookups: 24}, &Layer{})
	micros(t, "lookup of one head", l.Busy[Lookup], 10+24*2)
}

// recording is a replay of one layer with two heads in two steps: one of them as a whole on the GPU.
func recording() *Replay {
	return &Replay{Layers: 1, Heads: 2, Steps: 2, Prompt: 50, Always: 10, Share: 0.25, Generated: true,
		Counts: []Counts{{Heads: 1, Whole: 1, Retrievals: 1, Wanted: 10, Loaded: 10},
			{Heads: 1, Whole: 1, Wanted: 10}}}
}

// TestServe expects a replay to be served in proportion: 90 tokens outside the 10 for 40, one head for two.
func TestServe(t *testing.T) {
	c := simple(Sets)
	served := must.Get(c.Serve(t.Context(), recording()))(t)
	const attended = (22.5 + 10 + 100) / 2 * 4 // of a set, what is always there, and a whole head
	first := 64 + attended + 5 + 90.0/2*0.5 + 5 + 22.5/2*40 + 32
	second := 64 + attended + 2.0/2*4 + 5 + 5 + 32
	micros(t, "step 0", served.Steps[0], first)
	micros(t, "step 1", served.Steps[1], second)
	micros(t, "a layer", served.Layer.Exposed.Sum(), (first+second)/2-32)
	want := Memory{Weights: 2 * (32 + 2*16), Cache: (0.25*90 + 101) / 2 * 4, Always: 11.0 / 2 * 4, Search: 101.0 / 2 * 0.5,
		Full: 101 * 4}
	if served.Memory != want {
		t.Errorf("memory %+v, want %+v", served.Memory, want)
	}
	// Of two sequences, one is at the other step.
	c.Batch = 2
	served = must.Get(c.Serve(t.Context(), recording()))(t)
	micros(t, "both steps", served.Steps[0], first+second-64-5-5-32)
	micros(t, "both steps, the other way round", served.Steps[1], first+second-64-5-5-32)
	// Of four heads for two, half are at the other step, too.
	c.Batch, c.KVHeads = 1, 4
	served = must.Get(c.Serve(t.Context(), recording()))(t)
	if served.Steps[0] != served.Steps[1] {
		t.Errorf("steps take %v s, want equally long ones", served.Steps)
	}
}

// TestServeLayers expects each layer of a replay to stand for two of four, in its own steps, and the mean of a layer to
// be over all layers and steps.
func TestServeLayers(t *testing.T) {
	c := simple(Blocks)
	c.Model.Layers, c.Bandwidth, c.Peak, c.Tokens = 4, 1e18, 1e18, 50
	c.Costs = Costs{Block: 2 * microsecond, Lookup: 10 * microsecond}
	r := &Replay{Layers: 2, Heads: 1, Steps: 2, Prompt: 50, Always: 10, Counts: []Counts{
		{Heads: 1, Lookups: 1, Updates: 10}, {Heads: 1, Lookups: 2, Updates: 20},
		{Heads: 1, Lookups: 3, Updates: 30}, {Heads: 1, Lookups: 4, Updates: 40}}}
	served := must.Get(c.Serve(t.Context(), r))(t)
	micros(t, "step 0", served.Steps[0], 4*10+2*2*(1+10+3+30))
	micros(t, "step 1", served.Steps[1], 4*10+2*2*(2+20+4+40))
	micros(t, "lookup in a layer", served.Layer.Exposed[Lookup], 10+2*(1+2+3+4)/4.0)
	micros(t, "update in a layer", served.Layer.Busy[Update], 2*(10+20+30+40)/4.0)
	c.Batch = 2 // on two threads, each sequence at one of the steps
	served = must.Get(c.Serve(t.Context(), r))(t)
	micros(t, "a step of two sequences", served.Steps[0], 4*10+2*(3+30+7+70))
	r.Counts[3], c.Batch, r.Share = Counts{Whole: 1}, 1, 0.5 // layer 1 in the last step
	memory := must.Get(c.Serve(t.Context(), r))(t).Memory
	if want := 2.0 * (20 + 51) * 4; memory.Cache != want || memory.Full != 4*51*4 {
		t.Errorf("memory %+v, want %v of the cache and %v of all", memory, want, 4*51*4)
	}
}

// TestMemoryOfPublishedStores expects the memory of stores of 30% to be what LiteCache's table 2 states for RetroInfer.
func TestMemoryOfPublishedStores(t *testing.T) {
	const gib, k = 1 << 30, 1 << 10
	for model, published := range map[string]map[int]float64{
		"llama3-8b":   {32 * k: 1.20, 64 * k: 2.40, 128 * k: 4.80, 256 * k: 9.56, 512 * k: 19.12},
		"qwen2.5-14b": {16 * k: 0.90, 32 * k: 1.79, 64 * k: 3.59, 128 * k: 7.20, 256 * k: 14.34},
	} {
		for tokens, want := range published {
			c := Config{Model: Models[model], Machine: Machines["h100"], Management: Blocks, Tokens: tokens, Batch: 1}
			r := &Replay{Layers: 1, Heads: 8, Steps: 1, Prompt: 2048, Always: 68, Share: 0.3, Counts: []Counts{{Heads: 8}}}
			if got := must.Get(c.Serve(t.Context(), r))(t).Memory.Cache / gib; math.Abs(got-want) > 0.01*want {
				t.Errorf("%s, %d tokens: %v GiB, want %v", model, tokens, got, want)
			}
		}
	}
}

// TestWeights expects the published numbers of parameters: 8.03 and 14.8 x 10^9.
func TestWeights(t *testing.T) {
	for name, want := range map[string]float64{"llama3-8b": 8.03e9, "qwen2.5-14b": 14.77e9} {
		m := Models[name]
		if got := m.Weights() / bytesOfNumber; math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s has %v parameters, want %v", name, got, want)
		}
	}
}

// TestCalibration expects the constants to give the numbers of LiteCache that docs/models.md derives them from, with a
// store that hits 92%.
func TestCalibration(t *testing.T) {
	layerOf := func(management Management, tokens, block float64) Layer {
		c := Config{Model: Models["llama3-8b"], Machine: Machines["h100"], Management: management, Batch: 1, Metadata: 16,
			Graph: true}
		wanted := 8 * 0.1 * (tokens - 68)
		if management == Whole {
			return c.Layer(Work{Attended: 8 * tokens}, &Layer{})
		}
		const misses = 0.08
		return c.Layer(Work{Managed: 8, Attended: wanted + 8*68, Retrieved: 8 * (tokens - 68), Wanted: wanted,
			Loaded: misses * wanted, Lookups: wanted / block, Updates: (1 + misses) * wanted / block}, &Layer{})
	}
	near := func(what string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within {
			t.Errorf("%s: %.4f, want %.4f within %.2g", what, got, want, within)
		}
	}
	machine, model := Machines["h100"], Models["llama3-8b"]
	full := layerOf(Whole, 4096, 1)
	output := bytesOfNumber * model.outputParameters() / machine.Bandwidth
	near("speed-up by a graph at 4K", (32*machine.Launch+output)/(32*full.Exposed.Sum()+output), 1.75, 0.005)
	short := layerOf(Blocks, 4096, 8)
	near("overhead at 4K", ofCache(short.Exposed)/(short.Exposed.Sum()-ofCache(short.Exposed)), 0.45, 0.01)
	near("share of updates at 4K", short.Busy[Update]/ofCache(short.Busy), 0.66, 0.01)
	long, coarse := layerOf(Blocks, 1<<17, 8), layerOf(Blocks, 1<<17, 128)
	both := func(l Layer) float64 { return l.Busy[Lookup] + l.Busy[Update] }
	near("what blocks of 128 tokens save at 128K", 1-both(coarse)/both(long), 0.10, 0.005)
}

func ofCache(t Times) (sum float64) {
	for p, x := range t {
		if Part(p).OfCache() {
			sum += x
		}
	}
	return sum
}

// TestMonotone expects that a faster link, loading ahead, a graph and fewer rows to load never make a layer slower.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Float64Range(0, 1e6)
		c := Config{Model: Models[rapid.SampledFrom(slices.Sorted(maps.Keys(Models))).Draw(t, "model")],
			Machine:    Machines[rapid.SampledFrom(slices.Sorted(maps.Keys(Machines))).Draw(t, "machine")],
			Management: rapid.SampledFrom([]Management{Sets, Predicted, Blocks}).Draw(t, "management"), Metadata: 32,
			Batch: rapid.IntRange(1, 64).Draw(t, "batch"), Ahead: rapid.Bool().Draw(t, "ahead"),
			Graph: rapid.Bool().Draw(t, "graph")}
		var layers []Work
		for range rapid.IntRange(1, 5).Draw(t, "layers") {
			w := Work{Managed: rapid.Float64Range(1, 512).Draw(t, "heads"), Wanted: amount.Draw(t, "wanted"),
				Retrieved: amount.Draw(t, "retrieved"), Lookups: amount.Draw(t, "lookups"),
				Updates: amount.Draw(t, "updates")}
			w.Attended, w.Loaded = w.Wanted+amount.Draw(t, "always"), w.Wanted*rapid.Float64Range(0, 1).Draw(t, "misses")
			layers = append(layers, w)
		}
		time := func(c Config, layers []Work) float64 {
			sum, output := c.Step(layers)
			return sum.Exposed.Sum() + output
		}
		base := time(c, layers)
		link, ahead, graph := c, c, c
		link.PCIe *= 1 + rapid.Float64Range(0, 10).Draw(t, "faster")
		ahead.Ahead, graph.Graph = true, true
		fewer := append([]Work(nil), layers...)
		for i := range fewer {
			kept := rapid.Float64Range(0, 1).Draw(t, "kept")
			fewer[i].Loaded, fewer[i].Retrieved = fewer[i].Loaded*kept, fewer[i].Retrieved*kept
		}
		for name, got := range map[string]float64{"a faster link": time(link, layers),
			"loading ahead": time(ahead, layers), "a graph": time(graph, layers), "fewer rows": time(c, fewer)} {
			if got > base*(1+1e-12) {
				t.Fatalf("%s takes %v s, %v without", name, got, base)
			}
		}
	})
}
