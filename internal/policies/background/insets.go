package background

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

// Sets are slabs.Ranked, in mode=async with one worker for all sets. It implements policies.SetsPolicy and
// policies.Background.
type Sets struct {
	*slabs.Ranked
	worker *worker // nil in mode=sync
}

// NewSets returns empty sets that follow predictions as far as rule allows.
func NewSets(c policies.SetsConfig, rule slabs.Rule) (*Sets, error) {
	if batch := c.Params.Int("batch"); batch != 0 {
		return nil, fmt.Errorf("batch=%d: the cache `sets` has its own batches; leave batch out and write --cache "+
			"'sets(batch=%d)'", batch, batch)
	}
	s := &Sets{Ranked: slabs.NewRanked(c.Geometry, c.Predictor, rule)}
	if In(c.Params) {
		w := newWorker(c.Predictor, len(c.Geometry.Home), c.Params.Int("latency"))
		s.worker = &w
		s.TakeFrom(w.known)
	}
	return s, nil
}

func (s *Sets) LookUp(objects []policies.Object, first int, times []int64) (fetches int) {
	fetches = s.Ranked.LookUp(objects, first, times)
	if s.worker != nil {
		s.worker.requested = append(s.worker.requested, objects...)
	}
	return fetches
}

func (s *Sets) Load(end int) (evictions int) {
	if s.worker == nil {
		return s.Ranked.Load(end)
	}
	// What is loaded was requested before end: it must not see predictions that are finished only at end.
	s.worker.publish(end-1, s.Learn)
	evictions = s.Ranked.Load(end)
	s.worker.publish(end, s.Learn)
	s.worker.endBatch(end)
	return evictions
}

func (s *Sets) UseClock(clock predict.Worker) (background bool, err error) {
	switch {
	case s.worker == nil:
		return false, nil
	case s.worker.latency != 0:
		return false, fmt.Errorf("latency=%d", s.worker.latency)
	}
	s.worker.clock = clock
	return true, nil
}
