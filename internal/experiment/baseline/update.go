package baseline

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/experiment/best"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
)

func (r *Report) Outdated() bool { return r.Count(Equal) != len(r.Results) || len(r.NewTraces) > 0 }

// Updated returns the records of the baseline, with changed ones replaced by the results of the replays. The user's
// names stay. It is an error if something was not replayed.
func (r *Report) Updated() ([]records.Record, error) {
	recs := make([]records.Record, len(r.Results))
	for i, result := range r.Results {
		if result.Is == nil || result.Status == TraceChanged {
			return nil, fmt.Errorf("%s is not updated: %s%s", r.Baseline, r.Failures(), r.acceptHint())
		}
		recs[i] = result.updated()
	}
	r.markBest(recs)
	return recs, nil
}

// acceptHint says how to accept what has changed on purpose, if a trace or a file of a part has.
func (r *Report) acceptHint() string {
	if r.Count(TraceChanged)+r.Count(FileChanged) == 0 {
		return ""
	}
	return "; if traces or files of parts were changed on purpose, --update --new-traces accepts them"
}

// Series returns the series of the replays, with the cells of the baseline's records.
func (r *Report) Series() (rows []series.Row) {
	for _, result := range r.Results {
		for _, row := range result.series {
			row.Cell = result.Was.Cell
			rows = append(rows, row)
		}
	}
	return rows
}

func (r *Result) updated() records.Record {
	was, is := &r.Was, *r.Is
	if r.Status == Equal {
		kept := *was
		kept.TraceChecksum, kept.PartChecksum, kept.SeriesDigest = is.TraceChecksum, is.PartChecksum, is.SeriesDigest
		return kept
	}
	is.Trace, is.Policy, is.Label, is.CapacityText = was.Trace, was.Policy, was.Label, was.CapacityText
	is.Axes, is.Cell, is.Plan = was.Axes, was.Cell, was.Plan
	is.Best = was.Best
	if ns, ok := r.times[metric.NsPerRequest.Name]; ok && was.Has(metric.NsPerRequest) {
		is.Set(metric.NsPerRequest, ns)
	}
	if was.Version == "" {
		is.Version = ""
	}
	return is
}

// markBest marks the best policies again if some were marked and a record is new.
func (r *Report) markBest(recs []records.Record) {
	for _, same := range best.ByPoint(recs) {
		marked, renewed := false, false
		for _, i := range same {
			marked = marked || recs[i].Best
			renewed = renewed || r.Results[i].Status != Equal
		}
		if marked && renewed {
			best.Mark(recs, same)
		}
	}
}
