package adversary

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
)

// Print prints the results of searches with these options as table, csv, json (a row per line) or markdown.
func Print(w io.Writer, rows []Row, o Options, format string) error {
	return tabular.Printed{
		Table: func(w io.Writer, format string) error { return printTable(w, rows, o, format) },
		CSV:   func(w io.Writer) error { return printCSV(w, rows, o) },
		JSON:  func(w io.Writer) error { return printJSON(w, rows, o) },
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
	width := terminal.Width(w)
	var s strings.Builder
	title := fmt.Sprintf("misses / misses of the optimum: as stated, and the worst found in %s tries per search on "+
		"traces of %s requests", show.Count(int64(o.Tries)), show.Count(int64(o.Requests)))
	fmt.Fprintf(&s, "%s\n\n%s\n\n", terminal.Wrapped(title, width), t.In(format, width))
	if solved {
		fmt.Fprintf(&s, "%s\n\n", terminal.Wrapped(fmt.Sprintf("=: solved; in the long run no trace of up to %d objects has "+
			"a larger ratio", SolvedObjects), width))
	}
	s.WriteString("the worst of each policy:\n")
	for _, command := range worstCommands(rows) {
		fmt.Fprintf(&s, "\n    %s\n", command)
	}
	_, err := io.WriteString(w, s.String())
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

// rowJSON is a policy at a capacity as JSON has it, one per line; csv has the same columns.
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

func printJSON(w io.Writer, rows []Row, o Options) error {
	var list []rowJSON
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
	return jsonlines.Write(w, list)
}

func printCSV(w io.Writer, rows []Row, o Options) error {
	out := csv.NewWriter(w)
	header := []string{"policy", "capacity", "seed", "length", "requests", "tries"}
	for _, side := range []string{"consistency", "robustness"} {
		for _, column := range []string{"stated", "worst_found", "solved", "misses", "opt_misses", "trace", "predictor"} {
			header = append(header, side+"_"+column)
		}
	}
	lines := [][]string{header}
	for _, r := range rows {
		line := []string{
			r.Policy.String(), strconv.Itoa(r.Capacity), strconv.FormatUint(o.Seed, 10), strconv.Itoa(o.Length),
			strconv.Itoa(o.Requests), strconv.Itoa(o.Tries),
		}
		line = append(line, foundColumns(r.Stated.Consistency, r.Exact)...)
		lines = append(lines, append(line, foundColumns(r.Stated.Robustness, &r.Any)...))
	}
	return out.WriteAll(lines)
}

func foundColumns(stated string, f *Found) []string {
	if f == nil {
		return make([]string, 7)
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	solved := ""
	if f.Solved > 0 {
		solved = number(f.Solved)
	}
	return []string{stated, number(f.Ratio), solved, number(f.Misses), strconv.FormatInt(f.OptMisses, 10), f.Trace,
		f.Predictor}
}
