package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/suggest"
)

// Outcomes of a claim.
const (
	Holds        = "holds"
	DoesNotHold  = "does not hold"
	NotCheckable = "not checkable here"
)

// Claim is a claim of the source with its verdict.
type Claim struct {
	Experiment string `json:"experiment"`
	At         string `json:"at"` // where it stands in the source
	Claim      string `json:"claim"`
	Stated     string `json:"stated"`
	Measured   string `json:"measured"` // "" where there was nothing to measure
	Outcome    string `json:"outcome"`
	Reason     string `json:"reason"` // of an outcome other than Holds
	Note       string `json:"note"`
}

// Mark is the sign of the outcome.
func (c Claim) Mark() string {
	switch c.Outcome {
	case Holds:
		return "✓"
	case DoesNotHold:
		return "✗"
	}
	return "–"
}

// Summary is what a report says, in short.
type Summary struct {
	Name    string
	Title   string
	Source  string
	Quick   bool
	Cells   int // in the plan
	Missing int // of them
	Claims  []Claim
	// Published says of each reference how many of its numbers ours agree with: "table 1: 16 of 16 agree with ARC paper within 0.005 points".
	Published []string
	Notes     []string // figures and tables that could not be made, and why
	Failure   string   // why the experiment could not be run; "" where it was
	Page      string   // path of the report; "" where there is none
}

// Count counts the claims with an outcome.
func (s Summary) Count(outcome string) (n int) {
	for _, c := range s.Claims {
		if c.Outcome == outcome {
			n++
		}
	}
	return n
}

// Verdict counts the claims by outcome in words: "7 claims: 5 hold, 1 does not hold, 1 is not checkable here".
func (s Summary) Verdict() string {
	if len(s.Claims) == 0 {
		return "no claims"
	}
	var parts []string
	for _, o := range outcomes {
		if n := s.Count(o.name); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o.words(n)))
		}
	}
	return plural(len(s.Claims), "claim") + ": " + strings.Join(parts, ", ")
}

// outcomes are those of claims, with the words for one claim and for several.
var outcomes = []outcome{
	{Holds, "holds", "hold"},
	{DoesNotHold, "does not hold", "do not hold"},
	{NotCheckable, "is not checkable here", "are not checkable here"},
}

type outcome struct{ name, one, many string }

func (o outcome) words(n int) string {
	if n == 1 {
		return o.one
	}
	return o.many
}

// place is a figure, a table or a section of the source with the claims that stand there.
type place struct {
	At string
	Summary
}

// places groups claims by where they stand, in order of first appearance.
func places(claims []Claim) (all []place) {
	for _, c := range claims {
		i := slices.IndexFunc(all, func(p place) bool { return p.At == c.At })
		if i < 0 {
			i = len(all)
			all = append(all, place{At: c.At})
		}
		all[i].Claims = append(all[i].Claims, c)
	}
	return all
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return records.Count(int64(n)) + " " + noun + "s"
}

// Print writes the claims with their verdicts as table, which is made for a terminal, csv, json (one claim per line) or markdown.
func Print(w io.Writer, summaries []Summary, format string, color bool) error {
	switch format {
	case "table":
		return printText(w, summaries, color)
	case "markdown":
		return printMarkdown(w, summaries)
	case "csv":
		return printCSV(w, summaries)
	case "json":
		return printJSON(w, summaries)
	}
	return suggest.Unknown("format", format, []string{"table", "csv", "json", "markdown"})
}

