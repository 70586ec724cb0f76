package pylog

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestScanner(t *testing.T) {
	s := &Scanner{Text: []byte(`a='it\'s\n\u00e9', b=[1, 22], c={'x': (1, ")")}, d=None) rest`)}
	var names []string
	var text []byte
	var ids []uint64
	must.Do(t, s.Call(func(name string) (err error) {
		names = append(names, name)
		switch name {
		case "a":
			text, err = s.Quoted()
		case "b":
			ids, err = s.IDs(nil, 100)
		default:
			err = s.Skip()
		}
		return err
	}))
	if string(text) != "it's\né" || !slices.Equal(ids, []uint64{1, 22}) || strings.Join(names, "") != "abcd" ||
		string(s.Text[s.Pos:]) != " rest" {
		t.Errorf("%q, %v, %v, and %q after it", text, ids, names, s.Text[s.Pos:])
	}
	for text, want := range map[string]string{"[1, 200]": "column 5: want the id of a token", "[1 2]": "want a comma",
		"x": "want a list"} {
		_, err := (&Scanner{Text: []byte(text)}).IDs(nil, 100)
		must.Fail(t, err, want)
	}
	for text, want := range map[string]string{`'a`: "column 3: want the quote", `'\q'`: "want an escape",
		"a": "in quotes"} {
		_, err := (&Scanner{Text: []byte(text)}).Quoted()
		must.Fail(t, err, want)
	}
}

func TestClock(t *testing.T) {
	var c Clock
	for _, step := range []struct{ before, want string }{
		{"no date", ""}, {"[2026-03-01 12:00:00,5] x", "2026-03-01 12:00:00.5"}, {"none", "2026-03-01 12:00:00.5"},
		{"INFO 12-31 14:09:27 x", "2024-12-31 14:09:27"}, {"INFO 01-01 00:00:00 x", "2025-01-01 00:00:00"},
	} {
		if got := string(c.Of([]byte(step.before))); got != step.want {
			t.Errorf("the time of %q is %q, want %q", step.before, got, step.want)
		}
	}
}

// TestConsole: a logger that writes JSON is read like one that writes to the console.
func TestConsole(t *testing.T) {
	for line, want := range map[string]string{
		`{"timestamp": "2026-01-01T00:00:00Z", "level": "INFO", "message": "a \"b\""}`: `2026-01-01T00:00:00Z a "b"`,
		`{"event":"x","asctime":"2026-01-01 00:00:00,5","lineno":3}`:                   "2026-01-01 00:00:00,5 x",
		`{"msg":"x"}`: " x", `{"level":"INFO"}`: `{"level":"INFO"}`, `{"message":"x"`: `{"message":"x"`,
		"plain": "plain", "": "",
	} {
		if got := string(Console([]byte(line))); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
