// Package controllers has the allocators of a node that serves recommendations. After each epoch they choose the ratio
// of the node's memory that its embeddings get; the rest belongs to the keys and values of its users. HLEM
// (arXiv 2605.04450) is one of them, the others are what its Table III compares it with (section V-D), a bound, and a
// plain controller without learning. The paper only names its comparators: how each works is our choice, which
// docs/hlem.md states.
package controllers

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// Entries are the allocators of this package.
var Entries = []allocate.Entry{pidEntry, treesEntry, boEntry, milpEntry, balanceEntry, ppoEntry, hlemEntry, hlem2Entry,
	hindsightEntry}

// The pools of a serving node.
const (
	embeddings = iota
	users
	pools
)

// actionStep is the largest move of HLEM's actions, which the comparators are limited to as well: "a typical update is
// 4%" (section IV-B).
const actionStep = 0.04

// decider chooses the ratio of a node for the next epoch.
type decider interface {
	// next is called after each epoch with requests, with what the node measured. The caller limits the answer to the
	// window's bounds, and keeps the current ratio if it is NaN.
	next(s *allocate.State, w *hlem.Window) float64
}

// node adapts a decider to a division of capacities.
type node struct {
	decider
	needs    allocate.Needs
	foresees bool    // the decider also decides before the first request and after empty epochs, from what is to come
	ratio    float64 // for the current epoch; before the first one, the ratio to begin with
}

func (n *node) Needs() allocate.Needs { return n.needs }

// Allocate keeps the ratio: without a window there is nothing to decide from.
func (n *node) Allocate(s *allocate.State, capacities []int64) { n.Decide(s, nil, capacities) }

func (n *node) Decide(s *allocate.State, w *hlem.Window, capacities []int64) {
	if n.decides(w) {
		if r := n.next(s, w); !math.IsNaN(r) {
			n.ratio = r
		}
	}
	least, most := hlem.LeastRatio, hlem.MostRatio
	if w != nil {
		least, most = w.Bounds()
	}
	n.ratio = min(most, max(least, n.ratio))
	capacities[embeddings] = int64(math.Round(n.ratio * float64(s.Capacity)))
	capacities[users] = s.Capacity - capacities[embeddings]
}

func (n *node) decides(w *hlem.Window) bool {
	if w == nil {
		return false
	}
	return w.Requests > 0 || n.foresees && w.Next != nil
}

// startParam is a parameter of every controller that does not know the future.
var startParam = params.Param{Name: "start", Default: hlem.StartRatio, Min: 0, Max: 1,
	Doc: "ratio in the first epoch, which nothing is known of; the paper: the mean optimum, 0.40 by its Table III"}

// stepParam limits how far a controller moves.
func stepParam(step float64, doc string) params.Param {
	return params.Param{Name: "step", Default: step, Min: 0.001, Max: 1, Doc: doc}
}

// gridParam is the distance between the ratios that a controller compares.
var gridParam = params.Param{Name: "grid", Default: 0.01, Min: 0.001, Max: 0.5,
	Doc: "distance between the ratios that are compared, from the least one on"}

// entry completes an entry with what all controllers have in common. build returns the decider for a cache, and what it
// needs.
func entry(e allocate.Entry, build func(c allocate.Config) (decider, allocate.Needs, error)) allocate.Entry {
	e.Serving = true
	foresees := e.Future
	e.Params = append([]params.Param{}, e.Params...)
	if !foresees {
		e.Params = append(e.Params, startParam)
	}
	e.New = func(c allocate.Config) (allocate.Allocator, error) {
		if len(c.Tenants) != pools {
			return nil, fmt.Errorf("%d pools: it divides the memory of a serving node between embeddings and users",
				len(c.Tenants))
		}
		d, needs, err := build(c)
		if err != nil {
			return nil, err
		}
		n := &node{decider: d, needs: needs, foresees: foresees, ratio: hlem.StartRatio}
		if !foresees {
			n.ratio = c.Params.Float(startParam.Name)
		}
		return n, nil
	}
	return e
}

// towards returns target, or the point on the way to it that is step away from ratio.
func towards(target, ratio, step float64) float64 { return ratio + min(step, max(-step, target-ratio)) }
