package lists

import (
	"fmt"
	"strconv"
	"time"

	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/experiment"
)

type cellJSON struct {
	experiment.CellText
	Finished bool    `json:"finished"`
	Seconds  float64 `json:"estimated_seconds,omitempty"` // of its replay; 0 if it is finished, or not estimated
}

// Cells lists the cells of an experiment, with the cost of unfinished ones if it was estimated.
func Cells(cells []experiment.Cell, finished func(experiment.Cell) bool, cost experiment.Cost) List {
	l := List{
		Noun: "cell",
		Columns: []tabular.Head{
			{Name: "cell"},
			{Name: "trace", IsText: true, Weight: tabular.Key, Wrap: 16},
			{Name: "policy", IsText: true, Weight: tabular.Key, Wrap: 16},
			{Name: "capacity", Weight: tabular.Key},
			{Name: "seed", Weight: 1},
			{Name: "axes", IsText: true, Weight: tabular.Key, Wrap: 12},
			{Name: "state", Weight: 2},
		},
	}
	for _, cell := range cells {
		c := cellJSON{cell.Text(), finished(cell), cost.Cells[cell.Hash]}
		state, label := "", c.Label
		if c.Finished {
			state = "finished"
		} else if cost.Cells != nil {
			state = "takes " + roughly(c.Seconds)
		}
		if c.Auxiliary {
			label += " (to compare with)"
		}
		seed := strconv.FormatUint(c.Seed, 10)
		l.Items = append(l.Items, Item{
			Name: strconv.Itoa(c.Number),
			Row:  []string{strconv.Itoa(c.Number), c.Workload.Name, label, c.Capacity, seed, c.Axes, state},
			JSON: c,
		})
	}
	return l
}

// CostNote says how many of the cells are finished and, if that was estimated, how long the missing ones take with the
// given number of jobs.
func CostNote(cells, missing []experiment.Cell, cost experiment.Cost, jobs int) string {
	all := len(experiment.WithoutRepetitions(cells))
	switch {
	case len(missing) == 0:
		return fmt.Sprintf("all %d cells are finished", all)
	case cost.Cells == nil:
		return fmt.Sprintf("%d of %d cells are finished (add --estimate to learn how long the others take)",
			all-len(missing), all)
	}
	return fmt.Sprintf("%d of %d cells are finished; the others take about %s with %d jobs (an estimate from the first "+
		"requests of each trace)",
		all-len(missing), all, roughly(cost.Total(missing, jobs)), jobs)
}

// roughly writes a duration of seconds with two figures at most.
func roughly(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	for _, unit := range []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond} {
		if d >= 10*unit {
			return d.Round(unit).String()
		}
		if d >= unit {
			return d.Round(unit / 10).String()
		}
	}
	return "a millisecond"
}
