package claims

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Sentence is a sentence of a source as an experiment states it: in a form that can be checked, with notes for readers.
// All texts except Claim may be "".
type Sentence struct {
	Claim  string `yaml:"claim"`            // "hit_ratio(arc) > hit_ratio(lru) where trace = oltp"
	Stated string `yaml:"stated,omitempty"` // the source's number or words
	At     string `yaml:"at,omitempty"`     // where the source says it
	Note   string `yaml:"note,omitempty"`
	// Reading is how Claim reads a sentence that can be read in several ways. Claim is the likeliest, and its verdict is
	// that of the sentence.
	Reading       string    `yaml:"reading,omitempty"`
	OtherReadings []Reading `yaml:"other-readings,omitempty"`
	// Ours marks a question of ours, which is no sentence of the source.
	Ours bool `yaml:"ours,omitempty"`
	// Name is by what Given refers to the claim. Given is the precondition, a claim above: where that is not met, this
	// claim says nothing.
	Name  string `yaml:"name,omitempty"`
	Given string `yaml:"given,omitempty"`
	// Calibrated is the constant of ours that was fitted on the very number of the claim, and why: "launch_us of decode,
	// because the source has no time of a launch".
	Calibrated string `yaml:"calibrated,omitempty"`
	// Expected is the verdict that is expected, if it is not "reproduced", and why: "refuted, because the trace is short".
	// The reason may be left out beside a Note. ExpectedQuick is that of the quick version, if it is another.
	Expected      string   `yaml:"expected,omitempty"`
	ExpectedQuick string   `yaml:"expected-quick,omitempty"`
	Changed       []Change `yaml:"changed,omitempty"`
}

// Said is what a source states, or a question of ours, marked as one; "" if that is "".
func Said(stated string, ours bool) string {
	if ours && stated != "" {
		return "[ours] " + stated
	}
	return stated
}

type Reading struct {
	Reading string `yaml:"reading" json:"reading"`
	Claim   string `yaml:"claim" json:"claim"`
}

// Change is an earlier form of a claim, which was changed after its first verdict.
type Change struct {
	On     string `yaml:"on" json:"on"` // a date, 2026-11-23
	Before string `yaml:"before" json:"before"`
	Why    string `yaml:"why" json:"why"`
}

// Expectation is the verdict that is expected of a claim. The zero value expects that it is not refuted.
type Expectation struct {
	Verdict Verdict `json:"verdict"`
	Because string  `json:"because"` // "" if the note says it
}

// Expects returns what the full or the quick version expects.
func (s Sentence) Expects(quick bool) Expectation {
	text := s.Expected
	if quick && s.ExpectedQuick != "" {
		text = s.ExpectedQuick
	}
	x, _ := parseExpectation(text) // see Check
	return x
}

// Met reports whether a verdict is as expected. What cannot be checked contradicts nothing.
func (x Expectation) Met(verdict Verdict) bool {
	switch {
	case verdict == NotTestable:
		return true
	case x.Verdict == "":
		return verdict != Refuted
	case verdict == Calibrated:
		return x.Verdict == Reproduced
	}
	return verdict == x.Verdict
}

// expectable are the verdicts that may be expected.
var expectable = []string{string(Reproduced), string(Exceeded), string(Undecided), string(Refuted)}

// parseExpectation parses "refuted, because REASON", or the verdict alone.
func parseExpectation(text string) (x Expectation, err error) {
	if text == "" {
		return Expectation{}, nil
	}
	word, because, err := reasoned(text)
	if err == nil && !slices.Contains(expectable, word) {
		err = fmt.Errorf("%w; write it as in \"refuted, because the trace is generated\"",
			suggest.Unknown("verdict", word, expectable))
	}
	return Expectation{Verdict(word), because}, err
}

// reasoned splits "WHAT, because WHY"; WHY is "" where it is not given.
func reasoned(text string) (what, why string, err error) {
	what, why, given := strings.Cut(OneLine(text), ", because")
	if given && why == "" {
		err = errors.New("the reason after \"because\" is missing")
	}
	return what, strings.TrimPrefix(why, " "), err
}

