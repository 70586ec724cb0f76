package reuse

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
)

var qsacEntry = Entry{
	Name:    "qsac",
	Summary: "if the queries are less similar to the set's than a threshold, which is higher for an important head",
	Source: "LiteCache: A Query Similarity-Driven, GPU-Centric KVCache Subsystem for Efficient LLM Inference, " +
		"arXiv 2511.14510, 2025",
	Params: []params.Param{
		{Name: "eta", Default: 0.8, Min: -1, Max: 1, Doc: "threshold of a head of importance 1, the highest of all"},
		{Name: "p", Default: 3.0, Min: 0, Doc: "power of the importance, above 0; with a higher one fewer " +
			"heads have high thresholds"},
		{Name: "eps", Default: 0.1, Min: 0, Max: 2, Doc: "how far below its mean similarity the threshold of a head may " +
			"be for the head to be worth keeping as a whole"},
		aggregateParam,
		maxAgeParam(0),
	},
	UsesImportance: true,
	UsesProfile:    true,
	CheckParams: func(v params.Values) error {
		if v.Float("p") == 0 {
			return fmt.Errorf("p=0: want a number above 0; for one threshold of all heads use the rule threshold")
		}
		return nil
	},
	New: func(c Config) (Rule, error) {
		h := &c.Head
		if err := h.check(); err != nil {
			return nil, err
		}
		r := &qsac{level: level{
			kind:    c.Params.Text("aggregate"),
			weights: weightsOf(h),
			tau:     Threshold(h.Importance, c.Params.Float("eta"), c.Params.Float("p")),
			maxAge:  c.Params.Int("max-age"),
		}}
		r.worth = r.tau - (h.Similarity - c.Params.Float("eps"))
		return r, nil
	},
}

// Threshold returns the similarity above which a head reuses its set (QSAC, equations 3 to 5): -1 at importance 0, eta
// at importance 1. In between, the angle moves with the power p of the importance.
func Threshold(importance, eta, p float64) float64 {
	weight := power(clamped(importance), p)
	return cosine(min(math.Pi, float64(weight*arccosine(eta))+float64((1-weight)*math.Pi)))
}

// power returns x^p for x in [0,1] and p > 0, with the same bits on every machine.
func power(x, p float64) float64 {
	if x == 0 {
		return 0
	}
	return random.Exp(max(-699, p*random.Log(x))) // the limit of Exp, far below anything that counts
}

// level reuses a set while the similarity of the group is above a threshold. A head whose threshold is -1 reuses it for
// queries in any direction but the opposite one.
type level struct {
	kind    string    // of the mean
	weights []float64 // of the query heads
	tau     float64
	maxAge  int
}

func (r *level) Reuse(l *Lookup) bool {
	return !l.expired(r.maxAge) && Aggregate(r.kind, l.Similarities, r.weights) > r.tau
}

// qsac also knows how much a head would gain.
type qsac struct {
	level
	worth float64
}

func (r *qsac) Worth() float64 { return r.worth }

var thresholdEntry = Entry{
	Name:    "threshold",
	Summary: "if the queries are not more similar to the set's than one threshold, which is that of all heads",
	Source:  "arXiv 2511.14510, 2025, section 7.6: the baseline of its ablation, there with aggregate=min",
	Params: []params.Param{
		{Name: "tau", Default: 0.7, Min: -1, Max: 1, Doc: "similarity above which a set is reused"},
		aggregateParam,
	},
	New: func(c Config) (Rule, error) {
		return &level{kind: c.Params.Text("aggregate"), tau: c.Params.Float("tau")}, nil
	},
}
