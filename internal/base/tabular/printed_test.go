package tabular

import (
	"io"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// Every format goes to its function, and one that is missing is refused with those that exist.
func TestPrintedInItsFormats(t *testing.T) {
	says := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	p := Printed{CSV: says("csv"), Table: func(w io.Writer, format string) error { return says(format)(w) }}
	for _, format := range []string{"table", "csv", "markdown"} {
		var out strings.Builder
		if err := p.Print(&out, format); err != nil || out.String() != format {
			t.Errorf("%s prints %q, %v", format, &out, err)
		}
	}
	for _, format := range []string{"json", "yaml", ""} {
		err := p.Print(io.Discard, format)
		must.Fail(t, err, "table, csv, markdown", format)
	}
}