func printText(w io.Writer, summaries []Summary, color bool) error {
	var s strings.Builder
	for i, summary := range summaries {
		if i > 0 {
			s.WriteString("\n")
		}
		writeSummary(&s, summary, color)
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// writeSummary writes one paragraph per claim: the verdict in the margin, what was measured and stated below.
func writeSummary(s *strings.Builder, summary Summary, color bool) {
	s.WriteString(painted(heading(summary), "1", color) + "\n")
	if summary.Source != "" {
		fmt.Fprintf(s, "%s\n", records.Printable(summary.Source))
	}
	if len(summary.Claims) > 0 {
		s.WriteString("\n")
	}
	for _, c := range summary.Claims {
		fmt.Fprintf(s, "%s %s\n", painted(c.Mark(), colorOf(c.Outcome), color), records.Printable(c.Claim))
		if details := details(c); details != "" {
			fmt.Fprintf(s, "  %s\n", painted(records.Printable(details), "2", color))
		}
	}
	fmt.Fprintf(s, "\n%s\n", summary.Verdict())
	for _, note := range summary.Remarks() {
		fmt.Fprintf(s, "%s\n", records.Printable(note))
	}
}

func heading(s Summary) string {
	text := s.Name
	if s.Title != "" {
		text += ": " + s.Title
	}
	if s.Quick {
		text += " (quick version)"
	}
	return records.Printable(text)
}

// details says what was measured beside what is stated, and why the claim does not hold or cannot be checked.
func details(c Claim) string {
	var parts []string
	if c.Outcome != Holds {
		parts = append(parts, c.Outcome)
	}
	if c.Measured != "" {
		parts = append(parts, "measured "+c.Measured)
	}
	if stated := statedAt(c); stated != "" {
		parts = append(parts, stated)
	}
	text := strings.Join(parts, "; ")
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

func statedAt(c Claim) string {
	switch {
	case c.Stated != "" && c.At != "":
		return fmt.Sprintf("stated %s (%s)", c.Stated, c.At)
	case c.Stated != "":
		return "stated " + c.Stated
	}
	return c.At
}

func colorOf(outcome string) string {
	switch outcome {
	case Holds:
		return "32"
	case DoesNotHold:
		return "31"
	}
	return "33"
}

// painted wraps text in the escape sequence of a terminal.
func painted(text, code string, color bool) string {
	if !color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func printMarkdown(w io.Writer, summaries []Summary) error {
	tables := []table{claimsTable(summaries)}
	if len(summaries) > 1 || len(tables[0].Rows) == 0 {
		tables = []table{figuresTable(summaries), tables[0]}
	}
	tables = slices.DeleteFunc(tables, func(t table) bool { return len(t.Rows) == 0 })
	for i, t := range tables {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintln(w, t.writer().RenderMarkdown()); err != nil {
			return err
		}
	}
	return nil
}

// claimsTable lists claims with what was measured beside what is stated.
func claimsTable(summaries []Summary) table {
	t := table{Columns: []column{
		{Name: "experiment"}, {Name: "in the source"}, {Name: "claim"}, {Name: "stated"}, {Name: "measured"}, {Name: "verdict"},
	}}
	for _, s := range summaries {
		for _, c := range s.Claims {
			t.Rows = append(t.Rows, []string{c.Experiment, c.At, "`" + c.Claim + "`", c.Stated, c.Measured, verdict(c)})
		}
	}
	return t
}

// verdict is the outcome with its reason.
func verdict(c Claim) string {
	text := c.Mark() + " " + c.Outcome
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// writer returns the table for a terminal or for Markdown.
func (t table) writer() pretty.Writer {
	w := pretty.NewWriter()
	style := pretty.StyleLight
	style.Options = pretty.Options{SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	var header pretty.Row
	var configs []pretty.ColumnConfig
	for i, c := range t.Columns {
		align := text.AlignLeft
		if c.Class == number {
			align = text.AlignRight
		}
		header = append(header, c.Name)
		configs = append(configs, pretty.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	w.AppendHeader(header)
	w.SetColumnConfigs(configs)
	for _, cells := range t.Rows {
		var row pretty.Row
		for _, cell := range cells {
			row = append(row, records.Printable(cell))
		}
		w.AppendRow(row)
	}
	return w
}

func printCSV(w io.Writer, summaries []Summary) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"experiment", "at", "claim", "stated", "measured", "outcome", "reason", "note"}) // Error tells
	for _, s := range summaries {
		for _, c := range s.Claims {
			_ = out.Write([]string{c.Experiment, c.At, c.Claim, c.Stated, c.Measured, c.Outcome, c.Reason, c.Note})
		}
	}
	out.Flush()
	return out.Error()
}

func printJSON(w io.Writer, summaries []Summary) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, s := range summaries {
		for _, c := range s.Claims {
			if err := out.Encode(c); err != nil {
				return err
			}
		}
	}
	return nil
}
