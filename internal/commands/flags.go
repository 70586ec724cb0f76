package commands

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/commands/resources"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// traceFlags are the flags of every command that reads traces.
type traceFlags struct {
	inputFormat string
	merge       bool
	limit       int
	sample      float64
	badLines    string
	tenants     string
	by          string
	writes      string
	objectSizes []string
	overhead    string
	embeddings  string
	kv          string
	answers     string
	seed        uint64
	quiet       bool
	said        []string // notes on a trace, which may be read twice
	brief       bool     // one screen is to have room for them beside the answer
}

func (f *traceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.inputFormat, "input-format", "", "trace format as NAME or NAME:opt=value,..., or a file FILE.yaml "+
		"that describes it (default: detected; see cachesim formats)")
	flags.BoolVar(&f.merge, "merge", false, "merge several traces by time instead of reading one after another")
	flags.IntVar(&f.limit, "limit", 0, "read at most this many requests, or prompts, or reads of files, if the trace "+
		"has them (0: all)")
	flags.Float64Var(&f.sample, "sample", 0, "keep this share of the objects (for prompts: of the conversations; for "+
		"reads: of the files), chosen by hashed key, and scale capacities (0 < R < 1)")
	flags.StringVar(&f.badLines, "bad-lines", "0.1%", "share of the lines of text files that may be unreadable, and are "+
		"left out; 0: none")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of every random choice")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress bar and no notes")
	resources.RegisterMemory(cmd)
	completeTraceFormats(cmd)
}

// registerTenants adds the flag for commands that divide caches among tenants.
func (f *traceFlags) registerTenants(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.tenants, "tenant", "", "how to find a request's tenant: column(name=tenant) of tables, "+
		"column(name=host) of access logs, column(name=user) of prompts in JSON; prefix(sep=/) of the key, or "+
		"prefix(shift=32) of numeric keys; file: each trace file is a tenant; job or directory(depth=1) of reads of files")
	commandline.CompleteNames(cmd, "tenant", read.TenantRuleNames)
}

// registerBy adds the flag for commands that count hits by a label.
func (f *traceFlags) registerBy(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.by, "by", "", "count the hits of one cache by a column, too: a column of tables or field of "+
		"JSON; host, client, method, status, path or directory of access logs; user, model or another field of prompts; "+
		"client, db or command of Redis")
	cmd.MarkFlagsMutuallyExclusive("by", "tenant")
}

// registerWrites adds the flag for commands that replay traces.
func (f *traceFlags) registerWrites(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.writes, "writes", "", "what requests that write do: count (as requests like reads), "+
		"fill the cache (counted apart), store (fill, and reads load nothing that the log says is deleted), invalidate "+
		"(take the object out of the cache), or ignore (default: what is usual in the format; see cachesim formats)")
	_ = cmd.RegisterFlagCompletionFunc("writes", cobra.FixedCompletions(stream.WritesNames(),
		cobra.ShellCompDirectiveNoFileComp))
}

// registerSizes adds the flags for commands that may count bytes.
func (f *traceFlags) registerSizes(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.objectSizes, "object-size", nil, "size of objects whose size the trace does not state: 475B "+
		"for all, 'user:*=475B' for the keys of a pattern, or @FILE, which redis-cli --memkeys or --bigkeys, MEMORY USAGE "+
		"or rows KEY,SIZE made; may be repeated, and the first that knows a size wins (default: the mean size of similar "+
		"keys)")
	flags.StringVar(&f.overhead, "object-overhead", "", "what each object takes beside its size, such as 56B (default: "+
		"what is usual in the format, 0B in most)")
}

// registerKV adds the flags for commands that replay prompts and can count them in bytes.
func (f *traceFlags) registerKV(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kv, "kv", "", "what the keys and values of prompts take, so that blocks have bytes: "+
		"llama-3.1-70b, short for model=llama-3.1-70b (cachesim kv lists the models), config=FILE (a config.json of "+
		"Hugging Face) or layers=80,kv-heads=8,head-size=128; with type=fp8,tensor-parallel=4")
	cmd.Flags().StringVar(&f.answers, "answers", prompts.AnswersKept, "what servers keep of the answers to prompts: kept "+
		"(known ones can hit, others take room), lengths (all take room, none hits) or off (nothing)")
	_ = cmd.RegisterFlagCompletionFunc("answers", cobra.FixedCompletions(prompts.AnswerModes,
		cobra.ShellCompDirectiveNoFileComp))
}

// registerEmbeddings adds the flag for commands that replay queries.
func (f *traceFlags) registerEmbeddings(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.embeddings, "embeddings", "",
		"embeddings of queries: a .npy or .fvecs file, compressed or not (.npy.zst), with one row per request "+
			"(x.npy:rows=distinct: per distinct query), or lexical(dim=384,...), which computes them from the texts "+
			"(default: those in the trace; lexical if it has only texts)")
}

