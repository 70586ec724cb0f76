package gbm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// objective is what a model was trained for, and so what its score means.
type objective struct {
	text      string // as in a LightGBM file
	transform func(score float64) float64
}

func (o objective) String() string { return o.text }

func identity(score float64) float64 { return score }

var regression = objective{"regression", identity}

// transforms gives for each objective that can be used what makes a prediction of a score.
var transforms = map[string]func(float64) float64{
	"regression":    identity,
	"regression_l1": identity,
	"huber":         identity,
	"fair":          identity,
	"quantile":      identity,
	"mape":          identity,
	"poisson":       math.Exp,
	"gamma":         math.Exp,
	"tweedie":       math.Exp,
}

// refusals gives for objectives that cannot be used the reason.
var refusals = map[string]string{
	"binary":               "it predicts probabilities, and a time is wanted; train with objective regression",
	"cross_entropy":        "it predicts probabilities, and a time is wanted; train with objective regression",
	"cross_entropy_lambda": "it predicts probabilities, and a time is wanted; train with objective regression",
	"multiclass":           "a prediction is one number, and this model gives one per class",
	"multiclassova":        "a prediction is one number, and this model gives one per class",
	"lambdarank":           "its scores order the rows of one query and are no times",
	"rank_xendcg":          "its scores order the rows of one query and are no times",
}

// parseObjective reads the objective line of a file: a name and its parameters.
func parseObjective(text string) (objective, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return objective{}, errors.New("objective is empty, so nothing says what a prediction means; train with objective " +
			"regression")
	}
	if slices.Contains(words, "sqrt") {
		return objective{}, fmt.Errorf("objective %q predicts square roots; train with reg_sqrt=false", text)
	}
	if transform, ok := transforms[words[0]]; ok {
		return objective{text, transform}, nil
	}
	if why, ok := refusals[words[0]]; ok {
		return objective{}, fmt.Errorf("objective %s cannot be used: %s", words[0], why)
	}
	return objective{}, fmt.Errorf("objective %q is not known; train with objective regression", clip(text))
}
