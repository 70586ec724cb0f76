package searching

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/experiment/judge"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

type judgeFlags struct {
	suite, against, predictor string
	bytes                     bool
	beat                      float64
	budget                    time.Duration
	serve                     string
	options                   judge.Options
}

// NewJudgeCommand returns the command judge.
func NewJudgeCommand() *cobra.Command {
	f := &judgeFlags{}
	cmd := &cobra.Command{
		Use:   "judge CANDIDATE",
		Short: "Score a policy over a suite of traces, for programs that search for policies",
		Long: `Scores a policy over a suite of traces in seconds, and prints one line of JSON. The candidate is a file with an
expression for rank, a WebAssembly module (.wasm), a policy as --policy has it, or an expression.

The score is the mean, over traces and capacities (1% and 10%), of the share of the misses of --against that the policy
does not have. Beside it are the tenth from below, the worst, how often it beats each known policy, the share of the gap
to the optimum that it closes, and each trace. A candidate that cannot reach --beat any more is stopped.

Half of each suite is held out. --holdout scores that, too, at the end of a search: what a search has fitted does worse
there. The same seed gives the same scores on any number of cores.

The exit code is 0 if the candidate is judged, 1 if its score is below --beat, and 2 if it cannot be judged.`,
		Example: `  cachesim judge 'requests / (now - last)' --suite block
  cachesim judge my.expr --suite web --beat 0.12
  cachesim judge best.expr --suite 'traces/*.zst' --holdout
  cachesim judge --suite block --serve - < candidates.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: f.run,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.suite, "suite", "block", "traces: "+strings.Join(judge.Names(), ", ")+
		"; or a folder, a pattern or a list of files with commas")
	flags.BoolVar(&f.bytes, "bytes", false, "of files: capacities are shares of the bytes of all objects")
	flags.StringVar(&f.against, "against", "lru", "the policy whose misses are to be reduced")
	flags.StringVar(&f.predictor, "predictor", "popu", "what policies that follow predictions get; see cachesim "+
		"predictors")
	flags.Float64Var(&f.beat, "beat", 0, "score to reach; below it the exit code is 1")
	flags.DurationVar(&f.budget, "budget", 0, "longest time for a candidate; one that takes longer is not judged (0: any)")
	flags.BoolVar(&f.options.HeldOut, "holdout", false, "score the half that is held out, too")
	flags.StringVar(&f.serve, "serve", "", "judge a candidate per line of standard input (-) or of connections to a "+
		"socket at a path, and answer a line each")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "seed of every random choice")
	flags.IntVar(&f.options.Jobs, "jobs", 0, "replays at the same time (0: one per core)")
	commandline.CompleteNames(cmd, "against", policies.Registry.Names)
	return cmd
}

func (f *judgeFlags) run(cmd *cobra.Command, args []string) error {
	switch {
	case f.serve == "" && len(args) == 0:
		return errors.New("no candidate; write an expression, the path of a file with one, or a policy, or use --serve")
	case f.serve != "" && len(args) > 0:
		return errors.New("--serve reads candidates from its input; leave out " + args[0])
	case f.budget < 0 || f.options.Jobs < 0:
		return errors.New("--budget and --jobs want 0 or more")
	case math.IsNaN(f.beat):
		return errors.New("--beat: want a number, such as 0.1")
	}
	var candidate policies.Spec // before traces are read
	if len(args) > 0 {
		var err error
		if candidate, err = judge.Candidate(args[0]); err != nil {
			return err
		}
	}
	j, err := f.judge(cmd)
	if err != nil {
		return err
	}
	if f.serve != "" {
		return f.answer(cmd, j)
	}
	v, err := f.within(cmd.Context(), j, candidate)
	if err != nil {
		return err
	}
	if err := jsonlines.NewEncoder(cmd.OutOrStdout()).Encode(v); err != nil {
		return err
	}
	switch {
	case v.Stopped != "":
		return checks.Failed(fmt.Errorf("%s is stopped %s", candidate, v.Stopped))
	case f.options.Beat != nil && v.Score < f.beat:
		return checks.Failed(fmt.Errorf("%s has the score %.4f, below %v of --beat", candidate, v.Score, f.beat))
	}
	return nil
}

// judge loads the suite.
func (f *judgeFlags) judge(cmd *cobra.Command) (*judge.Judge, error) {
	var err error
	if f.options.Against, err = policies.Registry.Parse(f.against); err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	predictor, err := predict.Registry.Parse(f.predictor)
	if err != nil {
		return nil, fmt.Errorf("--predictor: %w", err)
	}
	f.options.Predictor = &predictor
	if cmd.Flags().Changed("beat") {
		f.options.Beat = &f.beat
	}
	suite, err := f.suiteOf()
	if err != nil {
		return nil, err
	}
	return judge.New(cmd.Context(), suite, f.options)
}

func (f *judgeFlags) suiteOf() (judge.Suite, error) {
	if suite, ok := judge.Named(f.suite); ok {
		if f.bytes {
			return suite, fmt.Errorf("--bytes is for files; the suite %s has its own unit", f.suite)
		}
		return suite, nil
	}
	paths, err := workload.FindAll(strings.Split(f.suite, ","), nil)
	if err != nil {
		if !strings.ContainsAny(f.suite, "./*") {
			err = fmt.Errorf("%w, and no file: %w", suggest.Unknown("suite", f.suite, judge.Names()), err)
		}
		return judge.Suite{}, fmt.Errorf("--suite: %w", err)
	}
	return judge.OfFiles(f.suite, paths, f.bytes), nil
}

// within judges a candidate within the budget.
func (f *judgeFlags) within(ctx context.Context, j *judge.Judge, candidate policies.Spec) (judge.Verdict, error) {
	if f.budget == 0 {
		return j.Judge(ctx, candidate)
	}
	late := fmt.Errorf("%s takes longer than --budget %v", candidate, f.budget)
	limited, cancel := context.WithTimeoutCause(ctx, f.budget, late)
	defer cancel()
	v, err := j.Judge(limited, candidate)
	if err != nil && ctx.Err() == nil && context.Cause(limited) == late {
		err = late
	}
	return v, err
}

// answer judges the candidates of standard input, or of connections to a socket, until the input ends.
func (f *judgeFlags) answer(cmd *cobra.Command, j *judge.Judge) error {
	if f.serve == "-" {
		return f.lines(cmd.Context(), j, cmd.InOrStdin(), cmd.OutOrStdout())
	}
	listener, err := (&net.ListenConfig{}).Listen(cmd.Context(), "unix", f.serve)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; if no judge serves it, remove the file", err)
	}
	if err != nil {
		return fmt.Errorf("--serve: %w", err)
	}
	defer os.Remove(f.serve)
	context.AfterFunc(cmd.Context(), func() { listener.Close() })
	fmt.Fprintf(cmd.ErrOrStderr(), "listening at %s\n", f.serve)
	for {
		connection, err := listener.Accept()
		if err != nil {
			return nil // it is stopped, which is how it ends
		}
		go func() {
			defer connection.Close()
			f.lines(cmd.Context(), j, connection, connection) // the client sees what goes wrong
		}()
	}
}

// longestCandidate is the longest line that --serve reads.
const longestCandidate = 64 << 10

// failure is the answer to a candidate that cannot be judged.
type failure struct {
	Candidate string `json:"candidate"`
	Error     string `json:"error"`
}

// lines answers each line with a line of JSON: a verdict, or a failure.
func (f *judgeFlags) lines(ctx context.Context, j *judge.Judge, in io.Reader, out io.Writer) error {
	lines, encoder := bufio.NewReaderSize(in, longestCandidate), jsonlines.NewEncoder(out)
	for {
		line, err := lines.ReadSlice('\n')
		text := strings.TrimSpace(string(line))
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("candidates: %w", err)
		}
		end := err != nil
		switch {
		case long:
			err = encoder.Encode(failure{text[:40] + "...", fmt.Sprintf("want at most %d bytes in a line", longestCandidate)})
		case text != "":
			err = encoder.Encode(f.answered(ctx, j, text))
		default:
			err = nil
		}
		if end || err != nil || ctx.Err() != nil {
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// answered returns what is answered to a candidate.
func (f *judgeFlags) answered(ctx context.Context, j *judge.Judge, text string) any {
	candidate, err := judge.Candidate(text)
	if err != nil {
		return failure{text, err.Error()}
	}
	v, err := f.within(ctx, j, candidate)
	if err != nil {
		return failure{text, err.Error()}
	}
	return v
}
