package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/clock/prefill"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

var prefillEntry = Entry{
	Name: "prefill",
	Summary: "prompts to a language model: the time to the first token, for which uncached tokens must be computed; " +
		"throughput counts prompts",
	Source:  "LCR (arXiv 2509.20979), section 5.1; constants in docs/models.md",
	Cache:   "prefix",
	Also:    []string{"tiers"},
	Routes:  true,
	Metrics: append([]metric.Metric{NodeLatencyP99, TenantLatencyMean, TenantLatencyP99}, tierMetrics...),
	Params: append([]params.Param{
		{Name: "model", Default: "", Doc: "language model (see: cachesim kv); without it, that of --kv"},
		{Name: "hardware", Default: "8xh100", Doc: "what it runs on: a number and one of " +
			strings.Join(prefill.AcceleratorNames(), ", ")},
		{Name: "weights", Default: "", Choices: append([]string{""}, llm.WeightTypes()...),
			Doc: "type of the parameters; without it, as published, or as the model's name says"},
		{Name: "concurrency", Default: 2, Min: 1, Max: 1e6, Doc: "prompts in flight on a node; the others " +
			"wait"},
		{Name: "arrivals", Default: string(prefill.Closed), Choices: []string{string(prefill.Closed),
			string(prefill.FromTrace), string(prefill.Poisson)},
			Doc: "closed: the next prompt comes when one is done, the next turn of a conversation after the previous one; " +
				"trace: at the times of the trace; poisson: at random"},
		{Name: "rate", Default: 0.0, Min: 0, Max: 1e9, Doc: "prompts per second of arrivals=poisson"},
		{Name: "seed", Default: 1, Min: 0, Max: 1 << 53, Doc: "of arrivals=poisson, the same for all policies"},
		{Name: "output", Default: -1, Min: -1, Max: 1 << 30, Doc: "output tokens of each prompt; -1: as in the trace, 256 " +
			"if it has none"},
		{Name: "overhead_ms", Default: 5.0, Min: 0, Max: 1e9, Doc: "fixed cost of a prefill, in milliseconds"},
		{Name: "predict_us", Default: 1.0, Min: 0, Max: 1e9, Doc: "time of the prediction for one block, in microseconds"},
		{Name: "predict_call_us", Default: 0.0, Min: 0, Max: 1e9, Doc: "additional time of one call of the predictor, in " +
			"microseconds"},
		{Name: "train_ns", Default: 0.0, Min: 0, Max: 1e9, Doc: "time of training per row, feature and tree, in " +
			"nanoseconds, during which there are no predictions; 0: training runs in parallel"},
		{Name: "decode_ms", Default: -1.0, Min: -1, Max: 1e9, Doc: "time of an output token after the first, in " +
			"milliseconds; -1: reading all weights at mbu"},
		{Name: "active_b", Default: 0.0, Min: 0, Max: 1e9, Doc: "parameters that a token passes through, in 10^9; 0: the " +
			"model's"},
		{Name: "weights_gb", Default: 0.0, Min: 0, Max: 1e9, Doc: "all parameters, in 10^9 bytes; 0: the model's"},
		{Name: "attention_mflop", Default: 0.0, Min: 0, Max: 1e9, Doc: "attention operations per token and preceding " +
			"token, in 10^6; 0: the model's"},
		{Name: "kv_kb", Default: 0.0, Min: 0, Max: 1e9, Doc: "keys and values of a token, in 10^3 bytes; 0: as --kv says " +
			"for the trace or, without it, the model's"},
		{Name: "peak_tflops", Default: 0.0, Min: 0, Max: 1e12, Doc: "operations per second of all cards, in 10^12; 0: the " +
			"hardware's"},
		{Name: "bandwidth_gbs", Default: 0.0, Min: 0, Max: 1e12, Doc: "memory bandwidth of all cards, in 10^9 bytes per " +
			"second; 0: the hardware's"},
		{Name: "mfu", Default: 0.0, Min: 0, Max: 1, Doc: "share of the peak that a prefill reaches; 0: 0.43, and 0.15 " +
			"with experts"},
		{Name: "mbu", Default: prefill.DecodeUtilisation, Min: 0.001, Max: 1, Doc: "share of the bandwidth at which an " +
			"output token reads all weights"},
	}, tierParams()...),
	Lengths:  true,
	Overlaps: func(v params.Values) bool { return v.Int("concurrency") > 1 },
	Check:    checkPrefill,
	Resolve:  resolvePrefill,
	Run:      runPrefill,
}

// NodeLatencyP99 is the P99 of each of several nodes.
var NodeLatencyP99 = metric.Metric{Name: "node_latency_p99_ms", Unit: metric.Milliseconds, Digits: 3,
	Better: metric.Lower, Merge: metric.Apart, Labels: "node",
	Doc: "P99 of the prompts that a node served, of which the first 64 nodes are reported one by one"}

