package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// IsAttention reports whether w, or one of its files, is an attention trace. Standard input is one only if the format
// says so.
func (w Workload) IsAttention(ctx context.Context, dirs []string) bool {
	if w.Generator != "" {
		spec, err := gen.Parse(w.Generator, "")
		return err == nil && spec.Entry.Attention != nil
	}
	// Of thousands of files the first are enough to see what they are: any other is refused when its turn comes.
	const mostLooked = 16
	return slices.ContainsFunc(w.Files[:min(len(w.Files), mostLooked)], func(path string) bool {
		if path == "-" {
			return w.Format == attention.Format
		}
		found, err := Find(path, dirs)
		return err == nil && attention.Is(ctx, found)
	})
}

// isOfAttention reports whether a format, given by its name, is one of attention.
func isOfAttention(format string) bool {
	return slices.ContainsFunc(attention.Formats, func(f source.Format) bool { return f.Name == format })
}

// OpenAttention opens an attention trace, or the generator of one. Files that are not at their path are searched for in
// dirs. The limit of w is one of steps.
func (w Workload) OpenAttention(ctx context.Context, dirs []string, stdin io.Reader, options attention.Options) (
	attention.Trace, error) {
	switch {
	case len(w.Files) > 1:
		return nil, fmt.Errorf("%q: one of them is an attention trace, which is read alone: name one trace", w.Files)
	case w.SampleRate > 0 && w.SampleRate < 1:
		return nil, errors.New("--sample: an attention trace has no objects to sample: use --limit, which counts steps")
	case w.Merge, w.Embeddings != "", w.Tenants != "", w.By != "":
		return nil, errors.New("an attention trace has no requests to merge, to embed or to divide among tenants: name it " +
			"alone")
	case w.Format != "" && !isOfAttention(w.Format):
		return nil, fmt.Errorf("--input-format %s: attention is recognised by its content, whatever its format: remove "+
			"--input-format", w.Format)
	}
	options.Steps = w.Limit
	if w.Generator == "" {
		path, err := Find(w.Files[0], dirs)
		if err != nil {
			return nil, err
		}
		return attention.Open(ctx, path, stdin, options)
	}
	spec, err := gen.Parse(w.Generator, "")
	if err != nil {
		return nil, err
	}
	if w.Limit > 0 {
		spec.Params["steps"] = min(w.Limit, spec.Params.Int("steps"))
	}
	t, err := spec.Attention()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec, err)
	}
	return t, nil
}

// loadAttention returns the requests that an attention trace stands for, and the checksum of its files if it is asked
// for. Only its dimensions are read: its vectors stay where they are.
func (w Workload) loadAttention(ctx context.Context, dirs []string, options traces.LoadOptions, takeSum bool) (
	*traces.Trace, string, error) {
	switch {
	case slices.Contains(w.Files, "-"):
		return nil, "", errors.New("standard input: attention is read once for dimensions and again for every pass; name a " +
			"file or a folder")
	case !w.IsAttention(ctx, dirs):
		return nil, "", w.noAttention(ctx, dirs)
	}
	open := func(ctx context.Context, o attention.Options) (attention.Trace, error) {
		return w.OpenAttention(ctx, dirs, nil, o)
	}
	opened, err := open(ctx, attention.Options{Memory: options.Memory})
	if err != nil {
		return nil, "", err
	}
	shape := *opened.Shape()
	if err := opened.Close(); err != nil {
		return nil, "", err
	}
	t, err := lookups(w.label(), &shape, options)
	if err != nil {
		return nil, "", err
	}
	columns := &attention.Columns{Shape: &shape, Open: open}
	t.Kind = columns
	found, err := w.find(dirs)
	if err != nil || len(found.trace) == 0 {
		return t, "", err
	}
	if columns.Importances = attention.ImportancesOf(found.trace[0]); columns.Importances != "" {
		t.Readings[0].Layout += ", importances of heads in " + filepath.Base(columns.Importances)
	}
	sum := ""
	if takeSum {
		sum, err = w.verified(ctx, found.all())
	}
	return t, sum, err
}

// noAttention says why w is not attention: it cannot be read, or is a trace of requests.
func (w Workload) noAttention(ctx context.Context, dirs []string) error {
	if len(w.Files) == 1 {
		w.Format = "" // which is that of requests, if it has some
		t, err := w.OpenAttention(ctx, dirs, nil, attention.Options{})
		if err == nil {
			err = t.Close() // it has become one meanwhile
		}
		if !errors.Is(err, attention.ErrNoAttention) {
			return err
		}
	}
	return fmt.Errorf("%s is no attention trace, which the cache attention needs: give queries, keys and values "+
		"(see: cachesim gen attention)", w.label())
}

// label names the workload as a trace would be named.
func (w Workload) label() string {
	if w.Generator != "" {
		if spec, err := gen.Parse(w.Generator, ""); err == nil {
			return spec.String()
		}
		return w.Generator
	}
	return filepath.Base(w.Files[0])
}

// lookups returns a request for every head in every step. Objects are rows, each a key with its value.
func lookups(name string, shape *attention.Shape, options traces.LoadOptions) (*traces.Trace, error) {
	heads := shape.Heads()
	requests, rows := heads*shape.Steps, heads*shape.Tokens()
	if requests > stream.MaxCount || rows > stream.MaxCount {
		return nil, fmt.Errorf("%s: %d lookups of %d rows, but at most %d are possible: use --limit, which counts steps",
			name, requests, rows, stream.MaxCount)
	}
	if err := options.Memory.Need(4*int64(requests), name+": its lookups", "--limit"); err != nil {
		return nil, err
	}
	t := &traces.Trace{Name: name, Objects: make([]uint32, requests), NumObjects: rows, SampleRate: 1,
		Readings: []stream.Reading{{Name: name, Files: 1, Paths: 1, Format: attention.Format, Layout: shape.String()}}}
	for i := range t.Objects {
		t.Objects[i] = uint32(i % heads)
	}
	return t, nil
}
