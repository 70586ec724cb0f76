package predictors

import (
	"errors"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// Predictors that follow a formula over the requests seen so far. Their clock is the position in the trace, and each
// makes its prediction when an object is requested.

var ewmaEntry = predict.Entry{
	Name: "ewma",
	Summary: "half the average interval after the last request, where each interval weighs twice as much as the one " +
		"before; never after a single request",
	Source: "cachesim",
	New:    func(c predict.Config) (predict.Predictor, error) { return shareFormula(newEWMA(c), c), nil },
}

var popuEntry = predict.Entry{
	Name: "popu",
	Summary: "as long after the last request as the requests to the object so far have been apart on average since the " +
		"trace began: t + t/count",
	Source: "POPU in the code of Chledowski, Polak, Szabucki and Zolna, Robust learning-augmented caching: an " +
		"experimental study, ICML 2021",
	New: func(c predict.Config) (predict.Predictor, error) { return shareFormula(newPOPU(c), c), nil },
}

var plecoEntry = predict.Entry{
	Name: "pleco",
	Summary: "1/p requests after the last one, where p is the object's share of past requests, each weighted by its age " +
		"n with a power law " +
		"and exponential cutoff: (n+10)^-1.8 e^(-n/670)",
	Source: "Anderson, Kumar, Tomkins and Vassilvitskii, The dynamics of repeat consumption, WWW 2014; constants of the " +
		"code of Chledowski et al., ICML 2021",
	CheckCache: func(_ params.Values, similar bool) error {
		if similar {
			return errors.New("it looks back at the requests to one object, but similar queries share requests; write ewma, " +
				"popu or gbm")
		}
		return nil
	},
	New: func(c predict.Config) (predict.Predictor, error) { return newPLECO(c), nil },
}

// answered keeps the prediction made when an object was last requested.
type answered struct{ next []float64 } // per object

func newAnswered(c predict.Config) answered { return answered{neverFor(c.Count)} }

func (a answered) Predict(objects []predict.Object, _ int, next []float64) {
	for i, o := range objects {
		next[i] = a.next[o]
	}
}

func (a answered) Steady() bool { return true }

type ewma struct {
	answered
	last    []int     // per object: 1 plus the position of its last request, 0 before the first
	average []float64 // per object: interval, NaN before the first
}

func newEWMA(c predict.Config) *ewma {
	return &ewma{last: make([]int, c.Count), average: slices.Repeat([]float64{math.NaN()}, c.Count),
		answered: newAnswered(c)}
}

func (p *ewma) Observe(o predict.Object, pos int) {
	if p.last[o] > 0 {
		interval := float64(pos + 1 - p.last[o])
		if math.IsNaN(p.average[o]) {
			p.average[o] = interval
		} else {
			p.average[o] = (p.average[o] + interval) / 2
		}
	}
	p.last[o] = pos + 1
	p.next[o] = predict.Never
	if !math.IsNaN(p.average[o]) {
		p.next[o] = float64(pos) + float64(p.average[o]/2)
	}
}

type popu struct {
	answered
	count []uint32
}

func newPOPU(c predict.Config) *popu {
	return &popu{count: make([]uint32, c.Count), answered: newAnswered(c)}
}

func (p *popu) Observe(o predict.Object, pos int) {
	p.count[o]++
	p.next[o] = float64(pos) + float64(pos+1)/float64(p.count[o])
}

// plecoMemory is how many requests pleco looks back: older ones weigh less than the last digit of the sum.
const plecoMemory = 1 << 14

// pleco walks through the past requests of an object along a ring of the last plecoMemory requests. An object with a
// share s of the requests costs s times plecoMemory steps each time.
type pleco struct {
	answered
	weights []float64 // of a request n requests ago, n from 1 to plecoMemory
	sum     float64   // of the weights of all requests so far
	// per position, modulo plecoMemory: 1 plus the position of the object's previous request, 0 if it is the first
	previous []int
	last     []int // per object: 1 plus the position of its last request
	seen     int   // positions before this one are in sum
}

func newPLECO(c predict.Config) *pleco {
	p := &pleco{answered: newAnswered(c), weights: make([]float64, plecoMemory+1), previous: make([]int, plecoMemory),
		last: make([]int, c.Count)}
	for n := range p.weights {
		p.weights[n] = math.Pow(float64(n)+10, -1.8) * math.Exp(-float64(n)/670)
	}
	return p
}

func (p *pleco) Observe(o predict.Object, pos int) {
	for ; p.seen <= pos; p.seen++ {
		if p.seen < plecoMemory {
			p.sum += p.weights[p.seen+1]
		}
	}
	p.previous[pos%plecoMemory] = p.last[o]
	p.last[o] = pos + 1
	own := 0.0
	// An entry of the ring is overwritten after plecoMemory requests; the condition ends the walk before it reads
	// one.
	for at := pos; at >= 0 && pos-at < plecoMemory; at = p.previous[at%plecoMemory] - 1 {
		own += p.weights[pos-at+1]
	}
	p.next[o] = float64(pos) + p.sum/own
}
