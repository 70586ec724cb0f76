// Package results makes of the records of one command what is said below its table and written into its folder.
package results

import (
	"context"

	"github.com/cachesim/cachesim/internal/plots"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/target"
)

// Write writes records, series and figures to a folder. After an interrupt the records that there are are written
// whole; another interrupt stops the figures.
func Write(ctx context.Context, dir string, recs []records.Record, rows []series.Row) error {
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if err := records.Write(dir, recs); err != nil {
		return err
	}
	if err := series.Write(dir, rows); err != nil {
		return err
	}
	if err := plots.WriteAll(ctx, dir, recs); err != nil {
		return err
	}
	return plots.WriteOverTime(ctx, dir, recs, rows)
}

// Answers says for each group of records which capacity each policy needs for the target.
func Answers(f target.Flag, recs []records.Record) []target.Answer {
	return target.FromRecords(f.Target, recs, f.Least(), noun)
}

// noun says what an object is in the cache of a record: a block where it holds prompts.
func noun(r *records.Record) string {
	if parts, err := sim.PartsOf(r); err == nil && parts.Cache.Entry.Prompts {
		return "blocks"
	}
	return records.Objects
}
