package nodemodels

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/recommender"
)

// Metrics of nodes that serve recommendations. A window is an epoch of a node. Means are over the windows of all nodes
// after the warm-up.
var (
	SLOSatisfied = metric.Metric{Name: "slo_satisfied", Title: "within the objective", Unit: metric.Share, Digits: 2,
		Better: metric.Higher, Merge: metric.Apart, Column: metric.Column{At: 41, Head: "in SLO", Weight: 75},
		Figure: metric.Figure{Title: "Requests within the objective", Axis: "share of requests"},
		Doc:    "share of the requests whose latency is within the objective"}
	WindowP99 = metric.Metric{Name: "p99_window_ms", Title: "P99 of a window (ms)", Unit: metric.Milliseconds, Digits: 2,
		Better: metric.Lower, Merge: metric.Apart, Column: metric.Column{At: 42, Head: "window P99", Weight: 85},
		Figure: metric.Figure{Title: "P99 latency of a window", Axis: "mean P99 of the windows (ms)"},
		Doc:    "mean over the windows of their P99 latency"}
	WindowP99Max = metric.Metric{Name: "p99_window_max_ms", Title: "largest P99 of a window (ms)",
		Unit: metric.Milliseconds, Digits: 2, Better: metric.Lower, Merge: metric.Max,
		Doc: "largest P99 latency of a window"}
	KVHitRatio = metric.Metric{Name: "kv_hit_ratio", Title: "KV hit ratio", Unit: metric.Share, Digits: 2,
		Better: metric.Higher, Merge: metric.Apart, Column: metric.Column{At: 43, Head: "KV hits", Weight: 60},
		Doc: "share of the requests whose user's keys and values were resident"}
	EMBHitRatio = metric.Metric{Name: "emb_hit_ratio", Title: "EMB hit ratio", Unit: metric.Share, Digits: 2,
		Better: metric.Higher, Merge: metric.Apart, Column: metric.Column{At: 43, Head: "EMB hits", Weight: 60},
		Doc: "share of the rows of embeddings that were resident when a request read them"}
	LatencyEMB   = partMetric("emb", "transfers of embeddings")
	LatencyKV    = partMetric("kv", "computation, of keys and values that are missing and of what follows them")
	LatencyQueue = partMetric("queue", "waiting for a GPU")
	EMBShare     = metric.Metric{Name: "latency_emb_share", Title: "share of the latency in transfers", Unit: metric.Share,
		Digits: 1, Merge: metric.Apart, Doc: "share of the latency of all requests in transfers of embeddings"}
	EMBRatio = metric.Metric{Name: "ratio", Title: "share of the memory for EMB", Unit: metric.Share, Digits: 1,
		Merge: metric.Apart, Column: metric.Column{At: 44, Head: "ratio", Weight: 58},
		Doc: "mean share of the memory of a node that belongs to its embeddings"}
	BestRatio = metric.Metric{Name: "ratio_best", Title: "best share of the memory for EMB", Unit: metric.Share,
		Digits: 1, Merge: metric.Apart,
		Doc: "mean over the windows of the ratio with the least P99 for the load of the window, by the fluid model"}
	LeastBest = metric.Metric{Name: "ratio_best_min", Title: "smallest best share of the memory for EMB",
		Unit: metric.Share, Digits: 1, Merge: metric.Apart, Doc: "smallest ratio_best of a window"}
	MostBest = metric.Metric{Name: "ratio_best_max", Title: "largest best share of the memory for EMB",
		Unit: metric.Share, Digits: 1, Merge: metric.Apart, Doc: "largest ratio_best of a window"}
	RatioGap = metric.Metric{Name: "ratio_gap", Title: "distance from the best ratio", Unit: metric.Ratio, Digits: 3,
		Better: metric.Lower, Merge: metric.Apart, Column: metric.Column{At: 44, Head: "gap", Weight: 57},
		Figure: metric.Figure{Title: "Distance from the best ratio", Axis: "mean |ratio - best ratio|"},
		Doc:    "mean over the windows of the distance between the ratio and the best one"}
	RatioMoved = metric.Metric{Name: "ratio_moved", Title: "how far the ratio moved", Unit: metric.Ratio, Digits: 3,
		Merge: metric.Apart, Doc: "sum over the windows of the changes of the ratio, in either direction, per node"}
	RefillBytes = metric.Metric{Name: "refill_bytes", Unit: metric.Bytes, Better: metric.Lower,
		Doc: "bytes of embeddings that were loaded in the background, since their cache had grown"}
	RefillTime = metric.Metric{Name: "refill_s_max", Title: "longest refill (s)", Unit: metric.Seconds, Digits: 1,
		Better: metric.Lower, Merge: metric.Max,
		Doc: "longest time in which a node had room for embeddings that were to be refilled; absent with refill=off"}
	MissBytes = metric.Metric{Name: "miss_bytes", Unit: metric.Bytes, Better: metric.Lower,
		Doc: "bytes of the rows of embeddings that requests missed"}
	EMBPrefetchBytes = metric.Metric{Name: "emb_prefetch_bytes", Unit: metric.Bytes,
		Doc: "bytes of embeddings that were loaded for requests that still waited; absent without prefetch="}
	LinkPeak = metric.Metric{Name: "h2d_gbs_max", Title: "most from the host to a GPU (GB/s)",
		Unit: metric.GigabytesPerSecond, Digits: 2, Better: metric.Lower, Merge: metric.Max,
		Doc: "largest rate at which a GPU received embeddings from its host, refill, misses and " +
			"prefetches together"}
	RoutingScore = metric.Metric{Name: "routing_score", Unit: metric.Ratio, Digits: 3, Better: metric.Higher,
		Merge: metric.Apart, Doc: "mean score that the router gave the nodes which it chose; absent without scores"}
	NodeUtilisation = metric.Metric{Name: "node_utilisation", Title: "utilisation of the GPUs", Unit: metric.Share,
		Digits: 1, Merge: metric.Apart, Doc: "share of the time in which a GPU serves a request"}
	DecisionTime = metric.Metric{Name: "decision_ns", Title: "time of a decision (ns)", Unit: metric.Nanoseconds,
		OfMachine: true, Better: metric.Lower, Merge: metric.Apart,
		Doc: "mean time in which the allocator decided on the ratio of a node, on this machine"}
	UnstableWindows = metric.Metric{Name: "unstable", Title: "unstable windows", Unit: metric.Count,
		Better: metric.Lower, Column: metric.Column{At: 46, Head: "unstable", Weight: 30, IfAny: true},
		Doc: "windows in which more work came to a node than its GPUs can do"}
)

