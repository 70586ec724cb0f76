package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/commands/resources"
	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/runs"
	"github.com/cachesim/cachesim/internal/results/tracestat"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

type statFlags struct {
	trace  traceFlags
	format commandline.Format
	out    string

	figures commandline.Figures
}

func newStatCommand() *cobra.Command {
	f := &statFlags{}
	cmd := &cobra.Command{
		Use:   "stat TRACE...",
		Short: "Describe a trace: requests, objects, bytes, popularity, reuse",
		Long: terminal.Wrapped("Describes a trace: requests and objects, compulsory misses, one-hit wonders, bytes and "+
			"footprint, time span and rate, the skew of popularity with a fitted Zipf exponent, and the distributions of "+
			"sizes, reuse distances (other distinct objects between two requests to an object) and reuse times. What a "+
			"trace does not contain (sizes or times, for example) is left out. "+strings.Join(tracestat.Also(), " "), 120) + `

Of attention traces, which have no requests, it describes by layer how similar the queries of a head are by the number
of steps between them, how much the sets of the most probable keys overlap, by lag and by similarity, and which share of
the probability the first, the last and the most probable other tokens have; --limit counts steps.

With -o the folder gets report.html, one page with everything, stat.json, stat.csv, distributions.csv and figures (SVG
and PNG).
Quantiles are values that occur in the trace, exact to one part in 256.`,
		Example: `  cachesim stat trace.zst
  cachesim stat trace.zst --format json | jq .zipf.alpha
  cachesim stat 'zipf(alpha=0.9,objects=10000)'
  cachesim stat prompts.jsonl.zst --kv model=llama-3.1-70b
  cachesim stat 'attention(layers=4)' -o out
  cachesim stat day1.csv.gz day2.csv.gz -o out`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.trace.register(cmd)
	f.trace.registerEmbeddings(cmd)
	f.trace.registerKV(cmd)
	f.trace.registerSizes(cmd)
	f.format.Register(cmd)
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "folder for stat.json, stat.csv, distributions.csv and figures "+
		"(SVG, PNG)")
	f.figures.RegisterLook(cmd.Flags())
	return cmd
}

func (f *statFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.figures.Check(f.out); err != nil {
		return err
	}
	w, err := f.trace.workload(cmd, args)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := records.CheckDir(f.out); err != nil {
			return err
		}
	}
	about := tracestat.About{Version: version.Program(), Command: runs.CommandLine(cmd.CommandPath(), args, cmd.Flags()),
		Figures: f.figures.Options}
	if isAttention(cmd, w) {
		return statAttention(cmd, w, string(f.format), f.out, about, f.trace.quiet)
	}
	needs := traces.Needs{Sizes: true, Times: true, Ops: true, Kind: true, Embeddings: w.Embeddings != "",
		Lengths: true}
	t, w, err := f.trace.load(cmd, w, read.Options{Needs: needs}, f.out != "")
	if err != nil {
		return err
	}
	s, err := parallel.Await(cmd.Context(), func() (*tracestat.Summary, error) { return tracestat.Summarize(t) })
	if err != nil {
		return err
	}
	if err := s.Print(cmd.OutOrStdout(), string(f.format)); err != nil || f.out == "" {
		return err
	}
	about.Read = w.Settings(t)
	return s.Write(f.out, about)
}

func isAttention(cmd *cobra.Command, w workload.Workload) bool {
	return w.IsAttention(cmd.Context(), workload.Dirs(""))
}

// openAttention opens an attention trace of which these parts are read, and says what it holds.
func openAttention(cmd *cobra.Command, w workload.Workload, parts attention.Parts, bar *progress.Bar) (attention.Trace,
	attention.Options, error) {
	options := attention.Options{Parts: parts, Memory: resources.BudgetOf(cmd)}
	t, err := w.OpenAttention(cmd.Context(), workload.Dirs(""), cmd.InOrStdin(), options)
	if err == nil {
		bar.Note(cmp.Or(w.Generator, strings.Join(w.Files, "")) + ": attention; " + t.Shape().String())
	}
	return t, options, err
}

