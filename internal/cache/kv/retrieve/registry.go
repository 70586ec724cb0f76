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

func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

func (e Entry) Describe() params.Description {
	return params.Description{Summary: e.Summary, Source: e.Source}.
		With(e.Sums, "needs the probability of every token").
		With(e.Divided, "finds whole blocks, which a store can hold").
		With(e.Random, "depends on the seed")
}

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

func New(s Spec) Retriever { return s.Entry.New(s.Params) }
