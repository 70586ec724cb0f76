package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
	"github.com/cachesim/cachesim/cmd/cachesim/internal/version"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/runs"
	"github.com/cachesim/cachesim/internal/results/tracestat"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
)

type statFlags struct {
	trace  traceFlags
	format commandline.Format
	out    string
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
	return cmd
}

func (f *statFlags) run(cmd *cobra.Command, args []string) error {
	w, err := f.trace.workload(cmd, args)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := records.CheckDir(f.out); err != nil {
			return err
		}
	}
	about := tracestat.About{Version: version.Program(), Command: runs.CommandLine(cmd.CommandPath(), args, cmd.Flags())}
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
