package replicas

import "github.com/cachesim/cachesim/internal/base/metric"

// Metrics of nodes that serve objects, besides those that they have in common with nodes that serve prompts.
var (
	ByteImbalance = metric.Metric{Name: "byte_imbalance", Unit: metric.Ratio, Digits: 3, Better: metric.Lower,
		Merge: metric.Apart, Column: metric.Column{At: 34, Head: "of bytes", Weight: 74},
		Doc: "requested bytes on the node with the most / their mean over the nodes"}
	OneCacheHitRatio = metric.Metric{Name: "one_cache_hit_ratio", Title: "one cache", Unit: metric.Share, Digits: 2,
		Merge: metric.Apart, Column: metric.Column{At: 34, Head: "one cache", Weight: 73,
			Note: "one cache: the hit ratio of the same policy in one cache as large as all nodes together"},
		Doc: "hit ratio of the same policy in one cache as large as all nodes together"}
	BelowOneCache = metric.Metric{Name: "below_one_cache", Title: "below one cache", Unit: metric.Share, Digits: 2,
		Better: metric.Lower, Merge: metric.Apart,
		Doc: "one_cache_hit_ratio less the hit ratio: what the nodes lose to one cache; below 0 if they gain"}
	ObjectsMoved = metric.Metric{Name: "objects_moved", Unit: metric.Share, Digits: 2, Merge: metric.Apart,
		Column: metric.Column{At: 36, Head: "moved", Weight: 62, IfAny: true},
		Doc:    "share of the objects that have another node after nodes are lost or added, summed over all such changes"}
	ChangedHitRatio = metric.Metric{Name: "changed_hit_ratio", Title: "hits afterwards", Unit: metric.Share, Digits: 2,
		Better: metric.Higher, Merge: metric.Apart, Column: metric.Column{At: 36, Head: "hits after", Weight: 63},
		Doc: "hit ratio of the requests after the last change of the nodes"}

	SharedCapacity = metric.Metric{Name: "shared_capacity", Unit: metric.Count, Merge: metric.Max,
		Doc: "capacity of the second level that all nodes share, in the unit of capacities"}
	SharedRequests = metric.Metric{Name: "shared_requests", Unit: metric.Count,
		Doc: "requests that the second level got: what the nodes missed, and writes"}
	SharedHits = metric.Metric{Name: "shared_hits", Unit: metric.Count, Better: metric.Higher,
		Doc: "misses of the nodes that the second level served; they count as hits"}
	SharedHitShare = metric.Metric{Name: "shared_hit_share", Title: "second level", Unit: metric.Share, Digits: 2,
		Better: metric.Higher, Merge: metric.Apart, Column: metric.Column{At: 34, Head: "second level", Weight: 76},
		Doc: "share of all requests that the second level served"}

	NodeRequests = metric.Metric{Name: "node_requests", Unit: metric.Count, Labels: "node",
		Doc: "requests for objects that a node served; the first 64 nodes are reported one by one"}
	NodeMisses = metric.Metric{Name: "node_misses", Unit: metric.Count, Labels: "node", Better: metric.Lower,
		Doc: "those that missed"}
	NodeBytes = metric.Metric{Name: "node_bytes", Unit: metric.Bytes, Labels: "node",
		Doc: "requested bytes of a node, if capacities count bytes"}
	NodeHitRatio = metric.Metric{Name: "node_hit_ratio", Unit: metric.Share, Digits: 2, Labels: "node",
		Better: metric.Higher, Merge: metric.Apart, Doc: "hit ratio of a node"}

	// ObjectMetrics are all of them.
	ObjectMetrics = []metric.Metric{ByteImbalance, OneCacheHitRatio, BelowOneCache, ObjectsMoved, ChangedHitRatio,
		SharedCapacity, SharedRequests, SharedHits, SharedHitShare, NodeRequests, NodeMisses, NodeBytes, NodeHitRatio}
)
