package predictors

import (
	"errors"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/oracle/predict"
)

var changesMetric = metric.Metric{Name: "predictor_changes", Unit: metric.Count,
	Doc: "changes to another predictor"}

// askedMetric counts the requests during which a predictor is the chosen one.
func askedMetric(name string) metric.Metric {
	return metric.Metric{Name: "asked_" + name, Unit: metric.Count,
		Doc: "requests during which " + name + " was the chosen predictor"}
}

var autoEntry = predict.Entry{
	Name: "auto",
	Summary: "ewma, popu or gbm, whichever has lately had the most hits in a small cache that follows it; " +
		"all three follow the trace",
	Source: "cachesim",
	Random: true,
	Trains: true,
	Metrics: []metric.Metric{
		predict.TrainingsMetric, predict.WorkMetric, askedMetric("ewma"), askedMetric("popu"), askedMetric("gbm"),
		changesMetric,
	},
	Params: []params.Param{
		{Name: "margin", Default: 0.01, Min: 0.0, Max: 1.0,
			Doc: "by how much the hit ratio with another predictor must be higher before auto changes to it"},
	},
	Time: func(_ params.Values, requests int64) time.Duration {
		return boostedTime(params.Defaults(gbmEntry.Params), requests) + time.Duration(requests)*time.Microsecond
	},
	CheckCache: func(_ params.Values, similar bool) error {
		if similar {
			return errors.New("it judges predictors by one object in 16, which lacks most of the queries that answer each " +
				"other; write ewma, popu or gbm")
		}
		return nil
	},
	New: func(c predict.Config) (predict.Predictor, error) { return newAuto(c) },
}

const (
	// miniatureShare is the share of the objects that miniatures serve, as a power of two, and miniatureSlots how many one
	// holds: the share of a cache of 1024 objects.
	miniatureShare, miniatureSlots = 4, 64
	// judgedEvery is how many requests to these objects pass between two comparisons, and remembered how many count.
	judgedEvery, remembered = 128, 2048
)

// auto uses the predictor that has been best so far, gbm first. Each has a miniature: a small cache that serves one
// object of 16, drawn by a hash, and follows the predictor blindly. The best is the one whose miniature has lately had
// the most hits.
//
// Its clock is gbm's. Memory: what the predictors need, and 5 bytes per object. It implements Lasting, Learner, Grouped
// and Reporter.
type auto struct {
	entrants []entrant
	boosted  *boosted
	chosen   int
	changes  uint32
	last     []int32 // per object: position of its last request
	inside   []uint8 // per object: a bit per entrant, set while its miniature holds the object
	served   int     // requests of the miniatures
	margin   float64
	seed     uint64
	next     [miniatureSlots]float64
}

type entrant struct {
	predict.Predictor
	name  string
	held  []predict.Object // by its miniature
	hits  float64          // share of the last requests of the miniature
	asked int64            // requests while it was the chosen one
}

func newAuto(c predict.Config) (*auto, error) {
	own := c.Params
	c.Params = params.Defaults(gbmEntry.Params)
	b, err := newBoosted(c)
	if err != nil {
		return nil, err
	}
	return &auto{
		entrants: []entrant{
			{Predictor: newEWMA(c), name: "ewma"}, {Predictor: newPOPU(c), name: "popu"}, {Predictor: b, name: "gbm"},
		},
		boosted: b, chosen: 2, last: make([]int32, c.Count), inside: make([]uint8, c.Count),
		margin: own.Float("margin"), seed: c.Seed,
	}, nil
}

func (p *auto) Steady() bool { return false }

func (p *auto) Predict(objects []predict.Object, pos int, next []float64) {
	p.entrants[p.chosen].Predict(objects, pos, next)
}

func (p *auto) Observe(o predict.Object, pos int) {
	p.entrants[p.chosen].asked++
	// Fibonacci hashing: the top bits of the product choose the objects. Miniatures evict before the predictors
	// observe the request, as policies do.
	if (uint64(o)+p.seed+1)*0x9e3779b97f4a7c15>>(64-miniatureShare) == 0 {
		p.serve(o, pos)
	}
	now := p.Now(pos)
	for i := range p.entrants {
		if e := &p.entrants[i]; e.Predictor == predict.Predictor(p.boosted) {
			e.Observe(o, pos)
		} else {
			e.Observe(o, now) // all use gbm's clock
		}
	}
	p.last[o] = int32(pos)
}

func (p *auto) serve(o predict.Object, pos int) {
	p.served++
	// A plain mean over the first requests, then an exponential moving average.
	weight := 1 / float64(min(p.served, remembered))
	for i := range p.entrants {
		e := &p.entrants[i]
		hit := 0.0
		switch {
		case p.inside[o]>>i&1 == 1:
			hit = 1
		case len(e.held) < miniatureSlots:
			e.held = append(e.held, o)
		default:
			v := p.victim(e, pos)
			p.inside[e.held[v]] &^= 1 << i
			e.held[v] = o
		}
		p.inside[o] |= 1 << i
		e.hits += float64((hit - e.hits) * weight)
	}
	if p.served%judgedEvery == 0 {
		p.judge()
	}
}

// victim returns the place of the object that a predictor expects last; ties go to the least recently used.
func (p *auto) victim(e *entrant, pos int) int {
	next := p.next[:len(e.held)]
	e.Predict(e.held, pos, next)
	v := 0
	for i, o := range e.held {
		if next[i] > next[v] || next[i] == next[v] && p.last[o] < p.last[e.held[v]] {
			v = i
		}
	}
	return v
}

// judge changes to another predictor if it has become clearly better.
func (p *auto) judge() {
	best := p.chosen
	for i := range p.entrants {
		if p.entrants[i].hits > p.entrants[best].hits {
			best = i
		}
	}
	// Every change voids all predictions, so a lead within the noise must not cause one.
	if p.entrants[best].hits > p.entrants[p.chosen].hits+p.margin {
		p.chosen = best
		p.changes++
	}
}

func (p *auto) Now(pos int) int { return p.boosted.Now(pos) }

func (p *auto) Until(o predict.Object) int32 {
	if p.entrants[p.chosen].Predictor == predict.Predictor(p.boosted) {
		return p.boosted.Until(o)
	}
	return predict.Forever
}

// Generation implements Lasting: all predictions become void when another predictor is chosen, or when gbm is the
// chosen one and has a new model.
func (p *auto) Generation() uint32 {
	if p.entrants[p.chosen].Predictor == predict.Predictor(p.boosted) {
		return p.changes<<16 + p.boosted.Generation() + 1
	}
	return p.changes << 16
}

func (p *auto) Training() predict.Training { return p.boosted.Training() }

func (p *auto) CountsGroups() bool { return p.boosted.CountsGroups() }

// Report says how long each predictor was the chosen one.
func (p *auto) Report() (v metric.Values) {
	for _, e := range p.entrants {
		v.SetInt(askedMetric(e.name), e.asked)
	}
	v.SetInt(changesMetric, int64(p.changes))
	return v
}
