// Package models computes the time that requests take: of batches of embedding lookups, of prompts to a language model
// and its generated tokens, and of jobs that read from a remote store. Each model serves a trace on a virtual clock;
// the folders beside it contain the computations. A model knows no caches: it states what it needs from one, and when a
// group of requests is served.
package models

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/traces"
)

// Entry describes one model of the time that requests take.
type Entry struct {
	Name    string
	Summary string // one line: what takes time
	Source  string // of the model and its constants
	Params  []params.Param
	// Metrics are the model's own, in addition to LatencyMetrics.
	Metrics []metric.Metric
	Cache   string   // the kind of cache that it works on; with Asynchronous others, too
	Also    []string // further kinds
	// Asynchronous says that objects arrive in the cache some time after they were requested, and that the model has
	// windows of its own: Config.Cache is a requests.Asynchronous, and Serve is not used. Such a model knows no future, so
	// whatever needs to know it cannot be combined with it.
	Asynchronous bool
	// Drives says that the model serves the requests from the cache itself and has windows of its own: Config.Cache is the
	// cache as it was built, which counts, and Serve is not used. Such a model knows no future, either, and may serve
	// requests in another order than the trace.
	Drives bool
	// Approximates says that it computes the hit ratios of LRU from how often objects are requested, instead of serving
	// requests: no other policy has them.
	Approximates bool
	// Reorders reports whether the requests may come in another order than in the trace, or not all of them; nil if they
	// never do.
	Reorders func(v params.Values) bool
	// Overlaps reports whether groups of requests run at the same time and hold what they need meanwhile; nil if they
	// never do.
	Overlaps func(v params.Values) bool
	// Routes says that it can serve groups on several nodes, each with a queue of its own: Config.Cache then implements
	// Nodes.
	Routes bool
	// Lengths says that it computes times of prompts from their lengths alone, if the contents are unknown and nothing can
	// hit.
	Lengths bool
	// Needs returns what it needs from the trace; nil for nothing.
	Needs func(v params.Values) traces.Needs
	// Check rejects values of Params that exclude each other, and traces that lack what they need; nil: nothing to check.
	Check func(v params.Values, t *traces.Trace) error
	// Resolve says in a sentence what the times are of: the model and the hardware with the values that are used; nil for
	// models whose parameters say it.
	Resolve func(v params.Values, t *traces.Trace) string
	// Run replays the trace through the cache on a virtual clock, and returns the metrics that it measures. It stops early
	// with ctx's error.
	Run func(ctx context.Context, c Config) (metric.Values, error)
}

// WorksOn reports whether the model works on a kind of cache, apart from those that Asynchronous permits.
func (e Entry) WorksOn(cache string) bool { return e.Cache == cache || slices.Contains(e.Also, cache) }

// Signature implements params.Named.
func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

// Describe implements params.Described.
func (e Entry) Describe() params.Description {
	works := "works on the cache " + strings.Join(append([]string{e.Cache}, e.Also...), ", ")
	if e.Asynchronous {
		works += ", and on others into which objects can arrive later"
	}
	return params.Description{Summary: e.Summary, Source: e.Source, Traits: []string{works}}
}

// Config is the environment of a model.
type Config struct {
	Trace  *traces.Trace
	Cache  any // serves the requests; each model states what it needs from it
	Params params.Values
	Warmup int // requests at the start that are served but not counted; fewer than the trace has
	// Serve serves the requests of the trace from one position to another, which are one group, and counts them. The model
	// calls it once for each group, in their order; with several nodes, in any order.
	Serve func(from, to int) Served
	// Unit says that the capacity of the cache counts objects.
	Unit bool
	// Capacity is that of the cache, as it counts it, in a model with Asynchronous.
	Capacity int64
	// Asked receives each request of a model with Asynchronous when it has been issued; may be nil.
	Asked func(bytes int64, hit bool)
	// EndWarmup says that counting starts now, in a model with Asynchronous or Drives.
	EndWarmup func()
	// Timed receives at the end how long each group took, in the order in which they were served; may be nil.
	Timed func([]Timed)
	// Windows are the windows of the series of a model with Asynchronous or Drives.
	Windows Windows
}

// Nodes are several caches, among which a router chooses. A group of requests is assigned to a node when it arrives,
// and again if its node is removed before the group is served.
type Nodes interface {
	// Nodes returns how many nodes exist: those with the lowest numbers.
	Nodes() int
	// Assign returns the node of a group that is assigned at a time since the start.
	Assign(group int, now time.Duration) (node int)
	// Changes are the times at which nodes are added or removed, Resize makes the next change.
	Changes() []time.Duration
	Resize()
}

// Windows are the windows of a series that a model fills.
type Windows = event.Windows[Window]

// Window is what happened in a window.
type Window struct {
	Asked  int64         // requests since the start
	Ends   time.Duration // since the start
	Values []WindowValue
}

// WindowValue is the value of a metric in a window, for what the label names; "" for everything.
type WindowValue struct {
	Name, Label string
	Value       float64
}

// Add adds the value of a metric.
func (w *Window) Add(m metric.Metric, label string, value float64) {
	w.Values = append(w.Values, WindowValue{m.Name, label, value})
}

// Served is the result of serving a group of requests.
type Served struct {
	HitTokens int64        // of a prompt
	Cost      predict.Cost // of the predictions meanwhile
}

// Timed is the time that a group of requests took.
type Timed struct {
	First   int // requests that were served before it
	Latency time.Duration
}

// Sum summarises the times of groups, without throughput.
func Sum(all []Timed) Latency {
	return newLatency(all, 0, func(t Timed) waited { return waited{0, t.Latency, t.Latency} })
}

