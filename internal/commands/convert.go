package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/sizes"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/write"
)

type convertFlags struct {
	trace        traceFlags
	outputFormat string
	embeddings   string
}

func newConvertCommand() *cobra.Command {
	f := &convertFlags{}
	cmd := &cobra.Command{
		Use:   "convert IN... OUT",
		Short: "Convert a trace to another format or compression",
		Long: `Reads a trace in any format and writes it in the format given by the extension of OUT (.csv, .txt for
plain keys, .batches, .oracleGeneral or .oracleGeneral.bin, .parquet, .jsonl for prompts and queries) or by
--output-format. The output is compressed if the name ends in .zst, .gz, .xz, .s2, .sz or .lz4. IN may be - for standard
input, OUT may be - for standard output. Several INs are read one after another, or merged by time with --merge.

Records are streamed, so a trace of any length can be converted. Only oracleGeneral needs memory for its objects and,
temporarily and next to OUT, as much disk space as the uncompressed trace. OUT is replaced only when everything is
written.

Some formats lose information. Plain text keeps only the keys; batches keep the keys and their grouping; .jsonl keeps
prompts or queries with their attributes; .parquet keeps queries and reads of files too. Other formats keep neither
batches nor prompts, and of queries only the ids; .npy and .fvecs keep only the embeddings of queries. oracleGeneral
keeps no operations and only whole seconds, turns text keys into 64-bit hashes (it is an error if two keys have the same
hash), and gives objects without a size the size 1, because its readers skip requests of size 0. A note lists what was
lost and what was added when OUT is written.

Sizes are those of whole objects: with their keys and the overhead where these count. A size that the input does not
state is left empty in CSV and Parquet; oracleGeneral, and every format with --object-size, gets the size that a replay
would use, for which the input is read twice.

With --embeddings, requests (which may be keys alone) become queries with the embeddings from that file.`,
		Example: `  cachesim convert trace.oracleGeneral.zst trace.csv.gz
  cachesim convert requests.csv --input-format csv:key=2,size=3 requests.oracleGeneral.zst
  cachesim convert --merge server1.csv server2.csv all.parquet
  cachesim convert requests.csv --embeddings requests.npy requests.parquet
  cachesim convert trace.parquet --sample 0.01 --seed 1 sample.oracleGeneral
  zcat trace.gz | cachesim convert - - --output-format plain | head`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[:len(args)-1], args[len(args)-1])
		},
	}
	f.trace.register(cmd)
	f.trace.registerSizes(cmd)
	cmd.Flags().StringVar(&f.embeddings, "embeddings", "", "give requests the embeddings in a .npy or .fvecs file, "+
		"compressed or not (.npy.zst), with one row per request (x.npy:rows=distinct: per distinct query)")
	registerOutputFormat(cmd, &f.outputFormat)
	return cmd
}

func (f *convertFlags) run(cmd *cobra.Command, in []string, out string) error {
	options, err := f.trace.loadOptions(cmd)
	if err != nil {
		return err
	}
	// Of the generators, only attention can be converted.
	if w, err := f.trace.workload(cmd, in); err == nil && isAttention(cmd, w) {
		w.Embeddings = f.embeddings
		if err := checkNotInput(w.Files, out); err != nil {
			return err
		}
		return convertAttention(cmd, w, out, f.outputFormat, f.trace.quiet)
	}
	if in, err = findAll(in); err != nil {
		return err
	}
	beside, err := findAll(slices.Concat(formats.FilesOf(options.Format), sizes.FilesOf(options.ObjectSizes)))
	if err != nil {
		return err
	}
	if err := checkNotInput(slices.Concat(in, beside), out); err != nil {
		return err
	}
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "converting", progress.Bytes)
	defer bar.Finish()
	if f.embeddings == "" {
		if order := read.RotationOrder(cmd.Context(), in, options); order != nil {
			named := slices.Clone(in)
			for i, at := range order {
				in[i] = named[at]
			}
			bar.Note(read.RotationNote(in))
		}
	}
	options.Progress = bar.Set
	options.Times, options.Sizes, options.Ops = true, true, true
	if f.embeddings != "" {
		beside, distinct, err := f.openEmbeddings(cmd.Context(), out)
		if err != nil {
			return err
		}
		defer beside.Close()
		options.Beside = queries.NewBeside(beside, distinct)
	}
	err = f.convert(cmd, in, out, options, bar)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted: %s was not written", out)
	}
	return err
}