// The latency of each tenant's prompts.
var (
	TenantLatencyMean = tenantLatency("mean", "mean")
	TenantLatencyP99  = tenantLatency("p99", "P99")
)

func tenantLatency(which, head string) metric.Metric {
	return metric.Metric{Name: "tenant_latency_" + which + "_ms", Unit: metric.Milliseconds, Digits: 3,
		Better: metric.Lower, Merge: metric.Apart, Labels: "tenant", Doc: head + " time of a tenant's prompts until their " +
			"first token, on the model's clock; of the 20 tenants with the most requests"}
}

// mostTenantsReported is the number of tenants with a latency of their own.
const mostTenantsReported = 20

// mostNodesReported is the number of nodes with a latency of their own.
const mostNodesReported = 64

// defaultOutput is the number of output tokens of a prompt if neither trace nor user gives it (LCR, section 5.2).
const defaultOutput = 256

func checkPrefill(v params.Values, t *traces.Trace) error {
	switch arrivals, rate := prefill.Arrivals(v.Text("arrivals")), v.Float("rate"); {
	case arrivals == prefill.Poisson && rate == 0:
		return fmt.Errorf("model prefill: arrivals=poisson needs a rate, in prompts per second: " +
			"prefill(arrivals=poisson,rate=2)")
	case arrivals != prefill.Poisson && rate != 0:
		return fmt.Errorf("model prefill: rate=%v has no effect with arrivals=%s; remove it, or write arrivals=poisson",
			rate, arrivals)
	case v.Float("decode_ms") < 0 && v.Float("decode_ms") != -1:
		return fmt.Errorf("model prefill: decode_ms=%v: want a number from 0, or -1 for the model's",
			v.Float("decode_ms"))
	case arrivals == prefill.FromTrace && prompts.Of(t.Kind) != nil && prompts.Of(t.Kind).Arrivals == nil:
		return fmt.Errorf("model prefill: arrivals=trace, but %s has no times; write arrivals=closed or arrivals=poisson",
			t.Name)
	case arrivals == prefill.FromTrace && t.SampleRate > 0 && t.SampleRate < 1:
		return fmt.Errorf("model prefill: arrivals=trace: in a sample of %v of %s its prompts hardly wait for each other; "+
			"use --limit, or write arrivals=closed",
			t.SampleRate, t.Name)
	case v.Float("kv_kb") != 0 && prompts.Of(t.Kind) != nil && prompts.Of(t.Kind).Memory.BlockBytes > 0:
		return fmt.Errorf("model prefill: kv_kb=%v, but --kv (kv, in an experiment) says what the keys and values take: %s; "+
			"remove one of them", v.Float("kv_kb"), prompts.Of(t.Kind).Memory.Source)
	}
	if prompts.Of(t.Kind) == nil {
		return nil
	}
	_, _, err := prefillConfig(v, prompts.Of(t.Kind))
	return err
}

// resolvePrefill says what the times are of.
func resolvePrefill(v params.Values, t *traces.Trace) string {
	if prompts.Of(t.Kind) == nil {
		return ""
	}
	c, name, err := prefillConfig(v, prompts.Of(t.Kind))
	if err != nil {
		return "" // checkPrefill has said it
	}
	within := ""
	for _, a := range c.Within {
		within += fmt.Sprintf(" and %.4g to the last or best %d tokens", a.Operations/1e6, a.Window)
	}
	return fmt.Sprintf("times: %s on %s: active_b=%.4g, weights_gb=%.4g, attention_mflop=%.4g%s, kv_kb=%.4g, "+
		"peak_tflops=%.5g, mfu=%.3g, bandwidth_gbs=%.5g, %.4g GB/s from the host, decode_ms=%.3g", name, v.Text("hardware"),
		c.Active/1e9, c.Weights/1e9, c.Attention/1e6, within, c.KV/1e3, c.Peak/1e12, c.Utilisation, c.Bandwidth/1e9,
		c.Host/1e9, 1e3*c.Decode)
}

// promptCache is a cache that locks the blocks of prompts while they run.
type promptCache interface {
	// Finish releases the blocks of a prompt that has been served.
	Finish(prompt int)
}

