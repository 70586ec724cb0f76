package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/policies/rac"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/workload"
	"github.com/cachesim/cachesim/internal/traces/write"
)

type genFlags struct {
	out     string
	listing string
	format  string
	quiet   bool
}

func newGenCommand() *cobra.Command {
	f := &genFlags{}
	cmd := &cobra.Command{
		Use:   "gen GENERATOR",
		Short: "Generate a synthetic trace from a seed",
		Long: `Generates a trace and writes it in the format given by the output's extension (or by --output-format),
compressed if the name ends in .zst, .gz, .xz, .s2, .sz or .lz4. The same parameters and seed give the same requests on
every machine.

Parameters are given in parentheses after the generator or as flags. A flag that the generator does not have is an
error. ` + "`cachesim gen GENERATOR --help`" + ` describes one of them.

Generators:
` + indent(gen.Describe()) + `
Sizes, for --size:
` + indent(gen.SizeKinds()),
		Example: `  cachesim gen zipf -n 1000000 --objects 100000 --alpha 0.9 -o trace.csv.gz
  cachesim gen 'zipf(alpha=0.9,objects=100000)' --size 'lognormal(mean=16384,sigma=1.5)' -o trace.csv.gz
  cachesim gen mixed --phases 'zipf(alpha=1.1,objects=20000):50000;scan:5000;loop(objects=3000):20000' -o trace.txt
  cachesim gen cluster --jobs 9+14 --listing data.csv.zst -o reads.csv.zst
  cachesim gen attention --layers 4 --steps 100 -o trace.attention
  cachesim gen loop --objects 1000 -n 5000 --output-format plain -o - | cachesim run -`,
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{commandline.Choices: "Generators:\n" + gen.Summaries()},
		RunE:        func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return gen.Names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags := cmd.Flags()
	for _, p := range gen.Params() {
		short := ""
		if p.Name == "requests" {
			short = "n"
		}
		flag := flags.VarPF(&paramFlag{p, fmt.Sprint(p.Default)}, p.Name, short, gen.Usage(p))
		if p.Default == false {
			flag.NoOptDefVal = "true"
		}
	}
	flags.StringVarP(&f.out, "output", "o", "-", "output file, - for standard output")
	flags.StringVar(&f.listing, "listing", "", "also write the listing of the data sets, read or not, to this file, "+
		"for the option files of the format reads [cluster]")
	registerOutputFormat(cmd, &f.format)
	flags.BoolVar(&f.quiet, "quiet", false, "no progress bar, and no notes on how closely targets were met and what "+
		"contradicts them")
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		for _, e := range gen.All() {
			if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg+"(", e.Name+"(") }) {
				describeGenerator(cmd, e)
			}
		}
		cmd.Parent().HelpFunc()(cmd, args)
	})
	return cmd
}

// describeGenerator leaves only what is about one generator in the help of gen.
func describeGenerator(cmd *cobra.Command, e gen.Entry) {
	own := e.AllParams()
	cmd.Use = "gen " + e.Name
	cmd.Short = "Generates " + e.Name + ": " + e.Summary + "."
	cmd.Long = cmd.Short
	cmd.Annotations[commandline.Topic] = cmd.Use
	delete(cmd.Annotations, commandline.Choices)
	if slices.ContainsFunc(own, func(p params.Param) bool { return p.Name == "size" }) {
		cmd.Long += "\n\nSizes, for --size:\n" + indent(gen.SizeKinds())
	}
	examples := slices.DeleteFunc(strings.Split(cmd.Example, "\n"), func(line string) bool {
		_, call, _ := strings.Cut(strings.ReplaceAll(line, "'", ""), " gen ")
		name, _, _ := strings.Cut(call, " ")
		name, _, _ = strings.Cut(name, "(")
		return name != e.Name
	})
	cmd.Example = strings.Join(examples, "\n")
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		i := slices.IndexFunc(own, func(p params.Param) bool { return p.Name == flag.Name })
		switch about, owners, _ := strings.Cut(strings.TrimSuffix(flag.Usage, "]"), " ["); {
		case i >= 0:
			flag.Usage, flag.DefValue = own[i].Doc, fmt.Sprint(own[i].Default)
		case slices.ContainsFunc(gen.Params(), func(p params.Param) bool { return p.Name == flag.Name }):
			flag.Hidden = true
		case owners != "":
			flag.Usage, flag.Hidden = about, owners != e.Name
		}
	})
}

