package boosted

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// chooser finds the victim among a sample of the residents.
type chooser struct {
	samples int
	width   int  // of a row
	sized   bool // scores are multiplied by sizes
	row     []float64
	values  []float64 // of the features that change with time
	words   []uint64
	scores  []float64
	effects effects
}

func newChooser(samples, width, objects int, sized bool) chooser {
	return chooser{samples: samples, width: width, sized: sized, effects: newEffects(objects)}
}

// latest draws different residents, and returns the one that the model expects to be requested last. Ties go to the one
// requested longest ago.
func (c *chooser) latest(p *lrb) policies.Object {
	drawn := p.drawResidents(c.samples)
	scores := c.score(p, drawn)
	p.tally.candidates += int64(len(drawn))
	boundary := logarithm(int64(p.window))
	victim, highest, age := drawn[0], math.Inf(-1), int32(-1)
	for i, o := range drawn {
		if scores[i] >= boundary {
			p.tally.beyond++
		}
		score := scores[i]
		if c.sized {
			score *= float64(p.sizes.Of(o))
		}
		if a := p.now - p.last[o]; score > highest || score == highest && a > age {
			victim, highest, age = o, score, a
		}
	}
	return victim
}

// score returns the prediction for each of the drawn residents.
func (c *chooser) score(p *lrb, drawn []policies.Object) []float64 {
	if len(c.scores) < len(drawn) {
		c.scores, c.row = make([]float64, c.samples), make([]float64, c.width)
	}
	scores := c.scores[:len(drawn)]
	e := &c.effects
	e.follow(p.learner.model, p.window, p.history.changes, p.tracked.All[:p.tracked.Front])
	if e.partial == nil {
		c.values = dense.Grown(c.values, c.samples*c.width)
		for i, o := range drawn {
			p.describe(o, p.now, c.values[i*c.width:][:c.width])
		}
		p.learner.model.PredictRows(c.values[:len(drawn)*c.width], scores)
		return scores
	}
	words, changing := e.partial.Words(), 1+p.history.counters
	c.values, c.words = dense.Grown(c.values, c.samples*changing), dense.Grown(c.words, c.samples*words)
	for i, o := range drawn {
		if e.of[o] == 0 {
			e.of[o] = e.allocate()
			e.partial.Fix(p.describe(o, p.now, c.row), e.kept(e.of[o]))
		}
		copy(c.words[i*words:][:words], e.kept(e.of[o]))
		p.history.fillChanging(o, p.now-p.last[o], c.values[i*changing:][:changing])
	}
	e.partial.PredictRows(c.values, c.words, scores)
	return scores
}

// drawResidents draws different residents at random, all of them if there are no more than that. It moves them to the
// front of the tracked objects, whose order means nothing.
func (p *lrb) drawResidents(n int) []policies.Object {
	t := &p.tracked
	if t.Front <= n {
		return t.All[:t.Front]
	}
	for i := range n {
		t.Swap(i, i+int(p.draws.Below(uint64(t.Front-i))))
	}
	return t.All[:n]
}
