package lists

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/results/records"
)

// part is something that a policy is combined with.
type part struct {
	name    string
	summary string
	source  string
	traits  []string // what a user should know before choosing it, a sentence without its end each
	params  []params.Param
}

// What the parts of each kind decide.
const (
	CachesDecide     = "what a hit is and what may leave"
	ModelsDecide     = "what takes time"
	AllocatorsDecide = "how one capacity is divided among tenants"
)

// Caches lists the kinds of cache.
func Caches() List {
	var parts []part
	for _, e := range cache.Registry.All() {
		p := part{e.Name, e.Summary, e.Source, nil, e.Params}
		if e.ObjectsOnly {
			p.traits = append(p.traits, "capacity in objects only")
		}
		if e.Prompts {
			p.traits = append(p.traits, "needs a trace of prompts; a warm-up counts them")
		}
		parts = append(parts, p)
	}
	return ofParts("cache", CachesDecide, parts)
}

// Models lists the models of time.
func Models() List {
	var parts []part
	for _, e := range models.Registry.All() {
		parts = append(parts, part{e.Name, e.Summary, e.Source, []string{"works on the cache " + e.Cache}, e.Params})
	}
	return ofParts("model", ModelsDecide, parts)
}

// Allocators lists the allocators.
func Allocators() List {
	var parts []part
	for _, e := range allocate.Registry.All() {
		p := part{e.Name, e.Summary, e.Source, nil, e.Params}
		if e.Future {
			p.traits = append(p.traits, "offline: knows the whole trace")
		}
		if e.Random {
			p.traits = append(p.traits, "depends on the seed")
		}
		if e.Serving {
			p.traits = append(p.traits, "divides the memory of a node that serves recommendations")
		}
		parts = append(parts, p)
	}
	return ofParts("allocator", AllocatorsDecide, parts)
}

// partJSON is a part as JSON has it.
type partJSON struct {
	Name       string      `json:"name"`
	Summary    string      `json:"summary"`
	Source     string      `json:"source"`
	Traits     []string    `json:"traits"`
	Parameters []paramJSON `json:"parameters"`
}

// ofParts lists parts of a kind; decides says what a part decides.
func ofParts(kind, decides string, parts []part) List {
	l := List{
		Noun:    kind,
		Columns: []records.Head{wordHead(kind), textHead(decides), textHead("parameters"), textHead("source")},
		Narrow:  []records.Head{wordHead(kind), textHead(decides + ", parameters, source")},
	}
	for _, p := range parts {
		defaults := defaultsOf(p.params)
		about := []string{fmt.Sprintf("%s: %s", p.name, p.summary)}
		for _, trait := range p.traits {
			about = append(about, "  "+trait)
		}
		about = append(about, "  source: "+p.source)
		l.Items = append(l.Items, Item{
			Name:   p.name,
			Row:    []string{p.name, p.summary, defaults, p.source},
			Narrow: []string{p.name},
			Texts:  []string{p.summary, breakable(defaults), p.source},
			About:  append(about, aboutParams(p.params)...),
			JSON:   partJSON{p.name, p.summary, p.source, append([]string{}, p.traits...), paramsJSON(p.params)},
		})
	}
	return l
}
