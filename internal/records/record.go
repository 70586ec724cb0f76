// Package records defines the result of one replay as one flat record, and reads and writes records as JSON lines, CSV
// and Parquet. Tables, figures and checks are made from records alone, so that any of them can be redrawn without
// replaying.
package records

// Units of capacity.
const (
	Objects = "objects"
	Bytes   = "bytes"
)

// Record is the outcome of one policy at one capacity on one trace. Pointers are nil, and null in JSON, where the
// figure does not exist: byte figures where the capacity counts objects, the interval where it counts them, ratios
// without an optimum. A field that is tagged added:"later" may be absent in files, as programs wrote records before it
// existed; it is then zero.
type Record struct {
	// Trace names what was replayed; the fields up to SampleSeed say where it comes from and how it was read, so that it
	// can be replayed again.
	Trace string `json:"trace" parquet:"trace"`
	// paths, one per line, "-" for standard input; "" if generated
	TraceFiles string `json:"trace_files" parquet:"trace_files"`
	// the generator with every parameter, its seed among them; "" for files
	TraceGenerator string `json:"trace_generator" parquet:"trace_generator"`
	// "sha256:" and the digest of the file's bytes, or of the digests of several; "" if generated or not taken
	TraceChecksum string `json:"trace_checksum" parquet:"trace_checksum"`
	// InputFormat reads the files the same way again, as for --input-format; "" if generated, or if that is another for
	// each file.
	InputFormat string `json:"input_format" parquet:"input_format"`
	// ReadAs says for people what the files were read as; "" in records of older programs.
	ReadAs string `json:"read_as" parquet:"read_as" added:"later"`
	// LeftOut counts rows of the files and requests, those of size 0 say, that were left out.
	LeftOut int64 `json:"left_out" parquet:"left_out" added:"later"`
	Merge   bool  `json:"merge" parquet:"merge"` // files were merged by time
	// the cache was empty again at the start of each file; counts are sums
	PerFile    bool    `json:"per_file" parquet:"per_file"`
	Limit      int64   `json:"limit" parquet:"limit"`             // requests read at most; 0 for all
	SampleRate float64 `json:"sample_rate" parquet:"sample_rate"` // 1 without sampling
	SampleSeed uint64  `json:"sample_seed" parquet:"sample_seed"` // which sample; 0 without sampling
	// Embeddings says where those of queries come from: "trace", the file beside it, or an embedder with every parameter;
	// "" where similarity plays no part.
	Embeddings string `json:"embeddings" parquet:"embeddings"`

	Policy string `json:"policy" parquet:"policy"` // name without parameters
	Params string `json:"params" parquet:"params"` // every parameter: "small=0.1,ghost=0.9"
	// the policy as the user writes it: parameters that differ from the defaults only
	Label string `json:"label" parquet:"label"`
	Kind  string `json:"kind" parquet:"kind"` // online, offline or bound
	// that the policy asks, with the parameters that differ from the defaults; "" where it asks none
	Predictor string `json:"predictor" parquet:"predictor"`
	Cache     string `json:"cache" parquet:"cache"` // what a hit is: "exact", "prefix", "sets(ways=32)"
	// of the time that requests take; "" where hits are counted and nothing else
	Model        string `json:"model" parquet:"model"`
	Capacity     int64  `json:"capacity" parquet:"capacity"`           // in CapacityUnit
	CapacityUnit string `json:"capacity_unit" parquet:"capacity_unit"` // "objects" or "bytes"
	CapacityText string `json:"capacity_text" parquet:"capacity_text"` // as the user wrote it: "1%", "64MiB", "1000"
	// CapacityShare is Capacity over the trace's distinct objects, or over the sum of their sizes.
	CapacityShare *float64 `json:"capacity_share" parquet:"capacity_share,optional"`
	// SimulatedCapacity is what the replayed cache held: SampleRate times Capacity on a sampled trace.
	SimulatedCapacity int64  `json:"simulated_capacity" parquet:"simulated_capacity"`
	Seed              uint64 `json:"seed" parquet:"seed"`
	Warmup            int64  `json:"warmup" parquet:"warmup"` // requests served before counting began

	Requests int64 `json:"requests" parquet:"requests"`
	Hits     int64 `json:"hits" parquet:"hits"`
	Misses   int64 `json:"misses" parquet:"misses"`
	// hits/requests; on a sample the estimate for the whole trace
	HitRatio  float64 `json:"hit_ratio" parquet:"hit_ratio"`
	Evictions int64   `json:"evictions" parquet:"evictions"`
	// requests to objects larger than the cache, counted as misses
	Oversized    int64    `json:"oversized" parquet:"oversized"`
	Bytes        *int64   `json:"bytes" parquet:"bytes,optional"`
	HitBytes     *int64   `json:"hit_bytes" parquet:"hit_bytes,optional"`
	ByteHitRatio *float64 `json:"byte_hit_ratio" parquet:"byte_hit_ratio,optional"`

	// Of caches that serve prompts; nil for others. Requests, hits and misses are blocks there.
	Prompts       *int64   `json:"prompts" parquet:"prompts,optional"`
	Tokens        *int64   `json:"tokens" parquet:"tokens,optional"` // of the prompts
	HitTokens     *int64   `json:"hit_tokens" parquet:"hit_tokens,optional"`
	TokenHitRatio *float64 `json:"token_hit_ratio" parquet:"token_hit_ratio,optional"`
	BlockHitRatio *float64 `json:"block_hit_ratio" parquet:"block_hit_ratio,optional"`

	// Of caches that serve queries; nil for others. NormalizedHitRatio is Hits over those of the infinite cache on the
	// same requests. It can exceed 1 where similar queries answer each other.
	NormalizedHitRatio *float64 `json:"normalized_hit_ratio" parquet:"normalized_hit_ratio,optional"`
	// Where the trace says by labels which answer is right; nil for others.
	LabelledRequests *int64 `json:"labelled_requests" parquet:"labelled_requests,optional"` // requests with a label
	// those of them that hit an entry with a label
	LabelledHits *int64 `json:"labelled_hits" parquet:"labelled_hits,optional"`
	// those of them that hit an entry with another label
	WrongHits *int64 `json:"wrong_hits" parquet:"wrong_hits,optional"`
	// WrongHits/LabelledRequests: users with a wrong answer
	WrongAnswerRatio *float64 `json:"wrong_answer_ratio" parquet:"wrong_answer_ratio,optional"`
	// WrongHits/LabelledHits: answers from the cache that are wrong
	WrongHitRatio *float64 `json:"wrong_hit_ratio" parquet:"wrong_hit_ratio,optional"`

	// Of replays with a model; nil for others. Times are in milliseconds of the model's clock.
	LatencyMean *float64 `json:"latency_mean_ms" parquet:"latency_mean_ms,optional"`
	LatencyP50  *float64 `json:"latency_p50_ms" parquet:"latency_p50_ms,optional"`
	LatencyP95  *float64 `json:"latency_p95_ms" parquet:"latency_p95_ms,optional"`
	LatencyP99  *float64 `json:"latency_p99_ms" parquet:"latency_p99_ms,optional"`
	// of what the model counts, per second of its clock
	Throughput *float64 `json:"throughput" parquet:"throughput,optional"`

	// Of policies that ask a predictor; nil for others.
	PredictorCalls *int64 `json:"predictor_calls" parquet:"predictor_calls,optional"` // times it was asked
	Predictions    *int64 `json:"predictions" parquet:"predictions,optional"`         // objects it was asked about

	// Optimum names the optimum that plays by the same rules at the same capacity: opt, opt-bypass or, where it is
	// unknown, the schedule in its place: belady-size for sized objects, farthest-similar or farthest-similar-bypass where
	// similar queries answer each other.
	Optimum   string `json:"optimum" parquet:"optimum"`
	OptMisses *int64 `json:"opt_misses" parquet:"opt_misses,optional"`
	// CompetitiveRatio is Misses/OptMisses. For sized objects, and where similar queries answer each other, the optimum is
	// unknown: CompetitiveRatio is then the lower end of the interval, Misses/misses(belady-size or farthest-similar), and
	// CompetitiveRatioMax the upper end, Misses/LowerBoundMisses (pfoo-l or pfoo-similar).
	CompetitiveRatio    *float64 `json:"competitive_ratio" parquet:"competitive_ratio,optional"`
	LowerBoundMisses    *float64 `json:"lower_bound_misses" parquet:"lower_bound_misses,optional"`
	CompetitiveRatioMax *float64 `json:"competitive_ratio_max" parquet:"competitive_ratio_max,optional"`

	// nil where no time was taken, and in a sweep, whose records do not depend on the machine
	NsPerRequest *float64 `json:"ns_per_request" parquet:"ns_per_request,optional"`
	// PredictionNsPerRequest is the part of NsPerRequest that predictions took.
	PredictionNsPerRequest *float64 `json:"prediction_ns_per_request" parquet:"prediction_ns_per_request,optional"`
	// highest hit ratio among the online policies of this trace and capacity
	Best bool `json:"best" parquet:"best"`
	// the policy's own figures: "name=value,name=value"
	Counters string `json:"counters" parquet:"counters"`
	Version  string `json:"version" parquet:"version"` // of the program

	// further axes of an experiment: "small=0.1,alpha=0.9"; "" outside of experiments
	Axes string `json:"axes" parquet:"axes"`
	Cell string `json:"cell" parquet:"cell"` // hash of everything that determines this record; "" outside of experiments
	// Plan is the digest of the plan of a sweep that this record was made for; "" outside of experiments.
	Plan string `json:"plan" parquet:"plan" added:"later"`

	// FileRecords is how many records were written together with this one, itself among them, so that it is seen if
	// some are lost.
	FileRecords int64 `json:"file_records" parquet:"file_records" added:"later"`
	// Digest is that of all other fields that are set. It is made where a record is written, and checked where it is
	// read.
	Digest string `json:"digest" parquet:"digest" added:"later"`
}
