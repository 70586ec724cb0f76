package reuse

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
)

var adaptiveEntry = Entry{
	Name: "adaptive",
	Summary: "if the queries are farther from the set's than an angle, which each head learns: it widens if a replaced " +
		"set still had enough of the new one, and narrows if not",
	Source: "cachesim",
	Params: []params.Param{
		recallParam(0.45, "share of the new set in the old one that the angle is to lead to"),
		{Name: "start", Default: 0.9, Min: -1, Max: 1, Doc: "cosine of the first angle; only sets that are replaced " +
			"teach anything, so that it is high"},
		{Name: "up", Default: 0.15, Min: 0, Max: 1, Doc: "share by which the angle changes, above 0 and below 1"},
		maxAgeParam(256),
		aggregateParam,
	},
	CheckParams: func(v params.Values) error {
		if up := v.Float("up"); up == 0 || up == 1 {
			return fmt.Errorf("up=%v: want a number above 0, or the rule learns nothing, and below 1, or the angle "+
				"would be 0", up)
		}
		return nil
	},
	New: func(c Config) (Rule, error) {
		r := &adaptive{recall: c.Params.Float("recall"), up: c.Params.Float("up"),
			level: level{kind: c.Params.Text("aggregate"), maxAge: c.Params.Int("max-age")}}
		r.turn(arccosine(c.Params.Float("start")))
		return r, nil
	},
}

// leastAngle keeps the angle from vanishing, after which it could not grow again.
const leastAngle = 1e-3

// adaptive learns its threshold from each set that is replaced: the old set and the new one are both at hand then, so
// that their overlap costs nothing. Where both outcomes are about as frequent, the overlap is about the recall.
type adaptive struct {
	level
	recall, up float64
	angle      float64 // arccos of the threshold
}

func (r *adaptive) Replaced(_ *Lookup, overlap float64) {
	if overlap >= r.recall {
		r.turn(r.angle * (1 + r.up))
	} else {
		r.turn(r.angle * (1 - r.up))
	}
}

// turn sets the angle, and with it the threshold.
func (r *adaptive) turn(angle float64) {
	r.angle = max(leastAngle, min(math.Pi, angle))
	r.tau = cosine(r.angle)
}

func recallParam(recall float64, doc string) params.Param {
	return params.Param{Name: "recall", Default: recall, Min: 0, Max: 1, Doc: doc}
}
