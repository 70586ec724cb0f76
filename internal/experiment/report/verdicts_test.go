package report

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment/claims"
)

// TestVerdictsAreThoseOfTheClaims compares docs/verdicts.md with the experiments: every claim has its verdict there, in
// its present form, and every one that is not met has a cause.
func TestVerdictsAreThoseOfTheClaims(t *testing.T) {
	text := must.Get(os.ReadFile("../../../docs/verdicts.md"))(t)
	sections := map[string]string{}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		sections[name] = strings.TrimSpace(body)
	}
	for _, name := range configs.Papers() {
		body, ok := sections[name]
		if delete(sections, name); !ok {
			t.Errorf("%s has no section; run make verdicts EXPERIMENTS=%s", name, name)
			continue
		}
		if body == "Not run in full yet." {
			continue
		}
		file := loaded(t, name)
		var want []string
		for _, c := range file.Claims {
			want = append(want, claims.OneLine(c.Claim))
		}
		if got := claimsOf(t, name, body); !slices.Equal(got, want) {
			t.Errorf("%s: the claims are\n%q\nthe page has\n%q\nrun make verdicts EXPERIMENTS=%s", name, want, got, name)
		}
	}
	for name := range sections {
		t.Errorf("%s is no experiment; remove its section", name)
	}
}

// claimsOf returns the claims of a section, and fails for one that is not met without a cause.
func claimsOf(t *testing.T, name, body string) (forms []string) {
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| | claim |") {
			continue
		}
		before, rest, _ := strings.Cut(line, "`")
		claim, _, _ := strings.Cut(rest, "`")
		forms = append(forms, claim)
		if mark := strings.Trim(before, "| "); mark != "✓" && strings.HasSuffix(strings.TrimSpace(line), "|  |") {
			t.Errorf("%s: %s is %s, and nothing says why", name, claim, mark)
		}
	}
	return forms
}
