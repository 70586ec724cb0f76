package main

import (
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/suggest"
	"github.com/cachesim/cachesim/internal/terminal"
)

// metricAndUnitWidth is what the first columns of the table take on a terminal, with the gaps.
const metricAndUnitWidth = 42

func newMetricsCommand() *cobra.Command {
	var format formatFlag
	cmd := &cobra.Command{
		Use:   "metrics [NAME...]",
		Short: "List the metrics of records, or some of them",
		Long: `Lists every metric that records may have: its unit, which way is better, how the values of several parts of a
trace become one, which parts produce it (every replay, a cache, a model, a policy, a predictor), and what it means. Figures,
tables, claims and tolerances of checks name metrics as they stand here; so do the fields of records.`,
		Example: `  cachesim metrics
  cachesim metrics hit_ratio phases
  cachesim metrics --format csv`,
		ValidArgsFunction: cobra.FixedCompletions(metric.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, names []string) error {
			found, err := findMetrics(names)
			if err != nil {
				return err
			}
			if w := cmd.OutOrStdout(); format == "json" {
				return printMetricsJSON(w, found)
			}
			return printMetricTable(cmd.OutOrStdout(), found, string(format))
		},
	}
	format.register(cmd)
	return cmd
}

// findMetrics returns the metrics with these names, or all.
func findMetrics(names []string) (found []metric.Declared, err error) {
	all := metric.All()
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(d metric.Declared) bool { return d.Name == name })
		if i < 0 {
			return nil, suggest.Unknown("metric", name, metric.Names())
		}
		found = append(found, all[i])
	}
	return found, nil
}

// printMetricTable prints one row per metric as table, csv or markdown. On a terminal what a metric means and the rest
// stand below each other.
func printMetricTable(w io.Writer, all []metric.Declared, format string) error {
	t := records.NewTable()
	width := terminal.Width(w)
	narrow := format == "table" && width > 0
	if narrow {
		t.AppendHeader(table.Row{"metric", "unit", "better", "meaning, produced by"})
	} else {
		t.AppendHeader(table.Row{"metric", "unit", "better", "of several parts", "produced by", "meaning"})
	}
	for _, d := range all {
		by := strings.Join(d.By, ", ")
		if narrow {
			t.AppendRow(table.Row{metricName(d), d.Unit, d.Better.String(),
				terminal.WrapLines(max(width-metricAndUnitWidth, 30), d.Doc, "by "+by)})
			continue
		}
		t.AppendRow(table.Row{metricName(d), d.Unit, d.Better.String(), d.Merge, by, d.Doc})
	}
	return printListing(w, t, format)
}

// metricName is the name of a metric; one by labels has a place for them.
func metricName(d metric.Declared) string {
	if d.Labels != "" {
		return d.Name + "[" + d.Labels + "]"
	}
	return d.Name
}

// metricJSON is what --format json prints for a metric, one per line.
type metricJSON struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	Better string   `json:"better"` // "higher", "lower" or ""
	Merge  string   `json:"of_several_parts"`
	By     []string `json:"produced_by"`
	Doc    string   `json:"meaning"`
}

func printMetricsJSON(w io.Writer, all []metric.Declared) error {
	var list []metricJSON
	for _, d := range all {
		list = append(list, metricJSON{metricName(d), string(d.Unit), d.Better.String(), d.Merge.String(), d.By, d.Doc})
	}
	return jsonlines.Write(w, list)
}
