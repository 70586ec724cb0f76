package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/experiments"
	"github.com/cachesim/cachesim/internal/commands/lists"
	"github.com/cachesim/cachesim/internal/commands/recorded"
	"github.com/cachesim/cachesim/internal/commands/resources"
	"github.com/cachesim/cachesim/internal/commands/searching"
	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	_ "github.com/cachesim/cachesim/internal/sim/all" // registers all parts
)

// Exit codes. If the user stops the program with Ctrl-C, the code is the shell's for that signal.
const (
	exitFine        = 0
	exitCheckFailed = 1
	exitWrongUse    = 2
	exitOutOfMemory = 3
	exitInterrupted = 130
)

// keepHeap sets how much garbage there may be. Tests, which run many commands, have another way.
var keepHeap = func() { memory.KeepHeapSmall(25) }

// Main is the program. It ends the process.
func Main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the program apart from the process: it returns the exit code.
func run(args []string, stdin io.Reader, stdoutFile, stderrFile io.Writer) int {
	stdout, stderr := terminal.NewStdout(stdoutFile), terminal.NewStderr(stderrFile)
	log.SetOutput(io.Discard) // net/http writes to the standard logger, and quotes what servers send
	keepHeap()
	if err := memory.CheckLimits(); err != nil { // immediately: even the first goroutine may exceed the limit
		sayError(stderr, err, args)
		return exitOutOfMemory
	}
	hearFileSizeSignal()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends code that does not check ctx in time
	ctx, outOfMemory := context.WithCancelCause(ctx)
	defer outOfMemory(nil)
	root := newRootCommand()
	endWatch := func() {}
	defer func() { endWatch() }()
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		end, err := resources.WatchMemory(cmd, outOfMemory, func(err error) {
			fmt.Fprintf(stderr, "cachesim: %v\n", err)
			os.Exit(exitOutOfMemory)
		})
		if err == nil {
			endWatch = end
		}
		return err
	}
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.InitDefaultCompletionCmd() // now that it knows its output, and before names are taken for files
	root.SetArgs(withRun(root, args))
	cmd, err := root.ExecuteContextC(ctx)
	err = cmp.Or(commandline.InOptions(cmd, commandline.ExplainGroups(err)), stdout.Failed())
	var tooMuch *memory.Error
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &tooMuch):
		sayError(stderr, err, args)
		return exitOutOfMemory
	case errors.As(context.Cause(ctx), &tooMuch):
		sayError(stderr, tooMuch, args)
		return exitOutOfMemory
	case ctx.Err() != nil:
		if errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)) {
			err = errors.New("interrupted: nothing is finished")
		}
		sayError(stderr, err, args)
		return exitInterrupted
	}
	sayError(stderr, err, args)
	if arguments := (commandline.ArgumentsError{}); errors.As(err, &arguments) {
		arguments.PrintHelp(stderr)
	}
	if errors.As(err, new(checks.FailedError)) {
		return exitCheckFailed
	}
	return exitWrongUse
}

// sayError prints the error. It shortens long quotations to what a person would read, and keeps arguments, such as
// names of files, in their lines.
func sayError(stderr io.Writer, err error, args []string) {
	names := slices.Clone(args)
	for _, arg := range args {
		names = append(names, filepath.Base(arg))
	}
	fmt.Fprintf(stderr, "cachesim: %s\n", terminal.Shorten(terminal.InLines(err.Error(), names)))
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "cachesim [LOG...]",
		Short: "Replay traces through caches and compare policies with the offline optimum",
		Long: `cachesim replays the log of a server through caches of many sizes, under classic and recent replacement policies, and
compares them with the offline optimum.`,
		Example: `  cachesim access.log               the answer on one screen: what size, which policy, what it saves
  cachesim run access.log -o out    every figure, how each is known, and a page
  cachesim curve access.log         compute hit ratios over all capacities
  cachesim stat access.log          describe the log
  cachesim explain access.log       show hits and evictions, request by request
  cachesim check baseline.jsonl     check that hit ratios have not changed
  cachesim compare old new          compare the results of runs
  cachesim reproduce --list         list published figures that it can reproduce`,
		Annotations: map[string]string{commandline.Screen: commandline.CommandsScreen},
		Version:     version.Program(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := io.WriteString(cmd.OutOrStdout(), commandline.FirstScreen)
				return err
			}
			return commandline.UnknownCommand(cmd, args[0])
		},
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
	}
	root.AddCommand(lists.Commands(searching.NewPolicyTestCommand())...)
	root.AddCommand(
		newRunCommand(),
		newExplainCommand(),
		newAuditCommand(),
		recorded.NewPlotCommand(),
		newGenCommand(),
		newConvertCommand(),
		newEmbedCommand(),
		newStatCommand(),
		newJoinCommand(),
		newTrainCommand(),
		newPredictEvalCommand(),
		newCurveCommand(),
		recorded.NewCheckCommand(),
		recorded.NewCompareCommand(),
		searching.NewAdversaryCommand(),
		searching.NewChallengeCommand(),
		searching.NewJudgeCommand(),
		experiments.NewSweepCommand(),
		experiments.NewReproduceCommand(),
		newVersionCommand(),
	)
	for _, newCommand := range tagged {
		root.AddCommand(newCommand())
	}
	root.SetFlagErrorFunc(commandline.ExplainFlag)
	root.SetHelpCommand(commandline.HelpCommand())
	root.InitDefaultHelpCmd() // now, so that its name is known as a command
	commandline.FitHelp(root)
	commandline.ExplainArguments(root)
	return root
}

// tagged are commands of programs that are built with a tag.
var tagged []func() *cobra.Command

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Long: `Prints the same as cachesim --version: the release and the commit, as in records.

If the program was built with uncommitted changes, the beginning of its checksum follows.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "cachesim version %s\n", version.Program())
			return err
		},
	}
}
