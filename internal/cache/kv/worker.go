package kv

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cachesim/cachesim/internal/cache/kv/retrieve"
	"github.com/cachesim/cachesim/internal/cache/kv/reuse"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/similarity/softmax"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// worker serves heads one after another. Its buffers are reused.
type worker struct {
	*replay
	attention Attention
	errors    []histogram // per cell
	steps     []steps     // likewise; nil unless they are wanted
	// predicting is what the predictors of the heads have cost, per cell.
	predicting []predict.Cost

	head           *attention.Head
	norms          []float64 // of the queries
	predictedNorms []float64
	step           moment
	predicted      scores // of the predicted queries of this step
	exact          []exactSet
	finders        []finder // per search
	cells          []holding
	selector       softmax.Selector
	similarities   []float64
	losses         []loss
	order          []int32
	outputs
}

// scores are what the queries of a step give to the visible tokens.
type scores struct {
	run           run
	step          int
	probabilities []float32 // a row of visible numbers per query head
	summed        []float32 // over the group
}

// moment is a step of a head.
type moment struct {
	scores
	visible int
}

// exactSet is the best set of a step in a view, and for every token the last step whose set had it.
type exactSet struct {
	set     []int32
	last    []int32 // step+1 per token
	mass    float64 // of the set, mean over the group
	visible float64 // of the set and all tokens that are always visible
}

// loss is what attention loses in a step with the set that a search found for the queries of a step.
type loss struct {
	step          int
	search, label int
	recall        float64
	mass          float64 // of all visible tokens
	middle        float64 // rows of the set that are not in the exact set
	kept          int     // in worker.kept
	errors        []float32
}

// holding is what a cell has of the head.
type holding struct {
	*plan
	*tally
	number int
	rule   reuse.Rule
	whole  bool
	labels []int // by step, of a rule that knows all steps
	label  int   // the step for whose queries the set was loaded; -1 without a set
	set    []int32
	lookup reuse.Lookup
}

func (w *worker) serve(ctx context.Context, h *attention.Head) error {
	w.head = h
	w.norms = normsOf(w.norms, h.Queries, w.shape.Dim)
	w.predictedNorms = normsOf(w.predictedNorms, h.Predicted, w.shape.Dim)
	w.step.run.steps, w.predicted.run.steps = 0, 0
	if err := w.attention.Begin(h.Keys, h.Values); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	w.compareLags()
	if w.MapEvery > 0 && h.Place == attention.MappedHead(w.shape) {
		w.queryMap = w.mapQueries(w.MapEvery)
	}
	if !slices.ContainsFunc(w.cells, func(c holding) bool { return !c.whole }) {
		w.progress(w.shape.Steps)
		return nil
	}
	for step := range w.shape.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.attend(step); err != nil {
			return err
		}
		for i := range w.cells {
			c := &w.cells[i]
			if c.whole {
				continue
			}
			if err := w.look(c, step); err != nil {
				return err
			}
		}
		w.progress(1)
	}
	w.settle()
	return w.end()
}

func (w *worker) progress(lookups int) {
	if w.Progress != nil {
		w.Progress(lookups)
	}
}

