package metric

import "slices"

// Metrics of every cache, whatever counts as a hit in it.
var (
	Requests = Metric{Name: "requests", Checked: true, Unit: Count,
		Doc: "counted requests, without a warm-up; blocks if prompts are served"}
	Hits = Metric{Name: "hits", Checked: true, Unit: Count, Better: Higher, Doc: "requests that the cache answers"}
	// For a bound, misses are the fewest that any schedule can have.
	Misses = Metric{Name: "misses", Checked: true, Unit: Count, Better: Lower, Column: Column{At: 80, Weight: 40},
		Doc: "requests that the cache does not answer"}
	HitRatio = Metric{Name: "hit_ratio", Checked: true, Unit: Share, Digits: 2, Better: Higher, Merge: Apart,
		Column: Column{At: 10, Weight: 95}, Figure: Figure{Title: "Hit ratio"},
		Doc: "hits / requests; on a sample of plain objects, the estimate for the whole trace"}
	Evictions = Metric{Name: "evictions", Checked: true, Unit: Count,
		Doc: "objects evicted to make room, or expired"}
	Oversized = Metric{Name: "oversized", Checked: true, Unit: Count,
		Doc: "requests for objects larger than the cache, which miss and load nothing"}
)

// Always are the metrics in every record.
var Always = []Metric{Requests, Hits, Misses, HitRatio, Evictions, Oversized}

// HitsInFlight is the hit ratio if what was on its way counts as there (IGTCache, arXiv 2506.12370, section 5.2).
// Models and prefetchers in which objects arrive later have it; how many requests found their object on its way is a
// metric of its own.
var HitsInFlight = Metric{Name: "hits_in_flight", Title: "hits, with those in flight", Unit: Share, Digits: 2,
	Better: Higher, Merge: Apart,
	Doc: "share of the requests that hit, or found their object on its way (delayed_hits, prefetch_late): hit_ratio if " +
		"these count as hits; absent where nothing arrives later"}

// Metrics of every cache with a capacity in bytes.
var (
	RequestedBytes = Metric{Name: "bytes", Checked: true, Unit: Bytes, Doc: "total size of the requests"}
	HitBytes       = Metric{Name: "hit_bytes", Checked: true, Unit: Bytes, Better: Higher,
		Doc: "sizes of what is requested and hits"}
	ByteHitRatio = Metric{Name: "byte_hit_ratio", Checked: true, Unit: Share, Digits: 2, Better: Higher,
		Merge:  Quotient(HitBytes, RequestedBytes),
		Column: Column{At: 70, Weight: 90}, Figure: Figure{Title: "Byte hit ratio"},
		Doc: "hit_bytes / bytes"}
)

// Metrics that compare a policy with others at the same capacity and under the same rules.
var (
	OptMisses = Metric{Name: "opt_misses", Checked: true, Unit: Count,
		Doc: "misses of the optimum that the record names, or of the schedule that replaces it"}
	CompetitiveRatio = Metric{Name: "competitive_ratio", Unit: Ratio, Digits: 3, Better: Lower,
		Merge: Quotient(Misses, OptMisses), Column: Column{At: 90, Head: "ratio", Digits: 2, Weight: 60},
		Figure: Figure{Title: "Competitive ratio", Axis: "competitive ratio (misses / optimum)",
			Interval: "competitive ratio, up to the lower bound", Base: 1},
		UpTo: "competitive_ratio_max",
		Doc:  "misses / opt_misses; if the optimum is unknown, the smallest possible ratio to it"}
	LowerBoundMisses = Metric{Name: "lower_bound_misses", Checked: true, Unit: Count, Fractions: true,
		Doc: "misses that no schedule can go below"}
	CompetitiveRatioMax = Metric{Name: "competitive_ratio_max", Unit: Ratio, Digits: 3, Better: Lower,
		Merge: Quotient(Misses, LowerBoundMisses),
		Doc:   "misses / lower_bound_misses: the largest possible ratio to the unknown optimum"}
	NormalizedHitRatio = Metric{Name: "normalized_hit_ratio", Checked: true, Unit: Share, Digits: 2, Better: Higher,
		Merge: Apart, Column: Column{At: 20, Head: "of infinite", Weight: 30, OfBounds: true,
			Note: "of infinite: hits / hits of the infinite cache"},
		Doc: "hits / hits of an unbounded cache; above 1 if similar queries answer each other and fewer of them do better"}
)

