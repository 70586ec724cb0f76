package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/runs"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// withRun returns the arguments of the program with `run --brief` in front where the first of them, after flags of run,
// names files or a generator instead of a command.
func withRun(root *cobra.Command, args []string) []string {
	first := commandline.FirstOperand(root, args)
	if first < 0 {
		return args
	}
	if found, _, err := root.Find(args[first : first+1]); err != nil || found != root ||
		strings.HasPrefix(args[first], cobra.ShellCompRequestCmd) {
		return args
	}
	if name := args[first]; name != "-" && !workload.IsGenerator(name) && !namesFiles(name) {
		return args[first : first+1] // the flags are those of run, and not what is wrong
	}
	return append([]string{"run", "--brief"}, args...)
}

// namesFiles reports whether an argument is a file, a folder, or a pattern.
func namesFiles(name string) bool {
	dirs := workload.Dirs("")
	_, err := workload.Find(name, dirs)
	return err == nil || workload.StandsForFiles(name, dirs)
}

// preloaded is a trace that was read before the settings of a run were known.
type preloaded struct {
	trace    *traces.Trace
	workload workload.Workload
	needs    traces.Needs
}

// adapt reads the trace and sets what the user has not: capacities count bytes where the log has sizes, and prompts are
// served by the cache of prefixes.
func (f *runFlags) adapt(cmd *cobra.Command, args []string) error {
	w, err := f.workload(cmd, args)
	if err != nil {
		return err
	}
	needs := f.neededByParts().Union(f.objects.addTo(traces.Needs{Sizes: true, Clock: true}))
	t, w, err := f.load(cmd, w, needs)
	if err != nil {
		return err
	}
	f.loaded = &preloaded{t, w, needs}
	set := func(flag, value string, unless ...string) error {
		for _, name := range append(unless, flag) {
			if cmd.Flags().Changed(name) {
				return nil
			}
		}
		return cmd.Flags().Set(flag, value)
	}
	switch {
	case prompts.Of(t.Kind) != nil:
		return set("cache", prefixCache)
	case t.Footprint() > 0 && f.capacity.onlyShares() && !f.namesPolicyOfObjects():
		return set("bytes", "true", "unit-size", "cache")
	}
	return nil
}

// servePrompts sets what the user has not for a trace of prompts: keys and values of the model that the log names, and
// the cache of prompts, unless a part is named that works with single blocks. again says that settings have changed.
func (f *runFlags) servePrompts(cmd *cobra.Command, p *preloaded) (again bool, err error) {
	if prompts.Of(p.trace.Kind) == nil {
		return false, nil
	}
	changed := cmd.Flags().Changed
	f.loaded = p
	namesAnother := strings.Contains(cmd.Flags().Lookup("model").Value.String(), "model=") // --model 'prefill(model=X)'
	if !changed("kv") && !namesAnother {
		if p.workload, p.trace, again, err = p.workload.WithModel(p.trace); err != nil {
			return false, err
		} else if again {
			lines := prompts.Of(p.trace.Kind).Lines()
			commandline.Note(cmd, f.trace.quiet, lines[len(lines)-1]+", as the log names it; --kv names another model")
			err = cmd.Flags().Set("kv", p.workload.KV)
		}
	}
	if !slices.ContainsFunc([]string{"cache", "prefetch", "admit", "allocate", "lives", "top"}, changed) {
		again, err = true, cmp.Or(err, cmd.Flags().Set("cache", prefixCache))
	}
	return again, err
}

// neededByParts returns what the parts that the user names need of the trace, so that it is read once: standard input
// cannot be read twice. What is wrong with them is said when they are read.
func (f *runFlags) neededByParts() traces.Needs {
	lists, err := f.parts.lists()
	if err != nil {
		return traces.Needs{}
	}
	setups := experiment.Setups(lists)
	specs, err := defaultPolicies(f.policies, setups, nil, capacity.AsWritten)
	if err != nil {
		return traces.Needs{}
	}
	design := experiment.Design{Setups: setups, Entrants: experiment.Entrants(specs, lists)}
	return design.Needs(false)
}

// onlyShares reports whether all capacities are shares, which count objects or bytes.
func (f *capacityFlags) onlyShares() bool {
	return !slices.ContainsFunc(strings.Split(f.list, ","), func(c string) bool { return !strings.Contains(c, "%") })
}

