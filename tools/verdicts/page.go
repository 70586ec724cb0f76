package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/tools/tables"
)

// introduction is the text above the table of all experiments.
const introduction = `# Verdicts

What the claims of the built-in experiments came to when each was last run in full. ` + "`make verdicts`" + ` writes this page
from [verdicts.tsv](verdicts.tsv), which has all claims with what was stated and measured; below are those that are not
met, each with its cause. The quick versions, which every change must pass, have smaller traces and caches, and so other
numbers. Times are those of a machine that was usually busy with other work as well. [claims.md](claims.md#verdicts)
explains the verdicts: ✓ reproduced, ↑ exceeded, c calibrated, ≈ undecided between the seeds, ✗ refuted, – not testable
here. n counts those of ✓ that are narrowed: their condition excludes a trace of the experiment. The commits 30a960fa,
36b6527e and abf3a33f are in no history that was published: 3c02fb56 has the policies, models and experiments of all
three. [Scorecards](scorecards.md) have the sentences of each paper.

`

// marks are the signs of the verdicts, in the order of the columns.
var marks = []struct{ verdict, mark string }{
	{"reproduced", "✓"}, {"exceeded", "↑"}, {"calibrated", "c"}, {"undecided", "≈"}, {"refuted", "✗"},
	{"not testable here", "–"},
}

// narrowed stands in what was measured of a claim that excludes a trace of its experiment.
const narrowed = "narrowed: without "

// row is a line of verdicts.tsv: a claim, and the run that judged it. An experiment that has not run has one row without
// a claim.
type row struct{ experiment, on, commit, took, cores, mark, claim, stated, measured, cause string }

var columns = []string{"experiment", "run on", "commit", "took", "cores", "verdict", "claim", "stated", "measured", "cause"}

func (r *row) fields() []*string {
	return []*string{&r.experiment, &r.on, &r.commit, &r.took, &r.cores, &r.mark, &r.claim, &r.stated, &r.measured, &r.cause}
}

// parseClaims reads what reproduce --format json prints of one experiment. Each row gets the fields of run.
func parseClaims(lines []byte, run row) (rows []row, err error) {
	for line := range bytes.Lines(lines) {
		var c struct {
			Experiment, Claim, Stated, Measured, Verdict, Reason, Note, Reading string
			Ours                                                                bool
			Expected                                                            struct{ Verdict, Because string }
			Calibration                                                         struct{ Constant, Because string }
			Narrowed                                                            struct {
				Without           []string
				Verdict, Measured string
			}
		}
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, err
		}
		if c.Experiment != run.experiment {
			return nil, fmt.Errorf("a claim is about %s", c.Experiment)
		}
		r := run
		r.claim, r.stated, r.measured = c.Claim, c.Stated, c.Measured
		if c.Ours {
			r.stated = "[ours] " + c.Stated
		}
		for _, m := range marks {
			if m.verdict == c.Verdict {
				r.mark = m.mark
			}
		}
		if c.Reading != "" {
			r.measured = strings.TrimPrefix(r.measured+", read as "+c.Reading, ", ")
		}
		if n := c.Narrowed; len(n.Without) > 0 {
			r.measured += fmt.Sprintf("; %s%s; with it %s, %s", narrowed, strings.Join(n.Without, ", "), n.Verdict, n.Measured)
		}
		switch {
		case c.Verdict == "reproduced":
		case c.Verdict == "calibrated":
			r.cause = c.Calibration.Constant + " was fitted on this number: " + c.Calibration.Because
		case c.Reason != "":
			r.cause = c.Reason
		case c.Verdict == c.Expected.Verdict && c.Expected.Because != "":
			r.cause = strings.TrimSpace(strings.TrimSuffix(c.Expected.Because, ".") + ". " + c.Note)
		default:
			r.cause = c.Note
		}
		for _, text := range r.fields() {
			*text = strings.Join(strings.Fields(*text), " ")
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, errors.New("there are no claims")
	}
	return rows, nil
}

