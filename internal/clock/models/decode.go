package models

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/clock/decode"
	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/traces"
)

// Choices that depend on how keys and values are managed, unless the user makes them.
const (
	byManagement = "auto"
	switchedOn   = "on"
	switchedOff  = "off"
)

var decodeEntry = Entry{
	Name: "decode",
	Summary: "decoding steps of a language model, with keys and values on the GPU and on its host: latency is that of a " +
		"step of a batch, throughput counts tokens",
	Source: "LiteCache (arXiv 2511.14510), sections 2.3 and 7; constants in docs/models.md",
	Cache:  "attention",
	Params: []params.Param{
		{Name: "model", Default: "", Choices: append([]string{""}, names(decode.Models)...),
			Doc: "language model that is served; it must be named"},
		{Name: "gpu", Default: "h100", Choices: names(decode.Machines), Doc: "GPU, with its host"},
		{Name: "tokens", Default: 0, Max: 1 << 30, Doc: "tokens of each sequence before the first step; 0: as in the trace"},
		{Name: "batch", Default: 1, Min: 1, Max: 1 << 14, Doc: "sequences that are decoded together"},
		{Name: "ahead", Default: byManagement, Choices: []string{byManagement, switchedOn, switchedOff},
			Doc: "on: rows of a layer are transferred while the previous layer computes; auto: on for sets, off for blocks"},
		{Name: "graph", Default: byManagement, Choices: []string{byManagement, switchedOn, switchedOff},
			Doc: "on: a CUDA graph launches all kernels at once; auto: on for full attention and for sets under reuse rules, " +
				"off where the CPU takes part in every layer (blocks, infinigen)"},
		{Name: "metadata_bytes", Default: -1.0, Min: -1, Max: 1 << 20,
			Doc: "bytes per token and KV head that a retrieval reads; -1: 32 for sets, 64 for infinigen, 16 for blocks"},
		{Name: "layers", Default: 0, Max: 1 << 12, Doc: "layers; 0: the model's"},
		{Name: "query_heads", Default: 0, Max: 1 << 14, Doc: "query heads of a layer; 0: the model's"},
		{Name: "kv_heads", Default: 0, Max: 1 << 14, Doc: "KV heads of a layer; 0: the model's"},
		{Name: "head_dim", Default: 0, Max: 1 << 13, Doc: "numbers in a key of a head; 0: the model's"},
		{Name: "hidden", Default: 0, Max: 1 << 20, Doc: "width of the model; 0: the model's"},
		{Name: "ffn", Default: 0, Max: 1 << 20, Doc: "width of its feed-forward network; 0: the model's"},
		{Name: "vocabulary", Default: 0, Max: 1 << 24, Doc: "tokens that it can generate; 0: the model's"},
		{Name: "hbm_gbs", Default: 0.0, Max: 1e9,
			Doc: "bandwidth of the GPU's memory, in 10^9 bytes per second; 0: the GPU's"},
		{Name: "peak_tflops", Default: 0.0, Max: 1e9, Doc: "operations per second of the GPU, in 10^12; 0: the GPU's"},
		{Name: "memory_gib", Default: 0.0, Max: 1e9, Doc: "memory of the GPU, in 2^30 bytes; 0: the GPU's"},
		{Name: "pcie_gbs", Default: 0.0, Max: 1e9, Doc: "rate from host to GPU, in 10^9 bytes per second; 0: the GPU's"},
		{Name: "threads", Default: 0, Max: 1 << 20, Doc: "threads of the host that manage blocks; 0: its cores"},
		{Name: "launch_us", Default: -1.0, Min: -1, Max: 1e9,
			Doc: "launching the kernels of a layer, in microseconds; -1: the host's"},
		{Name: "kernel_us", Default: -1.0, Min: -1, Max: 1e9, Doc: "smallest kernel, in microseconds; -1: the GPU's"},
		{Name: "lookup_us", Default: -1.0, Min: -1, Max: 1e9,
			Doc: "lookup of the blocks of a head by the host, whatever their number, in microseconds; -1: the host's"},
		{Name: "update_us", Default: -1.0, Min: -1, Max: 1e9,
			Doc: "update of the list of a head by the host, likewise; -1: the host's"},
		{Name: "block_ns", Default: -1.0, Min: -1, Max: 1e9,
			Doc: "besides, per block that is looked up and per list operation, in nanoseconds; -1: the host's"},
	},
	Metrics: []metric.Metric{LayerTime, LayerPart, CacheOverhead, CachePart, ServedBytes, ServedCacheBytes,
		ServedFullBytes, LargestBatch},
	Check: func(v params.Values, _ *traces.Trace) error {
		_, err := decodeConfig(v, decode.Whole)
		return err
	},
	Resolve: resolveDecode,
	Run:     runDecode,
}

