package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/memory"
	"github.com/cachesim/cachesim/internal/quote"
	"github.com/cachesim/cachesim/internal/suggest"
	"github.com/cachesim/cachesim/internal/terminal"
)

// Exit codes. A user who stops the program with Ctrl-C gets the shell's code for that signal.
const (
	exitFine        = 0
	exitCheckFailed = 1
	exitWrongUse    = 2
	exitOutOfMemory = 3
	exitInterrupted = 130
)

// gcPercent keeps the heap close to what is in use: it is a few large columns, so that collecting often costs little,
// while the default would let it grow to twice its size.
const gcPercent = 25

// run is the program without its process: it returns the exit code.
func run(args []string, stdin io.Reader, stdoutFile, stderrFile io.Writer) int {
	stdout, stderr := terminal.NewStdout(stdoutFile), terminal.NewStderr(stderrFile)
	log.SetOutput(io.Discard) // net/http writes there, and quotes what servers send
	debug.SetGCPercent(gcPercent)
	if err := memory.CheckLimits(); err != nil { // at once: the first goroutine may be one too many
		sayError(stderr, err)
		return exitOutOfMemory
	}
	hearFileSizeSignal()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second Ctrl-C ends what does not look at ctx in time
	ctx, outOfMemory := context.WithCancelCause(ctx)
	defer outOfMemory(nil)
	root := newRootCommand()
	endWatch := func() {}
	defer func() { endWatch() }()
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		end, err := watchMemory(cmd, outOfMemory, stderr)
		if err == nil {
			endWatch = end
		}
		return err
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := cmp.Or(root.ExecuteContext(ctx), stdout.Failed())
	var tooMuch *memory.Error
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &tooMuch):
		sayError(stderr, err)
		return exitOutOfMemory
	case errors.As(context.Cause(ctx), &tooMuch):
		sayError(stderr, tooMuch)
		return exitOutOfMemory
	case ctx.Err() != nil:
		if errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)) {
			err = errors.New("interrupted: nothing is finished")
		}
		sayError(stderr, err)
		return exitInterrupted
	}
	sayError(stderr, err)
	if errors.As(err, new(checkFailedError)) {
		return exitCheckFailed
	}
	return exitWrongUse
}

// sayError prints what went wrong, and of what it quotes so much as a person reads.
func sayError(stderr io.Writer, err error) {
	fmt.Fprintf(stderr, "cachesim: %s\n", quote.Shorten(err.Error()))
}

// checkFailedError says that a check did not hold. Nothing was wrong with how the program was used.
type checkFailedError struct{ error }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "cachesim",
		Short: "Replay traces through caches and compare policies with the offline optimum",
		Long: `cachesim replays traces of requests (compressed files, real ones) through caches under classic and recent
replacement policies and holds them against the offline optimum.

  cachesim run trace.zst            a table of sensible policies and capacities
  cachesim stat trace.zst           what is in the trace
  cachesim join queries.jsonl       which queries are similar, and what that could answer
  cachesim explain trace.zst        what hits and what leaves, request by request
  cachesim curve trace.zst          hit ratio over all capacities
  cachesim train trace.zst          boosted trees that predict when objects come back
  cachesim check baseline.jsonl     whether hit ratios are still what they were
  cachesim policies                 what policies exist, with parameters and sources
  cachesim formats                  what trace formats can be read`,
		Version:       version(),
		RunE:          func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) },
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
	}
	root.AddCommand(
		newRunCommand(),
		newExplainCommand(),
		newPlotCommand(),
		newPoliciesCommand(),
		newCachesCommand(),
		newModelsCommand(),
		newMetricsCommand(),
		newPredictorsCommand(),
		newAllocatorsCommand(),
		newPrefetchersCommand(),
		newGenCommand(),
		newConvertCommand(),
		newEmbedCommand(),
		newFormatsCommand(),
		newStatCommand(),
		newJoinCommand(),
		newTrainCommand(),
		newPredictEvalCommand(),
		newCurveCommand(),
		newCheckCommand(),
		newAdversaryCommand(),
		newSweepCommand(),
		newReproduceCommand(),
		newVersionCommand(),
		newGendocsCommand(),
	)
	root.SetFlagErrorFunc(explainFlag)
	return root
}

// unknownCommand prints the help where no command is given, and names the nearest one where it does not exist.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return root.Help()
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return suggest.Unknown("command", args[0], names)
}
