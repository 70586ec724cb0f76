package allocate

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
)

// Values are the parameters of an allocator.
type Values = params.Values

// Entry describes one allocator for the registry. It implements params.Named, params.Described and params.Checker.
type Entry struct {
	Name    string
	Summary string // one line: how it divides
	Source  string // the paper or page that defines it
	Future  bool   // knows the trace beyond the current request
	// Shared says that nothing is divided: all tenants share one pool, the only one that the allocator sees.
	Shared bool
	// Patterns says that it needs the patterns of the requests: it uses the times and the addresses of a trace that has
	// them.
	Patterns bool
	// Varying says that pools may be added and removed between calls, each with an ID of its own.
	Varying bool
	// Serving says that it divides the memory of a serving node, and nothing else: New makes a serving.Controller.
	Serving bool
	Random  bool // makes random choices, so that its divisions depend on the seed
	Params  []params.Param
	// Metrics are about the tenants and the allocator.
	Metrics []metric.Metric
	// Check rejects values of Params that exclude each other, or a text that cannot be read; nil if all are accepted.
	Check func(Values) error
	// Remark returns what a user should know about a division among these tenants, "" for nothing; nil if there never is
	// anything.
	Remark func(v Values, tenants []string) string
	New    func(Config) (Allocator, error)
}

func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

func (e Entry) Describe() params.Description {
	d := params.Description{Summary: e.Summary, Source: e.Source}
	if e.Future {
		d.Traits = append(d.Traits, "offline: knows the whole trace")
	}
	if e.Random {
		d.Traits = append(d.Traits, "depends on the seed")
	}
	if e.Serving {
		d.Traits = append(d.Traits, "divides the memory of a node that serves recommendations")
	}
	return d
}

func (e Entry) CheckValues(v Values) error {
	if e.Check == nil {
		return nil
	}
	return e.Check(v)
}

// Spec is an allocator with its parameters: what a user writes as `ucp(ways=64)`.
type Spec = params.Spec[Entry]

// Registry has every allocator in the order in which `cachesim allocators` prints them: first this package's, then what
// package sim/all registers.
var Registry = params.NewRegistry("allocator", "equal,'static(shares=3;1)'",
	sharedEntry,
	equalEntry,
	staticEntry,
	proportionalEntry,
	ucpEntry,
	marginalEntry,
	optimalEntry,
	quiverEntry,
	batchSizesEntry,
)

// New returns the allocator of a spec for the named tenants.
func New(s Spec, tenants []string) (Allocator, error) { return NewNumbered(s, tenants, 0, 0) }

// NewNumbered returns an allocator of a cache that has several, all with the same tenants and seed; see Config.Number.
func NewNumbered(s Spec, tenants []string, seed uint64, number int) (Allocator, error) {
	a, err := s.Entry.New(Config{Tenants: tenants, Params: s.Params, Seed: seed, Number: number})
	if err != nil {
		return nil, fmt.Errorf("allocator %s: %w", s, err)
	}
	return a, nil
}
