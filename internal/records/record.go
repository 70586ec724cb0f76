package records

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
)

// Units of capacity.
const (
	Objects = "objects"
	Bytes   = "bytes"
)

// Record is the result of one policy at one capacity on one trace. Its fields say what was replayed and how, its values
// contain what was measured. Files contain both; a metric that was not measured is absent, and so is a field tagged
// rare:"true" if no record of a file has it. A field tagged empty:"none" has that text in files where it is "" here.
type Record struct {
	// Trace names the workload.
	Trace string `json:"trace" parquet:"trace"`
	Origin
	SampleRate float64 `json:"sample_rate" parquet:"sample_rate"` // 1 without sampling
	SampleSeed uint64  `json:"sample_seed" parquet:"sample_seed"` // which sample; 0 without sampling
	// how a request's tenant is determined, as for --tenant; "" if requests have none
	Tenants string `json:"tenants" parquet:"tenants" rare:"true"`
	// By is the column of the labels by which hits are counted, as for --by; "" for none
	By string `json:"by" parquet:"by" rare:"true"`
	// WriteMode is what requests that write do to the cache, as for --writes; "" if the trace has none
	WriteMode string `json:"write_mode" parquet:"write_mode" rare:"true"`
	Sizing
	// Answers says how answers to prompts are replayed, as for --answers: kept or lengths; "" if they are ignored, or the
	// trace has none
	Answers string `json:"answers" parquet:"answers" rare:"true"`
	KVMemory
	// Contents is ContentsUnknown if the trace has only lengths of prompts: then the record's hits, misses and evictions
	// say nothing, and are 0 in files. "" otherwise.
	Contents string `json:"contents" parquet:"contents" rare:"true"`
	// Embeddings is the origin of the queries' embeddings: "trace", the file next to it, or an embedder with every
	// parameter; "" if similarity is not used.
	Embeddings string `json:"embeddings" parquet:"embeddings"`

	Policy string `json:"policy" parquet:"policy"` // name without parameters
	Params string `json:"params" parquet:"params"` // every parameter: "small=0.1,ghost=0.9"
	// the policy as the user writes it: only with parameters that differ from the defaults
	Label string `json:"label" parquet:"label"`
	Kind  string `json:"kind" parquet:"kind"` // online, offline or bound
	// the policy's predictor, with the parameters that differ from the defaults; "" if it uses none
	Predictor string `json:"predictor" parquet:"predictor"`
	// decides when a head of a language model loads another set of rows; "" if the policy does
	Reuse string `json:"reuse" parquet:"reuse" rare:"true"`
	// finds the tokens that a step asks for; "" for the default of the policy
	Retriever string `json:"retriever" parquet:"retriever" rare:"true"`
	// what to load besides requested objects; "" if nothing, which files call none
	Prefetcher string `json:"prefetcher" parquet:"prefetcher" empty:"none"`
	// divides the capacity among the tenants; "" if it is not divided, which files call none
	Allocator string `json:"allocator" parquet:"allocator" empty:"none"`
	// chooses the node of each prompt, and has their number; "" if there is one node
	Router string `json:"router" parquet:"router" rare:"true"`
	// decides what is written to tiers of storage; "" if everything is
	Admission string `json:"admission" parquet:"admission" rare:"true"`
	Cache     string `json:"cache" parquet:"cache"` // what counts as a hit: "exact", "prefix", "sets(ways=32)"
	// of the time that requests take; "" if hits are only counted
	Model string `json:"model" parquet:"model"`
	// what the times are of, with the values that are used; "" where Model says it
	Times string `json:"times_of" parquet:"times_of" rare:"true"`
	// "sha256:" and the digest of the file that a part reads, such as weights or a model, or of the digests of several;
	// "" if parts read none
	PartChecksum string `json:"part_checksum" parquet:"part_checksum" rare:"true"`
	Capacity     int64  `json:"capacity" parquet:"capacity"`           // in CapacityUnit
	CapacityUnit string `json:"capacity_unit" parquet:"capacity_unit"` // "objects" or "bytes"
	CapacityText string `json:"capacity_text" parquet:"capacity_text"` // as the user wrote it: "1%", "64MiB", "1000"
	// CapacityShare is Capacity divided by the trace's distinct objects, or by their total size.
	CapacityShare *float64 `json:"capacity_share" parquet:"capacity_share,optional"`
	// SimulatedCapacity is the capacity of the replayed cache: SampleRate times Capacity on a sampled trace. It counts
	// blocks if BlockBytes is set.
	SimulatedCapacity int64  `json:"simulated_capacity" parquet:"simulated_capacity"`
	Seed              uint64 `json:"seed" parquet:"seed"`
	Warmup            int64  `json:"warmup" parquet:"warmup"` // requests served before counting started
	// Series is the window of the replay's rows in package series, in its format: "10000", "1h0m0s"; "" without series.
	// SeriesDigest is the digest of the rows.
	Series       string `json:"series" parquet:"series" rare:"true"`
	SeriesDigest string `json:"series_digest" parquet:"series_digest" rare:"true"`

	// Prices are what memory and misses cost, as --cost takes them, and Currency what they and the cost are in; "" without
	// prices.
	Prices   string `json:"prices" parquet:"prices" rare:"true"`
	Currency string `json:"currency" parquet:"currency" rare:"true"`

	// The measured values: hits, misses, ratios, times, the counters of the parts. The packages of the parts declare them.
	metric.Values

	// Optimum names the optimum under the same rules at the same capacity: opt or opt-bypass. If the optimum is unknown it
	// is a schedule: belady-size for sized objects, farthest-similar or farthest-similar-bypass if similar queries answer
	// each other.
	Optimum string `json:"optimum" parquet:"optimum"`

	// highest hit ratio among the online policies of this trace and capacity
	Best    bool   `json:"best" parquet:"best"`
	Version string `json:"version" parquet:"version"` // of the program

	// further axes of an experiment: "small=0.1,alpha=0.9"; "" outside of experiments
	Axes string `json:"axes" parquet:"axes"`
	Cell string `json:"cell" parquet:"cell"` // hash of everything that determines this record; "" outside of experiments
	// Plan is the digest of the plan of a sweep that this record was made for; "" outside of experiments.
	Plan string `json:"plan" parquet:"plan"`

	// FileRecords is the number of records that were written together with this one, including itself, so that lost
	// records are noticed.
	FileRecords int64 `json:"file_records" parquet:"file_records"`
	// Digest is the digest of all other set fields. It is computed when a record is written, and checked when it is read.
	Digest string `json:"digest" parquet:"digest"`
}

