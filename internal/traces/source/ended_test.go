package source

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestEnded: formats that read a file as a whole stop at the next line or element once the context has ended.
func TestEnded(t *testing.T) {
	for name, read := range map[string]func(*Source) error{
		"line": func(src *Source) error { _, err := src.LongLine(); return err },
		"array": func(src *Source) error {
			return src.ScanArray("list", func(s *JSONScanner) error { return s.Skip() })
		},
	} {
		for _, ends := range []bool{false, true} {
			ctx, end := context.WithCancel(t.Context())
			src := must.Get(New(&File{Label: "test", Context: ctx}, "test", "test", strings.NewReader("[1, 2]\n")))(t)
			if ends {
				end()
			}
			if err := read(src); errors.Is(err, context.Canceled) != ends || !ends && err != nil {
				t.Errorf("%s, ended %v: error %v", name, ends, err)
			}
			end()
		}
	}
}
