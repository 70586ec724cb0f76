package lists

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/cache/servers"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
)

// ofKinds returns an empty list of entries that are each of a kind; does is the verb of their summaries: "evicts".
func ofKinds(noun, does string) List {
	return List{
		Noun: noun,
		Columns: []tabular.Head{wordHead(noun), wordHead("kind"), textHead(does), textHead("parameters"),
			textHead("source")},
		Kept: 2, Below: "what it " + does + ", parameters, source",
	}
}

type entry struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Summary string `json:"summary"`
	Source  string `json:"source"`
	params  []params.Param
	traits  []string // what a user should know before choosing it
}

func (e entry) item(asJSON any) Item {
	defaults, title, row := defaultsOf(e.params), e.Name, []string{e.Name}
	if e.Kind != "" {
		title, row = fmt.Sprintf("%s (%s)", e.Name, e.Kind), append(row, e.Kind)
	}
	about := []string{title + ": " + e.Summary}
	for _, trait := range e.traits {
		about = append(about, "  "+trait)
	}
	about = append(about, "  source: "+e.Source)
	return Item{
		Name:  e.Name,
		Row:   append(row, e.Summary, defaults, e.Source),
		Texts: []string{e.Summary, breakable(defaults), e.Source},
		About: append(about, aboutParams(e.params)...),
		JSON:  asJSON,
	}
}

type partJSON struct {
	Name       string      `json:"name"`
	Summary    string      `json:"summary"`
	Source     string      `json:"source"`
	Traits     []string    `json:"traits"`
	Parameters []paramJSON `json:"parameters"`
}

// Parts lists the parts of a kind of which a list says no more than of any other.
func Parts(kind *sim.Kind) List {
	l := List{
		Noun:    cmp.Or(kind.Noun, kind.Name),
		Columns: []tabular.Head{wordHead(kind.Name), textHead(kind.Decides), textHead("parameters"), textHead("source")},
		Kept:    1, Below: kind.Decides + ", parameters, source",
	}
	for _, e := range kind.Entries() {
		name, accepts := e.Signature()
		d := e.Describe()
		l.Items = append(l.Items, entry{name, "", d.Summary, d.Source, accepts, d.Traits}.item(
			partJSON{name, d.Summary, d.Source, append([]string{}, d.Traits...), paramsJSON(accepts)}))
	}
	return l
}

// Servers lists the caches that are servers.
func Servers() List {
	l := Parts(sim.CacheKind)
	l.Noun = "server"
	l.Columns[0] = wordHead(l.Noun)
	l.Items = slices.DeleteFunc(l.Items, func(item Item) bool {
		_, is := servers.Find(item.Name)
		return !is
	})
	return l
}

type policyJSON struct {
	Name       string      `json:"name"`
	Aliases    []string    `json:"aliases"`
	Family     string      `json:"family"`
	Kind       string      `json:"kind"`
	Summary    string      `json:"summary"`
	Source     string      `json:"source"`
	Capacity   string      `json:"capacity"`
	Bypass     bool        `json:"bypass"`
	Unbounded  bool        `json:"unbounded"`
	NeedsTime  bool        `json:"needs_time"`
	Predicts   bool        `json:"predicts"`
	Caches     []string    `json:"caches"`
	Memory     memoryJSON  `json:"memory"`
	Parameters []paramJSON `json:"parameters"`
}

// memoryJSON is what replays plan with, in bytes.
type memoryJSON struct {
	Fixed     float64 `json:"fixed"`
	PerObject float64 `json:"per_object"`
	PerSlot   float64 `json:"per_slot"`
}

func Policies() List {
	l := ofKinds("policy", "evicts")
	for _, e := range policies.Registry.All() {
		l.Items = append(l.Items, policyItem(e))
	}
	return l
}

