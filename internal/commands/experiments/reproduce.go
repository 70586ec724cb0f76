package experiments

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/commands/lists"
	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/bundle"
	"github.com/cachesim/cachesim/internal/experiment/report"
	"github.com/cachesim/cachesim/internal/experiment/scorecard"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

type reproduceFlags struct {
	sweepRunFlags
	sweepReportFlags
	out       string
	quick     bool
	list      bool
	scorecard string
	bundle    string // name of an archive to write

	packed *bundle.Bundle // nil without one
}

func NewReproduceCommand() *cobra.Command {
	f := &reproduceFlags{}
	cmd := &cobra.Command{
		Use:   "reproduce [--list] [NAME|FILE|all]...",
		Short: "Reproduce figures of papers and check the papers' claims",
		Long: `Runs experiments that are part of the program, by name, or those in YAML files, of any paper. Each is a figure
or a table of a paper and runs as cachesim sweep does. Prints how many claims of each are reproduced, and in full those
whose verdict is not the expected one. With --verbose, or if one screen has room for it, prints for each claim what was
measured, what the paper states and the verdict; if it is refuted, also the reason, in at most two lines (the report has
all of it). After several experiments, a table of all figures with a total follows.

DIR/NAME contains the results of a sweep: records, figures and report.html. DIR/index.html links the reports, including
those that earlier calls of the same version of the program left in DIR. DIR/reproduced.md contains the tables for
pasting.

Traces are searched for in the current folder and in the folder that CACHESIM_TRACES names. With all, an experiment with
a missing trace is left out with a note, because none of its claims can be checked. The quick versions replay generated
traces and the samples of real ones in testdata/samples: run them in a checkout of the repository.

--bundle packs the experiments with their pins, records and versions, and with the checksums and sources of their
traces, into one archive, FILE` + bundle.Suffix + `, which cachesim check replays anywhere. It has those traces that
their experiment says may be shared.

With --strict the exit code is 1 if a claim has another verdict than the experiment expects: usually, if it is refuted.
Claims that are not testable do not affect it. It is 1 as well if a value that a claim compares has left its pin,
upwards or downwards: what was measured when the pin was written, with half its 95% interval between seeds on both
sides, or exactly where no seed matters. --pin writes pins, and --why says in their file why some of them move. --format
junit and --format github write the claims for CI systems.`,
		Example: `  cachesim reproduce --list
  cachesim reproduce classic-block
  CACHESIM_TRACES=~/traces cachesim reproduce all -o out
  cachesim reproduce all --quick --strict
  cachesim reproduce paper/*.yaml -o out --bundle paper` + bundle.Suffix + `
  cachesim reproduce --scorecard laru`,
		ValidArgs: append([]string{configs.All}, configs.Papers()...),
		RunE:      f.run,
	}
	f.sweepRunFlags.register(cmd)
	f.registerAllCells(cmd)
	f.sweepReportFlags.register(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "out", "output folder, with a folder for each experiment")
	flags.BoolVar(&f.quick, "quick", false, "run the smaller version of each experiment, most of which take seconds")
	flags.StringVar(&f.scorecard, "scorecard", "", "print what a `paper` states, sentence by sentence, and what the last "+
		"full runs came to: laru, igtcache, hlem, litecache, rac or all")
	flags.StringVar(&f.bundle, "bundle", "", "pack the experiments and their records into this `file`, NAME"+
		bundle.Suffix+", which check replays")
	flags.BoolVar(&f.list, "list", false, "list the experiments with their sources, traces, sizes and minutes")
	return cmd
}

