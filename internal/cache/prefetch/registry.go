package prefetch

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/streams"
)

// Entry describes one prefetcher for the registry. It implements params.Named, params.Described and params.Checker.
type Entry struct {
	Name    string
	Summary string // one line: what it proposes
	Source  string // the paper or page that defines it
	Memory  string // its memory in bytes, and what bounds it
	// Addresses says that it computes with keys, so that the trace's must be numbers, such as addresses of blocks. Others
	// propose objects that have been requested before.
	Addresses bool
	// Layout says that it needs the directory tree of the trace, or of its keys.
	Layout bool
	// Files says that it works on reads of files only.
	Files bool
	// Future says that it knows requests that have not come yet: the next reads of each job.
	Future bool
	// Idle says that it never proposes anything: the cache is as without it.
	Idle   bool
	Params []params.Param
	// Check rejects values of Params that exclude each other; nil if all are accepted.
	Check func(params.Values) error
	New   func(Config) Prefetcher
}

func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

func (e Entry) Describe() params.Description {
	return params.Description{Summary: e.Summary, Source: e.Source, Traits: []string{"memory: " + e.Memory}}.
		With(e.Files, "works on reads of files only").
		With(e.Future, "offline: knows the next reads of each job")
}

func (e Entry) CheckValues(v params.Values) error { return params.Check(e.Check, v) }

// Spec is a prefetcher with its parameters: what a user writes as `next(n=2)`.
type Spec = params.Spec[Entry]

// Registry has every prefetcher in the order in which `cachesim prefetchers` prints them.
var Registry = params.NewRegistry("prefetcher", "none,'next(n=2)'", withDelay([]Entry{
	noneEntry,
	nextEntry,
	nextFileEntry,
	strideEntry,
	ampEntry,
	igtEntry,
	readaheadEntry,
	sandboxEntry,
	sfpEntry,
	mithrilEntry,
	pgEntry,
	oracleEntry,
})...)

// Delay is the parameter of every prefetcher that says after how many requests a proposal arrives.
const Delay = "delay"

// DelayOf returns after how many requests the proposals of a prefetcher arrive.
func DelayOf(s Spec) int {
	if s.Entry.Idle {
		return 0
	}
	return s.Params.Int(Delay)
}

// withDelay adds the parameter Delay to all entries that propose anything.
func withDelay(all []Entry) []Entry {
	for i := range all {
		if !all[i].Idle {
			all[i].Params = append(slices.Clone(all[i].Params), params.Param{Name: Delay, Default: 0, Min: 0, Max: 1 << 20,
				Doc: "requests until a proposal has arrived; 0: it is there before the next request. Models of time say " +
					"themselves when objects arrive"})
		}
	}
	return all
}

// New returns a prefetcher in its first state. The parameters of the config are set from the spec.
func New(s Spec, c Config) Prefetcher {
	c.Params = s.Params
	if s.Entry.Layout && c.Layout == nil {
		c.Layout = streams.NewKeys(1)
	}
	return s.Entry.New(c)
}

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

// Every prefetcher reports Metrics, some only with a delay, and BytesMetrics if capacities count bytes.
var (
	Metrics = []metric.Metric{Prefetches, UsefulPrefetches, WastedPrefetches, LateProposals, Accuracy, Coverage,
		metric.HitsInFlight}

	BytesMetrics = []metric.Metric{PrefetchedBytes, WastedBytes}
)

var noneEntry = Entry{
	Name:    "none",
	Summary: "nothing: only requested objects are loaded",
	Source:  "cachesim",
	Memory:  "none",
	Idle:    true,
	New:     func(Config) Prefetcher { return None{} },
}

// None proposes nothing.
type None struct{}

func (None) Request(_ Access, proposals []Proposal) []Proposal { return proposals }
