// Package runs turns the records of one command into the answers below its table and the files in its folder:
// records, series, figures, and one page that can be sent on.
package runs

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/look"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Results is what a command writes, and what it says about it.
type Results struct {
	Records []records.Record
	Rows    []series.Row
	Answers []target.Answer
	Costs   []cost.Answer
	Rents   []cost.Rent // instead of Costs where misses have no price
	Reaches []cost.Reach
	// Missed has the objects that miss most, if they were asked for.
	Missed tabular.Grid
	// ColdStart says what the beginning of the trace does to the results.
	ColdStart []string
	Replayed  []records.Setting // what was read, and how
	Version   string            // of the program
	Command   string            // that gave the results
	Notes     []string          // what limits them, an interrupt say
	// Tables and Draw replace the tables on the page and the figures that are made from the records; nil keeps these.
	Tables  []*page.Table
	Draw    func() ([]plots.Drawing, error)
	Figures look.Options // how figures look
}

// Write writes records, series, figures and the page to a folder: after an error none of them has changed, unless
// renaming a file itself failed. Replays that ended before an interrupt are written completely. After an interrupt or
// an error while figures are drawn, the folder still has records and series.
func (r Results) Write(ctx context.Context, dir string) error {
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx) // the interrupt ended the replays; what they gave is still drawn
	}
	outputs, err := records.Outputs(r.Records)
	if err != nil {
		return err
	}
	more, err := series.Outputs(r.Rows)
	if err != nil {
		return err
	}
	outputs = append(outputs, more...)
	drawn, undrawn := r.draw(ctx)
	if undrawn == nil {
		outputs = append(outputs, plots.Outputs(drawn)...)
		write := func(w io.Writer) error { return r.page(drawn).Write(w) }
		outputs = append(outputs, atomicfile.Output{Name: page.Name, Write: write})
	}
	if err := atomicfile.WriteAllIn(dir, outputs...); err != nil {
		return err
	}
	if len(r.Rows) == 0 { // an earlier run may have left series, which are not of these records
		if err := series.Remove(dir); err != nil {
			return err
		}
	}
	return undrawn
}

func (r Results) draw(ctx context.Context) ([]plots.Drawing, error) {
	costs, err := cost.Draw(ctx, r.Costs, r.Figures)
	if err != nil {
		return nil, err
	}
	if r.Draw != nil {
		drawn, err := r.Draw()
		return append(drawn, costs...), err
	}
	drawn, err := plots.All(ctx, r.Records, r.Figures)
	if err != nil {
		return nil, err
	}
	overTime, err := plots.AllOverTime(ctx, r.Records, r.Rows, r.Figures)
	return slices.Concat(drawn, costs, overTime), err
}

// withoutEffect are the flags that change nothing on a page.
var withoutEffect = []string{"output", "format", "jobs", "quiet", "brief"}

// CommandLine returns the command that makes a page again, quoted for a shell, with the output in the folder out.
func CommandLine(command string, args []string, flags *pflag.FlagSet) string {
	words := []string{command}
	for _, arg := range inShort(args) {
		words = append(words, terminal.Shell(arg))
	}
	flags.Visit(func(f *pflag.Flag) {
		switch {
		case !f.Changed, slices.Contains(withoutEffect, f.Name): // others stand for it
		case f.Value.Type() == "bool":
			words = append(words, strings.TrimSuffix("--"+f.Name+"="+f.Value.String(), "=true"))
		default:
			values := []string{f.Value.String()}
			if list, ok := f.Value.(pflag.SliceValue); ok {
				values = list.GetSlice()
			}
			for _, value := range values {
				words = append(words, "--"+f.Name, terminal.Shell(value))
			}
		}
	})
	return strings.Join(append(words, "-o out"), " ")
}

// mostNamed is the number of files that a command names one by one if there is a pattern for them.
const mostNamed = 3

// inShort returns a pattern instead of the names of many files, if exactly they match it, in their order.
func inShort(args []string) []string {
	if len(args) <= mostNamed {
		return args
	}
	begin, end := args[0], args[0]
	for _, arg := range args[1:] {
		begin, end = begin[:shared(begin, arg)], end[len(end)-sharedEnd(end, arg):]
	}
	if at := strings.LastIndexFunc(end, isSeparator); at >= 0 {
		end = end[at+1:]
	}
	pattern := strings.ToValidUTF8(begin, "") + "*" + strings.ToValidUTF8(end, "")
	found, err := workload.FindAll([]string{pattern}, nil)
	if err != nil || !slices.Equal(found, args) {
		return args
	}
	return []string{pattern}
}

func isSeparator(r rune) bool { return r == '/' || r == filepath.Separator }

// shared returns how many bytes two texts begin with that are the same, sharedEnd those that they end with.
func shared(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func sharedEnd(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[len(a)-1-i] != b[len(b)-1-i] {
			return i
		}
	}
	return min(len(a), len(b))
}