// readTable returns the rows of verdicts.tsv.
func readTable(path string) (rows []row, err error) {
	lines, err := tables.Read(path, columns)
	for _, line := range lines {
		var r row
		for i, field := range r.fields() {
			*field = line[i]
		}
		rows = append(rows, r)
	}
	return rows, err
}

func writeTable(path string, rows []row) error {
	var lines [][]string
	for _, r := range rows {
		var line []string
		for _, field := range r.fields() {
			line = append(line, *field)
		}
		lines = append(lines, line)
	}
	return tables.Write(path, columns, lines)
}

// replace returns the rows of every experiment in their order, with new ones for one of them.
func replace(rows []row, every []string, name string, by []row) (all []row) {
	for _, experiment := range every {
		of := by
		if experiment != name {
			of = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.experiment != experiment })
		}
		if len(of) == 0 {
			of = []row{{experiment: experiment}}
		}
		all = append(all, of...)
	}
	return all
}

// summary says when an experiment ran, and how many of its claims have each verdict.
func summary(rows []row) string {
	counts := make([]string, len(marks))
	for i, n := range count(rows) {
		counts[i] = fmt.Sprintf("%s %d", marks[i].mark, n)
	}
	r := rows[0]
	return fmt.Sprintf("Run on %s with commit `%s`, in %s on %s cores: %s.", r.on, r.commit, r.took, r.cores,
		strings.Join(counts, ", "))
}

// narrow counts the reproduced claims that exclude traces.
func narrow(rows []row) (n int) {
	for _, r := range rows {
		if r.mark == marks[0].mark && strings.Contains(r.measured, narrowed) {
			n++
		}
	}
	return n
}

// count returns how many rows have each of the marks.
func count(rows []row) []int {
	counts := make([]int, len(marks))
	for _, r := range rows {
		for i, m := range marks {
			if r.mark == m.mark {
				counts[i]++
			}
		}
	}
	return counts
}

// page returns verdicts.md: a table of all experiments, and a section for each with the claims that are not met.
func page(rows []row) string {
	var w, sections strings.Builder
	w.WriteString(introduction + "| experiment | run on | commit | took |")
	for _, m := range marks {
		w.WriteString(" " + m.mark + " |")
	}
	w.WriteString(" n |\n|---|---|---|---|" + strings.Repeat("---:|", len(marks)+1) + "\n")
	for begin, end := 0, 0; begin < len(rows); begin = end {
		for end < len(rows) && rows[end].experiment == rows[begin].experiment {
			end++
		}
		of, name := rows[begin:end], rows[begin].experiment
		if of[0].on == "" {
			fmt.Fprintf(&sections, "\n## %s\n\nNot run in full yet.\n", name)
			fmt.Fprintf(&w, "| [%s](#%s) | not yet |  |  |%s\n", name, name, strings.Repeat("  |", len(marks)+1))
			continue
		}
		fmt.Fprintf(&sections, "\n## %s\n\n%s\n", name, summary(of))
		fmt.Fprintf(&w, "| [%s](#%s) | %s | `%s` | %s |%s\n", name, name, of[0].on, of[0].commit, of[0].took, cells(of))
		head := "\n| | claim | stated | measured | cause |\n|---|---|---|---|---|\n"
		for _, r := range of {
			if r.mark == marks[0].mark {
				continue
			}
			claim := strings.ReplaceAll(r.claim, "|", "\\|") // which ends a cell even between backticks
			fmt.Fprintf(&sections, "%s| %s | `%s` | %s | %s | %s |\n", head, r.mark, claim, cell(r.stated),
				cell(r.measured), cell(r.cause))
			head = ""
		}
	}
	fmt.Fprintf(&w, "| all | | | |%s\n%s", cells(rows), &sections)
	return w.String()
}

// cells returns the numbers of verdicts as the last cells of a table's row.
func cells(rows []row) (text string) {
	for _, n := range count(rows) {
		text += fmt.Sprintf(" %d |", n)
	}
	return text + fmt.Sprintf(" %d |", narrow(rows))
}

// cell is a text that cannot end a cell of a table.
func cell(text string) string { return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(text) }