// namesPolicyOfObjects reports whether the user names a policy that works with capacities in objects only. Whatever
// else is wrong with the list is said when it is read.
func (f *runFlags) namesPolicyOfObjects() bool {
	specs, err := policies.Registry.ParseList(f.policies)
	return f.policies != "" && (err != nil || slices.ContainsFunc(specs, func(s policies.Spec) bool {
		return s.Entry.Units == policies.UnitsObjects
	}))
}

// mostColumns is the number of rows at one capacity that fit beside each other.
const mostColumns = 8

// isBrief reports whether one screen has what was asked for: other columns and many policies need the whole table.
func (f *runFlags) isBrief(recs []records.Record) bool {
	other := f.objects.lives || f.filled || f.trace.by != "" || f.series.hasOrigin() ||
		f.billing.Asked() || f.billing.HasNoCache()
	if !f.brief || f.format != "table" || other {
		return false
	}
	return !slices.ContainsFunc(results.Groups(results.NamedByParts(recs)), func(g results.Group) bool {
		return len(results.ByCapacity(g.Records).Heads) > 1+mostColumns
	})
}

// prefixCache is the name of the cache that serves prompts.
const prefixCache = "prefix"

// loadBrief returns what adapt has read if it is enough.
func (f *runFlags) loadBrief(cmd *cobra.Command, w workload.Workload, needs traces.Needs) (*traces.Trace,
	workload.Workload, error) {
	if p := f.loaded; p != nil && p.needs.Union(needs) == p.needs {
		return p.trace, p.workload, nil
	}
	return f.load(cmd, w, needs)
}

// reportBrief prints the hit ratios of all policies in a row for each capacity, the answers, and what to type next, and
// writes the records and figures to the output folder.
func (f *runFlags) reportBrief(cmd *cobra.Command, args []string, r runs.Results) error {
	if len(r.Records) == 0 {
		return nil
	}
	f.interpret(&r)
	r.Notes = append(r.Notes, f.logged...)
	judged := f.floors.Judge(r.Records, cmd.Context().Err() != nil)
	out := cmd.OutOrStdout()
	groups := results.Groups(results.NamedByParts(r.Records))
	for _, g := range groups {
		title := ""
		if len(groups) > 1 {
			title = "\n" + g.Title() + "\n"
		}
		table := results.ByCapacity(g.Records).Text(terminal.Width(out))
		if _, err := fmt.Fprintf(out, "%s\n%s\n", title, table); err != nil {
			return err
		}
	}
	lines := slices.Concat(tabular.Sentences(r.Costs), tabular.Sentences(r.Reaches),
		tabular.Sentences(f.shortAnswers(r.Answers)), f.logged)
	if len(r.ColdStart) > 0 {
		lines = append(lines, r.ColdStart[len(r.ColdStart)-1])
	}
	if remark := judged.Remark(); remark != "" {
		r.Notes = append(r.Notes, remark)
	}
	if width := terminal.Width(out); width > 0 {
		lines = commandline.Sentences(lines, width)
	}
	return cmp.Or(tabular.PrintLines(out, false, terminal.TextWidth(out), append(lines, f.nextCommand(cmd, args)...)),
		r.PrintMissed(out, "table"), f.write(cmd, r), judged.Err())
}

// shortAnswers leaves out policies that nobody named and that are not among the best, so that a screen has all of it.
func (f *runFlags) shortAnswers(answers []target.Answer) []target.Answer {
	if f.policies != "" {
		return answers
	}
	answers = slices.Clone(answers)
	for i, a := range answers {
		answers[i] = a.Short()
	}
	return answers
}

// longestNext is the length of a command that may fill some lines of the screen.
const longestNext = 240

// nextCommand says what to type next.
func (f *runFlags) nextCommand(cmd *cobra.Command, args []string) []string {
	say, command := "next", runs.CommandLine(cmd.CommandPath(), args, cmd.Flags())
	if slices.Contains(args, "-") {
		say = "next, for the same input"
	} else if len(command) > longestNext && len(args) > 1 {
		say, command = "next, for the same FILES", runs.CommandLine(cmd.CommandPath(), []string{"FILES"}, cmd.Flags())
	}
	next := []string{say + " (every figure, how each is known, and a page):", "  " + command}
	if prompts.Of(f.loaded.trace.Kind) != nil && !cmd.Flags().Changed("kv") {
		next = append(next, "in GiB: add --kv model=NAME, the model that you serve (cachesim kv lists them)")
	}
	return next
}
