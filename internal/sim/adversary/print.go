package adversary

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
)

// Print prints the results of searches with these options as table, csv, json (a row per line) or markdown.
func Print(w io.Writer, rows []Row, o Options, format string) error {
	data := rowsJSON(rows, o)
	return tabular.Printed{
		Table: func(w io.Writer, format string) error { return printTable(w, rows, o, format) },
		CSV:   tabular.EachCSV(data),
		JSON:  tabular.EachJSON(data),
	}.Print(w, format)
}

// printTable prints the rows as table or markdown, and how to see the worst of each policy.
func printTable(w io.Writer, rows []Row, o Options, format string) error {
	t := tabular.Grid{Heads: []tabular.Head{
		{Name: "policy", IsText: true, Weight: tabular.Key, Wrap: 16},
		{Name: "k", Weight: tabular.Key},
		{Name: "consistency", IsText: true, Weight: 2, Wrap: 12},
		{Name: "worst found", Weight: 3},
		{Name: "robustness", IsText: true, Weight: 2, Wrap: 12},
		{Name: "worst found", Weight: 3},
	}}
	solved := false
	for _, r := range rows {
		exact := ""
		if r.Exact != nil {
			exact = ratioText(r.Exact.Ratio)
		}
		t.Rows = append(t.Rows, []string{r.Policy.String(), strconv.Itoa(r.Capacity), r.Stated.Consistency, exact,
			r.Stated.Robustness, r.Any.text()})
		solved = solved || r.Any.Solved > 0
	}
	title := fmt.Sprintf("misses / misses of the optimum: as stated, and the worst found in %s tries per search on "+
		"traces of %s requests", show.Count(int64(o.Tries)), show.Count(int64(o.Requests)))
	if err := tabular.PrintTables(w, format, title, t); err != nil {
		return err
	}
	text := "\n"
	if solved {
		text += terminal.Wrapped(fmt.Sprintf("=: solved; in the long run no trace of up to %d objects has a larger ratio",
			SolvedObjects), terminal.Width(w)) + "\n\n"
	}
	text += "the worst of each policy:\n"
	for _, command := range worstCommands(rows) {
		text += "\n    " + command + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// text is the ratio of a solved game, or the worst that was found.
func (f Found) text() string {
	if f.Solved > 0 {
		return ratioText(f.Solved) + " ="
	}
	return ratioText(f.Ratio)
}

func ratioText(ratio float64) string { return strconv.FormatFloat(ratio, 'f', 3, 64) }

// worstCommands returns the commands that replay the worst trace of each policy.
func worstCommands(rows []Row) (commands []string) {
	for from := 0; from < len(rows); {
		name := rows[from].Policy.String()
		to := from
		for to < len(rows) && rows[to].Policy.String() == name {
			to++
		}
		worst := slices.MaxFunc(rows[from:to], func(a, b Row) int { return cmp.Compare(a.Any.Ratio, b.Any.Ratio) })
		command := fmt.Sprintf("cachesim run '%s' --policy '%s' --capacity %d", worst.Any.Trace, name, worst.Capacity)
		if worst.Any.Predictor != "" {
			command += fmt.Sprintf(" --predictor '%s'", worst.Any.Predictor)
		}
		commands = append(commands, command)
		from = to
	}
	return commands
}

// rowJSON is a policy at a capacity as JSON has it, one per line, and CSV.
type rowJSON struct {
	Policy      string     `json:"policy"`
	Capacity    int        `json:"capacity"`
	Seed        uint64     `json:"seed"`
	Length      int        `json:"length"`
	Requests    int        `json:"requests"`
	Tries       int        `json:"tries"`
	Consistency *foundJSON `json:"consistency"` // null if the policy uses no predictor
	Robustness  foundJSON  `json:"robustness"`
}

type foundJSON struct {
	Stated    string  `json:"stated"`
	Worst     float64 `json:"worst_found"`
	Solved    float64 `json:"solved,omitempty"` // in the long run
	Misses    float64 `json:"misses"`
	OptMisses int64   `json:"opt_misses"`
	Trace     string  `json:"trace"`
	Predictor string  `json:"predictor"`
}

func newFoundJSON(stated string, f Found) foundJSON {
	return foundJSON{stated, f.Ratio, f.Solved, f.Misses, f.OptMisses, f.Trace, f.Predictor}
}

func rowsJSON(rows []Row, o Options) (list []rowJSON) {
	for _, r := range rows {
		j := rowJSON{
			Policy:     r.Policy.String(),
			Capacity:   r.Capacity,
			Seed:       o.Seed,
			Length:     o.Length,
			Requests:   o.Requests,
			Tries:      o.Tries,
			Robustness: newFoundJSON(r.Stated.Robustness, r.Any),
		}
		if r.Exact != nil {
			j.Consistency = new(newFoundJSON(r.Stated.Consistency, *r.Exact))
		}
		list = append(list, j)
	}
	return list
}
