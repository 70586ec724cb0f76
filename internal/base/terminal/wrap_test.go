package terminal

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func TestWrap(t *testing.T) {
	tests := []struct {
		text  string
		width int
		want  []string
	}{
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 0, []string{"one two three"}},
		{"one  two ", 4, []string{"one", "two"}},
		{"small=0.1,ghost=0.9", 12, []string{"small=0.1,", "ghost=0.9"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"  one two", 6, []string{"  one", "  two"}},
		{"a\n\nb c", 1, []string{"a", "", "b", "c"}},
		{"日本語", 4, []string{"日本", "語"}},
		{"日", 1, []string{"日"}}, // a character wider than a line still takes one
		{"", 5, []string{""}},
		{"see cachesim run", 14, []string{"see", "cachesim run"}},
		{"add --limit 9: ok", 12, []string{"add", "--limit 9:", "ok"}},
		{"cachesim formats", 10, []string{"cachesim", "formats"}}, // there is no other place
		{"  cachesim run a b", 9, []string{"  cachesim run a b"}},
	}
	for _, test := range tests {
		if got := Wrap(test.text, test.width); !slices.Equal(got, test.want) {
			t.Errorf("%q at %d: got %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestWrapHanging(t *testing.T) {
	got := WrapHanging("a note of words\n\n  an item of words\n  cachesim run a-long-name", 10)
	want := []string{"a note of", "  words", "", "  an item", "    of", "    words", "  cachesim run a-long-name"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Nothing but spaces is lost, and no line is too wide.
func TestWrapKeepsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab ,(=日é\n"))).Draw(t, "text")
		width := rapid.IntRange(4, 20).Draw(t, "width")
		lines := Wrap(text, width)
		squeezed := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squeezed(strings.Join(lines, "")) != squeezed(text) {
			t.Fatalf("%q became %q", text, lines)
		}
		for _, line := range lines {
			if StringWidth(line) > width {
				t.Fatalf("%q is wider than %d", line, width)
			}
		}
	})
}

// Where there is no terminal only running text heeds COLUMNS.
func TestWidthWithoutTerminal(t *testing.T) {
	for value, text := range map[string]int{"": 100, "70": 70, "-3": 100, "wide": 100, "0": 100} {
		t.Setenv("COLUMNS", value)
		var w bytes.Buffer
		if Width(&w) != 0 || TextWidth(&w) != text {
			t.Errorf("COLUMNS=%s: got %d and %d, want 0 and %d", value, Width(&w), TextWidth(&w), text)
		}
	}
}
