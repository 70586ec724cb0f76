package predict

var noneEntry = Entry{
	Name:    "none",
	Summary: "the same for every object, so that ties decide: policies fall back on what they do without predictions",
	Source:  "cachesim",
	New:     func(c Config) (Predictor, error) { return none{sharing{NewShared(c)}}, nil },
}

type none struct{ sharing }

func (none) Observe(Object, int)                       {}
func (none) Predict(_ []Object, _ int, next []float64) { clear(next) }
func (none) Steady() bool                              { return true }
