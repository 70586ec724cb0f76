package prefetch

import "github.com/cachesim/cachesim/internal/base/metric"

// Metrics of every prefetcher. An object that is loaded again at the prefetcher's request is counted once.
var (
	Prefetches = metric.Metric{Name: "prefetches", Unit: metric.Count,
		Doc: "objects loaded because the prefetcher proposed them"}
	UsefulPrefetches = metric.Metric{Name: "prefetch_hits", Unit: metric.Count, Better: metric.Higher,
		Doc: "prefetched objects that were requested before they were evicted"}
	WastedPrefetches = metric.Metric{Name: "prefetch_wasted", Unit: metric.Count, Better: metric.Lower,
		Doc: "prefetched objects that were evicted unrequested, or were still unrequested at the end"}
	LateProposals = metric.Metric{Name: "prefetch_late", Unit: metric.Count, Better: metric.Lower,
		Doc: "proposed objects that were requested, and so missed, before they arrived: with a delay in requests"}
	Accuracy = metric.Metric{Name: "prefetch_accuracy", Title: "accuracy", Unit: metric.Share, Digits: 2,
		Better: metric.Higher, Merge: metric.Quotient(UsefulPrefetches, Prefetches),
		Column: metric.Column{At: 75, Weight: 50}, Figure: metric.Figure{Title: "Prefetch accuracy"},
		Doc: "prefetch_hits / prefetches"}
	Coverage = metric.Metric{Name: "prefetch_coverage", Title: "coverage", Unit: metric.Share, Digits: 2,
		Better: metric.Higher, Merge: metric.Apart,
		Column: metric.Column{At: 75, Weight: 50}, Figure: metric.Figure{Title: "Prefetch coverage"},
		Doc: "prefetch_hits / (prefetch_hits + misses): of what would have missed, the share that the prefetcher loaded in " +
			"time"}
	PrefetchedBytes = metric.Metric{Name: "prefetch_bytes", Unit: metric.Bytes,
		Doc: "sum of the sizes of prefetched objects"}
	WastedBytes = metric.Metric{Name: "prefetch_wasted_bytes", Unit: metric.Bytes, Better: metric.Lower,
		Doc: "sum of the sizes of objects that were prefetched in vain"}
)

// Every prefetcher reports Metrics (LateProposals and HitsInFlight with a delay in requests), and BytesMetrics too if
// capacities count bytes.
var (
	Metrics = []metric.Metric{Prefetches, UsefulPrefetches, WastedPrefetches, LateProposals, Accuracy, Coverage,
		metric.HitsInFlight}

	BytesMetrics = []metric.Metric{PrefetchedBytes, WastedBytes}
)
