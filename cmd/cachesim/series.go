package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/results/series"
)

// seriesFlag is --series: values over the time of the replays.
type seriesFlag struct{ text string }

func (f *seriesFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.text, "series", "", "with -o: write hit ratio, occupancy and other values per window of "+
		"this many requests (10000) or this much time (1h) of the trace's clock")
}

// window reads the flag, which needs a folder to write to.
func (f *seriesFlag) window(out string) (series.Window, error) {
	switch {
	case f.text == "":
		return series.Window{}, nil
	case out == "":
		return series.Window{}, errors.New("--series needs a folder for the series; give one with -o")
	}
	return series.ParseWindow(f.text)
}

// missing lists the requested names that no replay has produced: latencies without a model, for example.
func missing(w series.Window, rows []series.Row) string {
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
