package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/progress"
	"github.com/cachesim/cachesim/cmd/cachesim/internal/resources"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// openAttention opens an attention trace of which these parts are read.
func openAttention(cmd *cobra.Command, w workload.Workload, parts attention.Parts) (attention.Trace, attention.Options,
	error) {
	options := attention.Options{Parts: parts, Memory: resources.BudgetOf(cmd)}
	t, err := w.OpenAttention(cmd.Context(), workload.Dirs(""), cmd.InOrStdin(), options)
	return t, options, err
}

// convertAttention copies an attention trace into a file of this program's own format.
func (f *convertFlags) convertAttention(cmd *cobra.Command, w workload.Workload, out string) error {
	if f.embeddings != "" || f.outputFormat != "" && f.outputFormat != attention.Format {
		return errors.New("an attention trace has no embeddings beside it and is written in its own format: leave out " +
			"--embeddings and --output-format")
	}
	in, err := findAll(w.Files)
	if err != nil {
		return err
	}
	if err := checkNotInput(in, out); err != nil {
		return err
	}
	t, _, err := openAttention(cmd, w, attention.Parts{Predicted: true, Keys: true, Values: true})
	if err != nil {
		return err
	}
	defer t.Close()
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "converting", progress.Heads)
	defer bar.Finish()
	bar.Note(cmp.Or(w.Generator, strings.Join(w.Files, "")) + ": attention; " + t.Shape().String())
	return writeAttention(cmd, out, t, bar)
}

// writeAttention writes a trace that is being read or made.
func writeAttention(cmd *cobra.Command, out string, t attention.Trace, bar *progress.Bar) error {
	written := func(done int) { bar.Set(int64(done), int64(t.Shape().Heads())) }
	err := attention.WriteFile(cmd.Context(), out, cmd.OutOrStdout(), t, parallel.Jobs(0), written)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted: %s was not written", out)
	}
	return err
}

// runAttention generates an attention trace.
func (f *genFlags) runAttention(cmd *cobra.Command, spec gen.Spec) error {
	switch {
	case f.listing != "":
		return errors.New("it reads no files, so --listing has nothing to write; leave it out")
	case f.format != "" && f.format != attention.Format:
		return fmt.Errorf("--output-format %s: attention is written in its own format; leave it out", f.format)
	}
	t, err := spec.Attention()
	if err != nil {
		return err
	}
	bar := progress.New(cmd.ErrOrStderr(), f.quiet, "writing", progress.Heads)
	defer bar.Finish()
	return writeAttention(cmd, f.out, t, bar)
}
