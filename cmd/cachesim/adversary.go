package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/adversary"
	"github.com/cachesim/cachesim/internal/capacity"
	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/progress"
	"github.com/cachesim/cachesim/internal/records"
)

// Bounds of the flags.
const (
	maxPattern         = 1000
	maxSearchRequests  = 100_000
	maxTries           = 10_000_000
	minSearchRequests  = 10
	defaultSearchSizes = "2,3,4,6,8"
)

type adversaryFlags struct {
	policies   string
	capacities string
	options    adversary.Options
	jobs       int
	quiet      bool
	format     formatFlag
}

func newAdversaryCommand() *cobra.Command {
	f := &adversaryFlags{}
	cmd := &cobra.Command{
		Use:   "adversary",
		Short: "Search short traces and predictions on which policies miss far more than the optimum",
		Long: `Looks for the worst ratio of a policy's misses to those of the optimum, and prints it beside what is proven:
with exact predictions (consistency) and with any predictions, which are searched for together with the trace
(robustness). The search climbs from many starts, random requests and loops among them, and changes a few requests or
predictions at a time. What it prints is the worst that it has found: the true worst case is at least as bad.

A trace is a pattern of at most --length requests, repeated up to --requests, through a cache that starts empty;
guarantees hold up to a constant number of misses. Where a policy makes random choices, misses are the mean over 100
seeds that the search has not seen.

Below the table stands, for each policy, the command that replays the worst of its traces; with --format csv or json
each row has its traces and predictions.`,
		Example: `  cachesim adversary
  cachesim adversary --policy laru,fpb,lru --capacity 2..8+1 --tries 20000
  cachesim adversary --policy 'laru(decay=k/32)' --format json | jq -r .robustness.trace`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.policies, "policy", "", "list of policies (default all that ask a predictor)")
	flags.StringVar(&f.capacities, "capacity", defaultSearchSizes, fmt.Sprintf("list of objects and ranges (2..8+1), at "+
		"most %d", adversary.MaxCapacity))
	flags.IntVar(&f.options.Length, "length", 24, "requests in a pattern, at most")
	flags.IntVar(&f.options.Requests, "requests", 500, "requests in a trace: the pattern, repeated")
	flags.IntVar(&f.options.Tries, "tries", 5000, "traces that each search replays")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "seed of every random choice")
	flags.IntVar(&f.jobs, "jobs", 0, "searches at a time (0: one per core)")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress bar")
	f.format.register(cmd)
	completePolicies(cmd, "policy")
	return cmd
}

func (f *adversaryFlags) run(cmd *cobra.Command) error {
	specs, err := f.specs()
	if err != nil {
		return err
	}
	capacities, err := f.sizes()
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	bar := progress.New(cmd.ErrOrStderr(), f.quiet, "searching", progress.Searches)
	bar.Set(0, int64(adversary.Searches(specs, capacities)))
	rows, err := adversary.Table(cmd.Context(), specs, capacities, f.options, f.jobs, func() { bar.Add(1) })
	bar.Finish()
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	switch f.format {
	case "json":
		return f.printJSON(w, rows)
	case "csv":
		return f.printCSV(w, rows)
	}
	return f.printTable(w, rows)
}

// specs returns the policies to search for.
func (f *adversaryFlags) specs() ([]policies.Spec, error) {
	list := f.policies
	if list == "" {
		var names []string
		for _, e := range policies.All() {
			if e.Predicts {
				names = append(names, e.Name)
			}
		}
		list = strings.Join(names, ",")
	}
	specs, err := policies.ParseList(list)
	for _, s := range specs {
		if err == nil {
			err = adversary.Check(s.Entry)
		}
	}
	return specs, err
}

// sizes returns the capacities.
func (f *adversaryFlags) sizes() (sizes []int, err error) {
	parsed, err := capacity.ParseList(f.capacities)
	if err != nil {
		return nil, err
	}
	for _, c := range parsed {
		n, err := strconv.Atoi(c.String())
		if err != nil || n > adversary.MaxCapacity {
			return nil, fmt.Errorf("--capacity %s: want a whole number of objects from 1 to %d", c, adversary.MaxCapacity)
		}
		if !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
		}
	}
	return sizes, nil
}

func (f *adversaryFlags) check() error {
	for _, flag := range []struct {
		name            string
		value, min, max int
	}{
		{"length", f.options.Length, 1, maxPattern},
		{"requests", f.options.Requests, minSearchRequests, maxSearchRequests},
		{"tries", f.options.Tries, 1, maxTries},
		{"jobs", f.jobs, 0, maxTries},
	} {
		if flag.value < flag.min || flag.value > flag.max {
			return fmt.Errorf("--%s %d: want a whole number from %d to %d", flag.name, flag.value, flag.min, flag.max)
		}
	}
	return nil
}

