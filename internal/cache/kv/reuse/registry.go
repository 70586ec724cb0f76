package reuse

import "github.com/cachesim/cachesim/internal/base/params"

// Entry describes one rule for the registry.
type Entry struct {
	Name    string
	Summary string // one line: when the set is replaced
	Source  string // the paper or page that defines it
	Params  []params.Param
	Random  bool // makes random choices, from the seed
	// Oracle says that it knows the exact set of every step before it is fetched, which no system does.
	Oracle bool
	// Plans says that its type implements Planning.
	Plans bool
	// Predicted says that sets are always fetched by the queries that were predicted a layer earlier.
	Predicted bool
	// UsesImportance and UsesProfile say that Head.Importance and Head.Similarity are needed.
	UsesImportance, UsesProfile bool
	// CheckParams rejects values of Params that their ranges permit; nil if all are accepted.
	CheckParams func(params.Values) error
	New         func(Config) (Rule, error)
}

func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

func (e Entry) Describe() params.Description {
	return params.Description{Summary: e.Summary, Source: e.Source}.
		With(e.Oracle, "offline: knows the set of a step before it is fetched").
		With(e.Predicted, "fetches by the queries that were predicted a layer earlier").
		With(e.UsesImportance, "needs the importance of each head").
		With(e.UsesProfile, "ranks the heads to keep as a whole by the similarity of adjacent queries, from a profile")
}

func (e Entry) CheckValues(v params.Values) error { return params.Check(e.CheckParams, v) }

// Spec is a rule with its parameters: what a user writes as `threshold(tau=0.6)`.
type Spec = params.Spec[Entry]

// Registry has every rule in the order of lists.
var Registry = params.NewRegistry("reuse rule", "qsac,'threshold(tau=0.6)'",
	qsacEntry,
	thresholdEntry,
	adaptiveEntry,
	periodicEntry,
	staticEntry,
	exactEntry,
	infinigenEntry,
	greedyEntry,
	boundEntry,
)

// New returns the rule of a head in its first state. The parameters of the config are set from the spec.
func New(s Spec, c Config) (Rule, error) {
	c.Params = s.Params
	return s.Entry.New(c)
}

// aggregateParam says how the similarities of a group become one.
var aggregateParam = params.Param{Name: "aggregate", Default: Harmonic, Choices: []string{Harmonic, Arithmetic, Min},
	Doc: "how the similarities of the query heads of a group become one: their harmonic or arithmetic mean, or the " +
		"smallest (min), so that any one head can have the set replaced"}

func maxAgeParam(steps int) params.Param {
	return params.Param{Name: "max-age", Default: steps, Min: 0, Max: 1 << 30,
		Doc: "steps after which a set is replaced whatever the queries; 0: never"}
}
