package route

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
)

// Entry describes one router. It implements params.Described and params.Checker.
type Entry struct {
	Name    string
	Summary string // one line: what it looks at
	Source  string
	Params  []params.Param
	// OfPrompts are further parameters, which mean nothing to a router of objects.
	OfPrompts []params.Param
	// Random says that it makes random choices.
	Random bool
	// Sessions reports whether it needs to know which prompts belong to one conversation; nil if it never does.
	Sessions func(params.Values) bool
	// Bytes is its memory per block of the trace and node.
	Bytes int64
	// Recommends says that it is a router of HLEM's system, too, where the model recommender names it.
	Recommends bool
	// New returns a router of prompts; nil if it routes none.
	New func(Config) Router
	// Place returns a router of objects that are requested one by one; nil if it routes none.
	Place func(PlaceConfig) (Placement, error)
	// Homes returns how many nodes an object may be on; nil: one.
	Homes func(params.Values) int
	// Check rejects values of Params; nil if all are accepted.
	Check func(params.Values) error
}

// routes reports whether it routes to nodes with caches.
func (e Entry) routes() bool { return e.New != nil || e.Place != nil }

// nodesParam is a parameter of every router to nodes with caches.
var nodesParam = params.Param{Name: "nodes", Default: "", Doc: "nodes, each with a cache of the given capacity; or " +
	"their number from some times on, as in 4@0s+8@600s: see --nodes"}

// HomesOf returns how many nodes an object may be on, of those that exist.
func (e Entry) HomesOf(v params.Values) int {
	if e.Homes == nil {
		return 1
	}
	return e.Homes(v)
}

// Signature implements params.Named.
func (e Entry) Signature() (string, []params.Param) {
	if !e.routes() {
		return e.Name, slices.Concat(e.OfPrompts, e.Params)
	}
	all := slices.Concat([]params.Param{nodesParam}, e.OfPrompts, e.Params)
	if e.Place != nil {
		all = append(all, loseParam, backParam, behindParam, behindPolicyParam)
	}
	return e.Name, all
}

// Describe implements params.Described.
func (e Entry) Describe() params.Description {
	d := params.Description{Summary: e.Summary, Source: e.Source}
	if e.New != nil {
		d.Traits = append(d.Traits, "routes prompts to nodes that have a cache each: prefix or tiers")
	}
	if e.Place != nil {
		d.Traits = append(d.Traits, "routes requests for objects to nodes that have a cache each, of any kind")
	}
	if e.Recommends {
		d.Traits = append(d.Traits, "routes requests for recommendations: --model 'recommender(router="+e.Name+")'")
	}
	if e.Random {
		d.Traits = append(d.Traits, "makes random choices, by --seed")
	}
	return d
}

// CheckValues implements params.Checker.
func (e Entry) CheckValues(v params.Values) error {
	if !e.routes() {
		return fmt.Errorf("it routes requests for recommendations, not prompts; write --cache pools --model "+
			"'recommender(router=%s)'", e.Name)
	}
	if v.Text(nodesParam.Name) == "" {
		return fmt.Errorf("the number of nodes is missing; add --nodes 8, or write %s(nodes=8)", e.Name)
	}
	if e.Place == nil {
		_, err := ParseNodes(v.Text(nodesParam.Name))
		return err
	}
	if _, err := epochsIn(v); err != nil {
		return err
	}
	if err := checkBehind(v); err != nil {
		return err
	}
	return params.Check(e.Check, v)
}

// Spec is a router with its parameters: what a user writes as `session(nodes=8)`.
type Spec = params.Spec[Entry]

// Registry has every router, in the order of `cachesim routers`: those of prompts and objects, then those of
// recommendations alone.
var Registry = params.NewRegistry("router", "round-robin,prefix-aware", roundRobinEntry, randomEntry, powerOfTwoEntry,
	leastLoadedEntry, hashEntry, ringEntry, shardEntry, slotsEntry, moduloEntry, replicasEntry, sessionEntry,
	prefixAwareEntry, prefixExactEntry, llmdEntry, jointEntry, kvEntry, embeddingsEntry)

// Default is the router if only the number of nodes is given.
const Default = "round-robin"

// Recommenders returns the names of the routers of HLEM's system, the one of its paper first.
func Recommenders() []string {
	only := Registry.NamesOf(func(e *Entry) bool { return e.Recommends && e.New == nil })
	return append(only, Registry.NamesOf(func(e *Entry) bool { return e.Recommends && e.New != nil })...)
}

// ChangesOf returns how many nodes a router to nodes with caches has, from which times on.
func ChangesOf(s Spec) []Change {
	changes, err := ParseNodes(s.Params.Text(nodesParam.Name))
	if err != nil {
		panic(err) // CheckValues has accepted it
	}
	return changes
}

// WithNodes sets the number of nodes of every router in a list that users write.
func WithNodes(list, nodes string) (string, error) {
	if _, err := ParseNodes(nodes); err != nil {
		return "", fmt.Errorf("--nodes %w", err)
	}
	if list == "" {
		list = Default
	}
	calls, err := params.Split(list, ',')
	if err != nil {
		return "", err
	}
	text := ""
	for i, call := range calls {
		name, args, err := params.SplitCall(call)
		if err != nil {
			return "", err
		}
		if params.Has(args, nodesParam.Name) {
			return "", errors.New("--nodes: a router has a number of nodes of its own, " + call + "; remove one of them")
		}
		if args != "" {
			args = "," + args
		}
		if i > 0 {
			text += ","
		}
		if e, known := Registry.Find(name); known && !e.routes() {
			text += call // whose error says more
			continue
		}
		text += name + "(" + nodesParam.Name + "=" + canonical(nodes) + args + ")"
	}
	return text, nil
}

// The routers of HLEM's system alone.
var (
	hlemSource = "HLEM (arXiv 2605.04450), section IV-C"
	jointEntry = Entry{Name: string(Joint), Recommends: true, Source: hlemSource,
		Summary: "the node with the best sum of the user's keys and values, the user's embeddings and a low load"}
	kvEntry = Entry{Name: string(KV), Recommends: true, Source: hlemSource,
		Summary: "the node with the best sum of the user's keys and values and a low load"}
	embeddingsEntry = Entry{Name: string(Embeddings), Recommends: true, Source: hlemSource,
		Summary: "the node with the best sum of the user's embeddings and a low load"}
)