// printTable prints the rows as table or markdown, and how to see the worst of each policy.
func (f *adversaryFlags) printTable(w io.Writer, rows []adversary.Row) error {
	t := records.NewTable()
	records.SetHeader(t, table.Row{"policy", "k", "consistency", "worst found", "robustness", "worst found"},
		func(column int) bool { return column == 0 || column == 2 || column == 4 })
	for _, r := range rows {
		exact := ""
		if r.Exact != nil {
			exact = ratioText(r.Exact.Ratio)
		}
		t.AppendRow(table.Row{r.Policy.String(), r.Capacity, r.Stated.Consistency, exact, r.Stated.Robustness,
			ratioText(r.Any.Ratio)})
	}
	var s strings.Builder
	fmt.Fprintf(&s, "misses / misses of the optimum: as stated, and the worst found in %s tries per search on traces of "+
		"%s requests\n\n",
		records.Count(int64(f.options.Tries)), records.Count(int64(f.options.Requests)))
	if f.format == "markdown" {
		s.WriteString(t.RenderMarkdown())
	} else {
		s.WriteString(t.Render())
	}
	s.WriteString("\n\nthe worst of each policy:\n")
	for _, command := range worstCommands(rows) {
		fmt.Fprintf(&s, "\n    %s\n", command)
	}
	_, err := io.WriteString(w, s.String())
	return err
}

func ratioText(ratio float64) string { return strconv.FormatFloat(ratio, 'f', 3, 64) }

// worstCommands returns the command that replays the worst that was found for each policy.
func worstCommands(rows []adversary.Row) (commands []string) {
	for from := 0; from < len(rows); {
		name := rows[from].Policy.String()
		to := from
		for to < len(rows) && rows[to].Policy.String() == name {
			to++
		}
		worst := slices.MaxFunc(rows[from:to], func(a, b adversary.Row) int { return cmp.Compare(a.Any.Ratio, b.Any.Ratio) })
		command := fmt.Sprintf("cachesim run '%s' --policy '%s' --capacity %d", worst.Any.Trace, name, worst.Capacity)
		if worst.Any.Predictor != "" {
			command += fmt.Sprintf(" --predictor '%s'", worst.Any.Predictor)
		}
		commands = append(commands, command)
		from = to
	}
	return commands
}

// adversaryJSON is what --format json prints for a policy at a capacity, one per line; csv has the same columns.
type adversaryJSON struct {
	Policy      string     `json:"policy"`
	Capacity    int        `json:"capacity"`
	Seed        uint64     `json:"seed"`
	Length      int        `json:"length"`
	Requests    int        `json:"requests"`
	Tries       int        `json:"tries"`
	Consistency *foundJSON `json:"consistency"` // null where the policy asks no predictor
	Robustness  foundJSON  `json:"robustness"`
}

type foundJSON struct {
	Stated    string  `json:"stated"`
	Worst     float64 `json:"worst_found"`
	Misses    float64 `json:"misses"`
	OptMisses int64   `json:"opt_misses"`
	Trace     string  `json:"trace"`
	Predictor string  `json:"predictor"`
}

func newFoundJSON(stated string, f adversary.Found) foundJSON {
	return foundJSON{stated, f.Ratio, f.Misses, f.OptMisses, f.Trace, f.Predictor}
}

func (f *adversaryFlags) printJSON(w io.Writer, rows []adversary.Row) error {
	var list []adversaryJSON
	for _, r := range rows {
		j := adversaryJSON{
			Policy:     r.Policy.String(),
			Capacity:   r.Capacity,
			Seed:       f.options.Seed,
			Length:     f.options.Length,
			Requests:   f.options.Requests,
			Tries:      f.options.Tries,
			Robustness: newFoundJSON(r.Stated.Robustness, r.Any),
		}
		if r.Exact != nil {
			j.Consistency = new(newFoundJSON(r.Stated.Consistency, *r.Exact))
		}
		list = append(list, j)
	}
	return jsonlines.Write(w, list)
}

func (f *adversaryFlags) printCSV(w io.Writer, rows []adversary.Row) error {
	out := csv.NewWriter(w)
	header := []string{"policy", "capacity", "seed", "length", "requests", "tries"}
	for _, side := range []string{"consistency", "robustness"} {
		for _, column := range []string{"stated", "worst_found", "misses", "opt_misses", "trace", "predictor"} {
			header = append(header, side+"_"+column)
		}
	}
	lines := [][]string{header}
	for _, r := range rows {
		line := []string{
			r.Policy.String(), strconv.Itoa(r.Capacity), strconv.FormatUint(f.options.Seed, 10), strconv.Itoa(f.options.Length),
			strconv.Itoa(f.options.Requests), strconv.Itoa(f.options.Tries),
		}
		line = append(line, foundColumns(r.Stated.Consistency, r.Exact)...)
		lines = append(lines, append(line, foundColumns(r.Stated.Robustness, &r.Any)...))
	}
	return out.WriteAll(lines)
}

func foundColumns(stated string, f *adversary.Found) []string {
	if f == nil {
		return make([]string, 6)
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return []string{stated, number(f.Ratio), number(f.Misses), strconv.FormatInt(f.OptMisses, 10), f.Trace, f.Predictor}
}
