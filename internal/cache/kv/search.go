package kv

import (
	"slices"

	"github.com/cachesim/cachesim/internal/cache/kv/blocks"
	"github.com/cachesim/cachesim/internal/cache/kv/retrieve"
)

// search is how cells find the set of a step. Cells with equal searches find the same tokens and share the work.
type search struct {
	view      int    // in replay.views
	predicted bool   // by the predicted queries
	retriever string // with all parameters; "" finds the exact set
	seed      uint64 // of a retriever that makes random choices
}

// searchOf returns the search of a cell whose view is known.
func (p *plan) searchOf() search {
	s := search{view: p.view, predicted: p.usesPredicted()}
	if p.Retriever == nil || p.Retriever.Entry.Best {
		return s
	}
	s.retriever = p.Retriever.Full()
	if p.Retriever.Entry.Random {
		s.seed = p.Seed
	}
	return s
}

// finder searches in one head at a time. Its buffers are reused.
type finder struct {
	search
	sums      bool               // the retriever needs probabilities
	retriever retrieve.Retriever // nil finds the exact set
	collects  bool               // what all steps want is for stores of blocks

	begun  bool
	step   int // for which set was found; -1: for none yet
	set    []int32
	wanted []blocks.Block // ranked blocks of all steps so far, one list after another
	ends   []int          // where the lists end
	plan   *blocks.Plan   // of them; nil until a store needs it
}

// newFinders returns what finds the sets of all searches.
func (r *replay) newFinders() []finder {
	finders := make([]finder, len(r.searches))
	for i, s := range r.searches {
		finders[i].search = s
	}
	for _, p := range r.plans {
		f := &finders[p.search]
		if f.retriever == nil && f.search.retriever != "" {
			f.retriever, f.sums = retrieve.New(*p.Retriever), p.Retriever.Entry.Sums
		}
		f.collects = f.collects || p.serving == servesStore
	}
	return finders
}

func (f *finder) reset() {
	f.begun, f.step, f.plan = false, -1, nil
	f.wanted, f.ends = f.wanted[:0], f.ends[:0]
}

// find returns the tokens that a step asks for, in ascending order. They are valid until the next step.
func (w *worker) find(f *finder, step int) ([]int32, error) {
	if f.step == step {
		return f.set, nil
	}
	f.step = step
	if f.retriever == nil && !f.predicted {
		f.set = append(f.set[:0], w.exact[f.view].set...)
		return f.set, nil
	}
	v := w.views[f.view]
	from, to := v.candidates(w.shape, step)
	size := w.shape.Group() * w.shape.Dim
	ask := retrieve.Step{Queries: w.head.Queries[step*size:][:size], Sums: w.step.summed, To: to, K: v.size(w.shape, step)}
	if f.predicted {
		ask.Queries = w.head.Predicted[step*size:][:size]
		if f.sums || f.retriever == nil {
			if err := w.predict(step); err != nil {
				return nil, err
			}
			ask.Sums = w.predicted.summed
		}
	}
	if f.retriever == nil {
		f.set = w.top(f.set[:0], ask.Sums, v, step)
		return f.set, nil
	}
	if !f.begun {
		_, first := v.candidates(w.shape, 0)
		f.retriever.Begin(retrieve.Head{Keys: w.head.Keys, Dim: w.shape.Dim, From: from, To: first, Scale: w.shape.Scale,
			Seed: seedOf(f.seed, w.head.Place)})
		f.begun = true
	}
	if divided, ok := f.retriever.(retrieve.Divided); ok && f.collects {
		first := len(f.wanted)
		f.wanted = divided.Rank(f.wanted, ask)
		f.ends = append(f.ends, len(f.wanted))
		f.set = retrieve.Tokens(f.set[:0], divided, f.wanted[first:])
		return f.set, nil
	}
	f.set = f.retriever.Retrieve(f.set[:0], ask)
	return f.set, nil
}

// predict computes the probabilities of a step for the predicted queries.
func (w *worker) predict(step int) error {
	if w.predicted.step == step {
		return nil
	}
	return w.compute(&w.predicted, w.head.Predicted, step, false)
}

// seedOf returns the seed of a head, so that heads choose independently of each other.
func seedOf(seed uint64, place int) uint64 { return seed ^ uint64(place)*0x9e3779b97f4a7c15 }

// placeIn returns the place of an element in a list, to which it is added if it is new.
func placeIn[T comparable](list *[]T, x T) int {
	if at := slices.Index(*list, x); at >= 0 {
		return at
	}
	*list = append(*list, x)
	return len(*list) - 1
}