func runPrefill(ctx context.Context, c Config) (metric.Values, error) {
	holding, ok := c.Cache.(promptCache)
	if !ok {
		return metric.Values{}, fmt.Errorf("model prefill: a cache of type %T does not lock prompts", c.Cache)
	}
	replay := &prefillReplay{groupReplay: &groupReplay{c, c.Trace.Groups}, promptCache: holding}
	p := prompts.Of(c.Trace.Kind)
	prompts := prefill.Prompts{Tokens: p.InputTokens, Outputs: outputs(p, c.Params.Int("output")), Sessions: p.Sessions,
		Arrivals: p.Arrivals}
	config, _, err := prefillConfig(c.Params, p)
	if err != nil {
		return metric.Values{}, err
	}
	if nodes, ok := c.Cache.(Nodes); ok {
		replay.nodes = nodes
		replay.assigned = make([]int32, len(c.Trace.Groups))
		config.Nodes = replay
	}
	all, loads, err := runPrompts(ctx, replay, prompts, config)
	if err != nil {
		return metric.Values{}, err
	}
	replay.tell(all)
	counted := all[replay.firstCounted():]
	values := newLatency(counted, len(counted), timesOf).Values()
	replay.setNodeLatencies(all, &values)
	replay.setTenantLatencies(all, &values)
	return values.Merge(loads), nil
}

// runPrompts serves the prompts, and returns what was measured of loads if the cache has tiers.
func runPrompts(ctx context.Context, r *prefillReplay, p prefill.Prompts, c prefill.Config) ([]prefill.Served,
	metric.Values, error) {
	if tiered, ok := r.Cache.(tieredCache); ok {
		return runTiers(ctx, tieredReplay{r, tiered}, p, c)
	}
	if err := params.NoEffect(tierParams(), r.Params, "a cache without tiers", "--cache 'tiers(host=10x)'"); err != nil {
		return nil, metric.Values{}, fmt.Errorf("model prefill: %w", err)
	}
	all, err := prefill.Run(ctx, p, r, c)
	if err != nil {
		return nil, metric.Values{}, fmt.Errorf("model prefill: %w", err)
	}
	return all, metric.Values{}, nil
}

func timesOf(s prefill.Served) waited { return waited{s.Arrived, s.FirstToken, s.Done} }

// outputs returns the output tokens of each prompt.
func outputs(p *prompts.Columns, fixed int) []int32 {
	switch {
	case fixed < 0 && p.OutputTokens != nil:
		return p.OutputTokens
	case fixed < 0:
		fixed = defaultOutput
	}
	return slices.Repeat([]int32{int32(fixed)}, len(p.InputTokens))
}

// computeOf returns what a token costs in the language model that the user has named, its name, and the bytes of its
// keys and values: those of --kv if that says it.
func computeOf(v params.Values, p *prompts.Columns) (c llm.Compute, name string, kv float64, err error) {
	if p.Memory.BlockBytes > 0 {
		c, name = p.Memory.Model()
		kv = float64(p.Memory.BlockBytes) / float64(p.BlockTokens)
	} else {
		kv = p.Memory.TokenBytes
	}
	if text := v.Text("model"); text != "" {
		m, err := llm.Find(text)
		if err != nil {
			return c, name, kv, fmt.Errorf("model prefill: model=%s: %w", text, err)
		}
		if name != "" && name != m.Name {
			return c, name, kv, fmt.Errorf("model prefill: model=%s, but --kv (kv, in an experiment) says %s; remove one of "+
				"them", text, name)
		}
		c, name = m.Shape.Compute, text
		if kv == 0 {
			bytes, err := m.Shape.KeyValues("", 1)
			if err != nil {
				return c, name, kv, err
			}
			if kv = bytes.Full; kv == 0 { // what a long prompt reads, unless all layers have a window
				kv = bytes.PerToken()
			}
		}
	}
	if typ := v.Text("weights"); typ != "" {
		c, _ = c.As(typ)
	}
	return c, cmp.Or(name, "the model as given"), kv, nil
}

// prefillConfig returns the constants of the model and the hardware, overridden by the user's, and the model's name.
func prefillConfig(v params.Values, p *prompts.Columns) (c prefill.Config, name string, err error) {
	compute, name, kv, err := computeOf(v, p)
	if err != nil {
		return c, name, err
	}
	c = prefill.Config{
		Shape:       prefill.ShapeOf(compute, kv),
		Overhead:    microseconds(1e3 * v.Float("overhead_ms")),
		PredictCall: microseconds(v.Float("predict_call_us")),
		PredictRow:  microseconds(v.Float("predict_us")),
		TrainUnit:   v.Float("train_ns"),
		Concurrency: v.Int("concurrency"),
		Arrivals:    prefill.Arrivals(v.Text("arrivals")),
		Rate:        v.Float("rate"),
		Seed:        uint64(v.Int("seed")),
	}
	if c.Hardware, err = prefill.ParseHardware(v.Text("hardware"), c.Bits); err != nil {
		return c, name, fmt.Errorf("model prefill: %w", err)
	}
	c.Utilisation = prefill.UtilisationOf(compute)
	override(v, 0, []constant{{"active_b", &c.Active, 1e9}, {"weights_gb", &c.Weights, 1e9},
		{"attention_mflop", &c.Attention, 1e6}, {"kv_kb", &c.KV, 1e3}, {"peak_tflops", &c.Peak, 1e12},
		{"bandwidth_gbs", &c.Bandwidth, 1e9}, {"mfu", &c.Utilisation, 1}})
	if v.Float("attention_mflop") > 0 {
		c.Within = nil
	}
	if c.Active == 0 || c.Weights == 0 || c.KV == 0 {
		return c, name, errors.New("model prefill: which language model? Its times need its parameters: add --kv " +
			"model=NAME (see: cachesim kv) or --kv config=FILE, or write prefill(model=NAME), or give active_b, weights_gb, " +
			"attention_mflop and kv_kb")
	}
	if c.Weights > c.Memory && v.Float("weights_gb") == 0 {
		return c, name, fmt.Errorf("model prefill: the weights of %s are %s, but hardware=%s has %s; take more, or say how "+
			"they are quantised: weights=fp8", name, memory.Bytes(int64(c.Weights)), v.Text("hardware"),
			memory.Bytes(int64(c.Memory)))
	}
	c.Decode = c.Weights / (c.Bandwidth * v.Float("mbu"))
	if given := v.Float("decode_ms"); given >= 0 {
		c.Decode = given / 1e3
	}
	return c, name, nil
}

