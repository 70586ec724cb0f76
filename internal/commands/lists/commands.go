package lists

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/sim"
)

// Commands returns a command for each list. Some commands are below that of policies.
func Commands(ofPolicies ...*cobra.Command) []*cobra.Command {
	policies := newPoliciesCommand()
	policies.AddCommand(ofPolicies...)
	return append(newPartsCommands(), policies, newServersCommand(), newMetricsCommand(), newFormatsCommand(),
		newKVCommand(), newDevicesCommand())
}

// newListCommand completes cmd, whose texts are given. The command prints a list or, given names, describes the named
// entries.
func newListCommand(cmd *cobra.Command, list func() List) *cobra.Command {
	var format commandline.Format
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return list().Names(), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		all := list()
		all.Whole = cmd.CommandPath()
		chosen, err := all.Choose(names)
		if err != nil {
			return err
		}
		if format == "table" && len(names) > 0 && chosen.Describes() {
			return chosen.Describe(cmd.OutOrStdout())
		}
		return chosen.Print(cmd.OutOrStdout(), string(format))
	}
	format.Register(cmd)
	return cmd
}

func newPoliciesCommand() *cobra.Command {
	var with []string
	var own []Item
	cmd := newListCommand(&cobra.Command{
		Use:   "policies [NAME...]",
		Short: "List the policies with their parameters and sources, or describe some of them",
		Long: `Lists every policy: its kind (online policies see only the past, offline policies the whole trace; a
bound is not a policy but a number of misses that no policy can go below), what it evicts, its parameters with their
defaults, and the paper or page that defines it. Given names, describes these policies: what each parameter means and
which values it accepts. With --with, policies that you have written are listed first, with the names and sources that
they say they have.`,
		Example: `  cachesim policies
  cachesim policies s3fifo lirs
  cachesim policies --with 'exec(command="python3 my.py")'
  cachesim policies --format json | jq .name`,
	}, func() List {
		l := Policies()
		l.Items = append(own, l.Items...)
		return l
	})
	cmd.Flags().StringArrayVar(&with, "with", nil, "also list this policy of yours, or the one in this file; repeatable")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		for _, text := range with {
			item, err := ownPolicy(text)
			if err != nil {
				return fmt.Errorf("--with %s: %w", text, err)
			}
			own = append(own, item)
		}
		return nil
	}
	return cmd
}

func newMetricsCommand() *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   "metrics [NAME...]",
		Short: "List the metrics of records, or some of them",
		Long: `Lists every metric that records may contain: its unit, whether higher or lower is better, how the values
of several parts of a trace are combined, which parts produce it (every replay, a cache, a model, a policy, a
predictor), and what it means. Figures, tables, claims and tolerances use these names; so do the fields of records.`,
		Example: `  cachesim metrics
  cachesim metrics hit_ratio phases
  cachesim metrics --format csv`,
	}, Metrics)
}

func newPredictorsCommand() *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   "predictors [NAME...]",
		Short: "List the predictors with their parameters and sources, or describe some of them",
		Long: `Lists every predictor of the time at which an object is requested again: its kind (online predictors
see only the past, offline predictors the whole trace), what it predicts, its parameters with their defaults, and the
paper or page that defines it. Given names, describes these predictors: what each parameter means and which values it
accepts. For each policy, ` + "`cachesim policies NAME`" + ` says whether it uses a predictor; policies that do not ` +
			`ignore it.`,
		Example: `  cachesim predictors
  cachesim predictors gbm noisy
  cachesim run trace.zst --policy laru --predictor 'gbm,noisy(p=0.3)'`,
	}, Predictors)
}

func newPrefetchersCommand() *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   "prefetchers [NAME...]",
		Short: "List the prefetchers with their parameters and sources, or describe some of them",
		Long: `Lists every prefetcher. A prefetcher proposes further objects or addresses that a cache should load. The
list has its kind (prefetchers of addresses compute with the trace's keys, which must be numbers; prefetchers of objects
propose objects that were requested before), what it proposes, its parameters with their defaults, and the paper or page
that defines it. Given names, describes these prefetchers: how much memory they need, what each parameter means and
which values it accepts.`,
		Example: `  cachesim prefetchers
  cachesim prefetchers next mithril`,
	}, Prefetchers)
}

