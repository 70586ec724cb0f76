package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
)

type Summary struct {
	Name   string
	Title  string
	Source string
	Quick  bool
	Claims []Claim
	// Published says for each reference how many of its numbers ours agree with: "table 1: 16 of 16 agree with ARC paper
	// within 0.005 points".
	Published []string
	Notes     []string // figures and tables that could not be drawn, with the reason
	Failure   string   // why the experiment could not run; "" if it ran
	Page      string   // path of the report; "" if there is none
	File      string   // with the experiment; "" if it is built in
	Digest    string   // of the results that no seed of a policy decides
	Moved     []string // in sentences, what has left the band of its pin
}

// Count counts the claims with a verdict.
func (s Summary) Count(verdict claims.Verdict) int {
	return records.Count(s.Claims, func(c Claim) bool { return c.Verdict == verdict })
}

func (s Summary) checked() int { return len(s.Claims) - s.Count(claims.NotTestable) }

// IsSmokeTest reports whether this is a quick version that checks less than half of the claims.
func (s Summary) IsSmokeTest() bool { return s.Quick && 2*s.checked() < len(s.Claims) }

// version says in brackets that this is the quick version, and whether that is a smoke test; "" for the whole.
func (s Summary) version() string {
	switch {
	case !s.Quick:
		return ""
	case s.IsSmokeTest():
		return " (quick version, a smoke test)"
	}
	return " (quick version)"
}

// Verdict counts the claims by outcome, in words: "checked 6 of 7 claims: 5 reproduced, 1 refuted, 1 not testable
// here".
func (s Summary) Verdict() string {
	if len(s.Claims) == 0 {
		return "no claims"
	}
	var parts []string
	for _, v := range claims.Verdicts {
		n := s.Count(v)
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s", n, v)
		as := records.Count(s.Claims, func(c Claim) bool { return c.Verdict == v && c.Expected.Verdict == v })
		narrowed := records.Count(s.Claims, func(c Claim) bool { return c.Verdict == v && len(c.Narrowed.Without) > 0 })
		switch {
		case v == claims.Reproduced && narrowed > 0:
			text += fmt.Sprintf(" (%d narrowed)", narrowed)
		case v != claims.Reproduced && as > 0:
			text += fmt.Sprintf(" (%d as expected)", as)
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("checked %d of %s: %s", s.checked(), show.Counted(len(s.Claims), "claim"),
		strings.Join(parts, ", "))
}

// Total counts the claims of several experiments: "3 experiments, 1 of them not run; checked 12 of 12 claims: 11
// reproduced, 1 refuted".
func Total(summaries []Summary) string {
	all, notRun := Summary{}, 0
	for _, s := range summaries {
		all.Claims = append(all.Claims, s.Claims...)
		if s.Failure != "" {
			notRun++
		}
	}
	text := show.Counted(len(summaries), "experiment")
	if notRun > 0 {
		text += fmt.Sprintf(", %d of them not run", notRun)
	}
	return text + "; " + all.Verdict()
}

// classOf is the style of a verdict on the page.
func classOf(v claims.Verdict) string {
	switch v {
	case claims.Reproduced:
		return "holds"
	case claims.Refuted:
		return "fails"
	}
	return "open"
}

// occurring returns the verdicts to list: reproduced and refuted, and the others if some claim has them.
func occurring(summaries []Summary) (all []claims.Verdict) {
	for _, v := range claims.Verdicts {
		if v == claims.Reproduced || v == claims.Refuted ||
			slices.ContainsFunc(summaries, func(s Summary) bool { return s.Count(v) > 0 }) {
			all = append(all, v)
		}
	}
	return all
}

// CannotFail warns of the claims that no result could fail.
func (s Summary) CannotFail() (warnings []string) {
	for _, c := range s.Claims {
		if c.CannotFail {
			warnings = append(warnings, fmt.Sprintf("no result could fail the claim %q: it holds with 1,000 sets of random "+
				"values, too; state one that can fail, or leave it out", c.Claim))
		}
	}
	return warnings
}

// Remarks are the limits of the summary, and the evidence that supports it.
func (s Summary) Remarks() (remarks []string) {
	if s.Failure != "" {
		remarks = append(remarks, s.Failure)
	}
	return slices.Concat(remarks, s.movedText(), s.Published, s.Notes)
}