func (f *reproduceFlags) run(cmd *cobra.Command, names []string) error {
	if err := cmp.Or(f.sweepRunFlags.check(), f.refuse(f.list, "--list only lists experiments"),
		f.refuse(f.scorecard != "", "--scorecard prints those of the last full runs")); err != nil {
		return err
	}
	if f.scorecard != "" {
		return f.printScorecard(cmd, names)
	}
	if len(names) == 0 && !f.list {
		return fmt.Errorf("which experiment? Name one or more of %s, or all; --list describes them",
			suggest.List(configs.Papers()))
	}
	files, named := ownFiles(names)
	if f.list && len(files) > 0 {
		return fmt.Errorf("--list lists experiments that are part of the program; %s is none", files[0])
	}
	var chosen []string
	if len(named) > 0 || f.list {
		var err error
		if chosen, err = configs.Choose(named); err != nil {
			return err
		}
	}
	if f.bundle != "" && !strings.HasSuffix(f.bundle, bundle.Suffix) {
		return fmt.Errorf("--bundle %s: want a name that ends in %s", f.bundle, bundle.Suffix)
	}
	if f.list {
		if err := runsNothing(cmd, "--list only lists experiments"); err != nil {
			return err
		}
		list, err := lists.Experiments(chosen, f.quick)
		if err != nil {
			return err
		}
		if len(chosen) == len(configs.Papers()) {
			list.Whole = cmd.CommandPath() + " --list"
		}
		return list.Print(cmd.OutOrStdout(), string(f.format))
	}
	return f.runAll(cmd, slices.Concat(chosen, files), slices.Contains(names, configs.All))
}