// Origin is where a trace comes from and how it was read, so that it can be replayed again.
type Origin struct {
	// paths, one per line, "-" for standard input; "" if generated
	TraceFiles string `json:"trace_files" parquet:"trace_files"`
	// the generator with every parameter, its seed among them; "" for files
	TraceGenerator string `json:"trace_generator" parquet:"trace_generator"`
	// "sha256:" and the digest of the file's bytes, or of the digests of several files; "" if generated or not computed
	TraceChecksum string `json:"trace_checksum" parquet:"trace_checksum"`
	// InputFormat reads the files in the same way again, as --input-format does; "" if generated, or if each file has
	// another format.
	InputFormat string `json:"input_format" parquet:"input_format"`
	// ReadAs describes for people how the files were read.
	ReadAs string `json:"read_as" parquet:"read_as"`
	// LeftOut counts rows of the files and requests (for example of size 0) that were left out.
	LeftOut int64 `json:"left_out" parquet:"left_out"`
	// ReadsCut counts reads of files that were cut at the end of their file.
	ReadsCut int64 `json:"reads_cut" parquet:"reads_cut" rare:"true"`
	// BadLines counts lines of the files that could not be read, and were left out.
	BadLines int64 `json:"bad_lines" parquet:"bad_lines" rare:"true"`
	Merged   bool  `json:"merge" parquet:"merge"` // files were merged by time
	// the cache was empty at the start of each file; counts are sums
	PerFile bool  `json:"per_file" parquet:"per_file"`
	Limit   int64 `json:"limit" parquet:"limit"` // largest number of requests to read; 0 for all
}

// Sizing is where the sizes of objects come from.
type Sizing struct {
	// ObjectSizes are sizes that the files do not state, as for --object-size, one per line. ObjectOverhead is each
	// object's memory beside its size, in bytes. Sizes says in a sentence where missing sizes come from. The shares say
	// how many of the objects, requests and bytes were imputed from other objects. All are "" and 0 if the files state all
	// sizes, or sizes do not count.
	ObjectSizes     string  `json:"object_sizes" parquet:"object_sizes" rare:"true"`
	ObjectOverhead  string  `json:"object_overhead" parquet:"object_overhead" rare:"true"`
	Sizes           string  `json:"sizes" parquet:"sizes" rare:"true"`
	ImputedObjects  float64 `json:"imputed_objects" parquet:"imputed_objects" rare:"true"`
	ImputedRequests float64 `json:"imputed_requests" parquet:"imputed_requests" rare:"true"`
	ImputedBytes    float64 `json:"imputed_bytes" parquet:"imputed_bytes" rare:"true"`
}

// KVMemory is the memory that prompts take.
type KVMemory struct {
	// KV describes the keys and values of prompts, as for --kv, and KVSource says where the numbers come from. TokenBytes
	// are the bytes of a token in all layers. BlockBytes are those of a block; they convert capacities in blocks to bytes.
	// All are of all GPUs of a replica; "" and 0 if the model is unknown.
	KV         string  `json:"kv" parquet:"kv" rare:"true"`
	KVSource   string  `json:"kv_source" parquet:"kv_source" rare:"true"`
	TokenBytes float64 `json:"token_bytes" parquet:"token_bytes" rare:"true"`
	BlockBytes int64   `json:"block_bytes" parquet:"block_bytes" rare:"true"`
}

// TimesOf returns what the times of records are of, each once, in the order of the records.
func TimesOf(recs []Record) (all []string) {
	for i := range recs {
		if text := recs[i].Times; text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// Footprint returns the trace's distinct objects or, if capacities count bytes, their total size. It follows from a
// capacity that is also known as a share; ok is false without one.
func (r *Record) Footprint() (n int64, ok bool) {
	if r.CapacityShare == nil || *r.CapacityShare == 0 {
		return 0, false
	}
	return int64(math.Round(float64(r.Capacity) / *r.CapacityShare)), true
}

// IsSample reports whether only a sample of the trace was replayed.
func (r *Record) IsSample() bool { return r.SampleRate != 0 && r.SampleRate != 1 }

// Setting is a name and its value, for pages of results.
type Setting struct{ Name, Value string }
