package trainer

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// Print writes s to w as table, csv (controller and regime, value by value), json (one line) or markdown.
func (s *Summary) Print(w io.Writer, format string) error {
	return tabular.Printed{Table: s.printTable, CSV: s.encodeCSV, JSON: tabular.OneJSON(s)}.Print(w, format)
}

func (s *Summary) printTable(w io.Writer, format string) error {
	width := terminal.Width(w)
	title := fmt.Sprintf("%s parameters, %s episodes in each of %d environments; the reward stays within %v of its last "+
		"value after %s", show.Count(int64(s.Parameters)), show.Count(int64(s.Episodes)), s.Environments,
		convergedWithin, show.Count(int64(s.Converged)))
	const note = "Means of an epoch over nine workloads for each regime, in the fluid model. The gap is the distance " +
		"from the best ratio for the epoch; hindsight has this ratio in each epoch. The best static ratio is chosen for " +
		"each workload."
	_, err := fmt.Fprintf(w, "%s\n\n%s\n\n%s\n", terminal.Wrapped(title, width), s.table().In(format, width),
		terminal.Wrapped(note, width))
	return err
}

func (s *Summary) table() tabular.Grid {
	t := tabular.Grid{Heads: []tabular.Head{{Name: "controller", IsText: true}}}
	for i, measure := range []string{"reward", "gap", "P99 ms"} {
		for _, r := range recommender.Regimes() {
			t.Heads = append(t.Heads, tabular.Head{Name: measure + " " + string(r), Weight: 3 - i})
		}
	}
	for _, result := range s.Results {
		row := []string{result.Name}
		for _, value := range []func(Score) string{
			func(s Score) string { return fmt.Sprintf("%.3f", s.Reward) },
			func(s Score) string { return fmt.Sprintf("%.3f", s.Gap) },
			func(s Score) string { return fmt.Sprintf("%.1f", 1e3*s.P99) },
		} {
			for _, r := range recommender.Regimes() {
				row = append(row, value(result.Regimes[r]))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (s *Summary) encodeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"controller", "regime", "reward", "gap", "p99_ms"})
	exact := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, result := range s.Results {
		for _, r := range recommender.Regimes() {
			v := result.Regimes[r]
			out.Write([]string{result.Name, string(r), exact(v.Reward), exact(v.Gap), exact(1e3 * v.P99)})
		}
	}
	out.Flush()
	return out.Error()
}