// Metrics of traces with requests that write, deletions and times to live.
var (
	Reads    = Metric{Name: "reads", Unit: Count, Doc: "counted requests that do not write"}
	ReadHits = Metric{Name: "read_hits", Unit: Count, Better: Higher, Doc: "requests that do not write and hit"}
	// ReadHitRatio is the hit ratio where writes fill the cache.
	ReadHitRatio = Metric{Name: "read_hit_ratio", Unit: Share, Digits: 2, Better: Higher,
		Merge: Quotient(ReadHits, Reads), Column: Column{At: 12, Head: "of reads", Weight: 35, Unlike: "hit_ratio"},
		Figure: Figure{Title: "Hit ratio of reads"}, Doc: "read_hits / reads; hit_ratio where writes fill the cache"}
	Lookups = Metric{Name: "lookups", Unit: Count, Doc: "requests of the trace that only look, with those of a warm-up: " +
		"where they miss, nothing is loaded"}
	Writes = Metric{Name: "writes", Unit: Count,
		Doc: "requests that write, without a warm-up; no part of requests where they fill the cache"}
	WriteHits = Metric{Name: "write_hits", Unit: Count, Better: Higher,
		Doc: "requests that write to a resident object"}
	WriteHitRatio = Metric{Name: "write_hit_ratio", Unit: Share, Digits: 2, Better: Higher,
		Merge: Quotient(WriteHits, Writes), Column: Column{At: 14, Head: "of writes", Weight: 34},
		Figure: Figure{Title: "Hit ratio of writes"}, Doc: "write_hits / writes"}
	Removals = Metric{Name: "removals", Unit: Count,
		Doc: "objects that left the cache because they were deleted, made invalid by a write, or expired"}
)

// Metrics of what the server that wrote a trace found in its own cache, the same for all policies.
var (
	LoggedRequests = Metric{Name: "logged_requests", Checked: true, Unit: Count, Merge: Apart,
		Doc: "counted requests of which the log says whether the cache of its server answered"}
	LoggedHitRatio = Metric{Name: "logged_hit_ratio", Checked: true, Unit: Share, Digits: 2, Merge: Apart,
		Doc: "the share of them that it answered"}
	LoggedByteHitRatio = Metric{Name: "logged_byte_hit_ratio", Checked: true, Unit: Share, Digits: 2, Merge: Apart,
		Doc: "the share of their bytes that it answered"}
	LoggedPrompts = Metric{Name: "logged_prompts", Checked: true, Unit: Count, Merge: Apart,
		Doc: "counted prompts of which the log says how many tokens its server found in its cache"}
	LoggedTokens = Metric{Name: "logged_tokens", Checked: true, Unit: Count, Merge: Apart,
		Doc: "the tokens of these prompts, as the server counts them"}
	LoggedHitTokens = Metric{Name: "logged_hit_tokens", Checked: true, Unit: Count, Merge: Apart,
		Doc: "those of them that it found"}
	LoggedTokenHitRatio = Metric{Name: "logged_token_hit_ratio", Checked: true, Unit: Share, Digits: 2, Merge: Apart,
		Doc: "logged_hit_tokens / logged_tokens"}
)

// Taken is declared by servers, whose setting may be no limit.
var Taken = Metric{Name: "taken_bytes", Title: "memory taken", Unit: Bytes, Merge: Max,
	Doc:    "most bytes that the server took of what its setting limits; more than the setting where that is no limit",
	Column: Column{At: 82, Head: "takes", Weight: 53}}

// NsPerRequest is the time that the program takes, not the time of a model.
var NsPerRequest = Metric{Name: "ns_per_request", Title: "ns/request", Unit: Nanoseconds, Digits: 1, Better: Lower,
	OfMachine: true,
	Merge:     MeanBy(Requests), Column: Column{At: 100, Digits: 1, Weight: 20},
	Doc: "time of the replay per request, including warm-up; absent in experiments"}

func init() {
	Register("every replay", Always...)
	Register("replays by bytes", RequestedBytes, HitBytes, ByteHitRatio)
	Register("comparison with the optimum", OptMisses, CompetitiveRatio, LowerBoundMisses, CompetitiveRatioMax,
		NormalizedHitRatio)
	Register("traces with writes", Reads, ReadHits, ReadHitRatio, Writes, WriteHits, WriteHitRatio)
	Register("traces with requests that only look", Lookups)
	Register("traces with deletions, invalidations or times to live, and writes on several nodes", Removals)
	Register("logs of servers with a cache", LoggedRequests, LoggedHitRatio, LoggedByteHitRatio,
		LoggedPrompts, LoggedTokens, LoggedHitTokens, LoggedTokenHitRatio)
	Register("every replay", NsPerRequest)
}

// IsAlways reports whether every record has the
func IsAlways(name string) bool {
	return slices.ContainsFunc(Always, func(m Metric) bool { return m.Name == name })
}