// convertAttention copies an attention trace into a file of this program's own format, the only format that may be
// named.
func convertAttention(cmd *cobra.Command, w workload.Workload, out, format string, quiet bool) error {
	if err := checkAttentionFormat(format); err != nil {
		return err
	}
	bar := progress.New(cmd.ErrOrStderr(), quiet, "converting", progress.Heads)
	defer bar.Finish()
	t, _, err := openAttention(cmd, w, attention.Parts{Predicted: true, Keys: true, Values: true}, bar)
	if err != nil {
		return err
	}
	defer t.Close()
	return writeAttention(cmd, out, t, bar)
}

// generateAttention writes what a generator makes.
func generateAttention(cmd *cobra.Command, spec gen.Spec, out, format string, quiet bool) error {
	if err := checkAttentionFormat(format); err != nil {
		return err
	}
	t, err := spec.Attention()
	if err != nil {
		return err
	}
	bar := progress.New(cmd.ErrOrStderr(), quiet, "writing", progress.Heads)
	defer bar.Finish()
	return writeAttention(cmd, out, t, bar)
}

func checkAttentionFormat(format string) error {
	if format != "" && format != attention.Format {
		return fmt.Errorf("--output-format %s: attention is written in its own format; leave it out", format)
	}
	return nil
}

func writeAttention(cmd *cobra.Command, out string, t attention.Trace, bar *progress.Bar) error {
	written := func(done int) { bar.Set(int64(done), int64(t.Shape().Heads())) }
	err := attention.WriteFile(cmd.Context(), out, cmd.OutOrStdout(), t, parallel.Jobs(0), written)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted: %s was not written", out)
	}
	return err
}

// statAttention prints the description of an attention trace, and writes it into the folder out, unless that is "".
func statAttention(cmd *cobra.Command, w workload.Workload, format, out string, about tracestat.About,
	quiet bool) error {
	if w.KV != "" {
		return fmt.Errorf("--kv %s: want prompts, but %s is an attention trace, with keys and values of its own; remove "+
			"--kv", w.KV, cmp.Or(w.Generator, strings.Join(w.Files, ", ")))
	}
	a, read, err := describeAttention(cmd, w, quiet)
	if err != nil {
		return err
	}
	if err := a.Print(cmd.OutOrStdout(), format); err != nil || out == "" {
		return err
	}
	about.Read = read
	return a.Write(out, about)
}

// describeAttention describes an attention trace, and says what was read.
func describeAttention(cmd *cobra.Command, w workload.Workload, quiet bool) (*tracestat.Attention, []records.Setting,
	error) {
	bar := progress.New(cmd.ErrOrStderr(), quiet, "describing", progress.Heads)
	defer bar.Finish()
	t, options, err := openAttention(cmd, w, attention.Parts{Predicted: true, Keys: true}, bar)
	if err != nil {
		return nil, nil, err
	}
	defer t.Close()
	shape := t.Shape()
	bar.Set(0, int64(shape.Heads()))
	d, err := attention.Describe(cmd.Context(), t, parallel.Jobs(0), options, func() { bar.Add(1) })
	if errors.Is(err, context.Canceled) {
		return nil, nil, errors.New("interrupted")
	} else if err != nil {
		return nil, nil, err
	}
	name := cmp.Or(w.Name, strings.Join(w.Files, ""))
	settings := []records.Setting{{Name: "trace", Value: name}}
	if w.Generator != "" {
		settings = append(settings, records.Setting{Name: "generator", Value: w.Generator})
	}
	if shape.Model != "" {
		settings = append(settings, records.Setting{Name: "model", Value: shape.Model})
	}
	settings = append(settings, records.Setting{Name: "read as", Value: "attention; " + shape.String()})
	return tracestat.NewAttention(name, shape, d), settings, nil
}