// resolveDecode says what the times are of.
func resolveDecode(v params.Values, _ *traces.Trace) string {
	c, err := decodeConfig(v, decode.Whole)
	if err != nil {
		return "" // Check has said it
	}
	return fmt.Sprintf("times: %s, weights of %s, %d layers with %d query and %d KV heads of %d; on %s: %.4g operations "+
		"per second, %.4g bytes per second from memory, %.4g from the host, %s of memory", v.Text("model"),
		memory.Bytes(int64(c.Weights())), c.Layers, c.QueryHeads, c.KVHeads, c.Dim, v.Text("gpu"), c.Peak, c.Bandwidth,
		c.PCIe, memory.Bytes(int64(c.Memory)))
}

// Metrics of decoding steps.
var (
	LayerTime = metric.Metric{Name: "layer_ms", Title: "time of a layer (ms)", Unit: metric.Milliseconds, Digits: 3,
		Better: metric.Lower, Merge: metric.Apart, Column: metric.Column{At: 41, Head: "layer ms", Weight: 62},
		Doc: "mean time of a layer in a step: the sum of its parts"}
	LayerPart = metric.Metric{Name: "layer_part_ms", Title: "time of a part of a layer (ms)", Unit: metric.Milliseconds,
		Digits: 3, Better: metric.Lower, Merge: metric.Apart, Labels: "part",
		Doc: "mean time by which a part delays a layer: computation (projections and feed-forward network), attention, " +
			"retrieval, launches (the GPU waits for kernels), lookup, transfer, update and merge"}
	CacheOverhead = metric.Metric{Name: "cache_overhead", Unit: metric.Ratio, Digits: 3, Better: metric.Lower,
		Merge: metric.Apart, Column: metric.Column{At: 41, Head: "overhead", Weight: 61},
		Doc: "time by which lookup, transfer, update and merge delay a layer, over that of computation, attention and " +
			"retrieval"}
	CachePart = metric.Metric{Name: "cache_part_share", Title: "share of the cache's time", Unit: metric.Share, Digits: 1,
		Merge: metric.Apart, Labels: "part",
		Doc: "share of lookup, transfer, update and merge in their time together, with what is hidden behind other parts"}
	ServedBytes = metric.Metric{Name: "served_gpu_bytes", Title: "GPU memory, as served", Unit: metric.Bytes,
		Better: metric.Lower, Merge: metric.Apart, Column: metric.Column{At: 41, Head: "served", Weight: 34},
		Doc: "memory of the GPU in the last step: weights, keys and values of the batch, metadata of retrievals. If the " +
			"GPU has less, there are no times"}
	ServedCacheBytes = metric.Metric{Name: "served_cache_bytes", Title: "GPU memory of the cache, as served",
		Unit: metric.Bytes, Better: metric.Lower, Merge: metric.Apart,
		Doc: "of it for sets or blocks, and for heads all of whose rows are on the GPU"}
	ServedFullBytes = metric.Metric{Name: "served_full_bytes", Title: "all keys and values, as served",
		Unit: metric.Bytes, Merge: metric.Apart, Doc: "memory of all keys and values of the batch"}
	LargestBatch = metric.Metric{Name: "largest_batch", Unit: metric.Count, Better: metric.Higher, Merge: metric.Apart,
		Doc: "sequences for which the GPU has room"}
)

// Decoded is what the model decode needs of a cache: what it did for a recorded sequence.
type Decoded struct {
	decode.Replay
	Management decode.Management
}

func runDecode(ctx context.Context, c Config) (metric.Values, error) {
	replayed, ok := c.Cache.(*Decoded)
	if !ok {
		return metric.Values{}, fmt.Errorf("model decode: a cache of type %T does not count the steps of heads", c.Cache)
	}
	config, err := decodeConfig(c.Params, replayed.Management)
	if err != nil {
		return metric.Values{}, err
	}
	if config.Model.Layers < replayed.Layers {
		return metric.Values{}, fmt.Errorf("model decode: layers=%d, but the trace has %d; want at least as many, or a "+
			"trace with fewer", config.Model.Layers, replayed.Layers)
	}
	if config.Tokens == 0 {
		config.Tokens = replayed.Prompt
	}
	if config.Tokens <= replayed.Always {
		return metric.Values{}, fmt.Errorf("model decode: tokens=%d, but each head has %d first and recent tokens beside "+
			"what it caches: want more tokens", config.Tokens, replayed.Always)
	}
	served, err := config.Serve(ctx, &replayed.Replay)
	if err != nil {
		return metric.Values{}, err
	}
	v := memoryValues(served.Memory, config)
	if served.Memory.Sum() > config.Memory {
		return v, nil
	}
	if seconds := sumOf(served.Steps); !(seconds < mostSeconds) {
		return metric.Values{}, fmt.Errorf("model decode: %d steps take %.3g seconds, and the clock ends at %.3g: want "+
			"faster hardware", len(served.Steps), seconds, mostSeconds)
	}
	return v.Merge(stepValues(served.Steps, config.Batch)).Merge(layerValues(served.Layer)), nil
}

