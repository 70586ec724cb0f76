package sim

import (
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/records/series"
)

// Result is the result of replaying a cell: its record, without times and without the fields that compare it with
// others, which HoldAgainst and MarkBest set.
type Result struct {
	records.Record
	Times  Times
	Series []series.Row   // if requested; the rows do not name their cell
	Blocks *blocks.Blocks // if requested; nil where there are none
}

// Times are the metrics of a replay that depend on the machine, by their names.
type Times map[string]float64

func (t Times) AddTo(rec *records.Record) {
	for name, x := range t {
		rec.SetNamed(name, x)
	}
}

// outcome is what a replay counted and how long it took.
type outcome struct {
	values     metric.Values
	served     int64 // requests, including the warm-up
	elapsed    time.Duration
	predicting time.Duration  // the part of elapsed that predictions took
	series     []series.Row   // of all parts so far, if requested
	blocks     *blocks.Blocks // if requested
}

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
