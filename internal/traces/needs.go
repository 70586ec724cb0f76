package traces

import (
	"io"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Needs says what a run needs from its trace, so that nothing else is loaded. The needs of several runs combine with
// Union.
type Needs struct {
	Sizes bool
	Times bool
	// Clock asks for times, too, but only of a clock, and only where requests are not blocks of something larger, such as
	// a prompt.
	Clock bool
	Ends  bool // when times to live end: see Trace.Ends
	Ops   bool // the operation of each request; the trace then has all rows of its files as they are
	Keys  bool // the keys of the files, per object
	// Kind is what requests carry beyond a key, for queries. For prompts it is always loaded, since limits and warm-ups
	// count them.
	Kind bool
	// Embeddings requests all data of queries. Their embeddings are in the trace or beside it, or package workload
	// computed them from the texts.
	Embeddings bool
	// Attention asks for the attention of a language model, which has nothing else: requests are the lookups of its heads.
	Attention bool
	// Lengths says that lengths of prompts are enough, where a trace has no contents: nothing will ask for hits.
	Lengths bool
}

// WantTimes reports whether the times of requests with these fields are needed.
func (n Needs) WantTimes(fields stream.Fields) bool {
	return n.Times || n.Clock && !fields.Groups && !fields.Counted
}

// Union returns what satisfies both.
func (n Needs) Union(other Needs) Needs {
	return Needs{
		Sizes: n.Sizes || other.Sizes, Times: n.Times || other.Times, Clock: n.Clock || other.Clock,
		Ends: n.Ends || other.Ends, Ops: n.Ops || other.Ops, Keys: n.Keys || other.Keys,
		Kind: n.Kind || other.Kind, Embeddings: n.Embeddings || other.Embeddings,
		Attention: n.Attention || other.Attention, Lengths: n.Lengths && other.Lengths,
	}
}

// Selection says which requests of trace files make a trace, and how the files are read.
type Selection struct {
	Format string `json:"format,omitempty"` // "" to detect, or "NAME" or "NAME:opt=value,opt=value"
	// Merge reads several files by time instead of one after another.
	Merge bool `json:"merge,omitempty"`
	// PerFile keeps where files, and the files in an archive, begin: each is replayed through an empty cache. See
	// Trace.Starts. Not with Merge.
	PerFile bool `json:"per_file,omitempty"`
	// Limit is the largest number of requests to keep, or of prompts in a trace of prompts (counted after sampling); 0:
	// all.
	Limit int `json:"limit,omitempty"`

	// SampleRate in (0,1) keeps the objects whose hashed key falls below that share (SHARDS, Waldspurger et al., FAST
	// 2015); 0 or 1 keeps all. SampleSeed varies the hash. In traces of prompts, whole conversations are kept.
	SampleRate float64 `json:"sample_rate,omitempty"`
	SampleSeed uint64  `json:"sample_seed,omitempty"`

	// Writes says what a write does to a cache, as stream.ParseWrites reads it; "" for the format's default.
	Writes string `json:"writes,omitempty"`

	// ObjectSizes are sizes that the files do not state, as package sizes reads them: "475B", "user:*=475B", "@FILE"; the
	// first that knows a size wins. Other sizes are estimated from those of similar objects.
	ObjectSizes []string `json:"object_sizes,omitempty"`
	// ObjectOverhead is each object's memory beside its size, "56B"; "" for the format's default.
	ObjectOverhead string `json:"object_overhead,omitempty"`

	// Tenants says how to find the tenant of a request, as ParseTenants reads it; "": requests have no tenants. Only
	// Load and LoadReader use it.
	Tenants string `json:"tenants,omitempty"`

	// By is the column of the labels by which hits are counted, "" for none: see Labels. Not with Tenants.
	By string `json:"by,omitempty"`
}

// UsualBadLines is the share of unreadable lines that commands allow unless the user says otherwise: enough for the
// accidents of a server's log, too little for another format.
const UsualBadLines = 0.001

// LoadOptions say what Load and package workload read from a trace, and how.
type LoadOptions struct {
	Selection // of a Workload, its own counts
	Needs

	// Beside is what is known about the requests from outside the trace, such as the embeddings of queries, in the
	// order of its files; nil: nothing.
	Beside stream.Beside

	// BadLines is the share of the lines of text files that may be unreadable, and are left out; 0: none.
	BadLines float64

	Memory *memory.Budget // the memory budget; nil: all memory
	// RequestBytes is what the caller will need per request once the trace is loaded, so that a trace that leaves no
	// room for it is refused early.
	RequestBytes float64
	// NextUse keeps next uses, if the file has them: see Trace.NextUse. Their memory counts as RequestBytes.
	NextUse bool

	Stdin io.Reader // the input for "-"; nil: the standard input of the process
	// Find returns the place of a file that an option of the format names; nil: its path is the place.
	Find func(path string) (string, error)
	// Progress is called now and then with the compressed bytes read so far, or the requests of a generator, and the
	// total; total is 0 if that is unknown.
	Progress func(done, total int64)
	// Preparing, unless it is nil, is called before a generator is prepared. If that takes long, set receives how much of
	// it is done; end is called after it.
	Preparing func() (set func(done, total int64), end func())
}
