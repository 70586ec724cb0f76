package commands

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
)

// partFlags are the flags that choose the parts that policies are combined with, one flag for each kind of part.
type partFlags struct {
	texts map[*sim.Kind]*string
	nodes commandline.Nodes // of the routers, for commands that register it
}

// register adds the flags of some kinds, each with what its help says.
func (f *partFlags) register(cmd *cobra.Command, usage func(records.PartFlag) string, kinds ...*sim.Kind) {
	f.texts = map[*sim.Kind]*string{}
	for _, kind := range kinds {
		f.texts[kind] = cmd.Flags().String(commandline.FlagOf(kind), kind.Flag.Default, usage(kind.Flag))
		commandline.CompleteNames(cmd, commandline.FlagOf(kind), kind.Names)
	}
}

func ofList(f records.PartFlag) string { return f.List } // the flag accepts a list
func ofOne(f records.PartFlag) string  { return f.One }  // it accepts one part

func (f *partFlags) lists() (map[*sim.Kind][]sim.Part, error) {
	all := map[*sim.Kind][]sim.Part{}
	for _, kind := range sim.Kinds {
		if text := f.texts[kind]; text != nil && (*text != "" || kind.Default != "") {
			parts, err := kind.ParseList(*text)
			if err != nil {
				return nil, err
			}
			all[kind] = parts
		}
	}
	return all, nil
}

// single adds one part of each kind with a flag to parts, which already have a policy, if the policy works with such a
// part.
func (f *partFlags) single(parts *sim.Parts) error {
	for _, kind := range sim.Kinds {
		text := f.texts[kind]
		if text == nil || kind.AskedBy != nil && !kind.AskedBy(parts.Policy.Entry) || *text == "" && kind.Default == "" {
			continue
		}
		part, err := kind.Parse(*text)
		if err != nil {
			return cmp.Or(severalParts(kind, *text), err)
		}
		part.Into(parts)
	}
	return nil
}

// checkUsed rejects parts that the user gives for policies of which none uses them.
func (f *partFlags) checkUsed(cmd *cobra.Command, specs []policies.Spec) error {
	for _, kind := range sim.Kinds {
		if f.texts[kind] == nil || kind.AskedBy == nil ||
			!commandline.Changed(cmd, commandline.FlagOf(kind)) {
			continue
		}
		if !slices.ContainsFunc(specs, func(s policies.Spec) bool { return kind.AskedBy(s.Entry) }) {
			asks := policies.Registry.NamesOf(func(e *policies.Entry) bool { return kind.AskedBy(*e) })
			return fmt.Errorf("--%s %s: no policy here uses one; remove it, or add to --policy one of: %s",
				commandline.FlagOf(kind), *f.texts[kind], suggest.List(asks))
		}
	}
	return nil
}

// severalParts says that a text lists parts where one is wanted; nil if it does not.
func severalParts(kind *sim.Kind, text string) error {
	parts, err := kind.ParseList(text)
	if err != nil || len(parts) < 2 {
		return nil
	}
	return fmt.Errorf("--%s %s lists %d %s; want one (cachesim run takes several)", commandline.FlagOf(kind), text,
		len(parts), kind.Plural)
}

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
	case f.origin:
		return series.OfOrigin(bytes), nil
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
