package formats_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

func num(n uint64) stream.Record  { return stream.Record{Num: n} }
func text(s string) stream.Record { return stream.Record{Text: []byte(s)} }

func TestPlain(t *testing.T) {
	for name, c := range map[string]struct {
		content, format string
		want            []stream.Record
	}{
		"numbers":        {"1\n22\n0\n", "", []stream.Record{num(1), num(22), num(0)}},
		"largest number": {"18446744073709551615\n", "", []stream.Record{num(1<<64 - 1)}},
		"beyond 64 bits": {"18446744073709551616\n99999999999999999999\n", "",
			[]stream.Record{text("18446744073709551616"), text("99999999999999999999")}},
		"other spellings": {"7\n007\n+7\n-7\n", "", []stream.Record{num(7), text("007"), text("+7"), text("-7")}},
		"floats that are whole": {"7.0\n10.00\n7.5\n.0\na.0\n1e3\n1.2e3\n1e+3\n1.25e1\n1e+16\n", "",
			[]stream.Record{num(7), num(10), text("7.5"), text(".0"), text("a.0"), text("1e3"), num(1200), num(1000),
				text("1.25e1"), text("1e+16")}},
		"CRLF":              {"1\r\na\r\n", "", []stream.Record{num(1), text("a")}},
		"no last newline":   {"1\n2", "", []stream.Record{num(1), num(2)}},
		"blank end":         {"1\n2\n\n\r\n\n", "", []stream.Record{num(1), num(2)}},
		"spaces allowed":    {"a b\n c\n", "plain:spaces=true", []stream.Record{text("a b"), text(" c")}},
		"a star among text": {"a\n*\n", "", []stream.Record{text("a"), text("*")}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content, c.format)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestPlainRefuses(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"columns":       {"1 2 3\n", "standard input: line 1: white space in the key"},
		"blank line":    {"a\n\nb\n", "line 2: a blank line"},
		"LIRS mark":     {"1\n*\n2\n", "line 2: a mark * between numbers"},
		"binary":        {"a\x00b\n", "line 1: control characters"},
		"endless line":  {"1\n" + strings.Repeat("x", 2<<20), "line 2: longer than 1048576 bytes"},
		"tab separated": {"1\n2\t3\n", "line 2: white space in the key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tracetest.ReadText(t, c.content, "plain")
			must.Fail(t, err, c.want)
		})
	}
}
