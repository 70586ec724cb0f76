package auditing

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment/audit"
	"github.com/cachesim/cachesim/internal/experiment/audit/ofprompts"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// promptCache is the cache of prompts, unless the user names another one.
const promptCache = "prefix"

// runOfPrompts compares what a log says of its prompts with a replay. Without a capacity everything has room.
func (f *flags) runOfPrompts(cmd *cobra.Command, stated audit.Setup, spec capacity.Spec, mode capacity.Mode,
	t *traces.Trace, options read.Options) (err error) {
	if err := ofprompts.CheckLog(t); err != nil {
		return err
	}
	if f.by != "" {
		return fmt.Errorf("--by %s: prompts are not told apart by columns; remove it", f.by)
	}
	s := ofprompts.Setup{Workload: stated.Workload, Cell: stated.Cell}
	if !commandline.Changed(cmd, "cache") {
		if s.Cell.Cache, err = cache.Registry.Parse(promptCache); err != nil {
			return err
		}
	}
	if !commandline.Changed(cmd, "capacity") {
		if spec, err = capacity.Parse("100%"); err != nil {
			return err
		}
	}
	if s.Cell.Capacity, err = spec.On(t, mode); err != nil {
		return err
	}
	log := &ofprompts.Log{Load: f.log(cmd, stated, t, options).Load}
	if f.fit {
		return f.fitPrompts(cmd, log, s, t)
	}
	bar := progress.New(cmd.ErrOrStderr(), f.Quiet(), "replaying", progress.Searches)
	finding, err := log.Find(cmd.Context(), s, t, audit.Options{Jobs: f.jobs,
		Done: func(done int) { bar.Set(int64(done), 0) }})
	bar.Finish()
	if err != nil {
		return err
	}
	words := audit.Words{Units: "tokens", Settings: ofprompts.Settings(s.Cell),
		Few: show.Counted(finding.Stated.Items, "prompt") + " are too few to tell causes apart"}
	if !commandline.Changed(cmd, "capacity") {
		words.Settings += ", which hold everything"
	}
	report := finding.Report(words, nil)
	report.Trace, report.SampleRate, report.Version = t.Name, t.SampleRate, version.Program()
	beside, _, err := ofprompts.Compare(cmd.Context(), t, s.Cell, 0, false)
	if err != nil {
		return err
	}
	report.Sentences = append(report.Sentences, beside.Where()+".")
	return cmp.Or(f.print(cmd.OutOrStdout(), report, false), f.write(cmd, report), f.writeParted(cmd, beside))
}

// writeParted writes the prompts where server and replay part most.
func (f *flags) writeParted(cmd *cobra.Command, b ofprompts.Beside) error {
	if f.out == "" {
		return nil
	}
	return atomicfile.Write(cmd.Context(), filepath.Join(f.out, "measured.csv"), b.WriteCSV)
}

// fitPrompts prints which capacities and numbers of servers explain what a log says.
func (f *flags) fitPrompts(cmd *cobra.Command, log *ofprompts.Log, s ofprompts.Setup, t *traces.Trace) error {
	fit, err := log.Fit(cmd.Context(), s, t, f.jobs)
	if err != nil {
		return err
	}
	printed := tabular.Printed{
		Table: func(w io.Writer, format string) error {
			width := terminal.Width(w)
			_, err := fmt.Fprintf(w, "%s\n\n%s\n", terminal.Wrapped(fit.Sentence(), width), fit.Table().In(format, width))
			return err
		},
		CSV:  tabular.EachCSV(fit.Rows),
		JSON: tabular.OneJSON(fit),
	}
	if err := printed.Print(cmd.OutOrStdout(), string(f.format)); err != nil || f.out == "" {
		return err
	}
	if err := atomicfile.MakeFolder(f.out); err != nil {
		return err
	}
	return atomicfile.Write(cmd.Context(), filepath.Join(f.out, "fit.json"), tabular.OneJSON(fit))
}
