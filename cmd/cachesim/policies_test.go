package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/terminal"
)

func TestWrapLines(t *testing.T) {
	got := strings.Fields(strings.ReplaceAll(terminal.WrapLines(20, "evicts the object requested last", "", "k=2"), "\n", " | "))
	if want := "evicts the object | requested last | k=2"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, e := range policies.All() {
		for line := range strings.Lines(terminal.WrapLines(80-nameAndKindWidth, e.Summary, e.Source)) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 80-nameAndKindWidth {
				t.Errorf("%s: %d columns: %s", e.Name, n, line)
			}
		}
	}
}
