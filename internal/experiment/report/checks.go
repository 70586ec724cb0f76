package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/checks"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
)

// outcomeOf are the verdicts for CI systems. What cannot be checked is no failure, but is said.
var outcomeOf = map[claims.Verdict]checks.Outcome{
	claims.Holds: checks.Passed, claims.DoesNotHold: checks.Fails, claims.NotCheckable: checks.Skipped,
}

// suites returns a suite for each experiment, with a case for each claim.
func suites(summaries []Summary) (all []checks.Suite) {
	for _, s := range summaries {
		suite := checks.Suite{Name: s.Name, File: s.File, Summary: records.Printable(s.Name + ": " + s.Verdict())}
		for _, c := range s.Claims {
			suite.Cases = append(suite.Cases, c.toCase())
		}
		all = append(all, suite)
	}
	return all
}

func (c Claim) toCase() checks.Case {
	text := details(c)
	if c.Verdict != claims.Holds { // which the kind says
		text = strings.TrimPrefix(strings.TrimPrefix(text, string(c.Verdict)), "; ")
	}
	if why := c.Why(); why != "" {
		text += "; why: " + why
	}
	return checks.Case{
		Class: c.Experiment, Name: c.Claim, Outcome: outcomeOf[c.Verdict], Kind: string(c.Verdict), Message: text,
		Title: records.Printable(string(c.Verdict) + ": " + c.Claim), Line: c.line,
	}
}

// Judge fails if a claim does not hold. One that cannot be checked here is not a failure.
func Judge(summaries ...Summary) error {
	failing := 0
	for _, s := range summaries {
		failing += s.Count(claims.DoesNotHold)
	}
	switch failing {
	case 0:
		return nil
	case 1:
		return checks.Failed(errors.New("1 claim does not hold"))
	}
	return checks.Failed(fmt.Errorf("%d claims do not hold", failing))
}