func (f *genFlags) run(cmd *cobra.Command, text string) error {
	spec, err := gen.Parse(text, changedParams(cmd.Flags()))
	if err != nil {
		return fmt.Errorf("gen %s: %w", text, err)
	}
	find := func(path string) (string, error) { return workload.Find(path, workload.Dirs("")) }
	if spec, err = spec.WithFiles(find); err != nil {
		return fmt.Errorf("gen %s: %w", text, err)
	}
	if spec.Entry.Attention != nil {
		if f.listing != "" {
			return fmt.Errorf("gen %s: it reads no files, so --listing has nothing to write; leave it out", text)
		}
		if err := generateAttention(cmd, spec, f.out, f.format, f.quiet); err != nil {
			return fmt.Errorf("gen %s: %w", text, err)
		}
		return nil
	}
	bar := progress.New(cmd.ErrOrStderr(), f.quiet, "writing", progress.Requests)
	defer bar.Finish()
	g, err := workload.Prepare(cmd.Context(), spec, bar.Preparing)
	if err != nil && cmd.Context().Err() != nil {
		return errWroteNothing
	} else if err != nil {
		return fmt.Errorf("gen %s: %w", text, err)
	}
	listing, err := f.listingOf(text, g)
	if err != nil {
		return err
	}
	for _, out := range []string{f.out, f.listing} {
		if err := checkNotInput(spec.Files(), out); err != nil {
			return err
		}
	}
	w, err := write.Create(cmd.Context(), f.out, write.Options{Format: f.format, Fields: g.Fields,
		Stdout: cmd.OutOrStdout()})
	if err != nil {
		return err
	}
	defer w.Discard()
	written := func(n int64) { bar.Set(n, int64(g.Requests())) }
	if err := copyRecords(cmd.Context(), w, g, written); err != nil {
		return err
	}
	if f.listing != "" {
		if err := write.Listing(cmd.Context(), f.listing, listing); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	bar.Finish()
	if f.quiet {
		return nil
	}
	if remarks := w.Remarks(); remarks != "" && g.Fields.Kind != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", f.out, remarks)
	}
	if note := g.Measured(); note != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), note)
	}
	if geometry, ok := g.Geometry(); ok { // the similarities of dialogues
		for _, contradiction := range rac.Geometry(geometry).ContradictsDefaults() {
			fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+contradiction)
		}
	}
	if listing != nil && f.listing == "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "files that are never read are not in the trace; --listing FILE writes all files")
	}
	return nil
}

// listingOf returns the listing of the generated files, nil for other traces.
func (f *genFlags) listingOf(text string, g *gen.Generator) (*files.Listing, error) {
	kind, _ := g.Fields.Kind.(files.Kind)
	switch {
	case f.listing == "":
	case kind.Listing == nil:
		return nil, fmt.Errorf("gen %s: it reads no files, so --listing has nothing to write; leave it out", text)
	case sameName(f.listing, f.out):
		return nil, fmt.Errorf("--listing %s: the trace has the same name; choose another", f.listing)
	default:
		return kind.Listing, write.CheckListing(f.listing)
	}
	return kind.Listing, nil
}

// sameName reports whether two names are names of one file, which need not exist.
func sameName(a, b string) bool {
	fullA, errA := filepath.Abs(a)
	fullB, errB := filepath.Abs(b)
	return a == b || errA == nil && errB == nil && fullA == fullB
}

var errWroteNothing = errors.New("interrupted: nothing was written")

type paramFlag struct {
	param params.Param
	text  string
}

func (f *paramFlag) String() string { return f.text }
func (f *paramFlag) Type() string   { return fmt.Sprintf("%T", f.param.Default) }

func (f *paramFlag) Set(text string) error {
	_, err := f.param.Parse(text)
	f.text = text
	return err
}

// changedParams returns the generator parameters that were given as flags: "alpha=0.9,objects=1000".
func changedParams(flags *pflag.FlagSet) string {
	var given []string
	for _, p := range gen.Params() {
		if flags.Changed(p.Name) {
			given = append(given, p.Name+"="+flags.Lookup(p.Name).Value.String())
		}
	}
	return strings.Join(given, ",")
}

// copyRecords copies all records of r. From time to time it calls progress with the number copied so far.
func copyRecords(ctx context.Context, w *write.Writer, r stream.Reader, progress func(done int64)) error {
	var rec stream.Record
	for n := int64(0); ; n++ {
		if n%(1<<14) == 0 {
			if ctx.Err() != nil {
				return errWroteNothing
			}
			progress(n)
		}
		err := r.Read(&rec)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			err = w.Write(&rec)
		}
		if err != nil {
			return err
		}
	}
}

func indent(lines []string) string {
	return "  " + strings.Join(lines, "\n  ") + "\n"
}
