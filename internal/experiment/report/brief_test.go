package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment/claims"
)

// manyClaims returns an experiment of which half of the claims hold, and half fail as expected.
func manyClaims(name string, n int) Summary {
	s := Summary{Name: name, Title: "T", Quick: true}
	for i := range n {
		c := Claim{Experiment: name, Claim: fmt.Sprintf("x%d < y", i), Stated: "less",
			Finding: claims.Finding{Verdict: claims.Reproduced, Measured: "1 < 2"}}
		if i%2 == 0 {
			c.Finding = claims.Finding{Verdict: claims.Refuted, Measured: "2 > 1"}
			c.Expected = claims.Expectation{Verdict: claims.Refuted}
		}
		s.Claims = append(s.Claims, c)
	}
	return s
}

// What exceeds a screen is counted; only claims with another verdict than expected are in full.
func TestBriefSaysWhatIsNews(t *testing.T) {
	first, second := manyClaims("first", 30), manyClaims("second", 30)
	notRun := Summary{Name: "third", Failure: "trace a is missing", Claims: []Claim{{Finding: claims.Finding{
		Verdict: claims.NotTestable}}}}
	print := func(written string, summaries ...Summary) string {
		var out bytes.Buffer
		must.Do(t, Print(&out, summaries, "table", PrintOptions{Width: 80, Written: written}))
		return out.String()
	}
	text := print("out/reproduced.md", first, second, notRun)
	if n := strings.Count(text, "\n"); n > screenLines {
		t.Errorf("%d lines:\n%s", n, text)
	}
	for _, want := range []string{" first (quick)       30          15       15 ", "third: trace a is missing\n",
		"\n✗ first: x6 < y\n  and 26 more\n",
		"In all: 3 experiments, 1 of them not run; checked 60 of 61 " +
			"claims: 30\nreproduced",
		"\nclaim by claim: --verbose, or out/reproduced.md\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "x1 <") || strings.Contains(text, "measured") {
		t.Errorf("it has what is no news:\n%s", text)
	}

	first.Claims[0].Expected = claims.Expectation{}
	first.Claims[1].Expected.Verdict = claims.Refuted
	text = print("out/report.html", first)
	for _, want := range []string{"\n✗ x0 < y\n  refuted; measured: 2 > 1; stated: less\n",
		"\n✓ x1 < y\n  reproduced, but expected: refuted; measured: 1 < 2; stated: less\n",
		"\nchecked 30 of 30 claims: 15 reproduced, 15 refuted (14 as expected)\n", "first: T (quick version)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if whole := print("", first); !strings.Contains(whole, "✓ x29 < y\n  measured: 1 < 2") {
		t.Errorf("verbose:\n%s", whole)
	}
	if short := print("out/report.html", manyClaims("few", 3)); !strings.Contains(short, "✓ x1 < y\n  measured: 1 < 2") {
		t.Errorf("a screen has room for all of it:\n%s", short)
	}
}
