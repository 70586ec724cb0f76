package report

import (
	"encoding/csv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment/claims"
)

// TestVerdictsAreThoseOfTheClaims compares docs/verdicts.tsv with the experiments: every claim has its verdict there,
// in its present form, and every one that is not met has a cause.
func TestVerdictsAreThoseOfTheClaims(t *testing.T) {
	table := csv.NewReader(strings.NewReader(string(must.Get(os.ReadFile("../../../docs/verdicts.tsv"))(t))))
	table.Comma = '\t'
	verdicts := map[string][]string{}
	for _, line := range must.Get(table.ReadAll())(t)[1:] {
		name, mark, claim, cause := line[0], line[5], line[6], line[9]
		if verdicts[name] = append(verdicts[name], claim); claim == "" {
			verdicts[name] = nil // not run in full yet
		}
		if claim != "" && mark != "✓" && cause == "" {
			t.Errorf("%s: %s is %s, and nothing says why", name, claim, mark)
		}
	}
	for _, name := range configs.Papers() {
		got, ok := verdicts[name]
		if delete(verdicts, name); !ok {
			t.Errorf("%s has no verdicts; run make verdicts EXPERIMENTS=%s", name, name)
			continue
		}
		if got == nil {
			continue
		}
		var want []string
		for _, c := range loaded(t, name).Claims {
			want = append(want, claims.OneLine(c.Claim))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the claims are\n%q\nthe table has\n%q\nrun make verdicts EXPERIMENTS=%s", name, want, got, name)
		}
	}
	for name := range verdicts {
		t.Errorf("%s is no experiment; remove its verdicts", name)
	}
}
