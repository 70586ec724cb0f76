package predict

var noneEntry = Entry{
	Name:    "none",
	Summary: "the same for every object, so that ties decide: policies fall back on what they do without predictions",
	Source:  "cachesim",
	New:     func(Config) (Predictor, error) { return none{}, nil },
}

type none struct{}

func (none) Observe(Object, int)                       {}
func (none) Predict(_ []Object, _ int, next []float64) { clear(next) }
func (none) Steady() bool                              { return true }
