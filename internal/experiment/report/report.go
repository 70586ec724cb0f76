// Package report presents the results of an experiment: its figures, one self-contained page with claims, figures,
// tables, parameters and records, and a summary for the terminal. The same plan and records give the same bytes;
// measured times are only in timings.csv.
package report

import (
	"path/filepath"
	"slices"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results"
)

// Input is the input of a report.
type Input struct {
	File    *experiment.File  // the effective experiment
	Cells   []experiment.Cell // the whole plan
	Records []records.Record  // of its cells except auxiliary ones, in their order
	Series  []series.Row      // of the records, if the experiment keeps series
	Version string            // of the program
	Quick   bool              // File is the quick version
	Command string            // repeats the experiment
}

// InputOf returns the input of a sweep's report.
func InputOf(s *sweep.Sweep, c *sweep.Collection, version string) Input {
	recs := c.Records
	if s.File.SpeaksOfTimes() {
		recs = c.Timed()
	}
	return Input{
		File:    s.File,
		Cells:   s.Cells,
		Records: recs,
		Series:  c.Series,
		Version: version,
		Quick:   s.File.IsQuick(),
		Command: Command(s.File),
	}
}

// Write draws the figures into dir/figures and writes dir/report.html; dir must exist. A claim that does not hold is
// not an error.
func Write(dir string, in Input) (Summary, error) {
	judged, err := judge(in.File, in.Records)
	if err != nil {
		return Summary{}, err
	}
	drawn, notes, err := figures(dir, in)
	if err != nil {
		return Summary{}, err
	}
	tables, more := pivots(in)
	summary := summaryOf(dir, in, judged, tables, slices.Concat(notes, more))
	err = atomicfile.WriteIn(dir, sweep.PageName, newPage(in, summary, drawn, tables).Write)
	return summary, err
}

// Summarize returns what Write would return for the same input, but writes nothing.
func Summarize(dir string, in Input) (Summary, error) {
	judged, err := judge(in.File, in.Records)
	if err != nil {
		return Summary{}, err
	}
	notes, err := undrawable(in)
	if err != nil {
		return Summary{}, err
	}
	tables, more := pivots(in)
	return summaryOf(dir, in, judged, tables, slices.Concat(notes, more)), nil
}

func summaryOf(dir string, in Input, judged []Claim, tables []*results.Tables, notes []string) Summary {
	return Summary{
		Name: in.File.Name, Title: claims.OneLine(in.File.Title), Source: claims.OneLine(in.File.Source), Quick: in.Quick,
		Claims: judged, Published: agreements(tables), Notes: notes, Page: filepath.Join(dir, sweep.PageName),
		File: in.File.Path(),
	}
}