// partMetric returns the metric of a part of the latency. The rest of the latency is the same for every request.
func partMetric(part, what string) metric.Metric {
	return metric.Metric{Name: "latency_" + part + "_ms", Unit: metric.Milliseconds, Digits: 3, Better: metric.Lower,
		Merge: metric.Apart, Doc: "mean part of the latency in " + what}
}

// Metrics of windows only, in series.
var (
	P99 = metric.Metric{Name: "p99_ms", Title: "P99 latency (ms)", Unit: metric.Milliseconds, Digits: 2,
		Better: metric.Lower, Merge: metric.Apart, Doc: "P99 latency in a window of a series"}
	HotShare = metric.Metric{Name: "hot_share", Unit: metric.Share, Digits: 1, Merge: metric.Apart,
		Doc:    "share of the requests in a window of a series that hot users make",
		Figure: metric.Figure{Axis: "share of the requests of hot users"}}
	RefillRate = metric.Metric{Name: "refill_gbs", Title: "refill (GB/s)", Unit: metric.GigabytesPerSecond, Digits: 2,
		Merge: metric.Apart, Doc: "10^9 bytes of embeddings per second that are refilled, in a window of a series"}
	MissRate = metric.Metric{Name: "miss_gbs", Title: "misses (GB/s)", Unit: metric.GigabytesPerSecond, Digits: 2,
		Merge: metric.Apart, Doc: "10^9 bytes of embeddings per second that requests miss, in a window of a series"}
	ArrivalRate = metric.Metric{Name: "rate", Title: "requests per second", Unit: metric.PerSecond, Digits: 1,
		Merge: metric.Apart, Doc: "requests per second that arrive, in a window of a series"}
)

// servingMetrics are reported by every model of such nodes.
var servingMetrics = []metric.Metric{
	LatencyEMB, LatencyKV, LatencyQueue, EMBShare, SLOSatisfied, WindowP99, WindowP99Max, KVHitRatio, EMBHitRatio,
	EMBRatio, BestRatio, LeastBest, MostBest, RatioGap, RatioMoved,
	RefillBytes, MissBytes, LinkPeak, RoutingScore, NodeUtilisation, DecisionTime, UnstableWindows, P99, HotShare,
	RefillRate, MissRate, ArrivalRate,
	metric.InBatches(SLOSatisfied), metric.InBatches(WindowP99), metric.InBatches(RatioGap),
}

// setBests sets what follows from the best ratios of epochs; nothing if none is known.
func setBests(v *metric.Values, b hlem.Bests) {
	v.SetQuotient(BestRatio, b.Sum, float64(b.Epochs))
	v.SetQuotient(RatioGap, b.Gap, float64(b.Epochs))
	if b.Epochs > 0 {
		v.Set(LeastBest, b.Least)
		v.Set(MostBest, b.Most)
	}
}

// setBatches sets the values of windows in the batches of a run.
func setBatches(v *metric.Values, o recommender.InOrder) {
	v.SetBatches(WindowP99, statistics.Batches(o.P99s, metric.Batches, func(part []float64) float64 {
		return 1e3 * statistics.Mean(part)
	}))
	v.SetBatches(RatioGap, statistics.Batches(o.Gaps, metric.Batches, statistics.Mean))
}

// setLatencyBatches sets the values of requests in the batches of a run, for each of which a P99 is known.
func setLatencyBatches(v *metric.Values, latencies []float64, objective float64) {
	const fewest = 100 // requests of a batch
	if len(latencies) < fewest*metric.Batches {
		return
	}
	set := func(m metric.Metric, of func(part []float64) float64) {
		v.SetBatches(m, statistics.Batches(latencies, metric.Batches, of))
	}
	set(models.LatencyMean, func(part []float64) float64 { return 1e3 * statistics.Mean(part) })
	set(models.LatencyP99, func(part []float64) float64 {
		return 1e3 * statistics.Quantile(0.99, slices.Sorted(slices.Values(part)))
	})
	set(SLOSatisfied, func(part []float64) float64 {
		within := 0
		for _, x := range part {
			if x <= objective {
				within++
			}
		}
		return float64(within) / float64(len(part))
	})
}
