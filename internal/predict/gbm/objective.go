package gbm

import (
	"fmt"
	"math"
	"strconv"
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
	"multiclass":           "a prediction is one number, and this model gives one per class",
	"multiclassova":        "a prediction is one number, and this model gives one per class",
	"lambdarank":           "its scores order the rows of one query and are no times",
	"rank_xendcg":          "its scores order the rows of one query and are no times",
	"cross_entropy":        "it cannot be cross-checked; train with objective binary",
	"cross_entropy_lambda": "it cannot be cross-checked; train with objective binary",
}

// parseObjective reads the objective line of a file: a name and its parameters.
func parseObjective(text string) (objective, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return objective{}, fmt.Errorf("objective is empty, so nothing says what a prediction means; train with objective regression")
	}
	name, parameters := words[0], words[1:]
	for _, p := range parameters {
		if p == "sqrt" {
			return objective{}, fmt.Errorf("objective %q predicts square roots; train with reg_sqrt=false", text)
		}
	}
	if name == "binary" {
		return parseBinary(text, parameters)
	}
	if transform, ok := transforms[name]; ok {
		return objective{text, transform}, nil
	}
	if why, ok := refusals[name]; ok {
		return objective{}, fmt.Errorf("objective %s cannot be used: %s", name, why)
	}
	return objective{}, fmt.Errorf("objective %q is not known; train with objective regression", text)
}

// parseBinary reads the steepness of the sigmoid that makes a probability of a score.
func parseBinary(text string, parameters []string) (objective, error) {
	steepness := 1.0
	for _, p := range parameters {
		value, ok := strings.CutPrefix(p, "sigmoid:")
		if !ok {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil || !(number > 0 && number <= largest) {
			return objective{}, fmt.Errorf("objective %q: sigmoid is %q, want a number above 0", text, value)
		}
		steepness = number
	}
	return objective{text, func(score float64) float64 { return 1 / (1 + math.Exp(-steepness*score)) }}, nil
}
