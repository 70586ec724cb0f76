// Package report presents the results of an experiment: its figures, one self-contained page with claims, figures,
// tables, parameters and records, and a summary for the terminal. The same plan and records give the same bytes;
// measured times are only in timings.csv.
package report

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

type Input struct {
	File    *experiment.File  // the effective experiment
	Cells   []experiment.Cell // the whole plan
	Records []records.Record  // of its cells except auxiliary ones, in their order
	Series  []series.Row      // of the records, if the experiment keeps series
	Version string            // of the program
	Quick   bool              // File is the quick version
	Command string            // repeats the experiment
	Figures look.Options      // how figures look, before what the experiment says
}

// InputOf returns the input of a sweep's report.
func InputOf(s *sweep.Sweep, c *sweep.Collection, version string) Input {
	recs := c.Records
	if s.File.SpeaksOfTimes() {
		recs = c.Timed()
	}
	return Input{File: s.File, Cells: s.Cells, Records: recs, Series: c.Series, Version: version,
		Quick: s.File.IsQuick(), Command: Command(s.File)}
}

// Write draws the figures into dir/figures and writes dir/report.html; dir must exist. A claim that does not hold is
// not an error.
func Write(dir string, in Input) (Summary, error) {
	var drawn []*page.Figure
	summary, tables, err := summarize(dir, in, func() (notes []string, err error) {
		drawn, notes, err = figures(dir, in)
		return notes, err
	})
	if err != nil {
		return Summary{}, err
	}
	return summary, atomicfile.WriteIn(dir, sweep.PageName, newPage(in, summary, drawn, tables).Write)
}

// Summarize returns what Write would return for the same input, but writes nothing.
func Summarize(dir string, in Input) (Summary, error) {
	s, _, err := summarize(dir, in, func() ([]string, error) {
		return eachFigure(in, func(f drawable) error {
			_, err := f.draw()
			return err
		})
	})
	return s, err
}

// summarize returns the summary and the tables; draw returns the notes of figures.
func summarize(dir string, in Input, draw func() ([]string, error)) (s Summary, tables []*results.Tables, err error) {
	judged, err := judge(in.File, in.Records)
	if err != nil {
		return s, nil, err
	}
	notes, err := draw()
	if err != nil {
		return s, nil, err
	}
	tables, more := pivots(in)
	left, err := LeftOut(in.File)
	if err != nil {
		return s, nil, err
	}
	if left != "" {
		more = append(more, left)
	}
	s = Summary{
		Name: in.File.Name, Title: claims.OneLine(in.File.Title), Source: claims.OneLine(in.File.Source), Quick: in.Quick,
		Claims: judged, Published: agreements(tables), Notes: slices.Concat(notes, more),
		Page: filepath.Join(dir, sweep.PageName), File: in.File.Path(), Digest: digest(in.Records),
	}
	s.Moved, err = heldToPins(in.File, s)
	return s, tables, err
}

// Command returns the command that repeats the sweep in the folder of its file, wherever the first one ran.
func Command(file *experiment.File) string {
	words := []string{"cachesim sweep", terminal.Shell(cmp.Or(file.Origin, file.Name))}
	for _, change := range file.Changes {
		flag, value, _ := strings.Cut(change, " ")
		words = append(words, flagOf(flag, value))
	}
	for _, only := range file.Only {
		words = append(words, flagOf("--only", only))
	}
	return strings.Join(words, " ")
}

func flagOf(flag, value string) string {
	if value == "" {
		return flag
	}
	return flag + " " + terminal.Shell(value)
}
