package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/suggest"
)

func newPredictorsCommand() *cobra.Command {
	var format formatFlag
	cmd := &cobra.Command{
		Use:   "predictors [NAME...]",
		Short: "List the predictors with their parameters and sources, or describe some of them",
		Long: `Lists every predictor that policies may ask when an object is requested again: its kind (online predictors see
the past only, offline ones the whole trace), what it predicts, its parameters with their defaults, and the paper or
page that defines it. With names, describes these with what each parameter means and which values it takes. Of each
policy, ` + "`cachesim policies NAME`" + ` says whether it asks a predictor; those that do not ignore it.`,
		Example: `  cachesim predictors
  cachesim predictors gbm noisy
  cachesim run trace.zst --policy laru --predictor 'gbm,noisy(p=0.3)'`,
		ValidArgsFunction: cobra.FixedCompletions(predict.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, names []string) error {
			entries, err := findPredictors(names)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			switch {
			case format == "json":
				return printPredictorsJSON(w, entries)
			case format == "table" && len(names) > 0:
				return describePredictors(w, entries)
			}
			return printPredictorTable(w, entries, string(format))
		},
	}
	format.register(cmd)
	return cmd
}

// findPredictors returns the entries with these names, or all.
func findPredictors(names []string) ([]predict.Entry, error) {
	if len(names) == 0 {
		return predict.All(), nil
	}
	var entries []predict.Entry
	for _, name := range names {
		e, ok := predict.Find(name)
		if !ok {
			return nil, suggest.Unknown("predictor", name, predict.Names())
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func printPredictorTable(w io.Writer, entries []predict.Entry, format string) error {
	l := listing{noun: "predictor", does: "predicts"}
	for _, e := range entries {
		l.rows = append(l.rows, listed{e.Name, kindOfPredictor(e), e.Summary,
			params.Format(e.Params, params.Defaults(e.Params)), e.Source})
	}
	return l.print(w, format)
}

func kindOfPredictor(e predict.Entry) string {
	if e.Future {
		return "offline"
	}
	return "online"
}

// describePredictors prints all there is to know about each predictor.
func describePredictors(w io.Writer, entries []predict.Entry) error {
	var s strings.Builder
	for i, e := range entries {
		if i > 0 {
			s.WriteString("\n")
		}
		fmt.Fprintf(&s, "%s (%s): %s\n", e.Name, kindOfPredictor(e), e.Summary)
		if e.Random {
			s.WriteString("  depends on the seed\n")
		}
		describeSource(&s, e.Source, e.Params)
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// predictorJSON is what --format json prints for a predictor, one per line.
type predictorJSON struct {
	Name       string      `json:"name"`
	Kind       string      `json:"kind"`
	Summary    string      `json:"summary"`
	Source     string      `json:"source"`
	Random     bool        `json:"random"`
	Parameters []paramJSON `json:"parameters"`
}

func printPredictorsJSON(w io.Writer, entries []predict.Entry) error {
	var list []predictorJSON
	for _, e := range entries {
		list = append(list, predictorJSON{
			Name:       e.Name,
			Kind:       kindOfPredictor(e),
			Summary:    e.Summary,
			Source:     e.Source,
			Random:     e.Random,
			Parameters: paramsJSON(e.Params),
		})
	}
	return jsonlines.Write(w, list)
}
