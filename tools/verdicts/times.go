package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/cachesim/cachesim/tools/machine"
	"github.com/cachesim/cachesim/tools/tables"
)

// timeColumns are those of times.tsv. Package configs reads the file for the list of experiments.
var timeColumns = []string{"experiment", "full, clock s", "quick, processor s", "machine"}

// time runs the quick version of an experiment, and writes its processor time beside what the whole one took. The clock
// would measure what else the machine does in the seconds of a quick version.
func (r *runner) time(ctx context.Context, name, full string, every []string) error {
	took, err := time.ParseDuration(full)
	if err != nil {
		return err
	}
	_, quick, err := output(ctx, r.program, r.reproduce(name, filepath.Join(r.out, "quick"), "--quick")...)
	if err != nil {
		return err
	}
	row := []string{name, fmt.Sprintf("%.0f", took.Seconds()), fmt.Sprintf("%.1f", max(quick.Seconds(), 0.1)), machine.Name()}
	return tables.SetRow(r.times, timeColumns, row, every)
}
