package tabular

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
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

// EachJSON writes each row on a line of its own, for Printed.
func EachJSON[T any](rows []T) func(io.Writer) error {
	return func(w io.Writer) error { return jsonlines.Write(w, rows) }
}

// EachCSV writes rows of structs, for Printed: a column for each field, by its name in JSON. A field of a struct in
// another has the name of the outer one before its own. What JSON leaves out, or has as null, is empty.
func EachCSV[T any](rows []T) func(io.Writer) error {
	return func(w io.Writer) error {
		lines := [][]string{columnsOf(reflect.TypeFor[T](), "")}
		for i := range rows {
			lines = append(lines, cellsOf(reflect.ValueOf(rows[i]), false))
		}
		return csv.NewWriter(w).WriteAll(lines)
	}
}

func columnsOf(t reflect.Type, name string) (columns []string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return []string{name}
	}
	for i := range t.NumField() {
		field, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		columns = append(columns, columnsOf(t.Field(i).Type, strings.TrimPrefix(name+"_"+field, "_"))...)
	}
	return columns
}

func cellsOf(v reflect.Value, omitEmpty bool) (cells []string) {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return make([]string, len(columnsOf(v.Type(), "")))
	case v.Kind() == reflect.Pointer:
		return cellsOf(v.Elem(), false)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			cells = append(cells, cellsOf(v.Field(i), strings.HasSuffix(v.Type().Field(i).Tag.Get("json"), ",omitempty"))...)
		}
		return cells
	case omitEmpty && v.IsZero():
		return []string{""}
	case v.CanFloat():
		return []string{strconv.FormatFloat(v.Float(), 'g', -1, 64)}
	}
	return []string{fmt.Sprint(v)}
}

// PrintTables writes a title and tables below each other, as table or markdown.
func PrintTables(w io.Writer, format, title string, tables ...Grid) error {
	width := terminal.Width(w)
	text := terminal.Wrapped(title, width) + "\n"
	for _, t := range tables {
		text += "\n" + t.In(format, width) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

func (p Printed) formats() (names []string) {
	if p.Table != nil {
		names = append(names, "table")
	}
	if p.CSV != nil {
		names = append(names, "csv")
	}
	if p.JSON != nil {
		names = append(names, "json")
	}
	if p.Table != nil {
		names = append(names, "markdown")
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
