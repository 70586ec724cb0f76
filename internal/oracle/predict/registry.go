package predict

import (
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
)

// usualTime is the time per request of a predictor that follows a formula or knows the future.
const usualTime = 300 * time.Nanosecond

// Entry describes one predictor for the registry. It implements params.Named, params.Described and params.Checker.
type Entry struct {
	Name    string
	Summary string // one line: what it predicts from
	Source  string // the paper or page that defines it
	Future  bool   // knows the trace after the present request
	Random  bool   // makes random choices, so that its predictions depend on the seed
	Trains  bool   // learns during the replay: it keeps a history of every object, and samples
	Params  []params.Param
	// Metrics are what it reports besides the metrics of all predictors.
	Metrics []metric.Metric
	// Time estimates the predictor's time for a number of requests; nil: usualTime for each.
	Time func(v params.Values, requests int64) time.Duration
	// Check rejects values of Params that exclude each other, or a file that cannot be read; nil if all are accepted.
	Check func(params.Values) error
	// CheckCache rejects values that do not work in a cache where entries answer similar queries or, if similar is false,
	// in any other; nil if all work in both.
	CheckCache func(v params.Values, similar bool) error
	// SimilarFrom returns the least similarity of queries that the predictor needs, if entries answer from hitFrom on;
	// nil: hitFrom.
	SimilarFrom func(v params.Values, hitFrom float64) float64
	New         func(Config) (Predictor, error)
}

// CheckSimilar rejects a predictor that does not work in a cache where entries answer similar queries or, if similar is
// false, in any other.
func CheckSimilar(s Spec, similar bool) error {
	if s.Entry.CheckCache == nil {
		return nil
	}
	if err := s.Entry.CheckCache(s.Params, similar); err != nil {
		return fmt.Errorf("predictor %s: %w", s.Name(), err)
	}
	return nil
}

func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

func (e Entry) Describe() params.Description {
	d := params.Description{Summary: e.Summary, Source: e.Source}
	if e.Random {
		d.Traits = append(d.Traits, "depends on the seed")
	}
	return d
}

func (e Entry) CheckValues(v params.Values) error {
	if e.Check == nil {
		return nil
	}
	return e.Check(v)
}

// Duration estimates the predictor's time for a number of requests, with the policy that uses it.
func (e Entry) Duration(v params.Values, requests int64) time.Duration {
	if e.Time == nil {
		return time.Duration(requests) * usualTime
	}
	return e.Time(v, requests)
}

// Metrics are the metrics of every policy that uses a predictor.
var Metrics = []metric.Metric{CallsMetric, PredictionsMetric, NsMetric}

// Spec is a predictor with its parameters: what a user writes as `noisy(p=0.3,kind=flip)`.
type Spec = params.Spec[Entry]

// Registry has every predictor in the order in which `cachesim predictors` prints them. Package predictors adds them.
var Registry = params.NewRegistry[Entry]("predictor", "oracle,'noisy(p=0.3)'")
