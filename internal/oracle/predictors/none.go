package predictors

import "github.com/cachesim/cachesim/internal/oracle/predict"

var noneEntry = predict.Entry{
	Name:    "none",
	Summary: "the same for every object, so that ties decide: policies fall back on what they do without predictions",
	Source:  "cachesim",
	New:     func(c predict.Config) (predict.Predictor, error) { return none{sharing{predict.NewShared(c)}}, nil },
}

type none struct{ sharing }

func (none) Observe(predict.Object, int)                       {}
func (none) Predict(_ []predict.Object, _ int, next []float64) { clear(next) }
func (none) Steady() bool                                      { return true }
