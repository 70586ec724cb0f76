package scorecard

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/experiment/claims"
)

// Width is that of a page of text.
const Width = 80

// noCurves says why no figure has a curve of a paper under ours.
const noCurves = "The papers were available only as texts, without the images of their figures, so that no curve " +
	"could be read off. The cards name those of our figures that are drawn over numbers of a paper, from its tables " +
	"and texts."

// units says what the units of values mean.
const units = "Measured values have the unit of what the sentence compares: x means times as much, and points are " +
	"differences of percentages. ± is half of the confidence interval between seeds, with at most two digits; the " +
	"values beside it have no more decimals than that."

// Print writes scorecards: as text of Width columns, as Markdown, or one sentence a line as JSON or CSV.
func Print(w io.Writer, cards []Card, format string) error {
	return tabular.Printed{
		Table: func(w io.Writer, format string) error {
			text := page(cards)
			if format == "markdown" {
				text = markdown(cards)
			}
			_, err := io.WriteString(w, text)
			return err
		},
		CSV:  func(w io.Writer) error { return printCSV(w, cards) },
		JSON: func(w io.Writer) error { return jsonlines.Write(w, sentences(cards)) },
	}.Print(w, format)
}

func sentences(cards []Card) (all []Sentence) {
	for _, c := range cards {
		for _, e := range c.Experiments {
			all = append(all, e.Sentences...)
		}
	}
	return all
}

func page(cards []Card) string {
	var w strings.Builder
	line := func(indent int, text string) {
		space := strings.Repeat(" ", indent)
		for _, l := range terminal.Wrap(show.Printable(text), Width-indent) {
			w.WriteString(strings.TrimRight(space+l, " ") + "\n")
		}
	}
	for i, c := range cards {
		if i > 0 {
			w.WriteString("\n")
		}
		for _, text := range c.head() {
			line(0, text)
		}
		for _, e := range c.Experiments {
			w.WriteString("\n")
			for _, text := range e.head() {
				line(0, text)
			}
			for _, s := range e.Sentences {
				line(0, s.Verdict.Mark()+" "+s.states())
				for _, text := range s.found() {
					line(4, text)
				}
			}
		}
	}
	w.WriteString("\n")
	line(0, noCurves)
	return w.String()
}

// head says whose card it is, and the score.
func (c Card) head() []string {
	return []string{
		c.Name + ": " + c.Source,
		c.Score() + " sentences reproduced. Of the paper: " + counts(c.of(false)) + ". Questions of ours: " +
			counts(c.of(true)) + ".",
	}
}

func (e Experiment) head() (lines []string) {
	lines = append(lines, fmt.Sprintf("%s: %s. Run on %s with %s.", e.Name, e.Title, e.On, e.Commit))
	if len(e.Drawn) > 0 {
		lines = append(lines, "Drawn: "+strings.Join(e.Drawn, "; ")+".")
	}
	return lines
}

// states is the sentence, and where it stands.
func (s Sentence) states() string {
	text := claims.Said(s.Stated, s.Ours)
	if s.At != "" {
		text += " (" + s.At + ")"
	}
	return text
}

// found is what was measured, and why the sentence is not reproduced.
func (s Sentence) found() (lines []string) {
	if s.Measured != "" {
		lines = append(lines, "ours: "+s.Measured)
	}
	if s.Verdict != claims.Reproduced && s.Why != "" {
		lines = append(lines, "why: "+s.Why)
	}
	if s.SettledBy != "" {
		lines = append(lines, "settled by: "+s.SettledBy)
	}
	return lines
}

// paragraph breaks a text into lines as the documentation has them.
func paragraph(text string) string { return terminal.Wrapped(text, 120) }

// markdown is a page of the documentation.
func markdown(cards []Card) string {
	var w strings.Builder
	w.WriteString("# Scorecards\n\nWhat papers state, sentence by sentence, beside what experiments of this program " +
		"came to.\n`cachesim reproduce --scorecard all --format markdown` writes this page.\n" +
		"[claims.md](claims.md#verdicts) explains the verdicts.\n\n" + paragraph(units) + "\n\n" +
		Line(cards) + "\n\n" + paragraph(noCurves) + "\n")
	cell := strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*").Replace
	for _, c := range cards {
		fmt.Fprintf(&w, "\n## %s\n", c.Name)
		for _, text := range c.head() {
			w.WriteString("\n" + paragraph(text) + "\n")
		}
		for _, e := range c.Experiments {
			fmt.Fprintf(&w, "\n### %s\n\n%s\n\n| | stated | ours | why | settled by |\n|---|---|---|---|---|\n", e.Name,
				paragraph(strings.Join(e.head(), " ")))
			for _, s := range e.Sentences {
				why := s.Why
				if s.Verdict == claims.Reproduced {
					why = ""
				}
				fmt.Fprintf(&w, "| %s | %s | %s | %s | %s |\n", s.Verdict.Mark(), cell(s.states()), cell(s.Measured), cell(why),
					cell(s.SettledBy))
			}
		}
	}
	return w.String()
}

func printCSV(w io.Writer, cards []Card) error {
	rows := [][]string{{"paper", "experiment", "ours", "stated", "at", "claim", "verdict", "unit", "measured", "narrowed",
		"why", "settled_by"}}
	for _, s := range sentences(cards) {
		rows = append(rows, []string{s.Paper, s.Experiment, strconv.FormatBool(s.Ours), s.Stated, s.At, s.Claim,
			string(s.Verdict), s.Unit, s.Measured, strconv.FormatBool(s.Narrowed), s.Why, s.SettledBy})
	}
	return csv.NewWriter(w).WriteAll(rows)
}
