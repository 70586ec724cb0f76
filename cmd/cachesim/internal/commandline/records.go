package commandline

import (
	"io"

	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

// PrintRecords prints records in a Format, as wide and as colourful as the terminal.
func PrintRecords(w io.Writer, recs []records.Record, format string) error {
	return results.Print(w, recs, format, results.PrintOptions{Color: terminal.Is(w), Width: terminal.Width(w)})
}
