package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/results/page"
)

// PrintOptions are the options of Print.
type PrintOptions struct {
	Color bool // unless the environment has NO_COLOR (https://no-color.org)
	Width int  // width at which lines are broken; 0 means never
	// Written is the file with all claims. Where it is given, a text that exceeds a screen is shortened to what fails.
	Written string
}

// Print writes the claims with their verdicts in a format: table (for a terminal), csv, json (one claim per line),
// markdown, or one of checks.Formats.
func Print(w io.Writer, summaries []Summary, format string, options PrintOptions) error {
	if slices.Contains(checks.Formats, format) {
		return checks.Print(w, format, suites(summaries), func(w io.Writer) error { return printMarkdown(w, summaries) })
	}
	return tabular.Printed{
		Table: func(w io.Writer, format string) error {
			if format == "markdown" {
				return printMarkdown(w, summaries)
			}
			return printText(w, summaries, options)
		},
		CSV:  func(w io.Writer) error { return printCSV(w, summaries) },
		JSON: func(w io.Writer) error { return printJSON(w, summaries) },
	}.Print(w, format)
}

func printText(w io.Writer, summaries []Summary, options PrintOptions) error {
	t := lines{PrintOptions: options}
	t.Color = t.Color && os.Getenv("NO_COLOR") == ""
	t.whole(summaries)
	if options.Written != "" && strings.Count(t.String(), "\n") > screenLines {
		t.Reset()
		t.brief(summaries)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// whole writes all claims and, of several experiments, a table by figure.
func (t *lines) whole(summaries []Summary) {
	for i, s := range summaries {
		if i > 0 {
			t.WriteString("\n")
		}
		t.summary(s)
	}
	if len(summaries) > 1 {
		t.WriteString("\n")
		t.line("Figure by figure", bold)
		t.WriteString("\n" + t.figures(summaries) + "\n\n")
		t.line("In all: "+Total(summaries), bold)
	}
}

type lines struct {
	strings.Builder
	PrintOptions
}

type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// summary writes two lines per claim: the verdict in the margin, and below it what was measured, with the source's
// statement.
func (t *lines) summary(s Summary) {
	t.line(heading(s), bold)
	if s.Source != "" {
		t.line(s.Source, dim)
	}
	if len(s.Claims) > 0 {
		t.WriteString("\n")
	}
	for _, c := range s.Claims {
		t.claim(c)
	}
	t.WriteString("\n")
	t.line(s.Verdict(), bold)
	for _, remark := range s.Remarks() {
		t.line(remark, plain)
	}
}

func (t *lines) claim(c Claim) {
	t.paragraph(c.Mark(), styleOf(c.Verdict), c.Claim, plain)
	if text := details(c); text != "" {
		t.paragraph(" ", plain, text, dim)
	}
	if why := c.Why(); why != "" {
		t.paragraph(" ", plain, t.inLines(whyLines, "why: "+why), dim)
	}
}

// figures returns the table by figure, no wider than the terminal, with each experiment named once.
func (t *lines) figures(summaries []Summary) string {
	all := figuresTable(summaries)
	name := ""
	for _, row := range all.Rows {
		if is := row[0]; is == name && t.Width > 0 {
			row[0] = ""
		} else {
			name = is
		}
	}
	return gridOf(all).Text(t.Width)
}

// whyLines is the largest number of lines for the reason why a claim does not hold; the report contains all of it.
const whyLines = 2

// inLines shortens a paragraph to most lines.
func (t *lines) inLines(most int, content string) string {
	lines := t.broken(content, t.Width-2)
	if t.Width == 0 || len(lines) <= most {
		return content
	}
	lines = lines[:most]
	lines[most-1] = text.Snip(lines[most-1], t.Width-3, "") + "…"
	return strings.Join(lines, " ")
}

func (t *lines) line(content string, as style) {
	for _, line := range t.broken(content, t.Width) {
		t.WriteString(t.painted(line, as) + "\n")
	}
}

// paragraph writes a text with a mark of one character in the margin.
func (t *lines) paragraph(mark string, markAs style, content string, as style) {
	for _, line := range t.broken(content, t.Width-2) {
		t.WriteString(t.painted(mark, markAs) + " " + t.painted(line, as) + "\n")
		mark, markAs = " ", plain
	}
}

// broken returns the lines of a text at a width.
func (t *lines) broken(content string, width int) []string {
	content = show.Printable(content)
	if t.Width > 0 {
		content = text.WrapSoft(content, max(width, 20))
	}
	lines := strings.Split(content, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func (t *lines) painted(content string, as style) string {
	if !t.Color || as == plain {
		return content
	}
	return "\x1b[" + string(as) + "m" + content + "\x1b[0m"
}

func styleOf(verdict claims.Verdict) style {
	switch verdict {
	case claims.Reproduced, claims.Exceeded:
		return green
	case claims.Refuted:
		return red
	}
	return yellow
}

func heading(s Summary) string {
	text := s.Name
	if s.Title != "" {
		text += ": " + s.Title
	}
	return text + s.version()
}

// details says what was measured and what the source states, and why the claim does not hold or cannot be checked.
func details(c Claim) string {
	var parts []string
	if said := c.verdict(); said != string(claims.Reproduced) {
		parts = append(parts, said)
	}
	if c.Reason != "" {
		parts = append(parts, c.Reason)
	}
	if c.Measured != "" {
		parts = append(parts, "measured: "+c.Measured)
	}
	if said := c.said(); said != "" {
		parts = append(parts, "stated: "+said)
	}
	if read := c.read(); read != "" {
		parts = append(parts, read)
	}
	text := strings.Join(parts, "; ")
	if c.At != "" {
		text += " (" + c.At + ")"
	}
	return strings.TrimSpace(text)
}

func printMarkdown(w io.Writer, summaries []Summary) error {
	var s strings.Builder
	if len(summaries) > 1 {
		fmt.Fprintf(&s, "In all: %s.\n\n%s\n\n", Total(summaries), gridOf(figuresTable(summaries)).Markdown())
	}
	if t := claimsTable(summaries); len(t.Rows) > 0 {
		fmt.Fprintf(&s, "%s\n\n", gridOf(t).Markdown())
	}
	for _, summary := range summaries {
		for _, remark := range append([]string{summary.Verdict()}, summary.Remarks()...) {
			fmt.Fprintf(&s, "- %s: %s\n", summary.Name, show.Printable(remark))
		}
	}
	_, err := io.WriteString(w, s.String())
	return err
}

func claimsTable(summaries []Summary) page.Table {
	t := page.Table{Columns: []page.Column{
		{Name: "experiment"},
		{Name: "in the source"},
		{Name: "claim"},
		{Name: "stated"},
		{Name: "measured"},
		{Name: "verdict"},
	}}
	for _, s := range summaries {
		for _, c := range s.Claims {
			t.Rows = append(t.Rows, []string{c.Experiment, c.At, "`" + c.Claim + "`", c.said(), c.Measured, verdictText(c)})
		}
	}
	return t
}

func verdictText(c Claim) string {
	text := c.Mark() + " " + c.verdict()
	if read := c.read(); read != "" {
		text += "; " + read
	}
	if why := cmp.Or(c.Reason, c.Why()); why != "" {
		text += ": " + why
	}
	return text
}

func gridOf(t page.Table) (g tabular.Grid) {
	for _, c := range t.Columns {
		h := tabular.Head{Name: c.Name, IsText: c.Class != page.Number, Weight: tabular.Key}
		if h.IsText {
			h.Wrap = 20
		}
		g.Heads = append(g.Heads, h)
	}
	for _, cells := range t.Rows {
		var row []string
		for _, cell := range cells {
			lines := strings.Split(cell, "\n")
			for i := range lines {
				lines[i] = show.Printable(lines[i])
			}
			row = append(row, strings.Join(lines, "\n"))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func printCSV(w io.Writer, summaries []Summary) error {
	rows := [][]string{{"experiment", "at", "claim", "stated", "measured", "verdict", "reason", "expected", "note"}}
	for _, s := range summaries {
		for _, c := range s.Claims {
			rows = append(rows, []string{c.Experiment, c.At, c.Claim, c.said(), c.Measured, string(c.Verdict), c.Reason,
				string(c.Expected.Verdict), c.Note})
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func printJSON(w io.Writer, summaries []Summary) error {
	for _, s := range summaries {
		if err := jsonlines.Write(w, s.Claims); err != nil {
			return err
		}
	}
	return nil
}
