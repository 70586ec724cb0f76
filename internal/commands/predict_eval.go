package commands

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/accuracy"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// answerTime is the time that one prediction takes, including its evaluation.
const answerTime = 400 * time.Nanosecond

type predictEvalFlags struct {
	trace      traceFlags
	format     commandline.Format
	predictors string
	capacity   string
	moments    int
	warmup     int
	out        string
	figures    commandline.Figures
}

func newPredictEvalCommand() *cobra.Command {
	f := &predictEvalFlags{}
	cmd := &cobra.Command{
		Use:   "predict-eval TRACE...",
		Short: "Measure how well predictors predict the next requests of objects",
		Long: `Replays the trace. At evenly spaced requests, asks predictors when the objects in a full LRU cache will be
requested next, and compares the predictions with the trace:

  victims of opt    share of the moments at which the object predicted to be requested last is one that the optimum of that capacity
                    evicts before its next request (ties: the least recently used one); by chance: the share of such objects in the cache
  rank correlation  of predicted and true times (Spearman), of 50 objects drawn at each moment; never is latest
  RMSE of log time  root of the mean squared error of log(1 + time from now), where predicted and true time are within the trace
  said never        share of answers at or after the end of the trace, and in how many of these the object is indeed not requested again

The second table shows the same by the true distance to the next request. Within a distance that few objects have, a
predictor may be no better than chance and still choose good victims. Times are on the predictor's clock: requests, or
finished prompts for gbm on traces of prompts.

With -o the folder gets accuracy.json, accuracy.csv and the figure calibration (SVG and PNG): the true times for each
tenth of the predictions, ordered by predicted time. In the figure, an object without a next request counts as requested
at the end of the trace.`,
		Example: `  cachesim predict-eval trace.zst
  cachesim predict-eval trace.zst --predictor 'gbm,gbm(weak=true),ewma,popu' --capacity 1% -o out
  cachesim predict-eval day2.zst --predictor 'gbm(model=model.txt)' --format json | jq .agreement`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.trace.register(cmd)
	f.trace.registerWrites(cmd)
	f.format.Register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.predictors, "predictor", sim.PredictorKind.Flag.Default,
		"list of predictors, as in 'gbm,noisy(p=0.3)'")
	flags.StringVar(&f.capacity, "capacity", "3%", "cache size in objects (100) or as a share of the trace's objects (3%)")
	flags.IntVar(&f.moments, "moments", 1000, "number of requests at which the predictors are evaluated")
	flags.IntVar(&f.warmup, "warmup", 0, "requests before the first of them")
	flags.StringVarP(&f.out, "output", "o", "", "output folder for accuracy.json, accuracy.csv and the figure (SVG, PNG)")
	f.figures.RegisterLook(flags)
	commandline.CompleteNames(cmd, "predictor", predict.Registry.Names)
	return cmd
}

func (f *predictEvalFlags) run(cmd *cobra.Command, args []string) error {
	specs, capacities, err := f.parse()
	if err != nil {
		return err
	}
	w, err := f.trace.workload(cmd, args)
	if err != nil {
		return err
	}
	t, _, err := f.trace.load(cmd, w, read.Options{}, false)
	if err != nil {
		return err
	}
	resolved, err := capacity.Resolve(capacities, capacity.UnitSize, t)
	if err != nil {
		return err
	}
	results, err := f.measure(cmd, t, specs, resolved[0].Simulated)
	if err != nil {
		return err
	}
	if err := accuracy.Print(cmd.OutOrStdout(), results, string(f.format)); err != nil || f.out == "" {
		return err
	}
	return accuracy.Write(f.out, results, f.figures.Options)
}

// parse checks the flags before the trace is read.
func (f *predictEvalFlags) parse() ([]predict.Spec, []capacity.Spec, error) {
	if err := f.figures.Check(f.out); err != nil {
		return nil, nil, err
	}
	specs, err := predict.Registry.ParseList(f.predictors)
	if err != nil {
		return nil, nil, err
	}
	capacities, err := capacity.ParseList(f.capacity)
	switch {
	case err != nil:
		return nil, nil, err
	case len(capacities) != 1 || capacity.NeedBytes(capacities, capacity.AsWritten):
		return nil, nil, fmt.Errorf("--capacity %s: want one capacity in objects, as in 1000 or 3%%", f.capacity)
	case f.moments < 1:
		return nil, nil, fmt.Errorf("--moments %d: want at least 1", f.moments)
	case f.warmup < 0:
		return nil, nil, fmt.Errorf("--warmup %d: want a number of requests from 0", f.warmup)
	case f.out != "":
		return specs, capacities, records.CheckDir(f.out)
	}
	return specs, capacities, nil
}

func (f *predictEvalFlags) measure(cmd *cobra.Command, t *traces.Trace, specs []predict.Spec,
	capacity int64) ([]*accuracy.Result, error) {
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "replaying", progress.Requests)
	defer bar.Finish()
	bar.Set(0, int64(len(specs))*int64(len(t.Objects)))
	options := accuracy.Options{
		Capacity: capacity,
		Moments:  f.moments,
		Warmup:   f.warmup,
		Seed:     f.trace.seed,
		Progress: func(n int) { bar.Add(int64(n)) },
	}
	questions := int64(f.moments) * capacity
	if note := longNote(specs, int64(len(t.Objects)), questions); note != "" {
		bar.Note(note)
	}
	var results []*accuracy.Result
	for _, spec := range specs {
		r, err := accuracy.Measure(cmd.Context(), t, spec, options)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// longNote gives the expected time if the predictors, one after another, take long.
func longNote(specs []predict.Spec, requests, questions int64) string {
	var cells []sim.Cell
	for i := range specs {
		cells = append(cells, sim.Cell{Parts: sim.Parts{Predictor: &specs[i]}})
	}
	return sim.LongNote(cells, 1, func(c sim.Cell) time.Duration {
		return c.Predictor.Entry.Duration(c.Predictor.Params, requests) + time.Duration(questions)*answerTime
	}, int(requests))
}
