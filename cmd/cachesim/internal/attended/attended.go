// Package attended has what the commands do with attention traces, which are no lists of requests.
package attended

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

// Is reports whether a command's workload is an attention trace.
func Is(cmd *cobra.Command, w workload.Workload) bool {
	return w.IsAttention(cmd.Context(), workload.Dirs(""))
}

// open opens an attention trace of which these parts are read, and says what it holds.
func open(cmd *cobra.Command, w workload.Workload, parts attention.Parts, bar *progress.Bar) (attention.Trace,
	attention.Options, error) {
	options := attention.Options{Parts: parts, Memory: resources.BudgetOf(cmd)}
	t, err := w.OpenAttention(cmd.Context(), workload.Dirs(""), cmd.InOrStdin(), options)
	if err == nil {
		bar.Note(cmp.Or(w.Generator, strings.Join(w.Files, "")) + ": attention; " + t.Shape().String())
	}
	return t, options, err
}

// Convert copies an attention trace into a file of this program's own format, which is the one that may be named.
func Convert(cmd *cobra.Command, w workload.Workload, out, format string, quiet bool) error {
	if err := checkFormat(format); err != nil {
		return err
	}
	bar := progress.New(cmd.ErrOrStderr(), quiet, "converting", progress.Heads)
	defer bar.Finish()
	t, _, err := open(cmd, w, attention.Parts{Predicted: true, Keys: true, Values: true}, bar)
	if err != nil {
		return err
	}
	defer t.Close()
	return write(cmd, out, t, bar)
}

// Generate writes what a generator makes.
func Generate(cmd *cobra.Command, spec gen.Spec, out, format string, quiet bool) error {
	if err := checkFormat(format); err != nil {
		return err
	}
	t, err := spec.Attention()
	if err != nil {
		return err
	}
	bar := progress.New(cmd.ErrOrStderr(), quiet, "writing", progress.Heads)
	defer bar.Finish()
	return write(cmd, out, t, bar)
}

func checkFormat(format string) error {
	if format != "" && format != attention.Format {
		return fmt.Errorf("--output-format %s: attention is written in its own format; leave it out", format)
	}
	return nil
}

func write(cmd *cobra.Command, out string, t attention.Trace, bar *progress.Bar) error {
	written := func(done int) { bar.Set(int64(done), int64(t.Shape().Heads())) }
	err := attention.WriteFile(cmd.Context(), out, cmd.OutOrStdout(), t, parallel.Jobs(0), written)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted: %s was not written", out)
	}
	return err
}