// loadOptions checks the flags and returns the options for read.Load; the caller adds the columns that it needs.
func (f *traceFlags) loadOptions(cmd *cobra.Command) (read.Options, error) {
	if f.limit < 0 {
		return read.Options{}, fmt.Errorf("--limit %d: want a number of requests, or 0 for all", f.limit)
	}
	if cmd.Flags().Changed("sample") && !(f.sample > 0 && f.sample < 1) {
		return read.Options{}, fmt.Errorf("--sample %v: want a share above 0 and below 1, for example 0.01", f.sample)
	}
	selection := read.Selection{
		Format: f.inputFormat, Merge: f.merge, Limit: f.limit, SampleRate: f.sample, SampleSeed: f.seed,
		ObjectSizes: f.objectSizes, ObjectOverhead: f.overhead,
	}
	badLines, err := parseShare(f.badLines)
	if err != nil {
		return read.Options{}, fmt.Errorf("--bad-lines %w", err)
	}
	find := func(path string) (string, error) { return workload.Find(path, workload.Dirs("")) }
	return read.Options{Selection: selection, BadLines: badLines, Memory: resources.BudgetOf(cmd),
		Stdin: cmd.InOrStdin(), Find: find}, nil
}

// parseShare reads a share of 0 to 1, "0.1%" or "0.001".
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%s: want a share, for example 0.1%% or 0.001, and 0 for none", text)
	}
	return share, nil
}

// workload returns what the arguments name: one or more files, or one generator.
func (f *traceFlags) workload(cmd *cobra.Command, args []string) (workload.Workload, error) {
	options, err := f.loadOptions(cmd)
	if err != nil {
		return workload.Workload{}, err
	}
	if f.writes != "" {
		if _, err := stream.ParseWrites(f.writes); err != nil {
			return workload.Workload{}, fmt.Errorf("--writes: %w", err)
		}
	}
	if err := read.CheckSizes(f.objectSizes, f.overhead); err != nil {
		return workload.Workload{}, fmt.Errorf("--%w", err)
	}
	w := workload.Workload{Files: args, Selection: read.Selection{Format: f.inputFormat, Merge: f.merge}}
	if at := slices.IndexFunc(args, workload.IsGenerator); at >= 0 {
		switch {
		case len(args) > 1:
			return w, fmt.Errorf("%s: a generator cannot be combined with other traces; give it alone", args[at])
		case f.inputFormat != "" || f.merge:
			return w, fmt.Errorf("%s: a generator reads no files, so --input-format and --merge do not apply", args[at])
		case f.writes != "":
			return w, fmt.Errorf("%s: a generator only reads objects, so --writes does not apply", args[at])
		}
		if w, err = workload.Generated(args[at], f.seed); err != nil {
			return w, err
		}
	}
	w.Limit, w.SampleRate, w.Embeddings, w.Tenants = options.Limit, options.SampleRate, f.embeddings, f.tenants
	w.Writes, w.By, w.ObjectSizes, w.ObjectOverhead = f.writes, f.by, f.objectSizes, f.overhead
	if given := cmd.Flags().Lookup("kv"); f.kv == "" && given != nil && given.Changed {
		return w, errors.New("--kv is empty; want a model, as in --kv model=llama-3.1-70b, or remove it")
	}
	f.kv = llm.Named(f.kv)
	if err := workload.CheckKV(f.kv); err != nil {
		return w, fmt.Errorf("--kv: %w", err)
	}
	w.KV = f.kv
	if w.Answers, err = prompts.ParseAnswers(f.answers); err != nil {
		return w, fmt.Errorf("--answers: %w", err)
	}
	if f.tenants != "" {
		rule, err := read.ParseTenants(f.tenants)
		if err != nil {
			return w, fmt.Errorf("--tenant: %w", err)
		}
		w.Tenants = rule.String()
	}
	if err := w.CheckEmbeddings(); err != nil {
		return w, fmt.Errorf("--embeddings %s: %w", f.embeddings, err)
	}
	if w.SampleRate > 0 {
		w.SampleSeed = f.seed
	}
	return w, nil
}

