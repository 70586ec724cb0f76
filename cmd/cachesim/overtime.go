package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
)

// overTime is the flags --series and --origin.
type overTime struct {
	series string
	origin bool
}

// register adds the flags.
func (f *overTime) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.series, "series", "", "with -o: write hit ratio, occupancy and other values per window of "+
		"this many requests (10000) or this much time (1h) of the trace's clock")
	flags.BoolVar(&f.origin, "origin", false, "what the origin sees, for traces with times: misses (and MB, if "+
		"capacities count bytes) per second on average, in the 99th percentile of the minutes and in the largest; over time "+
		"with -o")
}

// hasOrigin reports whether what the origin sees is asked for.
func (f *overTime) hasOrigin() bool { return f.origin }

// window reads the flags. --series needs a folder to write to. bytes says that capacities count bytes.
func (f *overTime) window(out string, bytes bool) (series.Window, error) {
	switch {
	case f.origin && f.series != "":
		return series.Window{}, fmt.Errorf("--origin and --series %s: a replay has windows of one length; write --series "+
			"1m:hit_ratio,%s for both", f.series, series.MissesPerSecond)
	case f.origin && bytes:
		return series.Window{Span: time.Minute, Names: series.MissesPerSecond + "," + series.MissedBytes}, nil
	case f.origin:
		return series.Window{Span: time.Minute, Names: series.MissesPerSecond}, nil
	case f.series == "":
		return series.Window{}, nil
	case out == "":
		return series.Window{}, errors.New("--series needs a folder for the series; give one with -o")
	}
	return series.ParseWindow(f.series)
}

// missing says what was asked for and no replay has: latencies without a model, for example.
func (f *overTime) missing(w series.Window, recs []records.Record, rows []series.Row) string {
	seen := func(r records.Record) bool { _, ok := r.Get("origin_misses"); return ok }
	if f.origin && len(rows) > 0 && !slices.ContainsFunc(recs, seen) {
		return "--origin: no whole minute follows the warm-up, so the misses per second are unknown"
	}
	if w.Names == "" {
		return ""
	}
	names := slices.DeleteFunc(strings.Split(w.Names, ","), func(name string) bool {
		return slices.ContainsFunc(rows, func(r series.Row) bool { return r.Name == name })
	})
	if len(names) == 0 {
		return ""
	}
	return "series " + w.String() + ": no replay has windows of " + strings.Join(names, " or ")
}
