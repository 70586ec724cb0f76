package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment/claims"
)

func failing() Summary {
	note := "Generated traces stand in for those of the source. " +
		strings.Repeat("There the gap is wider than here. ", 20)
	return Summary{Name: "fig", Title: "T", Claims: []Claim{
		{Claim: "a > b", Finding: claims.Finding{Verdict: claims.Refuted, Measured: "1 > 2"}, Stated: "twice as much",
			Note: note},
		{Claim: "a > c", Finding: claims.Finding{Verdict: claims.Reproduced}, Note: "nobody needs to know"},
	}}
}

// The reason why a claim does not hold is shown wherever its verdict is, shortened on a terminal.
func TestPrintSaysWhyAClaimDoesNotHold(t *testing.T) {
	for _, format := range []string{"table", "markdown"} {
		var out bytes.Buffer
		must.Do(t, Print(&out, []Summary{failing()}, format, PrintOptions{Width: 80}))
		text := out.String()
		if !strings.Contains(text, "Generated traces stand in") || strings.Contains(text, "nobody") {
			t.Errorf("%s: want why the first claim does not hold and nothing of the second:\n%s", format, text)
		}
		if n := strings.Count(text, "\n"); format == "table" && n > 12 {
			t.Errorf("%d lines, want two at most about why:\n%s", n, text)
		}
		if strings.ContainsRune(text, '\uFFFD') {
			t.Errorf("%s: a broken line was shown as a character that cannot be printed:\n%s", format, text)
		}
		for line := range strings.Lines(text) {
			if width := len([]rune(strings.TrimRight(line, "\n"))); format == "table" && width > 80 {
				t.Errorf("a line of %d columns: %s", width, line)
			}
		}
	}
	var whole bytes.Buffer
	must.Do(t, Print(&whole, []Summary{failing()}, "table", PrintOptions{}))
	if !strings.Contains(whole.String(), strings.TrimSpace(failing().Claims[0].Note)) {
		t.Errorf("without a width nothing is cut:\n%s", whole.String())
	}
}

func TestTotal(t *testing.T) {
	notRun := Summary{Failure: "trace a is missing",
		Claims: []Claim{{Finding: claims.Finding{Verdict: claims.NotTestable}}}}
	got := Total([]Summary{failing(), notRun})
	want := "2 experiments, 1 of them not run; checked 2 of 3 claims: 1 reproduced, 1 refuted, 1 not testable here"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The script of the page sorts and filters the tables of this class.
func TestClaimsSortAndFilter(t *testing.T) {
	part := claimsPart([]Claim{{Claim: "hit_ratio(lru) > 0"}})
	if !strings.Contains(string(part.HTML), `<table class="data claims stacked"`) {
		t.Errorf("a table of claims is not of the class data:\n%s", part.HTML)
	}
}
