package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/embed"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/workload"
	"github.com/cachesim/cachesim/internal/traces/write"
)

type embedFlags struct {
	trace    traceFlags
	out      string
	embedder string
	service  embed.Endpoint
	keyEnv   string
}

func newEmbedCommand() *cobra.Command {
	f := &embedFlags{}
	cmd := &cobra.Command{
		Use:   "embed TRACE... -o FILE",
		Short: "Compute embeddings for the texts of queries",
		Long: `Reads a trace of queries with texts, embeds each distinct text and writes the vectors, which semantic
caches compare. FILE ends in .npy or .fvecs, where row i is the embedding of request i, or in .jsonl or .parquet, which
contain the queries as well. FILE appears only when it is complete.

The built-in embedder is lexical: texts with similar words are similar, whatever they mean. --endpoint uses a service
instead; any service with the OpenAI embeddings API works: ollama, llama.cpp, vLLM, LM Studio, OpenAI. Embeddings that
have arrived are kept in FILE.partial until all are there: after an interruption or an error, the same command continues
from there. If FILE exists, no service is called.

Embedders:
` + indent(embedderLines()),
		Example: `  cachesim embed queries.jsonl -o queries.npy
  cachesim embed queries.jsonl --embedder 'lexical(dim=768,words=2)' -o embedded.jsonl.zst
  cachesim embed queries.jsonl --endpoint http://localhost:11434 --model nomic-embed-text -o queries.npy
  cachesim embed queries.jsonl --endpoint https://api.openai.com --model text-embedding-3-small \
    --dimensions 384 -o queries.npy`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.run,
	}
	f.trace.register(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "", "output file: .npy, .fvecs, .jsonl or .parquet")
	flags.StringVar(&f.embedder, "embedder", embed.Default, "built-in embedder with its parameters")
	flags.StringVar(&f.service.URL, "endpoint", "", "URL of a service to use instead, for example "+
		"http://localhost:11434")
	flags.StringVar(&f.service.Model, "model", "", "the service's model")
	flags.IntVar(&f.service.Dimensions, "dimensions", 0, "length of a vector, for models that support several "+
		"lengths (0: the model's own)")
	flags.StringVar(&f.keyEnv, "key-env", "", "environment variable with the service's key (default: "+
		embed.OpenAIKey+" for "+
		embed.OpenAIHost+", otherwise no key)")
	flags.BoolVar(&f.service.KeyInClear, "key-in-clear", false,
		"send the key to another machine even over http://, where others can read it")
	flags.IntVar(&f.service.Batch, "batch", 64, "texts per request to the service, at most 4096")
	flags.DurationVar(&f.service.Timeout, "timeout", 30*time.Second, "timeout of a request to the service")
	flags.IntVar(&f.service.Retries, "retries", 5, "retries of a request after an error that may go away: the "+
		"network, 408, 429 and 5xx")
	_ = cmd.MarkFlagRequired("output")
	_ = cmd.MarkFlagFilename("output", "npy", "fvecs", "jsonl", "parquet")
	cmd.MarkFlagsMutuallyExclusive("embedder", "endpoint")
	return cmd
}

func embedderLines() []string {
	var lines []string
	for _, e := range embed.Entries() {
		lines = append(lines, params.Signature(e.Name, e.Params)+": "+e.Summary)
		for _, p := range e.Params {
			lines = append(lines, "  "+p.Name+": "+p.Doc)
		}
	}
	return lines
}

func (f *embedFlags) run(cmd *cobra.Command, in []string) error {
	in, err := findAll(in)
	if err == nil {
		err = f.check(cmd, in)
	}
	if err == nil {
		err = f.make(cmd, in)
	}
	if cmd.Context().Err() != nil && errors.Is(err, cmd.Context().Err()) {
		var unfinished *embed.UnfinishedError
		if errors.As(err, &unfinished) {
			return errors.New(unfinished.Error())
		}
		return errWroteNothing
	}
	return err
}

// findAll returns the paths of the files: as given, or in the folder that the environment variable names, with those
// that folders and patterns stand for.
func findAll(paths []string) (found []string, err error) {
	return workload.FindAll(paths, workload.Dirs(""))
}

// check rejects what cannot work before anything is read.
func (f *embedFlags) check(cmd *cobra.Command, in []string) error {
	if err := formats.CheckHoldsEmbeddings(f.out, ""); err != nil {
		return err
	}
	if slices.Contains(in, "-") {
		return errors.New("embed cannot read standard input, because it reads the trace twice; give a file")
	}
	if f.trace.sample > 0 {
		return errors.New("--sample cannot be used with embed: embed the whole trace, and use --sample when you replay " +
			"it")
	}
	if err := checkNotInput(in, f.out); err != nil {
		return err
	}
	if f.service.URL == "" {
		return f.checkNoService(cmd)
	}
	return f.checkService()
}

