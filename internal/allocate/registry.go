package allocate

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/params"
)

// Values are the parameters of an allocator.
type Values = params.Values

// Entry describes one allocator for the registry.
type Entry struct {
	Name    string
	Summary string // one line: how it divides
	Source  string // the paper or page that defines it
	Future  bool   // knows the trace beyond the present request
	// Shared says that nothing is divided: all tenants share one pool, the only one that the allocator sees.
	Shared bool
	// Patterns says that it needs the patterns of the requests: it uses the times and the addresses of a trace that has
	// them.
	Patterns bool
	// Varying says that pools may be added and removed between calls, each with an ID of its own.
	Varying bool
	Params  []params.Param
	// Metrics are those of the tenants and of the allocator.
	Metrics []metric.Metric
	// Check rejects values of Params that exclude each other, or a text that cannot be read; nil if all are accepted.
	Check func(Values) error
	New   func(Config) (Allocator, error)
}

// Signature implements params.Named.
func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

// CheckValues implements params.Checker.
func (e Entry) CheckValues(v Values) error {
	if e.Check == nil {
		return nil
	}
	return e.Check(v)
}

// registry lists every allocator in the order in which `cachesim allocators` prints them.
var registry = []Entry{
	sharedEntry,
	equalEntry,
	staticEntry,
	proportionalEntry,
	ucpEntry,
	marginalEntry,
	optimalEntry,
	quiverEntry,
	fluidEntry,
}

var family = params.Table("allocator", "equal,'static(shares=3;1)'", registry)

// Spec is an allocator with its parameters: what a user writes as `ucp(ways=64)`.
type Spec = params.Spec[Entry]

// All returns every entry in the order of the registry.
func All() []Entry { return append([]Entry(nil), registry...) }

// Names returns the names of all entries.
func Names() []string { return family.Names() }

// Find returns the entry with that name; case does not matter.
func Find(name string) (Entry, bool) { return family.Find(name) }

// Parse reads one allocator.
func Parse(text string) (Spec, error) { return family.Parse(text) }

// ParseList reads a comma-separated list of allocators.
func ParseList(text string) ([]Spec, error) { return family.ParseList(text) }

// New returns the allocator of a spec for tenants of these names.
func New(s Spec, tenants []string) (Allocator, error) {
	a, err := s.Entry.New(Config{Tenants: tenants, Params: s.Params})
	if err != nil {
		return nil, fmt.Errorf("allocator %s: %w", s, err)
	}
	return a, nil
}
