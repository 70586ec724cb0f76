package gbm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// objective is what a model was trained for; it says what the score means.
type objective struct {
	text      string // as in a LightGBM file
	transform func(score float64) float64
}

func (o objective) String() string { return o.text }

func identity(score float64) float64 { return score }

var regression = objective{"regression", identity}

// transforms has for each supported objective the function that turns a score into a prediction.
var transforms = map[string]func(float64) float64{
	"regression": identity, "regression_l1": identity, "huber": identity, "fair": identity, "quantile": identity,
	"mape": identity, "poisson": math.Exp, "gamma": math.Exp, "tweedie": math.Exp,
}

// Reasons why an objective cannot be used.
const (
	notTimes = "it predicts probabilities, not times"
	perClass = "it predicts a number per class, not one number"
	ranks    = "its scores rank the rows of a query and are not times"
)

var refusals = map[string]string{
	"binary": notTimes, "cross_entropy": notTimes, "cross_entropy_lambda": notTimes,
	"multiclass": perClass, "multiclassova": perClass, "lambdarank": ranks, "rank_xendcg": ranks,
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
		return objective{}, fmt.Errorf("objective %s cannot be used: %s; train with objective regression", words[0], why)
	}
	return objective{}, fmt.Errorf("objective %q is not known; train with objective regression", clip(text))
}
