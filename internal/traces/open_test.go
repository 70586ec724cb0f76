package traces

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// openString opens content as standard input.
func openString(t testing.TB, content, format string) (*Stream, error) {
	t.Helper()
	s, err := Open("-", LoadOptions{Selection: Selection{Format: format}, Stdin: strings.NewReader(content)})
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

// readAll returns the records of content, with texts of their own.
func readAll(t testing.TB, content, format string) ([]stream.Record, error) {
	t.Helper()
	s, err := openString(t, content, format)
	if err != nil {
		return nil, err
	}
	return drain(s)
}

func drain(r stream.Reader) ([]stream.Record, error) {
	var records []stream.Record
	for {
		var rec stream.Record
		err := r.Read(&rec)
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		if rec.Text != nil {
			rec.Text = []byte(string(rec.Text))
		}
		records = append(records, rec)
	}
}
