package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// introduction is the text above the table of all experiments.
const introduction = `# Verdicts

What the claims of the built-in experiments came to when each was last run in full. ` + "`make verdicts`" + ` writes this page; a
test compares the claims with those of the experiments. The quick versions, which every change must pass, have smaller
traces and caches, and so other numbers. Times are those of a machine that was usually busy with other work as well.
[claims.md](claims.md#verdicts) explains the verdicts: ✓ holds, ↑ exceeds what is stated, ≈ undecided between the seeds,
✗ does not hold, – not checkable here.

`

// marks are the signs of the verdicts, in the order of the columns.
var marks = []struct{ verdict, mark string }{
	{"holds", "✓"}, {"exceeds", "↑"}, {"undecided", "≈"}, {"does not hold", "✗"}, {"not checkable here", "–"},
}

// claim is a line of what reproduce --format json prints.
type claim struct {
	Experiment, Claim, Stated, Measured, Verdict, Reason, Note, Reading string
	Expected                                                            struct{ Verdict, Because string }
}

// section is the run of one experiment.
type section struct {
	on, commit string
	took       time.Duration
	cores      int
	claims     []claim
}

func parseClaims(lines []byte, name string) (all []claim, err error) {
	for line := range bytes.Lines(lines) {
		var c claim
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, err
		}
		if c.Experiment != name {
			return nil, fmt.Errorf("a claim is about %s", c.Experiment)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("there are no claims")
	}
	return all, nil
}

// summary says when the experiment ran and what it came to. parsePage reads it back.
func (s section) summary() string {
	counts := make([]string, len(marks))
	for i, m := range marks {
		n := 0
		for _, c := range s.claims {
			if c.Verdict == m.verdict {
				n++
			}
		}
		counts[i] = fmt.Sprintf("%s %d", m.mark, n)
	}
	return fmt.Sprintf("Run on %s with commit `%s`, in %s on %d cores: %s.", s.on, s.commit, s.took.Round(time.Second),
		s.cores, strings.Join(counts, ", "))
}

func (s section) markdown() string {
	var w strings.Builder
	w.WriteString(s.summary() + "\n\n| | claim | stated | measured | cause |\n|---|---|---|---|---|\n")
	for _, c := range s.claims {
		mark := ""
		for _, m := range marks {
			if m.verdict == c.Verdict {
				mark = m.mark
			}
		}
		measured := c.Measured
		if c.Reading != "" {
			measured = strings.TrimPrefix(measured+", read as "+c.Reading, ", ")
		}
		claim := strings.ReplaceAll(c.Claim, "|", "\\|") // which ends a cell even between backticks
		fmt.Fprintf(&w, "| %s | `%s` | %s | %s | %s |\n", mark, claim, cell(c.Stated), cell(measured), cell(c.cause()))
	}
	return w.String()
}

// cause says why a claim is not met; "" for one that holds.
func (c claim) cause() string {
	switch {
	case c.Verdict == "holds":
		return ""
	case c.Reason != "":
		return c.Reason
	case c.Verdict == c.Expected.Verdict && c.Expected.Because != "":
		return strings.TrimSpace(strings.TrimSuffix(c.Expected.Because, ".") + ". " + c.Note)
	}
	return c.Note
}

// cell is a text that cannot end a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "\n", " ").Replace(text)
}

// page is the text of each experiment's section, without its heading.
type page map[string]string

func parsePage(text string) page {
	p := page{}
	for _, part := range strings.Split("\n"+text, "\n## ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		p[name] = strings.TrimSpace(body) + "\n"
	}
	return p
}

// notRun is the section of an experiment without a run in full.
const notRun = "Not run in full yet.\n"

// markdown writes the sections in the order of the experiments, below a table of all.
func (p page) markdown(every []string) string {
	var w, sections strings.Builder
	w.WriteString(introduction + "| experiment | run on | commit | took |")
	for _, m := range marks {
		w.WriteString(" " + m.mark + " |")
	}
	w.WriteString("\n|---|---|---|---|" + strings.Repeat("---:|", len(marks)) + "\n")
	total := make([]int, len(marks))
	for _, name := range every {
		body, ok := p[name]
		if !ok {
			body = notRun
		}
		fmt.Fprintf(&sections, "\n## %s\n\n%s", name, body)
		row := readSummary(body)
		for i := range marks {
			n, _ := strconv.Atoi(row[rowCounts+i]) // "" for one that did not run
			total[i] += n
		}
		fmt.Fprintf(&w, "| [%s](#%s) | %s |\n", name, name, strings.Join(row, " | "))
	}
	w.WriteString("| all | | |")
	for _, n := range total {
		fmt.Fprintf(&w, " | %d", n)
	}
	return w.String() + " |\n" + sections.String()
}

var summaryLine = regexp.MustCompile("^Run on (\\S+) with commit `(\\w+)`, in (\\S+) on \\d+ cores: (.*)\\.\n")

// rowCounts is where the numbers of claims begin in a row of the table of all experiments.
const rowCounts = 3

// readSummary returns the cells of the table: date, commit, time and the numbers of claims.
func readSummary(body string) []string {
	row := make([]string, rowCounts+len(marks))
	found := summaryLine.FindStringSubmatch(body)
	if found == nil {
		row[0] = "not yet"
		return row
	}
	row[0], row[1], row[2] = found[1], "`"+found[2]+"`", found[3]
	for i, count := range strings.Split(found[4], ", ") {
		if i < len(marks) {
			_, row[rowCounts+i], _ = strings.Cut(count, " ")
		}
	}
	return row
}
