package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/gen"
)

// IsAttention reports whether w, or one of its files, is an attention trace, which is no list of requests. Standard
// input is one only if the format says so.
func (w Workload) IsAttention(ctx context.Context, dirs []string) bool {
	if w.Generator != "" {
		spec, err := gen.Parse(w.Generator, "")
		return err == nil && spec.Entry.Attention != nil
	}
	return slices.ContainsFunc(w.Files, func(path string) bool {
		if path == "-" {
			return w.Format == attention.Format
		}
		found, err := Find(path, dirs)
		return err == nil && attention.Is(ctx, found)
	})
}

// OpenAttention opens an attention trace, or the generator of one. Files that are not at their path are searched for in
// dirs. The limit of w is one of steps.
func (w Workload) OpenAttention(ctx context.Context, dirs []string, stdin io.Reader, options attention.Options) (
	attention.Trace, error) {
	switch {
	case len(w.Files) > 1:
		return nil, fmt.Errorf("%q: one of them is an attention trace, which is read alone: name one trace", w.Files)
	case w.SampleRate > 0:
		return nil, errors.New("--sample: an attention trace has no objects to sample, as each step attends to all keys " +
			"before " +
			"it: use --limit, which counts steps")
	case w.Merge, w.Embeddings != "", w.Tenants != "":
		return nil, errors.New("an attention trace has no requests to merge, to embed or to divide among tenants: name it " +
			"alone")
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