// mostSeconds is when the clock ends, which counts nanoseconds.
const mostSeconds = float64(math.MaxInt64) / float64(time.Second)

func sumOf(numbers []float64) (sum float64) {
	for _, x := range numbers {
		sum += x
	}
	return sum
}

// stepValues returns the latency of steps that follow each other, each of which gives a token to every sequence.
func stepValues(steps []float64, batch int) metric.Values {
	all, at := make([]waited, len(steps)), time.Duration(0)
	for i, seconds := range steps {
		end := event.Sum(at, event.Span(seconds*float64(time.Second)))
		all[i], at = waited{at, end, end}, end
	}
	return newLatency(all, batch*len(steps), func(w waited) waited { return w }).Values()
}

func layerValues(l decode.Layer) (v metric.Values) {
	var cache, busy, kernels float64
	for p := range decode.Parts {
		v.SetNamed(LayerPart.Of(p.String()), 1e3*l.Exposed[p])
		switch {
		case p.OfCache():
			cache, busy = cache+l.Exposed[p], busy+l.Busy[p]
		case p != decode.Launches:
			kernels += l.Exposed[p]
		}
	}
	for p := range decode.Parts {
		if p.OfCache() {
			v.SetNamed(CachePart.Of(p.String()), metric.Divide(l.Busy[p], busy))
		}
	}
	v.Set(LayerTime, 1e3*l.Exposed.Sum())
	v.Set(CacheOverhead, cache/kernels)
	return v
}

func memoryValues(m decode.Memory, c decode.Config) (v metric.Values) {
	v.SetInt(ServedBytes, int64(m.Sum()))
	v.SetInt(ServedCacheBytes, int64(m.Cache))
	v.SetInt(ServedFullBytes, int64(m.Full))
	v.SetInt(LargestBatch, int64(max(0, c.Memory-m.Weights)*float64(c.Batch)/m.PerBatch()))
	return v
}

// decodeConfig returns the constants of model and machine, overridden by the user's.
func decodeConfig(v params.Values, management decode.Management) (decode.Config, error) {
	if v.Text("model") == "" {
		return decode.Config{}, errors.New("model decode: which language model? Its times need one: write " +
			"decode(model=llama3-8b) or decode(model=qwen2.5-14b), and what differs from it, as layers and hidden")
	}
	c := decode.Config{Model: decode.Models[v.Text("model")], Machine: decode.Machines[v.Text("gpu")],
		Management: management, Tokens: v.Int("tokens"), Batch: v.Int("batch")}
	c.Ahead = isOn(v.Text("ahead"), management == decode.Sets || management == decode.Predicted)
	c.Graph = isOn(v.Text("graph"), management == decode.Whole || management == decode.Sets)
	if c.Metadata = v.Float("metadata_bytes"); c.Metadata < 0 {
		c.Metadata = metadataOf[management]
	}
	// Each entry sets another constant, so the order of the maps does not matter.
	for name, value := range map[string]*int{"layers": &c.Layers, "query_heads": &c.QueryHeads, "kv_heads": &c.KVHeads,
		"head_dim": &c.Dim, "hidden": &c.Hidden, "ffn": &c.FeedForward, "vocabulary": &c.Vocabulary,
		"threads": &c.Threads} {
		if given := v.Int(name); given > 0 {
			*value = given
		}
	}
	override(v, 0, []constant{{"hbm_gbs", &c.Bandwidth, 1e9}, {"peak_tflops", &c.Peak, 1e12},
		{"memory_gib", &c.Memory, 1 << 30}, {"pcie_gbs", &c.PCIe, 1e9}})
	override(v, -1, []constant{{"launch_us", &c.Launch, 1e-6}, {"kernel_us", &c.Kernel, 1e-6},
		{"lookup_us", &c.Costs.Lookup, 1e-6}, {"update_us", &c.Costs.Update, 1e-6}, {"block_ns", &c.Block, 1e-9}})
	if c.QueryHeads%c.KVHeads != 0 {
		return c, fmt.Errorf("model decode: %d query heads on %d KV heads; want the same number on each", c.QueryHeads,
			c.KVHeads)
	}
	return c, nil
}

// metadataOf are the bytes that retrievals read per token and KV head: hashes of 256 bits (HATA); 32 of the 128 numbers
// of a key (InfiniGen); the mean of 16 keys (RetroInfer).
var metadataOf = map[decode.Management]float64{decode.Sets: 32, decode.Predicted: 64, decode.Blocks: 16}

func isOn(choice string, byManagement bool) bool {
	return choice == switchedOn || choice != switchedOff && byManagement
}
