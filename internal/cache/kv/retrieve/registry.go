package retrieve

import "github.com/cachesim/cachesim/internal/base/params"

// Entry describes one retriever for the registry.
type Entry struct {
	Name    string
	Summary string // one line: which tokens it finds
	Source  string // the paper or page that defines it
	Sums    bool   // it needs the probabilities of the tokens: Step.Sums
	Best    bool   // it finds the exact set: the tokens with the greatest sum of probabilities over the group
	Divided bool   // New makes a Divided, so that a store can hold what it finds
	Random  bool   // it makes random choices, so that its results depend on the seed
	Params  []params.Param
	// Resolve changes the fields that depend on the parameters, in the entry of one spec; nil if none do.
	Resolve func(*Entry, params.Values)
	New     func(params.Values) Retriever
}

// Signature implements params.Named.
func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

// Describe implements params.Described.
func (e Entry) Describe() params.Description {
	d := params.Description{Summary: e.Summary, Source: e.Source}
	if e.Sums {
		d.Traits = append(d.Traits, "needs the probability of every token")
	}
	if e.Divided {
		d.Traits = append(d.Traits, "finds whole blocks, which a store can hold")
	}
	if e.Random {
		d.Traits = append(d.Traits, "depends on the seed")
	}
	return d
}

// ResolveValues implements params.Resolver.
func (e Entry) ResolveValues(v params.Values) Entry {
	if e.Resolve != nil {
		e.Resolve(&e, v)
	}
	return e
}

// Spec is a retriever with its parameters: what a user writes as `quest(page=16)`.
type Spec = params.Spec[Entry]

// Registry has every retriever.
var Registry = params.NewRegistry("retriever", "exact,'quest(page=16)'",
	exactEntry,
	blocksEntry,
	questEntry,
	hashesEntry,
	clustersEntry,
)

// Purposes of random numbers.
const (
	directionDraws = iota
	clusterDraws
)

// New returns a retriever, which begins with its first head.
func New(s Spec) Retriever { return s.Entry.New(s.Params) }