// Calibration is the constant of ours that was fitted on the number of a claim.
type Calibration struct {
	Constant string `json:"constant"` // "" if none was
	Because  string `json:"because"`
}

// Calibration returns what Calibrated says.
func (s Sentence) Calibration() Calibration {
	constant, because, _ := reasoned(s.Calibrated) // see Check
	return Calibration{constant, because}
}

// Judged is the verdict of the sentence, given that of its claim.
func (s Sentence) Judged(of Verdict) Verdict {
	if of == Reproduced && s.Calibrated != "" {
		return Calibrated
	}
	return of
}

// OneLine returns a text of an experiment file, which may span several lines there, as one line.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Check parses the claims of the sentence, hands each to names, and checks the other texts. path leads to what is
// wrong.
func (s Sentence) Check(names func(*Claim) error) (path []any, err error) {
	check := func(text string) error {
		claim, err := Parse(text)
		if err != nil {
			return err
		}
		return names(claim)
	}
	if err := check(s.Claim); err != nil {
		return []any{"claim"}, err
	}
	if len(s.OtherReadings) > 0 && OneLine(s.Reading) == "" {
		return []any{"other-readings"}, errors.New("name the likeliest reading, that of the claim, under the key reading")
	}
	if len(s.OtherReadings) == 0 && s.Reading != "" {
		return []any{"reading"}, errors.New("a sentence with one reading needs no name for it; add other-readings")
	}
	named, forms := []string{OneLine(s.Reading)}, []string{OneLine(s.Claim)}
	for i, r := range s.OtherReadings {
		reading, form := OneLine(r.Reading), OneLine(r.Claim)
		switch {
		case reading == "":
			return []any{"other-readings", i}, errors.New("the reading has no name; add it under the key reading")
		case slices.Contains(named, reading):
			return []any{"other-readings", i, "reading"}, fmt.Errorf("two readings are called %q", reading)
		case slices.Contains(forms, form):
			return []any{"other-readings", i, "claim"}, fmt.Errorf("another reading has the same claim, %s", form)
		}
		named, forms = append(named, reading), append(forms, form)
		if err := check(r.Claim); err != nil {
			return []any{"other-readings", i, "claim"}, err
		}
	}
	if path, err := s.checkExpectations(); err != nil {
		return path, err
	}
	if c := s.Calibration(); s.Calibrated != "" && (c.Constant == "" || c.Because == "") {
		return []any{"calibrated"}, fmt.Errorf("%q names no constant and why it was fitted; write it as in \"launch_us of "+
			"decode, because the source has no time of a launch\"", OneLine(s.Calibrated))
	}
	for i, c := range s.Changed {
		if err := c.check(); err != nil {
			return []any{"changed", i}, err
		}
	}
	return nil, nil
}

func (s Sentence) checkExpectations() (path []any, err error) {
	for _, key := range []string{"expected", "expected-quick"} {
		text := map[string]string{"expected": s.Expected, "expected-quick": s.ExpectedQuick}[key]
		x, err := parseExpectation(text)
		switch {
		case err != nil:
		case key == "expected" && x.Verdict == Reproduced:
			err = errors.New("that a claim is reproduced is expected anyway; remove the key")
		case x.Verdict != "" && x.Verdict != Reproduced && x.Because == "" && s.Note == "":
			err = fmt.Errorf("nothing says why; write \"%s, because ...\", or add a note", text)
		}
		if err != nil {
			return []any{key}, err
		}
	}
	return nil, nil
}

func (c Change) check() error {
	if _, err := time.Parse(time.DateOnly, c.On); err != nil {
		return fmt.Errorf("on: %q is not a date such as 2026-11-23", c.On)
	}
	if OneLine(c.Before) == "" || OneLine(c.Why) == "" {
		return errors.New("a change needs the earlier form of the claim (before) and the reason (why)")
	}
	return nil
}

func (s Sentence) Forms() []string {
	forms := []string{s.Claim}
	for _, r := range s.OtherReadings {
		forms = append(forms, r.Claim)
	}
	return slices.Clip(forms)
}
