package main

import (
	"fmt"
	"strconv"
	"strings"
)

// columns of docs/conformance.tsv.
var columns = []string{"driver", "program", "version", "from", "policy", "ours", "rule", "kinds", "expect", "found",
	"points", "largest", "mean", "at", "default", "run on", "why"}

// fields returns the line of a row in the table. Differences are in points of the hit ratio; default has the largest one
// of our policy without the rule.
func (of *result) fields(driver string) []string {
	s := of.summarise(withRule)
	plain := ""
	if of.rule != "" {
		plain = points(of.summarise(withDefault).largest)
	}
	found := s.found
	if s.err != nil {
		found = fmt.Sprintf("error: %d without an answer, %s", len(of.points)-s.answered,
			strings.Join(strings.Fields(s.err.Error()), " "))
	}
	return []string{driver, of.program, of.version, of.from, of.policy, of.ours, of.rule, strings.Join(of.kinds, ","),
		of.expected(), found, strconv.Itoa(s.answered), points(s.largest), points(s.mean), s.at, plain, of.on, of.why}
}

func points(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

const introduction = `# Conformance

Our policies beside the newest releases of the programs that run them, on the same requests. ` + "`make conformance`" + `
runs each program through the interface that it offers to its users, compares requests, hits and (by bytes) bytes that
hit at every point, and writes this page from [conformance.tsv](conformance.tsv), which has the mean difference and the
point of the largest one, too. [How programs are driven](../tools/conformance/README.md).

A point is a trace at a capacity. Capacities are 2, 5, 12, 30 and 60% of a trace's distinct objects or bytes. Points by
objects are on four generated traces, the five LIRS traces, OLTP and cloudPhysics; by bytes, of objects that keep their
size, on two generated ones, cloudPhysics and AdaptSize; where objects change their sizes, and where some are removed,
on two generated ones each. In the tables:

- **equal**: the same counts at every point.
- **within seeds**: something is drawn at random, and means of five runs differ by no more than such means do.
- **by ` + "`rule`" + `**: so with this parameter; the default differs by as much as the next column says, since other
  programs or the paper have another rule.
- **within 0.5**, and **differs**: the largest difference, and why.

Differences are in points of the hit ratio, the largest at any point.
`

// page returns docs/conformance.md: a table for each program.
func page(lines [][]string) string {
	var w, rows strings.Builder
	w.WriteString(introduction + "\n| program | version | rows | equal | within seeds | by a rule | in a band | differs | run on |\n" +
		"|---|---|---:|---:|---:|---:|---:|---:|---|\n")
	for begin, end := 0, 0; begin < len(lines); begin = end {
		for end < len(lines) && lines[end][1] == lines[begin][1] {
			end++
		}
		program, version, from, on := lines[begin][1], lines[begin][2], lines[begin][3], lines[begin][15]
		tally := map[string]int{}
		fmt.Fprintf(&rows, "\n## %s\n\n%s %s (%s), run on %s.\n\n", program, program, version, from, on)
		rows.WriteString("| its policy | ours | points | result | largest | default | why |\n|---|---|---|---|---:|---:|---|\n")
		for _, l := range lines[begin:end] {
			tally[column(l)]++
			fmt.Fprintf(&rows, "| %s | `%s` | %s %s | %s | %s | %s | %s |\n", cellText(l[4]), l[5], l[10],
				strings.ReplaceAll(l[7], ",", ", "), found(l), l[11], l[14], cellText(l[16]))
		}
		fmt.Fprintf(&w, "| [%s](#%s) | %s | %d | %s | %s |\n", program, anchor(program), version, end-begin,
			counted(tally), on)
	}
	return w.String() + rows.String()
}

// The columns of the table of programs.
var tallied = []string{equal, seeds, "rule", band, differs}

// column is the one that counts a line.
func column(l []string) string {
	switch {
	case strings.HasPrefix(l[9], "error"):
		return differs
	case l[9] == differs && strings.HasPrefix(l[8], band):
		return band
	case l[9] == differs:
		return differs
	case l[6] != "":
		return "rule"
	}
	return l[9]
}

func counted(tally map[string]int) string {
	var texts []string
	for _, name := range tallied {
		texts = append(texts, strconv.Itoa(tally[name]))
	}
	return strings.Join(texts, " | ")
}

// found says in words what a line came to.
func found(l []string) (text string) {
	switch {
	case strings.HasPrefix(l[9], "error: "):
		text, _, _ = strings.Cut(strings.TrimPrefix(l[9], "error: "), ",")
		text = differs + ", " + text
	case l[9] == seeds:
		text = "within seeds"
	case l[9] == differs && strings.HasPrefix(l[8], band):
		text = "within " + strings.TrimPrefix(l[8], band+" ")
	default:
		text = cellText(l[9])
	}
	if l[6] != "" {
		text += " by `" + l[6] + "`"
	}
	return text
}

func anchor(heading string) string { return strings.ToLower(strings.ReplaceAll(heading, " ", "-")) }

// cellText is a text that cannot end a cell of a table.
func cellText(text string) string { return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(text) }
