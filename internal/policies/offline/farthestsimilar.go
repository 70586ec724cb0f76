package offline

import (
	"sort"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/similarity"
)

var farthestSimilarEntry = policies.Entry{
	Name: "farthest-similar",
	Look: policies.Look{Dashes: []float64{7, 3}},
	Summary: "evicts the entry whose next similar request is farthest away; every miss is loaded (a heuristic, not an " +
		"optimum, if similar queries answer each other)",
	Source:      "Belady's rule for queries that similar entries answer, cachesim",
	Kind:        policies.Offline,
	Reference:   func(r policies.Rules) bool { return r.Similar && !r.Bypass },
	Units:       policies.UnitsObjects,
	Relates:     true,
	Similar:     true,
	SimilarFrom: hitSimilarity,
	New:         func(c policies.Config) (policies.Policy, error) { return newFarthestSimilar(c, false), nil },
}

var farthestSimilarBypassEntry = policies.Entry{
	Name: "farthest-similar-bypass",
	Look: policies.Look{Dashes: []float64{7, 2, 1.5, 2}},
	Summary: "as farthest-similar, but a missed query is not loaded if its next similar request is at least as far away " +
		"as every resident entry's",
	Source:      "opt-bypass for queries that similar entries answer, cachesim",
	Kind:        policies.Offline,
	Reference:   func(r policies.Rules) bool { return r.Similar && r.Bypass },
	Units:       policies.UnitsObjects,
	Bypass:      true,
	Relates:     true,
	Similar:     true,
	SimilarFrom: hitSimilarity,
	New:         func(c policies.Config) (policies.Policy, error) { return newFarthestSimilar(c, true), nil },
}

// hitSimilarity is the SimilarFrom of policies that look only at what would hit.
func hitSimilarity(_ policies.Values, hitFrom, _ float64) float64 { return hitFrom }

// farthestSimilar is opt with similar requests in place of requests to the same object. An entry is due at the next
// request that it could answer. That is not an optimum: another entry may answer that request, and a miss may be worth
// more than a hit if it loads a better entry.
//
// Each request searches the list of its similar objects. Every resident object on it was due now, and the object's own
// list is searched for its next similar request. Entries of one cache are not similar to each other, so there are few.
// Memory: 12 bytes per object and 8 to 16 per resident, besides the positions of the next requests.
type farthestSimilar struct {
	nextUse []uint32
	similar neighbourhood
	bypass  bool
	coming  []uint32 // per object: position of the next request to it, or Never
	// per object: position of the next request that is similar to it, or Never; 0 if it is not resident
	due    []uint32
	heap   dense.FarthestHeap
	wanted uint32 // when the missed object would be due
}

func newFarthestSimilar(c policies.Config, bypass bool) *farthestSimilar {
	p := &farthestSimilar{
		nextUse: c.NextUse, similar: newNeighbourhood(c.Relations), bypass: bypass,
		coming: make([]uint32, c.Objects), due: make([]uint32, c.Objects),
	}
	for o := range p.coming {
		p.coming[o] = policies.Never
	}
	for pos, o := range c.Sequence {
		p.coming[o] = min(p.coming[o], uint32(pos))
	}
	return p
}

func (p *farthestSimilar) Hit(r policies.Request) { p.pass(r) }

func (p *farthestSimilar) Miss(r policies.Request) {
	if r.Reason == policies.Demand {
		p.pass(r)
	}
	p.wanted = p.next(r.Object)
}

func (p *farthestSimilar) Victim(r policies.Request) policies.Object {
	v, _ := p.heap.Top(p.due)
	if p.bypass && r.Reason != policies.Shrink && p.wanted >= p.due[v] {
		return r.Object
	}
	p.Remove(v)
	return v
}

func (p *farthestSimilar) Insert(r policies.Request) {
	p.due[r.Object] = p.wanted
	p.heap.Push(r.Object, p.due)
}

func (p *farthestSimilar) Remove(o policies.Object) {
	p.heap.GiveUp()
	p.due[o] = 0
}

func (p *farthestSimilar) Grow(objects int) {
	p.coming = dense.GrownWith(p.coming, objects, uint32(policies.Never))
	p.due = dense.Grown(p.due, objects)
}

// pass records a request of the trace: entries that were due now are due later.
func (p *farthestSimilar) pass(r policies.Request) {
	p.coming[r.Query] = p.nextUse[r.Pos]
	p.postpone(r.Query)
	for _, o := range p.similar.of(r.Query) {
		p.postpone(o)
	}
}

func (p *farthestSimilar) postpone(o policies.Object) {
	if p.due[o] == 0 {
		return
	}
	p.heap.GiveUp()
	p.due[o] = p.next(o)
	p.heap.Push(o, p.due)
}

// next is the position of the next request that o could answer.
func (p *farthestSimilar) next(o policies.Object) uint32 {
	next := p.coming[o]
	for _, similar := range p.similar.of(o) {
		next = min(next, p.coming[similar])
	}
	return next
}

// neighbourhood lists the objects that an object may answer, without itself: none without embeddings, or if only a
// query's own entry answers it.
type neighbourhood struct {
	neighbours *similarity.Neighbours
	from       float32
}

func newNeighbourhood(r *policies.Relations) neighbourhood {
	if r.Similar == nil || r.HitFrom > 1 {
		return neighbourhood{}
	}
	return neighbourhood{r.Similar, r.HitFrom}
}

func (n neighbourhood) of(o policies.Object) []policies.Object {
	if n.neighbours == nil {
		return nil
	}
	ids, similarities := n.neighbours.Of(o) // the most similar first, down to what the policy asked for
	end := sort.Search(len(ids), func(i int) bool { return similarities[i] < n.from })
	return ids[:end]
}
