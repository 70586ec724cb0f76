package terminal

import (
	"strings"
	"testing"
)

func TestControlCharactersAreShown(t *testing.T) {
	for text, want := range map[string]struct{ plain, styled string }{
		"plain, \tZürich\n":              {"plain, \tZürich\n", "plain, \tZürich\n"},
		"\x1b[2J\x1b]0;title\a\r\b":      {`\x1b[2J\x1b]0;title\a\r\b`, `\x1b[2J\x1b]0;title\a\r\b`},
		"\x1b[1mbold\x1b[0m \x1b[32mok":  {`\x1b[1mbold\x1b[0m \x1b[32mok`, "\x1b[1mbold\x1b[0m \x1b[32mok"},
		"\x1b[8mhidden \x1b[1;31mred":    {`\x1b[8mhidden \x1b[1;31mred`, `\x1b[8mhidden \x1b[1;31mred`},
		"\u009b31m \x7f \u202d caf\xe9.": {"\\u009b31m \\x7f \u202d caf\xe9.", "\\u009b31m \\x7f \u202d caf\xe9."},
	} {
		if got := Printable(text); got != want.plain {
			t.Errorf("%q: got %q, want %q", text, got, want.plain)
		}
		if got := string(escaped([]byte(text), unstyled)); got != want.styled {
			t.Errorf("%q in a table: got %q, want %q", text, got, want.styled)
		}
	}
}

func TestWrapLines(t *testing.T) {
	got := strings.Fields(strings.ReplaceAll(WrapLines(20, "evicts the object requested last", "", "k=2"), "\n", " | "))
	if want := "evicts the object | requested last | k=2"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
