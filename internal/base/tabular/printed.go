package tabular

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/terminal"
)

// Printed is what a command prints, with a function for each of its formats; nil for one that it does not have.
type Printed struct {
	Table func(w io.Writer, format string) error // as table or as markdown, as Grid.In has them
	CSV   func(w io.Writer) error
	JSON  func(w io.Writer) error // one value per line
}

// Print writes it in a format: table, csv, json or markdown.
func (p Printed) Print(w io.Writer, format string) error {
	switch {
	case (format == "table" || format == "markdown") && p.Table != nil:
		return p.Table(w, format)
	case format == "csv" && p.CSV != nil:
		return p.CSV(w)
	case format == "json" && p.JSON != nil:
		return p.JSON(w)
	}
	return suggest.Unknown("format", format, p.formats())
}

// OneJSON writes a value on one line, for Printed.
func OneJSON(v any) func(io.Writer) error {
	return func(w io.Writer) error { return jsonlines.NewEncoder(w).Encode(v) }
}

func (p Printed) formats() (names []string) {
	for _, f := range []struct {
		name string
		has  bool
	}{{"table", p.Table != nil}, {"csv", p.CSV != nil}, {"json", p.JSON != nil}, {"markdown", p.Table != nil}} {
		if f.has {
			names = append(names, f.name)
		}
	}
	return names
}

// Answer is what a table says of a group of its records: a sentence, and lines that explain it.
type Answer interface {
	Group() string // its name
	Sentence() string
	Explanation() []string
}

// PrintAnswers writes answers below a table, in Markdown or for a terminal of that width.
func PrintAnswers[A Answer](w io.Writer, answers []A, markdown bool, width int) error {
	for i, sentence := range Sentences(answers) {
		if markdown {
			sentence = "**" + sentence + "**"
		}
		lines := append([]string{sentence}, answers[i].Explanation()...)
		if err := PrintLines(w, markdown, width, lines); err != nil {
			return err
		}
	}
	return nil
}

// Sentences returns the sentences of answers. Several say of which group they are.
func Sentences[A Answer](answers []A) (sentences []string) {
	for _, a := range answers {
		sentence := a.Sentence()
		if len(answers) > 1 {
			sentence = a.Group() + ": " + sentence
		}
		sentences = append(sentences, sentence)
	}
	return sentences
}

// PrintLines writes lines below a table, in Markdown or broken at the width of a terminal.
func PrintLines(w io.Writer, markdown bool, width int, lines []string) error {
	text := strings.Join(lines, "  \n")
	if !markdown {
		text = trailingSpaces.ReplaceAllString(terminal.WrapLines(width, lines...), "")
	}
	_, err := fmt.Fprintf(w, "\n%s\n", text)
	return err
}

var trailingSpaces = regexp.MustCompile(`(?m) +$`)