// openEmbeddings opens the file of embeddings that go into OUT. distinct says that its rows are distinct queries.
func (f *convertFlags) openEmbeddings(
	ctx context.Context, out string,
) (v *queries.VectorFile, distinct bool, err error) {
	file, ok := queries.ParseBesideFile(f.embeddings)
	if !ok {
		return nil, false, fmt.Errorf("--embeddings %s: want NAME.npy or NAME.fvecs, with or without :rows=distinct; to "+
			"compute embeddings, use cachesim embed", f.embeddings)
	}
	if err := formats.CheckHoldsEmbeddings(out, f.outputFormat); err != nil {
		return nil, false, err
	}
	found, err := findAll([]string{file.Path})
	if err != nil {
		return nil, false, err
	}
	if err := checkNotInput(found, out); err != nil {
		return nil, false, err
	}
	v, err = queries.OpenVectors(ctx, found[0], nil)
	return v, file.Distinct, err
}

func (f *convertFlags) convert(
	cmd *cobra.Command, in []string, out string, options read.Options, bar *progress.Bar,
) error {
	creating := write.Options{Format: f.outputFormat, Stdout: cmd.OutOrStdout()}
	complete := options.Beside == nil && (len(options.ObjectSizes) > 0 || formats.StatesAllSizes(out, f.outputFormat))
	asItIs := func(rec *stream.Record) error {
		if rec.SizeUnknown && complete {
			return errSizeUnknown
		}
		return nil
	}
	scanned, remarks, err := copyTrace(cmd.Context(), in, out, options, creating, asItIs, nil)
	if errors.Is(err, errSizeUnknown) {
		scanned, remarks, err = copySized(cmd, in, out, options, creating, bar)
	}
	if err != nil {
		return err
	}
	for _, line := range slices.Concat(traces.Lines(scanned.Readings, ""), scanned.Warnings) {
		bar.Note(line)
	}
	if remarks != "" {
		bar.Note(out + ": " + remarks)
	}
	return nil
}

// errSizeUnknown ends a copy at the first row without a size, since the sizes of all others are needed for it.
var errSizeUnknown = errors.New("a row states no size")

// copySized is copyTrace with the sizes that a replay would have, for which the trace is read a first time.
func copySized(cmd *cobra.Command, in []string, out string, options read.Options, creating write.Options,
	bar *progress.Bar) (scanned read.Scanned, remarks string, err error) {
	for _, path := range in {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return scanned, "", fmt.Errorf("%s: some rows have no size, and a pipe cannot be read twice to find it: name a "+
				"file, or write CSV or Parquet without --object-size", path)
		}
	}
	loading := options
	loading.Needs = traces.Needs{Sizes: true, Ops: true}
	t, err := read.Load(cmd.Context(), in, loading)
	switch {
	case err != nil:
		return scanned, "", err
	case !t.HasSizes():
		return scanned, "", fmt.Errorf("%s: states no size at all: give sizes with --object-size, such as 475B", t.Name)
	}
	bar.Note(t.Sizing.Text())
	next := 0
	sized := func(rec *stream.Record) error {
		if rec.Op.Kind() != stream.OpFlush {
			rec.Size, rec.SizeUnknown, rec.KeySize = t.Size(next), false, 0
			next++
		}
		return nil
	}
	return copyTrace(cmd.Context(), in, out, options, creating, sized, nil)
}

// copyTrace reads a trace and writes each record as change returns it, until end, if any, says whether the end is
// right. It returns what was read and the writer's remarks.
func copyTrace(ctx context.Context, in []string, out string, reading read.Options, creating write.Options,
	change func(*stream.Record) error, end func() error) (scanned read.Scanned, remarks string, err error) {
	var w *write.Writer
	begin := func(fields stream.Fields) (err error) {
		creating.Fields = fields
		w, err = write.Create(ctx, out, creating)
		return err
	}
	scanned, err = read.Scan(ctx, in, reading, begin, func(rec *stream.Record) error {
		if err := change(rec); err != nil {
			return err
		}
		return w.Write(rec)
	})
	if w == nil {
		return read.Scanned{}, "", err
	}
	defer w.Discard()
	if err == nil && end != nil {
		err = end()
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return read.Scanned{}, "", err
	}
	return scanned, w.Remarks(), nil
}

// checkNotInput makes sure that no input file is replaced.
func checkNotInput(in []string, out string) error {
	outInfo, err := os.Stat(out)
	if out == "-" || err != nil || !outInfo.Mode().IsRegular() {
		return nil // a new file, a device, or a file that Create rejects
	}
	for _, path := range in {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, outInfo) {
			return fmt.Errorf("%s is an input and would be overwritten; name another output file", out)
		}
	}
	return nil
}