// load reads or generates the trace with a progress bar. If recorded is set, the returned workload includes its
// checksum.
func (f *traceFlags) load(cmd *cobra.Command, w workload.Workload, options read.Options,
	recorded bool) (t *traces.Trace, _ workload.Workload, err error) {
	if w.Embeddings != "" && !options.Embeddings {
		return nil, w, fmt.Errorf("--embeddings %s: nothing here compares queries; add --cache 'semantic(tau=0.85)' "+
			"or remove --embeddings", f.embeddings)
	}
	what, unit := "loading", progress.Bytes
	if w.Generator != "" {
		what, unit = "generating", progress.Requests
	}
	bar := progress.New(cmd.ErrOrStderr(), f.quiet, what, unit)
	defer bar.Finish()
	if options.BadLines, err = parseShare(f.badLines); err != nil {
		return nil, w, fmt.Errorf("--bad-lines %w", err)
	}
	options.Memory, options.Stdin = resources.BudgetOf(cmd), cmd.InOrStdin()
	options.Progress, options.Preparing = bar.Set, bar.Preparing
	if dirs := workload.Dirs(""); recorded {
		t, w, err = w.LoadSummed(cmd.Context(), dirs, options)
	} else {
		t, err = w.Load(cmd.Context(), dirs, options)
	}
	if err == nil {
		f.sayTrace(cmd, bar, t, options.Sizes)
	}
	// The tables that numbered the keys are now garbage. Returning them at once makes room for the replays' tables,
	// which are about as large.
	debug.FreeOSMemory()
	return t, w, err
}

// capacityFlags are the flags of every command that has capacities.
type capacityFlags struct {
	list     string
	unitSize bool
	bytes    bool
}

func (f *capacityFlags) register(cmd *cobra.Command, defaultList string) {
	flags := cmd.Flags()
	flags.StringVar(&f.list, "capacity", defaultList, "list of objects (100), bytes (64MiB), shares of the trace (1%) "+
		"and ranges (1%..20%x2, 100..500+100)")
	flags.BoolVar(&f.unitSize, "unit-size", false, "ignore the sizes in the trace: every object has size 1")
	flags.BoolVar(&f.bytes, "bytes", false, "capacities count bytes, even bare numbers and shares (of the footprint)")
	cmd.MarkFlagsMutuallyExclusive("unit-size", "bytes")
}

// parse returns the capacities of a workload, and which sizes count.
func (f *capacityFlags) parse(of *traceFlags) ([]capacity.Spec, capacity.Mode, error) {
	mode := capacity.AsWritten
	switch {
	case f.unitSize:
		mode = capacity.UnitSize
	case f.bytes:
		mode = capacity.Bytes
	}
	if of.kv != "" {
		mode = mode.OfBlocks()
	}
	specs, err := capacity.ParseList(f.list)
	return specs, mode, err
}

// completePolicies completes the last name in the list of --policy.
func completePolicies(cmd *cobra.Command) {
	commandline.CompleteNames(cmd, "policy", policies.Registry.Names)
}

func completeTraceFormats(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("input-format", func(_ *cobra.Command, _ []string, typed string) ([]string,
		cobra.ShellCompDirective) {
		if strings.ContainsAny(typed, "./") {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		}
		var names []string
		for _, f := range formats.All() {
			names = append(names, f.Name)
		}
		return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// registerOutputFormat adds the flag for commands that write a trace.
func registerOutputFormat(cmd *cobra.Command, format *string) {
	names := formats.WritableNames()
	cmd.Flags().StringVar(format, "output-format", "", "format to write: "+strings.Join(names, ", ")+
		" (default: from the file name; for -: csv, or mooncake for prompts, queries for queries, reads for reads of "+
		"files and batches for batches)")
	_ = cmd.RegisterFlagCompletionFunc("output-format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// sayTrace prints how a trace was interpreted, and what may be wrong with it, once.
func (f *traceFlags) sayTrace(cmd *cobra.Command, bar *progress.Bar, t *traces.Trace, sizesCount bool) {
	isSaid := func(line string) bool { return slices.Contains(f.said, line) }
	lines := slices.DeleteFunc(slices.Concat(t.Lines(sizeRemark(cmd, sizesCount)), t.Warnings), isSaid)
	f.said = append(f.said, lines...)
	for _, line := range commandline.Remarks(lines, f.screen(cmd), "cachesim run") {
		bar.Note(line)
	}
}

// screen is the width of a terminal on which all that is printed is to fit one screen; 0 if it need not.
func (f *traceFlags) screen(cmd *cobra.Command) int {
	if !f.brief {
		return 0
	}
	return terminal.Width(cmd.ErrOrStderr())
}

// sizeRemark says whether the sizes in a trace count, and how to make them count.
func sizeRemark(cmd *cobra.Command, used bool) string {
	unitSize := cmd.Flags().Lookup("unit-size")
	switch {
	case used:
		return ""
	case cmd.Flags().Lookup("bytes") == nil || unitSize != nil && unitSize.Changed:
		return " (not used)"
	}
	return " (not used; --bytes counts it)"
}
