package baseline

import (
	"fmt"
	"io"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/experiment/checks"
)

type jsonReport struct {
	Baseline  string         `json:"baseline"`
	Version   string         `json:"version"`
	Passed    bool           `json:"passed"`
	Records   int            `json:"records"`
	Counts    map[Status]int `json:"counts"` // for every status that occurs
	NewTraces []string       `json:"new_traces,omitempty"`
	Changes   []*traceChange `json:"trace_changes,omitempty"`
	Results   []jsonResult   `json:"results"`
}

type jsonResult struct {
	Trace        string       `json:"trace"`
	Policy       string       `json:"policy"` // its label
	Capacity     int64        `json:"capacity"`
	CapacityUnit string       `json:"capacity_unit"`
	CapacityText string       `json:"capacity_text"`
	Seed         uint64       `json:"seed"`
	Axes         string       `json:"axes"`
	Status       Status       `json:"status"`
	Tolerance    string       `json:"tolerance"`
	TraceChanged bool         `json:"trace_changed,omitempty"`
	Problem      string       `json:"problem,omitempty"`
	Differences  []Difference `json:"differences"`
}

func (r *Report) printJSON(w io.Writer) error {
	out := jsonReport{Baseline: r.Baseline, Version: r.Version, Passed: r.Passed(), Records: len(r.Results),
		Counts: map[Status]int{}, NewTraces: r.NewTraces, Changes: r.changes()}
	for _, result := range r.Results {
		out.Counts[result.Status]++
		was := result.Was
		j := jsonResult{was.Trace, was.Label, was.Capacity, was.CapacityUnit, was.CapacityText, was.Seed, was.Axes,
			result.Status, result.Tolerance.String(), result.Change != nil, "", append([]Difference{}, result.Differences...)}
		if result.Problem != nil {
			j.Problem = result.Problem.Error()
		}
		out.Results = append(out.Results, j)
	}
	e := jsonlines.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// suite returns a case for each trace that has changed and for each record. A changed record fails; one that could not
// be replayed is broken.
func (r *Report) suite() checks.Suite {
	s := checks.Suite{Name: r.Baseline, File: r.Baseline, Summary: r.Summary()}
	for _, c := range r.changes() {
		s.Cases = append(s.Cases, c.toCase())
	}
	for i := range r.Results {
		s.Cases = append(s.Cases, r.Results[i].toCase())
	}
	return s
}

func (r *Result) toCase() checks.Case {
	name := checks.NameOf(&r.Was)
	c := checks.Case{Class: r.Was.Trace, Name: name, Kind: string(r.Status),
		Title: fmt.Sprintf("%s: %s on %s", r.Status, name, show.Printable(r.Was.Trace))}
	switch r.Status {
	case Equal:
		return c
	case Within:
		c.Outcome = checks.Noted
	case TraceMissing, NotReplayable:
		c.Outcome = checks.Broken
	default:
		c.Outcome = checks.Fails
	}
	c.Message = r.describe()
	return c
}
