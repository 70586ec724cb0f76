package sim

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim/ontrace"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
)

// predictors are a cell's predictors: none, one or, in a cache that builds one for each of its pools, several.
type predictors struct{ all []*predict.Counted }

func (p *predictors) cost() (sum predict.Cost) {
	for _, one := range p.all {
		sum = sum.Plus(one.Cost())
	}
	return sum
}

// ofPool creates the predictor of a pool with objects and positions of its own. It knows no times.
func (p *predictors) ofPool(c Cell, objects, requests int, seed uint64) (predict.Predictor, error) {
	made, err := c.Predictor.Entry.New(predict.Config{Count: objects, Requests: requests, Seed: seed,
		Params: c.Predictor.Params})
	if err != nil {
		return nil, fmt.Errorf("predictor %s: %w", c.Predictor, err)
	}
	p.all = append(p.all, &predict.Counted{Predictor: made})
	return p.all[len(p.all)-1], nil
}

// ofCell creates the predictor of a cell for a part of the trace. addresses are nil unless a prefetcher computes with
// them, neighbours unless queries have some.
func (p *predictors) ofCell(c Cell, t *traces.Trace, nextUse func() []uint32, addresses *prefetch.Addresses,
	neighbours *similarity.Neighbours) (predict.Predictor, error) {
	var evicts func() []bool
	exact := cache.IsExact(c.Cache) || cache.HasStreams(c.Cache) ||
		cache.ServesQueries(c.Cache) && !cache.AnswersSimilar(c.Cache)
	if exact && !c.Capacity.Bytes {
		evicts = func() []bool { return policies.OptEvicts(t.Objects, t.NumObjects, nextUse(), c.Capacity.Simulated) }
	}
	further := 0
	if addresses != nil {
		further = addresses.Strangers()
	}
	var similar *predict.Similar
	if cache.AnswersSimilar(c.Cache) {
		similar = &predict.Similar{Lists: neighbours, From: float32(cache.SimilarityOf(c.Cache).HitFrom)}
	}
	made, err := ontrace.NewWith(*c.Predictor, t, further, similar, c.Seed, nextUse, evicts)
	if err != nil {
		return nil, err
	}
	p.all = append(p.all, made)
	return made, nil
}
