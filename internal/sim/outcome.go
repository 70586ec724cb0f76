package sim

import (
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/results/series"
)

// outcome is the result of a replay.
type outcome struct {
	values     metric.Values
	served     int64 // requests, including the warm-up
	elapsed    time.Duration
	predicting time.Duration // the part of elapsed that predictions took
	series     []series.Row  // of all parts so far, if requested
}

// add adds the outcome of the next part of a trace.
func (o *outcome) add(part outcome) {
	o.values = o.values.Merge(part.values)
	o.served += part.served
	o.elapsed += part.elapsed
	o.predicting += part.predicting
}

// setCounters copies the counters that a part reports. It panics if the part does not declare one of them.
func setCounters(v *metric.Values, counters []policies.Counter) {
	for _, c := range counters {
		if _, ok := metric.Lookup(c.Name()); !ok {
			panic(fmt.Sprintf("counter %s is not a metric that its policy, cache or predictor declares", c.Name()))
		}
		v.SetNamed(c.Name(), c.Value)
	}
}
