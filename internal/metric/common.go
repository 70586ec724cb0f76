package metric

// Metrics that every cache counts, whatever a hit is in it.
var (
	Requests = Metric{Name: "requests", Unit: Count,
		Doc: "requests that count, without those of a warm-up; blocks where prompts are served"}
	Hits = Metric{Name: "hits", Unit: Count, Better: Higher, Doc: "requests that the cache answers"}
	// Misses of a bound are the fewest that any schedule can have.
	Misses = Metric{Name: "misses", Unit: Count, Better: Lower, Column: Column{At: 80},
		Doc: "requests that the cache does not answer"}
	HitRatio = Metric{Name: "hit_ratio", Unit: Share, Digits: 2, Better: Higher, Merge: Apart, Column: Column{At: 10},
		Figure: Figure{Title: "Hit ratio"},
		Doc:    "hits / requests; on a sample of plain objects, the estimate for the whole trace"}
	Evictions = Metric{Name: "evictions", Unit: Count, Doc: "objects that left to make room, or because they expired"}
	Oversized = Metric{Name: "oversized", Unit: Count,
		Doc: "requests to objects larger than the cache, which are misses and load nothing"}
)

// Metrics of every cache whose capacity counts bytes.
var (
	RequestedBytes = Metric{Name: "bytes", Unit: Bytes, Doc: "sizes of what is requested, added up"}
	HitBytes       = Metric{Name: "hit_bytes", Unit: Bytes, Better: Higher, Doc: "sizes of what is requested and hits"}
	ByteHitRatio   = Metric{Name: "byte_hit_ratio", Unit: Share, Digits: 2, Better: Higher,
		Merge: Quotient(HitBytes, RequestedBytes), Column: Column{At: 70}, Figure: Figure{Title: "Byte hit ratio"},
		Doc: "hit_bytes / bytes"}
)

// Metrics that compare a policy with what else can be had at its capacity under the same rules.
var (
	OptMisses = Metric{Name: "opt_misses", Unit: Count,
		Doc: "misses of the optimum that the record names, or of the schedule that stands in for it"}
	CompetitiveRatio = Metric{Name: "competitive_ratio", Unit: Ratio, Digits: 3, Better: Lower,
		Merge: Quotient(Misses, OptMisses), Column: Column{At: 90, Head: "ratio"},
		Figure: Figure{Title: "Competitive ratio", Axis: "competitive ratio (misses / optimum)", Base: 1},
		Doc:    "misses / opt_misses; where the optimum is unknown, the least that the ratio to it can be"}
	LowerBoundMisses = Metric{Name: "lower_bound_misses", Unit: Count, Fractions: true,
		Doc: "misses that no schedule can undercut"}
	CompetitiveRatioMax = Metric{Name: "competitive_ratio_max", Unit: Ratio, Digits: 3, Better: Lower,
		Merge: Quotient(Misses, LowerBoundMisses),
		Doc:   "misses / lower_bound_misses: the most that the ratio to the unknown optimum can be"}
)

// NsPerRequest is the time that the program took, not that of a model.
var NsPerRequest = Metric{Name: "ns_per_request", Title: "ns/request", Unit: Nanoseconds, Digits: 1, Better: Lower,
	Merge: MeanBy(Requests), Column: Column{At: 100},
	Doc: "time of the replay per request, those of a warm-up included; absent in experiments"}

func init() {
	Register("every replay", Requests, Hits, Misses, HitRatio, Evictions, Oversized)
	Register("replays by bytes", RequestedBytes, HitBytes, ByteHitRatio)
	Register("comparison with the optimum", OptMisses, CompetitiveRatio, LowerBoundMisses, CompetitiveRatioMax)
	Register("every replay", NsPerRequest)
}