func (f *embedFlags) checkNoService(cmd *cobra.Command) error {
	for _, name := range []string{"endpoint", "model", "dimensions", "key-env", "key-in-clear", "batch", "timeout",
		"retries"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s needs a service: give its URL with --endpoint", name)
		}
	}
	return nil
}

func (f *embedFlags) checkService() error {
	if err := f.service.ReadKey(f.keyEnv); err != nil {
		return err
	}
	if err := f.service.Check(); err != nil {
		return err
	}
	if _, err := os.Lstat(f.out); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s already exists, and calling a service again costs time and perhaps money; delete the "+
			"file, or choose another name", f.out)
	}
	return nil
}

// make reads the trace, embeds its texts and writes the result.
func (f *embedFlags) make(cmd *cobra.Command, in []string) error {
	start := time.Now()
	spec, err := embed.Parse(f.embedder)
	if err != nil {
		return fmt.Errorf("--embedder %s: %w", f.embedder, err)
	}
	options, err := f.trace.loadOptions(cmd)
	if err != nil {
		return err
	}
	t, err := f.load(cmd, in, options)
	if err != nil {
		return err
	}
	var e embed.Embeddings
	by := spec.Full()
	if f.service.URL == "" {
		texts := queries.Of(t.Kind).Texts
		bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "embedding", progress.Texts)
		e, err = embed.Texts(cmd.Context(), spec, texts, func(done int) { bar.Set(int64(done), int64(len(texts))) })
		bar.Finish()
	} else {
		by = f.service.String()
		e, err = f.ask(cmd, queries.Of(t.Kind).Texts)
	}
	if err != nil {
		return err
	}
	if err := f.write(cmd, in, options, t, e); err != nil {
		return err
	}
	if f.service.URL != "" {
		// another process may have come this far
		if err := os.Remove(f.partial()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	distinct, _ := embed.Distinct(queries.Of(t.Kind).Texts)
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %d requests, %d distinct texts, %d dimensions, %s, %.1f s\n",
		f.out, len(t.Objects), len(distinct), e.Dim, by, time.Since(start).Seconds())
	if e.Featureless > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "distinct texts without a letter or digit: %d; each is similar only to itself\n",
			e.Featureless)
	}
	return nil
}

// partial is the file that keeps embeddings until all have arrived.
func (f *embedFlags) partial() string { return f.out + ".partial" }

func (f *embedFlags) load(cmd *cobra.Command, in []string, options read.Options) (*traces.Trace, error) {
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "loading", progress.Bytes)
	defer bar.Finish()
	options.Kind, options.Progress = true, bar.Set
	t, err := read.Load(cmd.Context(), in, options)
	switch {
	case err != nil:
		return nil, err
	case queries.Of(t.Kind) == nil:
		return nil, fmt.Errorf("%s: its requests are not queries and have no texts to embed", t.Name)
	case queries.Of(t.Kind).Texts == nil:
		return nil, fmt.Errorf("%s: its queries have no texts to embed", t.Name)
	}
	f.trace.sayTrace(cmd, bar, t, true)
	return t, nil
}

func (f *embedFlags) ask(cmd *cobra.Command, texts []string) (embed.Embeddings, error) {
	if empty := slices.Index(texts, ""); empty >= 0 {
		return embed.Embeddings{}, fmt.Errorf(
			"query %d (counted from 0) has no text, and services reject empty texts; remove it, or use the built-in embedder",
			empty)
	}
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "asking", progress.Texts)
	defer bar.Finish()
	f.service.Damaged = func(count int) {
		bar.Note(fmt.Sprintf("%s: contains %d damaged embeddings; they are requested again", f.partial(), count))
	}
	f.service.Retrying = func(err error, wait time.Duration) {
		bar.Note(fmt.Sprintf("%v; next attempt in %v", err, wait.Round(100*time.Millisecond)))
	}
	return f.service.Embed(cmd.Context(), texts, f.partial(),
		func(done, total int) { bar.Set(int64(done), int64(total)) })
}

// write reads the trace again and gives each request the vector of its query.
func (f *embedFlags) write(cmd *cobra.Command, in []string, options read.Options, t *traces.Trace,
	e embed.Embeddings) error {
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "writing", progress.Bytes)
	defer bar.Finish()
	options.Progress = bar.Set
	options.Times, options.Sizes, options.Ops = true, true, true
	vectors := embed.NewVectors(strings.Join(in, ", "), t.Objects, queries.Of(t.Kind).Texts, e)
	_, _, err := copyTrace(cmd.Context(), in, f.out, options, write.Options{}, vectors.Give, vectors.End)
	return err
}