// Latency is the time of what a model measures, after the warm-up: the lookups of a batch, or a prompt until its first
// token. A percentile is the smallest time that at least that many per cent do not exceed (nearest rank).
type Latency struct {
	Mean, P50, P95, P99 float64 // milliseconds
	Throughput          float64 // of what the model counts, per second of its clock
}

// waited are the times at which something arrived, reached the point that its latency measures, and left.
type waited struct{ arrived, served, done time.Duration }

// newLatency summarises the latencies of all waited; work is what was done in the meantime.
func newLatency[E any](all []E, work int, of func(E) waited) Latency {
	if len(all) == 0 {
		return Latency{}
	}
	times := make([]time.Duration, len(all))
	var end time.Duration
	for i, e := range all {
		w := of(e)
		times[i], end = w.served-w.arrived, max(end, w.done)
	}
	sorted := slices.Sorted(slices.Values(times))
	rank := func(share float64) float64 {
		return milliseconds(sorted[int(math.Ceil(share*float64(len(sorted))))-1])
	}
	l := Latency{P50: rank(0.50), P95: rank(0.95), P99: rank(0.99)}
	for _, t := range times {
		l.Mean += milliseconds(t) / float64(len(times))
	}
	if span := end - of(all[0]).arrived; span > 0 {
		l.Throughput = float64(work) / span.Seconds()
	}
	return l
}

// Values returns the latency as metrics.
func (l Latency) Values() (v metric.Values) {
	v.Set(LatencyMean, l.Mean)
	v.Set(LatencyP50, l.P50)
	v.Set(LatencyP95, l.P95)
	v.Set(LatencyP99, l.P99)
	v.Set(Throughput, l.Throughput)
	return v
}

func milliseconds(t time.Duration) float64 { return float64(t) / float64(time.Millisecond) }

// LatencyMetrics are the metrics of latency that every model reports.
var (
	LatencyMean = latencyMetric("mean", "mean", 80, metric.Figure{Title: "Mean latency", Axis: "mean latency (ms)",
		File: "latency_mean"})
	LatencyP50 = latencyMetric("p50", "P50", 45, metric.Figure{})
	LatencyP95 = latencyMetric("p95", "P95", 50, metric.Figure{})
	LatencyP99 = latencyMetric("p99", "P99", 70, metric.Figure{Title: "P99 latency", Axis: "P99 latency (ms)",
		File: "latency_p99"})
	Throughput = metric.Metric{Name: "throughput", Unit: metric.PerSecond, Digits: 1, Better: metric.Higher,
		Merge: metric.Apart, Column: metric.Column{At: 40, Weight: 65},
		Doc: "what the model counts (lookups, prompts, tokens) per second of its clock"}
	LatencyMetrics = []metric.Metric{LatencyMean, LatencyP50, LatencyP95, LatencyP99, Throughput}
)

// DelayedHits are of models in which a request can find its object on its way. They are misses, too;
// metric.HitsInFlight follows from them.
var DelayedHits = metric.Metric{Name: "delayed_hits", Unit: metric.Count,
	Doc: "misses that waited for the rest of a fetch that had already begun"}

func latencyMetric(which, head string, weight int, figure metric.Figure) metric.Metric {
	return metric.Metric{Name: "latency_" + which + "_ms", Unit: metric.Milliseconds, Digits: 3, Better: metric.Lower,
		Merge: metric.Apart, Column: metric.Column{At: 40, Head: head + " ms", Weight: weight}, Figure: figure,
		Doc: head + " of what the model measures, on its clock; percentiles by nearest rank"}
}

// names returns what users may choose from.
func names[T any](choices map[string]T) []string { return slices.Sorted(maps.Keys(choices)) }

// constant is one that a parameter, in a unit, may override.
type constant struct {
	name  string
	value *float64
	unit  float64
}

// override sets constants to those of their parameters that are not the default: 0, or -1 where 0 makes sense.
func override(v params.Values, otherwise float64, constants []constant) {
	for _, c := range constants {
		if given := v.Float(c.name); given > otherwise && given >= 0 {
			*c.value = given * c.unit
		}
	}
}

// Spec is a model with its parameters: what a user writes as `sls(host_gbs=120)`.
type Spec = params.Spec[Entry]

// Registry has the models in the order of `cachesim models`: first the models of this package, then of serving nodes.
var Registry = params.NewRegistry("model", "sls", slsEntry, prefillEntry, decodeEntry, storageEntry)

// groupReplay serves the groups of a trace one by one, when a model says so.
type groupReplay struct {
	Config
	starts []int // positions at which the groups begin
}

// serve serves group i. It returns its requests and the result.
func (r *groupReplay) serve(i int) ([]predict.Object, Served) {
	from := r.starts[i]
	to := from + r.length(i)
	return r.Trace.Objects[from:to], r.Serve(from, to)
}

// length returns the number of requests of group i.
func (r *groupReplay) length(i int) int {
	if i+1 < len(r.starts) {
		return r.starts[i+1] - r.starts[i]
	}
	return len(r.Trace.Objects) - r.starts[i]
}

// firstCounted returns the first group whose latency counts: the one with the first request after the warm-up. A
// warm-up that ends inside the last group leaves that one.
func (r *groupReplay) firstCounted() int {
	next, _ := slices.BinarySearch(r.starts, r.Warmup+1)
	return next - 1
}

// tell passes to Timed, if it is set, how long each group took.
func tell[E any](r *groupReplay, all []E, of func(E) waited) {
	if r.Timed == nil {
		return
	}
	timed := make([]Timed, len(all))
	for i, e := range all {
		w := of(e)
		timed[i] = Timed{First: r.starts[i], Latency: w.served - w.arrived}
	}
	r.Timed(timed)
}
