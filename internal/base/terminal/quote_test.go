package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func TestShorten(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	path := strings.Repeat("folder/", 100) + "trace.csv"
	for message, want := range map[string]string{
		"":           "",
		"a.csv: bad": "a.csv: bad",
		fmt.Sprintf("unknown policy %q; did you mean %q?", long, "lru"): `unknown policy "` + strings.Repeat("x",
			40) + "…" + strings.Repeat("x", 39) + `"; did you mean "lru"?`,
		fmt.Sprintf("%s: line 1: size %q", path,
			long+"end"): path + `: line 1: size "` + strings.Repeat("x", 40) + "…" + strings.Repeat("x",
			36) + `end"`,
		"--embeddings " + long + ": nothing here": "--embeddings " + strings.Repeat("x",
			125) + "…" + strings.Repeat("x", 123) + ": nothing here",
		fmt.Sprintf("%q is no number", strings.Repeat("é", 80)): fmt.Sprintf("%q is no number",
			strings.Repeat("é", 80)),
		fmt.Sprintf("%q is no number", strings.Repeat("é", 81)): `"` + strings.Repeat("é",
			40) + "…" + strings.Repeat("é", 39) + `" is no number`,
		fmt.Sprintf("in %q", strings.Repeat("a \"quote\"\n",
			30)): "in " + strconv.Quote(cut(strings.Repeat("a \"quote\"\n", 30), 80)),
		"an open quote " + strconv.Quote(long)[:50_000]: "an open quote \"" + cut(long[:49_999],
			maxWord),
	} {
		if got := Shorten(message); got != want {
			t.Errorf("%.300q\nwant %.300q", got, want)
		}
	}
	words := strings.Repeat("a b ", 100_000)
	if got := Shorten(words); utf8.RuneCountInString(got) != maxMessage || !strings.HasSuffix(got, " a b ") {
		t.Errorf("a message of %d characters", utf8.RuneCountInString(got))
	}
}

// Short texts do not change, and a quotation stays a quotation.
func TestShortenKeepsQuotes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quoted := rapid.StringN(0, 300, -1).Draw(t, "quoted")
		message := fmt.Sprintf("a.csv: line 3: key %q: want a number", quoted)
		got := Shorten(message)
		if utf8.RuneCountInString(quoted) <= maxQuote && got != message {
			t.Fatalf("%q was changed to %q", message, got)
		}
		inner, isQuote := strings.CutPrefix(got, "a.csv: line 3: key ")
		inner, ends := strings.CutSuffix(inner, ": want a number")
		text, err := strconv.Unquote(inner)
		if !isQuote || !ends || err != nil || utf8.RuneCountInString(text) > maxQuote {
			t.Fatalf("%q, error %v", got, err)
		}
	})
}