// ownPolicy lists a policy that a user has written.
func ownPolicy(text string) (Item, error) {
	spec, err := policies.Registry.Parse(commandline.OwnPolicy(text))
	if err != nil {
		return Item{}, err
	}
	e := spec.Entry
	if e.Introduce != nil {
		name, source, err := e.Introduce(spec.Params)
		if err != nil {
			return Item{}, err
		}
		e.Summary, e.Source = cmp.Or(name, e.Summary), cmp.Or(source, e.Source)
	}
	e.Name = spec.String()
	return policyItem(e), nil
}

func policyItem(e policies.Entry) Item {
	caches := cachesOf(e)
	shown := entry{e.Name, e.Kind.String(), e.Summary, e.Source, e.Params, policyTraits(e, caches)}
	item := shown.item(policyJSON{
		Name:       e.Name,
		Aliases:    append([]string{}, e.Aliases...),
		Family:     e.Family.String(),
		Kind:       e.Kind.String(),
		Summary:    e.Summary,
		Source:     e.Source,
		Capacity:   unitsOf(e),
		Bypass:     e.Bypasses(params.Defaults(e.Params)),
		Unbounded:  e.Unbounded,
		NeedsTime:  needsClock(e),
		Predicts:   policies.Can[policies.PredictorUser](e),
		Caches:     append([]string{}, caches...),
		Memory:     memoryJSON(e.Memory.Planned()),
		Parameters: paramsJSON(e.Params),
	})
	item.Aliases = e.Aliases
	return item
}

// policyTraits lists what a user should know before choosing a policy.
func policyTraits(e policies.Entry, caches []string) []string {
	var lines []string
	if len(e.Aliases) > 0 {
		lines = append(lines, "also called "+strings.Join(e.Aliases, ", "))
	}
	lines = append(lines, "capacity in "+unitsOf(e), "works in the caches "+strings.Join(caches, ", "))
	if e.Bypass {
		lines = append(lines, "may bypass a missed object, so it is compared with opt-bypass")
	}
	if e.BypassIf != nil {
		lines = append(lines, "with some parameters it may bypass a missed object, and is compared with opt-bypass")
	}
	if e.Unbounded {
		lines = append(lines, "ignores the capacity")
	}
	if needsClock(e) {
		lines = append(lines, "needs a trace with times, unless its parameters say otherwise")
	}
	if e.Similar {
		lines = append(lines, "knows the hits of the caches exact and semantic only")
	}
	if policies.Can[policies.PredictorUser](e) {
		lines = append(lines, "uses a predictor of next requests: see cachesim predictors")
	}
	return lines
}

// needsClock reports whether the policy with its defaults needs a trace with times.
func needsClock(e policies.Entry) bool {
	return policies.NeedsClock(policies.Spec{Entry: e, Params: params.Defaults(e.Params)})
}

func unitsOf(e policies.Entry) string {
	switch e.Units {
	case policies.UnitsObjects:
		return "objects only"
	case policies.UnitsBytes:
		return "bytes only"
	}
	return "objects or bytes"
}

type predictorJSON struct {
	entry
	Random     bool        `json:"random"`
	Parameters []paramJSON `json:"parameters"`
}

func Predictors() List {
	l := ofKinds("predictor", "predicts")
	for _, e := range predict.Registry.All() {
		shown := entry{e.Name, "online", e.Summary, e.Source, e.Params, e.Describe().Traits}
		if e.Future {
			shown.Kind = "offline"
		}
		l.Items = append(l.Items, shown.item(predictorJSON{shown, e.Random, paramsJSON(e.Params)}))
	}
	return l
}

type prefetcherJSON struct {
	entry
	Memory     string      `json:"memory"`
	Parameters []paramJSON `json:"parameters"`
}

// Prefetchers lists the prefetchers. Their kind says what they compute with.
func Prefetchers() List {
	l := ofKinds("prefetcher", "proposes")
	for _, e := range prefetch.Registry.All() {
		shown := entry{e.Name, "objects", e.Summary, e.Source, e.Params, e.Describe().Traits}
		if e.Addresses {
			shown.Kind = "addresses"
		}
		l.Items = append(l.Items, shown.item(prefetcherJSON{shown, e.Memory, paramsJSON(e.Params)}))
	}
	return l
}