// end serves the steps of the head in caches that decide about blocks, from what it has collected.
func (w *worker) end() error {
	for i := range w.cells {
		c := &w.cells[i]
		var err error
		switch {
		case c.whole:
		case c.serving == servesStore:
			err = w.serveStore(c)
		case c.serving == servesLayer:
			err = w.serveLayer(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin empties the caches of all cells.
func (w *worker) begin() error {
	w.cells = slices.Grow(w.cells[:0], len(w.plans))[:len(w.plans)]
	w.exact = slices.Grow(w.exact[:0], len(w.views))[:len(w.views)]
	for i := range w.exact {
		w.exact[i].last = append(w.exact[i].last[:0], make([]int32, w.shape.Tokens())...)
	}
	for i := range w.finders {
		w.finders[i].reset()
	}
	w.similarities = slices.Grow(w.similarities[:0], w.shape.Group())[:w.shape.Group()]
	for i, p := range w.plans {
		c := &w.cells[i]
		*c = holding{plan: p, tally: &w.tallies[i][w.head.Place], number: i, label: -1, set: c.set[:0],
			whole: p.whole[w.head.Place]}
		if c.whole {
			w.keepWhole(c)
			continue
		}
		if c.serving != servesSet {
			continue
		}
		var err error
		if c.rule, err = w.rule(p, w.head.Place); err != nil {
			return fmt.Errorf("reuse rule %s: %w", p.Rule, err)
		}
	}
	return w.planAhead()
}

func (w *worker) keepWhole(c *holding) {
	c.recall, c.mass = float64(w.shape.Steps), float64(w.shape.Steps)
	c.tally.whole = int64(w.shape.Tokens())
	n := StepCounts{Whole: 1}
	if c.serving == servesAll { // where nothing else is looked up
		n.Lookups, n.Hits = 1, 1
	}
	for step := range w.shape.Steps {
		if c.measuresErrors(step, w.shape.Steps) {
			c.outputs += int64(w.shape.Group())
			w.addQuality(c, step, StepQuality{Measured: 1})
		}
		n.Wanted = int64(w.views[c.view].size(w.shape, step))
		w.count(c, step, n)
	}
}

func (w *worker) count(c *holding, step int, n StepCounts) {
	c.StepCounts.Add(n)
	if w.steps != nil {
		w.steps[c.number].counts[w.at(step)].Add(n)
	}
}

// addQuality adds to the quality of a step if it is measured.
func (w *worker) addQuality(c *holding, step int, q StepQuality) {
	if w.steps != nil {
		w.steps[c.number].quality[w.at(step)].Add(q)
	}
}

// at returns where a step of the head's layer is in Steps.
func (w *worker) at(step int) int { return w.head.Place/w.shape.KVHeads*w.shape.Steps + step }

// planAhead lets rules that know all sets of the head plan with them, for which it computes these sets.
func (w *worker) planAhead() error {
	for v := range w.views {
		var sets [][]uint64
		for i := range w.cells {
			c := &w.cells[i]
			planning, ok := c.rule.(reuse.Planning)
			if !ok || c.view != v {
				continue
			}
			if sets == nil {
				var err error
				if sets, err = w.allSets(w.views[v]); err != nil {
					return err
				}
			}
			c.labels = planning.Plan(w.shape.Steps, func(step, label int) float64 {
				common, size := 0, 0
				for j, word := range sets[step] {
					common += bits.OnesCount64(word & sets[label][j])
					size += bits.OnesCount64(word)
				}
				return float64(common) / float64(max(1, size))
			})
		}
	}
	return nil
}

// allSets returns the exact sets of all steps, a bit per token.
func (w *worker) allSets(v view) ([][]uint64, error) {
	sets := make([][]uint64, w.shape.Steps)
	for step := range sets {
		sets[step] = make([]uint64, (w.shape.Tokens()+63)/64)
		if err := w.compute(&w.step.scores, w.head.Queries, step, false); err != nil {
			return nil, err
		}
		w.order = w.top(w.order[:0], w.step.summed, v, step)
		for _, token := range w.order {
			sets[step][token/64] |= 1 << (token % 64)
		}
	}
	return sets, nil
}

// compute computes the probabilities of a step for some queries, and the outputs if they are wanted.
func (w *worker) compute(s *scores, queries []float32, step int, outputs bool) error {
	if err := w.attended(&s.run, queries, step, outputs); err != nil {
		return err
	}
	s.step = step
	s.probabilities = s.run.probabilitiesOf(w.shape, step)
	s.summed = resized(s.summed, w.shape.Visible(step))
	softmax.SumQueries(s.summed, s.probabilities)
	return nil
}

// attend computes full attention in a step, and the exact set of each view.
func (w *worker) attend(step int) error {
	m, shape := &w.step, w.shape
	if !m.run.has(step) {
		w.settle()
	}
	if err := w.compute(&m.scores, w.head.Queries, step, w.measuresErrors(step)); err != nil {
		return err
	}
	m.visible, w.predicted.step = shape.Visible(step), -1
	for i, v := range w.views {
		e := &w.exact[i]
		e.set = w.top(e.set[:0], m.summed, v, step)
		e.mass = 0
		for _, token := range e.set {
			e.last[token] = int32(step + 1)
			e.mass += float64(m.summed[token])
		}
		e.mass /= float64(shape.Group())
		e.visible = e.mass + w.kept[w.keptOf(v, step, step)].mass
	}
	return nil
}

// top returns the set of the tokens of most probability among the candidates of a step.
func (w *worker) top(set []int32, summed []float32, v view, step int) []int32 {
	from, to := v.candidates(w.shape, step)
	return retrieve.Best(set, &w.selector, summed[from:to], from, v.size(w.shape, step))
}

// look serves a step in a cell. A cell with blocks has the tokens of the blocks that the step wants, whatever its
// policy. So only counts remain for the end of the head.
func (w *worker) look(c *holding, step int) error {
	n := StepCounts{Heads: 1, Wanted: int64(w.views[c.view].size(w.shape, step))}
	var err error
	if c.serving == servesSet {
		err = w.lookUpSet(c, step, &n)
	} else {
		c.set, err = w.find(&w.finders[c.search], step)
		c.label = step
	}
	if err != nil {
		return err
	}
	if c.serving == servesLayer {
		w.selectBlocks(c, step)
	}
	w.count(c, step, n)
	w.measure(c, w.lossOf(c, step), step)
	return nil
}

func (w *worker) lookUpSet(c *holding, step int, n *StepCounts) error {
	n.Lookups = 1
	if c.label >= 0 {
		w.compare(c, step)
		if w.reuses(c, step) {
			n.Hits = 1
			return nil
		}
	}
	return w.load(c, step, n)
}

// queriesOf returns the queries by which a cell looks up sets, with their norms.
func (w *worker) queriesOf(c *holding) ([]float32, []float64) {
	if c.predicted {
		return w.head.Predicted, w.predictedNorms
	}
	return w.head.Queries, w.norms
}

// reuses asks the rule whether the set still answers, after its similarity was computed.
func (w *worker) reuses(c *holding, step int) bool {
	if c.labels != nil {
		return c.labels[step] != step
	}
	c.lookup = reuse.Lookup{Step: step, Label: c.label, Similarities: w.similarities, Overlap: func() float64 {
		return w.recallOf(c)
	}}
	return c.rule.Reuse(&c.lookup)
}

// recallOf returns the share of the exact set of this step that is in the cell's set.
func (w *worker) recallOf(c *holding) float64 {
	e := &w.exact[c.view]
	common := 0
	for _, token := range c.set {
		if e.last[token] == int32(w.step.step+1) {
			common++
		}
	}
	return float64(common) / float64(max(1, len(e.set)))
}

// load replaces the cell's set, and counts how many tokens the new one has, and how many of them the old one lacked.
func (w *worker) load(c *holding, step int, n *StepCounts) error {
	set, err := w.find(&w.finders[c.search], step)
	if err != nil {
		return err
	}
	common := retrieve.Overlap(set, c.set)
	n.Misses, n.Loaded, n.New = 1, int64(len(set)), int64(len(set)-common)
	if learning, ok := c.rule.(reuse.Learning); ok && c.label >= 0 {
		learning.Replaced(&c.lookup, float64(common)/float64(max(1, len(set))))
	}
	c.set, c.label = append(c.set[:0], set...), step
	return nil
}

// lossOf returns the place in w.losses of the loss of the cell's set in this step. Cells with the same set share it.
func (w *worker) lossOf(c *holding, step int) int {
	for i := len(w.losses) - 1; i >= 0 && w.losses[i].step == step; i-- {
		if l := &w.losses[i]; l.search == c.search && l.label == c.label {
			return i
		}
	}
	w.losses = grown(w.losses)
	number := len(w.losses) - 1
	l := &w.losses[number]
	*l = loss{step: step, search: c.search, label: c.label, errors: l.errors[:0], recall: w.recallOf(c)}
	v := w.views[c.view]
	l.kept = w.keptOf(v, step, c.label)
	l.middle = softmax.SumRows(w.step.summed, c.set) / float64(w.shape.Group())
	always := w.kept[l.kept].mass
	l.mass = l.middle + always
	l.middle += always - w.kept[w.keptOf(v, step, step)].mass
	if w.measuresErrors(step) {
		w.hold(c, number)
	}
	return number
}

func (w *worker) measure(c *holding, number, step int) {
	e, l := &w.exact[c.view], &w.losses[number]
	if c.measuresErrors(step, w.shape.Steps) {
		w.due = append(w.due, due{c.number, number})
	}
	c.recall += l.recall
	c.mass += l.mass
	c.lost += e.visible - l.mass
	c.middle += l.middle
	c.exact += e.mass
	w.addQuality(c, step, StepQuality{Recall: qualityOf(l.recall), LostMass: qualityOf(e.visible - l.mass)})
	if step == w.shape.Steps-1 {
		v := w.views[c.view]
		c.visible = int64(v.sink + w.step.visible - v.tail(w.shape, step, c.label))
		if c.serving == servesSet {
			c.tally.set, c.tally.labels = int64(len(c.set)), int64(w.shape.Group())
		}
	}
}

func normsOf(norms []float64, rows []float32, dim int) []float64 {
	norms = resized(norms, len(rows)/dim)
	reuse.Norms(norms, rows, dim)
	return norms
}

// cosines sets the similarities of the queries of two steps, per query head.
func cosines(similarities []float64, queries []float32, norms []float64, shape *attention.Shape, step, label int) {
	group, dim := shape.Group(), shape.Dim
	a, b := step*group, label*group
	reuse.Cosines(similarities, queries[a*dim:][:group*dim], queries[b*dim:][:group*dim], dim, norms[a:][:group],
		norms[b:][:group])
}

// resized returns n elements whose contents are not defined, with room to grow: each step has a token more.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}
