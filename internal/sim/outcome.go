package sim

import (
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/models"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/series"
)

// outcome is what a replay gave.
type outcome struct {
	counts   cache.Counts
	served   int64   // requests, those of the warm-up too
	bound    float64 // a Bound's least number of misses
	elapsed  time.Duration
	counters []policies.Counter
	cost     predict.Cost
	latency  models.Latency // with a model
	series   []series.Row   // of all parts so far, where they are asked for
}

// add adds the outcome of the next part of a trace.
func (o *outcome) add(part outcome) {
	o.counts = o.counts.Plus(part.counts)
	o.served += part.served
	o.bound += part.bound
	o.elapsed += part.elapsed
	o.cost = o.cost.Plus(part.cost)
	o.latency = part.latency // a model replays a trace in one part
	for _, c := range part.counters {
		at := slices.IndexFunc(o.counters, func(have policies.Counter) bool { return have.Name == c.Name })
		if at < 0 {
			o.counters = append(o.counters, c)
		} else {
			o.counters[at].Value += c.Value
		}
	}
}

// trainingCounters are what a record says of models that were trained during the replay.
func trainingCounters(t predict.Training) []policies.Counter {
	if t.Models == 0 {
		return nil
	}
	return []policies.Counter{{Name: "trainings", Value: float64(t.Models)},
		{Name: "training_work", Value: float64(t.Work)}}
}

// pickCounters are what a record says of a predictor that picks one of several: the requests during which each was
// asked.
func pickCounters(p predict.Predictor) (counters []policies.Counter) {
	picks, changes := predict.Picks(p)
	for _, pick := range picks {
		counters = append(counters, policies.Counter{Name: "asked_" + pick.Name, Value: float64(pick.Requests)})
	}
	if len(picks) > 0 {
		counters = append(counters, policies.Counter{Name: "predictor_changes", Value: float64(changes)})
	}
	return counters
}
