// Package records defines the result of one replay as one flat record, its identity (what was replayed, and how) and
// values of metrics, and reads and writes records as JSON lines, CSV and Parquet. Tables, figures and checks are made
// from records alone, so that any of them can be redrawn without replaying.
package records

import (
	"github.com/cachesim/cachesim/internal/metric"
)

// Units of capacity.
const (
	Objects = "objects"
	Bytes   = "bytes"
)

// Record is the outcome of one policy at one capacity on one trace. Its fields say what was replayed and how, its
// values what came of it; both stand side by side in files, where a metric that was not measured is absent. A field
// that is tagged added:"later" may be absent too, as programs wrote records before it existed; it is then zero. One
// that is tagged added:"rare" is absent where no record of a file has it.
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
	// how the tenant of a request is told, as for --tenant; "" where requests have none
	Tenants string `json:"tenants" parquet:"tenants" added:"rare"`
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
	// what proposes what to load besides what is asked for; "" where nothing does
	Prefetcher string `json:"prefetcher" parquet:"prefetcher" added:"rare"`
	// that divides the capacity among the tenants; "" where nobody does
	Allocator string `json:"allocator" parquet:"allocator" added:"rare"`
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
	// Series is the window of the rows that package series keeps of the replay, as it reads it: "10000", "1h0m0s"; ""
	// where none were asked for. SeriesDigest is that of the rows.
	Series       string `json:"series" parquet:"series" added:"rare"`
	SeriesDigest string `json:"series_digest" parquet:"series_digest" added:"rare"`

	// What was measured: hits, misses, ratios, times, the counters of the parts. The packages of the parts declare it.
	metric.Values

	// Optimum names the optimum that plays by the same rules at the same capacity: opt, opt-bypass or, where it is
	// unknown, the schedule in its place: belady-size for sized objects, farthest-similar or farthest-similar-bypass where
	// similar queries answer each other.
	Optimum string `json:"optimum" parquet:"optimum"`

	// highest hit ratio among the online policies of this trace and capacity
	Best    bool   `json:"best" parquet:"best"`
	Version string `json:"version" parquet:"version"` // of the program

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
