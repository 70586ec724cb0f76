package prefetch

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
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
	d := params.Description{Summary: e.Summary, Source: e.Source, Traits: []string{"memory: " + e.Memory}}
	if e.Files {
		d.Traits = append(d.Traits, "works on reads of files only")
	}
	if e.Future {
		d.Traits = append(d.Traits, "offline: knows the next reads of each job")
	}
	return d
}

func (e Entry) CheckValues(v params.Values) error {
	if e.Check == nil {
		return nil
	}
	return e.Check(v)
}

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
	return s.Entry.New(c)
}