// prefillReplay is a cache, or several nodes, in the form that package prefill needs.
type prefillReplay struct {
	*groupReplay
	promptCache
	nodes    Nodes   // nil: one
	assigned []int32 // per prompt: its node
	order    []int32 // prompts in the order in which they began, on several nodes
}

func (r *prefillReplay) Begin(i int) prefill.Hit {
	if r.nodes != nil {
		r.order = append(r.order, int32(i))
	}
	_, s := r.serve(i)
	return prefill.Hit{Tokens: int(s.HitTokens), Calls: s.Cost.Calls, Predictions: s.Cost.Predictions,
		Trained: s.Cost.Training.Work}
}

// Nodes, Assign, Changes and Resize implement prefill.Nodes.
func (r *prefillReplay) Nodes() int               { return r.nodes.Nodes() }
func (r *prefillReplay) Changes() []time.Duration { return r.nodes.Changes() }
func (r *prefillReplay) Resize()                  { r.nodes.Resize() }

func (r *prefillReplay) Assign(i int, now time.Duration) int {
	node := r.nodes.Assign(i, now)
	r.assigned[i] = int32(node)
	return node
}

// tell passes to Timed how long each prompt took, in the order in which they began.
func (r *prefillReplay) tell(all []prefill.Served) {
	if r.nodes == nil || r.Timed == nil {
		tell(r.groupReplay, all, timesOf)
		return
	}
	timed := make([]Timed, len(r.order))
	served := 0
	for k, i := range r.order {
		timed[k] = Timed{First: served, Latency: all[i].FirstToken - all[i].Arrived}
		served += r.length(int(i))
	}
	r.Timed(timed)
}

// setNodeLatencies sets the P99 of each of several nodes.
func (r *prefillReplay) setNodeLatencies(all []prefill.Served, v *metric.Values) {
	if r.nodes == nil {
		return
	}
	of := make([][]prefill.Served, mostNodesReported)
	for i := r.firstCounted(); i < len(all); i++ {
		if node := r.assigned[i]; node < mostNodesReported {
			of[node] = append(of[node], all[i])
		}
	}
	for node, served := range of {
		if len(served) > 0 {
			v.SetNamed(NodeLatencyP99.Of(strconv.Itoa(node)), newLatency(served, len(served), timesOf).P99)
		}
	}
}

// setTenantLatencies sets the latencies of the tenants with the most requests; ties go to earlier ones.
func (r *prefillReplay) setTenantLatencies(all []prefill.Served, v *metric.Values) {
	tenants := r.Trace.Tenants
	if tenants == nil {
		return
	}
	of := make([][]prefill.Served, len(tenants.Names))
	requests, order := make([]int, len(of)), make([]int, len(of))
	for i := r.firstCounted(); i < len(all); i++ {
		tenant := tenants.OfPrompt[i]
		of[tenant] = append(of[tenant], all[i])
		blocks, _ := r.Trace.Group(i)
		requests[tenant] += prompts.Of(r.Trace.Kind).Requested(i, blocks)
	}
	for tenant := range order {
		order[tenant] = tenant
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(requests[b], requests[a]) })
	for _, tenant := range order[:min(len(order), mostTenantsReported)] {
		if served := of[tenant]; len(served) > 0 {
			l := newLatency(served, len(served), timesOf)
			v.SetNamed(TenantLatencyMean.Of(tenants.Names[tenant]), l.Mean)
			v.SetNamed(TenantLatencyP99.Of(tenants.Names[tenant]), l.P99)
		}
	}
}
