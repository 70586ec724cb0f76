// Package records defines the result of one replay as one flat record, and reads and writes records as JSON lines, CSV and Parquet.
// Tables, figures and checks are made from records alone, so that any of them can be redrawn without replaying.
package records

// Units of capacity.
const (
	Objects = "objects"
	Bytes   = "bytes"
)

// Record is the outcome of one policy at one capacity on one trace. Pointers are nil, and null in JSON, where the figure does
// not exist: byte figures where the capacity counts objects, the interval where it counts them, ratios without an optimum.
type Record struct {
	Trace        string `json:"trace" parquet:"trace"`
	Policy       string `json:"policy" parquet:"policy"`               // name without parameters
	Params       string `json:"params" parquet:"params"`               // every parameter: "small=0.1,ghost=0.9"
	Label        string `json:"label" parquet:"label"`                 // the policy as the user writes it: parameters that differ from the defaults only
	Kind         string `json:"kind" parquet:"kind"`                   // online, offline or bound
	Cache        string `json:"cache" parquet:"cache"`                 // "exact"
	Capacity     int64  `json:"capacity" parquet:"capacity"`           // in CapacityUnit
	CapacityUnit string `json:"capacity_unit" parquet:"capacity_unit"` // "objects" or "bytes"
	// CapacityShare is Capacity over the trace's distinct objects, or over the sum of their sizes.
	CapacityShare *float64 `json:"capacity_share" parquet:"capacity_share,optional"`
	// SimulatedCapacity is what the replayed cache held: SampleRate times Capacity on a sampled trace.
	SimulatedCapacity int64   `json:"simulated_capacity" parquet:"simulated_capacity"`
	Seed              uint64  `json:"seed" parquet:"seed"`
	SampleRate        float64 `json:"sample_rate" parquet:"sample_rate"` // 1 without sampling
	Warmup            int64   `json:"warmup" parquet:"warmup"`           // requests served before counting began

	Requests     int64    `json:"requests" parquet:"requests"`
	Hits         int64    `json:"hits" parquet:"hits"`
	Misses       int64    `json:"misses" parquet:"misses"`
	HitRatio     float64  `json:"hit_ratio" parquet:"hit_ratio"` // hits/requests; on a sample the estimate for the whole trace
	Evictions    int64    `json:"evictions" parquet:"evictions"`
	Oversized    int64    `json:"oversized" parquet:"oversized"` // requests to objects larger than the cache, counted as misses
	Bytes        *int64   `json:"bytes" parquet:"bytes,optional"`
	HitBytes     *int64   `json:"hit_bytes" parquet:"hit_bytes,optional"`
	ByteHitRatio *float64 `json:"byte_hit_ratio" parquet:"byte_hit_ratio,optional"`

	// Optimum names the optimum that plays by the same rules at the same capacity: opt, opt-bypass or, for sized objects, belady-size.
	Optimum   string `json:"optimum" parquet:"optimum"`
	OptMisses *int64 `json:"opt_misses" parquet:"opt_misses,optional"`
	// CompetitiveRatio is Misses/OptMisses. For sized objects the optimum is unknown: CompetitiveRatio is then the lower end of the
	// interval, Misses/misses(belady-size), and CompetitiveRatioMax the upper end, Misses/LowerBoundMisses (pfoo-l).
	CompetitiveRatio    *float64 `json:"competitive_ratio" parquet:"competitive_ratio,optional"`
	LowerBoundMisses    *float64 `json:"lower_bound_misses" parquet:"lower_bound_misses,optional"`
	CompetitiveRatioMax *float64 `json:"competitive_ratio_max" parquet:"competitive_ratio_max,optional"`

	NsPerRequest float64 `json:"ns_per_request" parquet:"ns_per_request"`
	Best         bool    `json:"best" parquet:"best"`         // highest hit ratio among the online policies of this trace and capacity
	Counters     string  `json:"counters" parquet:"counters"` // the policy's own figures: "name=value,name=value"
	Version      string  `json:"version" parquet:"version"`   // of the program
}