func newKVCommand() *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   "kv [MODEL...]",
		Short: "List the language models whose keys and values are known, in bytes per token",
		Long: `Lists every language model that --kv model=NAME accepts: the bytes of the keys and values of a token, in all
layers on one GPU, in the type of its configuration; those that remain of a token that all windows have left, where some
layers attend to the last tokens only; its layers; and the configuration that states them. docs/language-models.md has
the rules, and what other models take.`,
		Example: `  cachesim kv
  cachesim kv llama-3.1-70b gpt-oss-120b
  cachesim kv --format json | jq .bytes_per_token
  cachesim run prompts.jsonl.zst --cache prefix --kv model=llama-3.1-70b,type=fp8 --capacity 8GiB..64GiBx2`,
	}, KeyValues)
}

func newFormatsCommand() *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   "formats [NAME...]",
		Short: "List the trace formats with their options, or describe some of them",
		Long: `Lists every trace format: what its records contain, how it is recognised, and its options with their
defaults. Given names, describes these formats, with an example and the meaning of each option.

Compression (gzip, zstd, xz, bzip2, lz4, s2 and snappy) and tar archives are recognised from a file's content, whatever
its name. Embeddings of queries are part of some formats, or are in a .npy or .fvecs file next to the trace
(--embeddings).`,
		Example: `  cachesim formats
  cachesim formats csv
  cachesim run --input-format csv:key=2,size=3,header=false requests.csv`,
	}, Formats)
}

func newPartsCommands() (all []*cobra.Command) {
	for _, kind := range sim.Kinds {
		switch kind.Name {
		case "predictor": // whose lists say more
			all = append(all, newPredictorsCommand())
		case "prefetcher":
			all = append(all, newPrefetchersCommand())
		default:
			all = append(all, newPartsCommand(kind))
		}
	}
	return all
}

func newPartsCommand(kind *sim.Kind) *cobra.Command {
	return newListCommand(&cobra.Command{
		Use:   kind.Plural + " [NAME...]",
		Short: fmt.Sprintf("List the %s with their parameters and sources, or describe some of them", kind.Plural),
		Long: fmt.Sprintf(`Lists every %s: %s, its parameters with their defaults, and where it is described.
Choose one with cachesim run --%s. Given names, describes these: what each parameter means and which values it
accepts.`,
			cmp.Or(kind.Noun, kind.Name), kind.Decides, commandline.FlagOf(kind)),
		Example: fmt.Sprintf(`  cachesim %[1]s
  cachesim %[1]s %[2]s
  cachesim %[1]s --format json | jq .name`, kind.Plural, kind.Names()[0]),
	}, func() List { return Parts(kind) })
}

func newDevicesCommand() *cobra.Command {
	var format commandline.Format
	cmd := &cobra.Command{
		Use:   "devices [NAME...]",
		Short: "List the devices that can compute, and what they compute",
		Long: `Lists the CPU and the NVIDIA GPUs: name, memory, compute capability, multiprocessors, and the versions of the
driver and of CUDA. The last column has what a device computes: join (which queries are similar), sets (replays of
set-associative caches) and lru (LRU at all capacities); the CPU computes everything. Choose a device with --device.

If no GPU can be used, the command says why. That is not an error.`,
		Example: `  cachesim devices
  cachesim devices --format json | jq .memory_bytes`,
	}
	format.Register(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		gpus, problem := cuda.List()
		list, err := Devices(gpus).Choose(names)
		if err != nil {
			return err
		}
		if problem != nil {
			commandline.Note(cmd, false, "no GPU can be used: "+cuda.Explain(problem))
		}
		return list.Print(cmd.OutOrStdout(), string(format))
	}
	return cmd
}
