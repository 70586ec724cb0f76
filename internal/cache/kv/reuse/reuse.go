// Package reuse has the rules that decide, at every decode step of a language model, whether the set of keys that a
// head fetched earlier still answers the new queries. A head is a KV head of a layer with the group of query heads that
// read it. A rule sees how similar the queries are to the queries that the set was fetched for; it knows no keys and no
// cache.
//
// To add a rule, write one file with its type and its Entry, and add the Entry to the table in registry.go.
package reuse

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
)

// Lookup is what a rule sees of one step of a head that has a set.
type Lookup struct {
	// Step is the decode step, from 0; Label is the step whose queries the set was fetched for.
	Step, Label int
	// Similarities are the cosines of the queries of each query head in both steps; -1 if one of the two has no norm.
	Similarities []float64
	// Overlap returns the share of this step's exact set in the head's set. Only rules with Oracle may call it.
	Overlap func() float64
}

// Rule decides for one head.
type Rule interface {
	// Reuse reports whether the set answers this step. If not, a new one is fetched, and its label is this step. The
	// first step of a head has no set and is no lookup.
	Reuse(l *Lookup) bool
}

// Learning is implemented by rules that learn from the sets that are replaced, such as adaptive.
type Learning interface {
	// Replaced reports what followed from a refused lookup: overlap is the share of the new set that was in the old one.
	Replaced(l *Lookup, overlap float64)
}

// Planning is implemented by rules that know all sets of a head, such as bound.
type Planning interface {
	// Plan returns the label of every step. It is called once, before the first lookup. overlap returns the share of the
	// exact set of a step that is in the set fetched in an earlier one.
	Plan(steps int, overlap func(step, label int) float64) (labels []int)
}

// Ranked is implemented by rules that say which heads are worth keeping as a whole, all keys of them.
type Ranked interface {
	// Worth is greater for a head that is worth more; at 0 and below it is not worth keeping.
	Worth() float64
}

// Head is what a rule knows of the head that it decides for.
type Head struct {
	Layer, KV        int
	Importance       float64   // of the KV head; numbers outside [0,1] count as the nearest number within
	QueryImportances []float64 // of the query heads of the group, likewise; nil: all have Importance
	Similarity       float64   // mean similarity of the queries of adjacent steps, aggregated over the group
	Group            int       // number of query heads
	Place            int       // among all heads of the trace, from 0
}

// check rejects importances that no threshold follows from.
func (h *Head) check() error {
	if n := len(h.QueryImportances); n > 0 && n != h.Group {
		return fmt.Errorf("layer %d, KV head %d has importances of %d query heads, want %d, one for each of its group",
			h.Layer, h.KV, n, h.Group)
	}
	for _, x := range append([]float64{h.Importance}, h.QueryImportances...) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("layer %d, KV head %d has the importance %v, want a number from 0 to 1", h.Layer, h.KV, x)
		}
	}
	return nil
}

// Config is what a rule is built from.
type Config struct {
	Head   Head
	Params params.Values // every parameter of the entry
	Seed   uint64        // of rules with Random
}

// expired reports whether the set has served as many steps as it may; 0 means any number.
func (l *Lookup) expired(maxAge int) bool { return maxAge > 0 && l.Step-l.Label >= maxAge }