// ownFiles tells files from the names of experiments that are part of the program.
func ownFiles(names []string) (files, named []string) {
	for _, name := range names {
		if strings.ContainsAny(name, `/\`) || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) {
			files = append(files, name)
		} else {
			named = append(named, name)
		}
	}
	return files, named
}

// runAll runs experiments. goOn says that one whose trace is missing does not keep the others from running.
func (f *reproduceFlags) runAll(cmd *cobra.Command, chosen []string, goOn bool) error {
	files, err := experiment.LoadAll(cmd.Context(), chosen, f.quick)
	if err != nil {
		return err
	}
	for i, file := range files {
		if slices.ContainsFunc(files[:i], func(o *experiment.File) bool { return o.Name == file.Name }) {
			return fmt.Errorf("two experiments are called %s; their results need folders of their own", file.Name)
		}
		if f.bundle != "" {
			if err := bundle.Check(file); err != nil {
				return fmt.Errorf("--bundle: %w", err)
			}
		}
		if f.allCells {
			file.ReplayAll()
		}
	}
	if err := cmp.Or(f.checkPins(files...), f.checkFigures(files...)); err != nil {
		return err
	}
	if err := f.device.Open(cmd, f.quiet); err != nil {
		return err
	}
	defer f.device.Close(cmd, f.quiet)
	_, before := os.Stat(f.out)
	if err := atomicfile.MakeFolder(f.out); err != nil {
		return err
	}
	begin := time.Now()
	if f.bundle != "" {
		f.packed = bundle.New(version.Program(), runtime.Version())
	}
	summaries, err := f.reproduceAll(cmd, files, goOn)
	if err != nil {
		if before != nil {
			os.Remove(f.out) // if nothing is in it
		}
		return err
	}
	took := time.Since(begin)
	if f.packed != nil {
		if err := atomicfile.Write(cmd.Context(), f.bundle, f.packed.Write); err != nil {
			return err
		}
	}
	indexed := f.withEarlier(cmd, summaries)
	if err := report.WriteIndex(f.out, version.Program(), indexed); err != nil {
		return err
	}
	if err := f.printClaims(cmd.OutOrStdout(), filepath.Join(f.out, report.MarkdownName), summaries...); err != nil {
		return err
	}
	f.note(cmd, "%s; %s links %s", tookText(len(summaries), took), filepath.Join(f.out, report.IndexName),
		linked(len(indexed), len(summaries)))
	return f.judge(cmd, summaries...)
}

// runsNothing refuses flags of results where there are none, because of what is asked for.
func runsNothing(cmd *cobra.Command, asked string) error {
	for _, name := range []string{"output", "strict", "pin", "why", "bundle"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("%s and runs nothing: leave out --%s", asked, name)
		}
	}
	return nil
}

// printScorecard prints what the last full runs came to, and runs nothing.
func (f *reproduceFlags) printScorecard(cmd *cobra.Command, names []string) error {
	if len(names) > 0 || f.list || f.quick {
		return errors.New("--scorecard prints the page of a paper, and runs no experiment: leave out the names of " +
			"experiments, --list and --quick")
	}
	if err := runsNothing(cmd, "--scorecard prints the page of a paper"); err != nil {
		return err
	}
	papers, err := scorecard.Choose(f.scorecard)
	if err != nil {
		return err
	}
	var cards []scorecard.Card
	for _, p := range papers {
		card, err := scorecard.Read(cmd.Context(), p)
		if err != nil {
			return err
		}
		cards = append(cards, card)
	}
	return scorecard.Print(cmd.OutOrStdout(), cards, string(f.format))
}

// withEarlier adds the experiments that earlier calls left in the folder, and returns all in the order of the list;
// those of the user follow.
func (f *reproduceFlags) withEarlier(cmd *cobra.Command, now []report.Summary) (all []report.Summary) {
	for _, name := range configs.Papers() {
		at := slices.IndexFunc(now, func(s report.Summary) bool { return s.Name == name })
		if at >= 0 && now[at].Failure == "" {
			all = append(all, now[at])
			continue
		}
		s, err := f.earlier(name)
		switch {
		case err == nil:
			all = append(all, s)
			continue
		case !errors.Is(err, fs.ErrNotExist):
			why, _, _ := strings.Cut(err.Error(), "\n") // without a list of cells
			f.note(cmd, "%s is missing from the index: %s", filepath.Join(f.out, name), strings.TrimSuffix(why, ":"))
		}
		if at >= 0 {
			all = append(all, now[at])
		}
	}
	for _, s := range now {
		if !slices.Contains(configs.Papers(), s.Name) {
			all = append(all, s)
		}
	}
	return all
}

// earlier summarises the experiment that an earlier call left in the folder; it returns fs.ErrNotExist if there is
// none.
func (f *reproduceFlags) earlier(name string) (report.Summary, error) {
	dir := filepath.Join(f.out, name)
	if _, err := os.Stat(filepath.Join(dir, sweep.PageName)); err != nil {
		return report.Summary{}, err
	}
	s, collection, err := sweep.Reopen(dir, version.Program())
	if err != nil {
		return report.Summary{}, err
	}
	if s.File.Name != name || s.File.IsChanged() {
		return report.Summary{}, fmt.Errorf("results of a changed experiment")
	}
	return report.Summarize(dir, report.InputOf(s, collection, version.Program()))
}

func tookText(n int, took time.Duration) string {
	if n == 1 {
		return "the experiment took " + took.Round(time.Second).String()
	}
	return fmt.Sprintf("the %d experiments took %s", n, took.Round(time.Second))
}

func linked(all, now int) string {
	if all == now {
		return "the reports"
	}
	return fmt.Sprintf("their reports and %d of earlier calls", all-now)
}

// reproduceAll runs the experiments one after another. A missing trace is an error, or with all only a note, because
// that experiment then cannot be checked.
func (f *reproduceFlags) reproduceAll(cmd *cobra.Command, files []*experiment.File,
	goOn bool) (summaries []report.Summary, err error) {
	for _, file := range files {
		s, err := f.reproduce(cmd, file)
		var missing *workload.MissingError
		if errors.As(err, &missing) && goOn && f.packed == nil {
			reason := fmt.Sprintf("trace %s is missing; set %s", missing.Path, workload.Env)
			f.note(cmd, "skipping %s: %s; cachesim reproduce %s says where to get it", file.Name, reason, file.Name)
			s, err = report.NotRun(file, f.quick, reason), nil
		}
		if missing != nil && err != nil { // without the line of a file that is part of the program
			err = fmt.Errorf("%s: %w", file.Name, missing)
		}
		if err != nil {
			return nil, err
		}
		summaries = append(summaries, s)
	}
	return summaries, nil
}

func (f *reproduceFlags) reproduce(cmd *cobra.Command, file *experiment.File) (report.Summary, error) {
	s, err := planSweep(cmd, file, filepath.Join(f.out, file.Name))
	if err != nil {
		return report.Summary{}, err
	}
	f.note(cmd, "%s: %s", file.Name, file.Title)
	lock, err := lockSweep(cmd, s.Dir, f.quiet)
	if err != nil {
		return report.Summary{}, err
	}
	defer lock.Unlock()
	s, collection, err := f.sweep(cmd, s)
	if err != nil {
		return report.Summary{}, err
	}
	if f.packed != nil {
		notes, err := f.packed.Add(s)
		if err != nil {
			return report.Summary{}, fmt.Errorf("--bundle: %w", err)
		}
		for _, text := range notes {
			f.note(cmd, "%s: %s", file.Name, text)
		}
	}
	return f.write(cmd.Context(), s, collection)
}
