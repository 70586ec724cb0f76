package terminal

import (
	"bytes"
	"strings"
	"testing"
)

func TestControlCharactersAreShown(t *testing.T) {
	for text, want := range map[string]struct{ plain, styled string }{
		"plain, \tZürich\n":              {"plain, \tZürich\n", "plain, \tZürich\n"},
		"\x1b[2J\x1b]0;title\a\r\b":      {`\x1b[2J\x1b]0;title\a\r\b`, `\x1b[2J\x1b]0;title\a\r\b`},
		"\x1b[1mbold\x1b[0m \x1b[32mok":  {`\x1b[1mbold\x1b[0m \x1b[32mok`, "\x1b[1mbold\x1b[0m \x1b[32mok"},
		"\x1b[8mhidden \x1b[1;31mred":    {`\x1b[8mhidden \x1b[1;31mred`, `\x1b[8mhidden \x1b[1;31mred`},
		"\u009b31m \x7f \u202d caf\xe9.": {`\u009b31m \x7f \u202d caf` + "\xe9.", `\u009b31m \x7f \u202d caf` + "\xe9."},
		"\u202egnp.\u2066a\u2028":        {`\u202egnp.\u2066a\u2028`, `\u202egnp.\u2066a\u2028`},
	} {
		if got := Printable(text); got != want.plain {
			t.Errorf("%q: got %q, want %q", text, got, want.plain)
		}
		if got := string(escaped([]byte(text), unstyled)); got != want.styled {
			t.Errorf("%q in a table: got %q, want %q", text, got, want.styled)
		}
	}
}

func TestNamesStayInTheirLine(t *testing.T) {
	name := "a\n::error::\u202eb"
	const want = `a\n::error::\u202eb`
	if got := InLine(name); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := InLines(name+": no such file\nsee docs", []string{"run", name}); got != want+": no such file\nsee docs" {
		t.Errorf("got %q", got)
	}
}

// TestNoCommandForGitHub writes what GitHub's runner takes for commands to standard error.
func TestNoCommandForGitHub(t *testing.T) {
	var to bytes.Buffer
	text := "file a\n::error::b\n \t::set-output name=x::y ##[error]c; std::string, [::1]:80\n::1 is local\n"
	NewStderr(&to).Write([]byte(text))
	want := "file a\n: :error::b\n \t: :set-output name=x::y # #[error]c; std::string, [::1]:80\n::1 is local\n"
	if to.String() != want {
		t.Errorf("got %q, want %q", to.String(), want)
	}
}

func TestWrapLines(t *testing.T) {
	got := strings.Fields(strings.ReplaceAll(WrapLines(20, "evicts the object requested last", "", "k=2"), "\n", " | "))
	if want := "evicts the object | requested last | k=2"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
