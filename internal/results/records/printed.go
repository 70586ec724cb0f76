package records

import (
	"io"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/suggest"
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
