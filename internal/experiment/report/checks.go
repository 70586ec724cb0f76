package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/experiment/claims"
)

// outcome is the verdict for CI systems. What cannot be checked is no failure, but is said; so is a verdict other than
// "reproduced" that was expected, or that is neither.
func (c Claim) outcome() checks.Outcome {
	switch {
	case !c.Expected.Met(c.Verdict):
		return checks.Fails
	case c.Verdict == claims.NotTestable:
		return checks.Skipped
	case c.Verdict == claims.Reproduced:
		return checks.Passed
	}
	return checks.Noted
}

// suites returns a suite for each experiment, with a case for each claim.
func suites(summaries []Summary) (all []checks.Suite) {
	for _, s := range summaries {
		suite := checks.Suite{Name: s.Name, File: s.File, Summary: show.Printable(s.Name + ": " + s.Verdict())}
		for _, c := range s.Claims {
			suite.Cases = append(suite.Cases, c.toCase())
		}
		if text := s.movedText(); text != nil {
			suite.Cases = append(suite.Cases, checks.Case{Class: s.Name, Name: "pins", Outcome: checks.Fails,
				Kind: "moved", Message: show.Printable(text[0]), Title: "values have moved since they were pinned"})
		}
		all = append(all, suite)
	}
	return all
}

func (c Claim) toCase() checks.Case {
	text := details(c)
	if c.outcome() != checks.Passed { // which the kind says
		text = strings.TrimPrefix(strings.TrimPrefix(text, c.verdict()), "; ")
	}
	if why := c.Why(); why != "" {
		text += "; why: " + why
	}
	return checks.Case{
		Class: c.Experiment, Name: c.Claim, Outcome: c.outcome(), Kind: c.verdict(), Message: text,
		Title: show.Printable(c.verdict() + ": " + c.Claim), Line: c.line,
	}
}

// Judge fails if a claim has another verdict than expected; usually, if it does not hold. A claim that cannot be
// checked here is no failure. It fails as well if a value has left the band of its pin, upwards or downwards.
func Judge(summaries ...Summary) error {
	failing, changed, moved := 0, 0, 0
	for _, s := range summaries {
		moved += len(s.Moved)
		for _, c := range s.Claims {
			switch {
			case c.Expected.Met(c.Verdict):
			case c.Expected.Verdict == "":
				failing++
			default:
				changed++
			}
		}
	}
	var parts []string
	if failing > 0 {
		parts = append(parts, plural(failing, "claim is refuted", "claims are refuted"))
	}
	if changed > 0 {
		parts = append(parts, plural(changed, "claim has another verdict than expected",
			"claims have other verdicts than expected")+"; if that is right, change what the experiment expects")
	}
	if moved > 0 {
		parts = append(parts, plural(moved, "value is not what is pinned", "values are not what is pinned")+
			"; if that is right, write new pins with --pin and --why")
	}
	if len(parts) == 0 {
		return nil
	}
	return checks.Failed(errors.New(strings.Join(parts, "; ")))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
