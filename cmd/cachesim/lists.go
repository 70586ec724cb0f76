package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/lists"
)

// newListCommand completes a command with the texts of cmd, which prints a list or, with names, describes some of it.
func newListCommand(cmd *cobra.Command, list func() lists.List) *cobra.Command {
	var format formatFlag
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return list().Names(), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		chosen, err := list().Choose(names)
		if err != nil {
			return err
		}
		if format == "table" && len(names) > 0 && chosen.Describes() {
			return chosen.Describe(cmd.OutOrStdout())
		}
		return chosen.Print(cmd.OutOrStdout(), string(format))
	}
	format.register(cmd)
	return cmd
}

func newPoliciesCommand() *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   "policies [NAME...]",
		Short: "List the policies with their parameters and sources, or describe some of them",
		Long: `Lists every policy: its kind (online policies see the past only, offline ones the whole trace, a bound is no
policy but a number of misses that none can undercut), what it evicts, its parameters with their defaults, and the paper
or page that defines it. With names, describes these with what each parameter means and which values it takes.`,
		Example: `  cachesim policies
  cachesim policies s3fifo lirs
  cachesim policies --format json | jq .name`,
	}, lists.Policies)
}

func newMetricsCommand() *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   "metrics [NAME...]",
		Short: "List the metrics of records, or some of them",
		Long: `Lists every metric that records may have: its unit, which way is better, how the values of several parts of a
trace become one, which parts produce it (every replay, a cache, a model, a policy, a predictor), and what it means. Figures,
tables, claims and tolerances of checks name metrics as they stand here; so do the fields of records.`,
		Example: `  cachesim metrics
  cachesim metrics hit_ratio phases
  cachesim metrics --format csv`,
	}, lists.Metrics)
}

func newPredictorsCommand() *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   "predictors [NAME...]",
		Short: "List the predictors with their parameters and sources, or describe some of them",
		Long: `Lists every predictor that policies may ask when an object is requested again: its kind (online predictors see
the past only, offline ones the whole trace), what it predicts, its parameters with their defaults, and the paper or
page that defines it. With names, describes these with what each parameter means and which values it takes. Of each
policy, ` + "`cachesim policies NAME`" + ` says whether it asks a predictor; those that do not ignore it.`,
		Example: `  cachesim predictors
  cachesim predictors gbm noisy
  cachesim run trace.zst --policy laru --predictor 'gbm,noisy(p=0.3)'`,
	}, lists.Predictors)
}

func newPrefetchersCommand() *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   "prefetchers [NAME...]",
		Short: "List the prefetchers with their parameters and sources, or describe some of them",
		Long: `Lists every prefetcher, which proposes what a cache should load besides what is asked for: its kind (those of the
kind addresses compute with the keys of the trace, which must be numbers; those of the kind objects propose what has
been asked for before), what it proposes, its parameters with their defaults, and the paper or page that defines it.
With names, describes these with the memory that they take, what each parameter means and which values it takes.`,
		Example: `  cachesim prefetchers
  cachesim prefetchers next mithril`,
	}, lists.Prefetchers)
}

func newFormatsCommand() *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   "formats [NAME...]",
		Short: "List the trace formats with their options, or describe some of them",
		Long: `Lists every trace format: what its records carry, how it is recognised, and its options with their defaults.
With names, describes these with an example and what each option means.

Compression by gzip, zstd, xz, bzip2, lz4, s2 and snappy and tar archives are recognised from the content of a file,
whatever its name. Embeddings of queries are part of some formats, or lie in a .npy or .fvecs file beside a trace
(--embeddings).`,
		Example: `  cachesim formats
  cachesim formats csv
  cachesim run --input-format csv:key=2,size=3,header=false requests.csv`,
	}, lists.Formats)
}

func newCachesCommand() *cobra.Command {
	return newPartsCommand("cache", lists.CachesDecide, "run --cache", "exact", lists.Caches)
}

func newModelsCommand() *cobra.Command {
	return newPartsCommand("model", lists.ModelsDecide, "run --model", "sls", lists.Models)
}

func newAllocatorsCommand() *cobra.Command {
	return newPartsCommand("allocator", lists.AllocatorsDecide, "run --allocate", "ucp", lists.Allocators)
}

// newPartsCommand returns the command that lists parts of a kind; what says what a part decides, flag where one is
// chosen.
func newPartsCommand(kind, what, flag, example string, list func() lists.List) *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   kind + "s [NAME...]",
		Short: fmt.Sprintf("List the %ss with their parameters and sources, or describe some of them", kind),
		Long: fmt.Sprintf(`Lists every %[1]s: %[2]s, its parameters with their defaults, and where it is described. One is chosen with
cachesim %[3]s. With names, describes these with what each parameter means and which values it takes.`, kind, what, flag),
		Example: fmt.Sprintf(`  cachesim %[1]ss
  cachesim %[1]ss %[2]s
  cachesim %[1]ss --format json | jq .name`, kind, example),
	}, list)
}
