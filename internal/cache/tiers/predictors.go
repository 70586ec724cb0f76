package tiers

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// predictor is the predictor of one of several tiers, as its policy sees it. The hierarchy reports each request to it
// once, whichever tier serves it: a policy sees what comes down to its tier, and not what hits above. All blocks of a
// prompt are reported when it comes, so that predictions are as of its end.
type predictor struct {
	predict.Predictor
	now    int  // the position after the last request
	shared bool // of a tier that all nodes share, whose positions are those of all their requests
}

// Observe has nothing to do: the hierarchy has reported the request.
func (*predictor) Observe(predict.Object, int) {}

func (p *predictor) Predict(objects []predict.Object, _ int, next []float64) {
	p.Predictor.Predict(objects, p.now, next)
}

// Unwrap implements predict.Wrapper.
func (p *predictor) Unwrap() predict.Predictor { return p.Predictor }

// givePredictor gives the policy of a tier a predictor of its own, with the seed of the tier. The policy of a single
// tier reports its requests itself.
func (h *hierarchy) givePredictor(c *cache.Config, l *level, several bool) (err error) {
	shared := l.at >= h.SharedFrom() && h.nodes != nil
	switch {
	case !policies.Can[policies.PredictorUser](c.Policy.Entry):
		c.Predictor = nil
		return nil
	case !several:
		return nil
	case shared:
		if c.Predictor, err = h.nodes.newPredictor(c); err != nil {
			return err
		}
	case l.at > 0:
		if c.Predictor, err = c.FurtherPredictor(c.Seed); err != nil {
			return err
		}
	}
	p := &predictor{Predictor: c.Predictor, shared: shared}
	c.Predictor, l.predictor = p, p
	h.predictors = append(h.predictors, p)
	return nil
}

// newPredictor builds the predictor of a tier that all nodes share, and gives its config the positions of all of them.
func (n *nodes) newPredictor(c *cache.Config) (predict.Predictor, error) {
	of := n.config
	of.Seed, of.Groups = c.Seed, n.groups
	if err := of.ForNode(); err != nil {
		return nil, err
	}
	n.groups, c.Groups = of.Groups, of.Groups
	return of.Predictor, nil
}

// observe reports a request to the predictors. The tiers that all nodes share count the requests of all of them.
func (h *hierarchy) observe(o policies.Object, pos int) {
	for _, p := range h.predictors {
		at := pos
		if p.shared {
			at += h.ahead
		}
		p.Predictor.Observe(o, at)
		p.now = at + 1
	}
}
