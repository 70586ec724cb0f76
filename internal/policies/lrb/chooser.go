package lrb

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
)

// chooser finds the victim among a sample of the residents.
type chooser struct {
	samples int
	width   int  // of a row
	sized   bool // scores are multiplied by sizes
	rows    []float64
	scores  []float64
}

func newChooser(samples, width int, sized bool) chooser {
	return chooser{samples: samples, width: width, sized: sized}
}

// latest draws different residents, and returns the one that the model expects to be requested last. Ties go to the one
// requested longest ago.
func (c *chooser) latest(p *lrb) policies.Object {
	drawn := p.drawResidents(c.samples)
	if len(c.scores) < len(drawn) {
		c.rows, c.scores = make([]float64, c.samples*c.width), make([]float64, c.samples)
	}
	for i, o := range drawn {
		p.describe(o, p.now, c.rows[i*c.width:][:c.width])
	}
	scores := c.scores[:len(drawn)]
	p.learner.model.PredictRows(c.rows[:len(drawn)*c.width], scores)
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
