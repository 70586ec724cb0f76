package claims

import (
	"fmt"
	"strings"
	"testing"
)

const form, other = "hits(a) > hits(b)", "hits(a) > 2"

func TestSentencesAreChecked(t *testing.T) {
	for _, test := range []struct {
		s    Sentence
		want string // path: error; "" if it is right
	}{
		{Sentence{Claim: form}, ""},
		{Sentence{Claim: form, Expected: "fails, because the trace is short"}, ""},
		{Sentence{Claim: form, Expected: "undecided", Note: "Two seeds."}, ""},
		{Sentence{Claim: form, ExpectedQuick: "holds"}, ""},
		{Sentence{Claim: form, Expected: "fails"}, `[expected]: nothing says why; write "fails, because ...", or add a note`},
		{Sentence{Claim: form, Expected: "fails, because "}, `[expected]: the reason after "because" is missing`},
		{Sentence{Claim: form, Expected: "holds"}, "[expected]: that a claim holds is expected anyway; remove the key"},
		{Sentence{Claim: form, ExpectedQuick: "exceed"}, `[expected-quick]: unknown verdict "exceed"; did you mean ` +
			`"exceeds"?`},
		{Sentence{Claim: "hits(a)"}, "[claim]: column 8: the end is unexpected here"},
		{Sentence{Claim: form, Reading: "x"}, "[reading]: a sentence with one reading needs no name for it"},
		{Sentence{Claim: form, OtherReadings: []Reading{{"y", form}}}, "[other-readings]: name the likeliest reading"},
		{
			Sentence{Claim: form, Reading: "x", OtherReadings: []Reading{{"", form}}},
			"[other-readings 0]: the reading has no name",
		},
		{Sentence{Claim: form, Reading: "x", OtherReadings: []Reading{{"y", "z"}}}, "[other-readings 0 claim]: column 2"},
		{Sentence{Claim: form, Reading: "x", OtherReadings: []Reading{{"y", other}}}, ""},
		{
			Sentence{Claim: form, Reading: "x y", OtherReadings: []Reading{{" x\ny", other}}},
			`[other-readings 0 reading]: two readings are called "x y"`,
		},
		{
			Sentence{Claim: form, Reading: "x", OtherReadings: []Reading{{"y", other}, {"z", " " + other}}},
			"[other-readings 1 claim]: another reading has the same claim, hits(a) > 2",
		},
		{
			Sentence{Claim: form, Reading: "x", OtherReadings: []Reading{{"y", form}}},
			"[other-readings 0 claim]: another reading has the same claim, hits(a) > hits(b)",
		},
		{Sentence{Claim: form, Reading: " ", OtherReadings: []Reading{{"y", other}}}, "[other-readings]: name the likeliest"},
		{
			Sentence{Claim: form, Reading: "x", OtherReadings: []Reading{{" ", other}}},
			"[other-readings 0]: the reading has no name",
		},
		{Sentence{Claim: form, Changed: []Change{{"2026-11-23", " ", "w"}}}, "[changed 0]: a change needs the earlier form"},
		{Sentence{Claim: form, Changed: []Change{{"2026-11-23", "b", "w"}}}, ""},
		{Sentence{Claim: form, Changed: []Change{{"23.11.2026", "b", "w"}}}, `[changed 0]: on: "23.11.2026" is not a date`},
		{Sentence{Claim: form, Changed: []Change{{"2026-11-23", "", "w"}}}, "[changed 0]: a change needs the earlier form"},
	} {
		path, err := test.s.Check(func(*Claim) error { return nil })
		got := ""
		if err != nil {
			got = fmt.Sprintf("%v: %v", path, err)
		}
		if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%+v\n got %s\nwant %s", test.s, got, test.want)
		}
	}
	calls := 0
	s := Sentence{Claim: form, Reading: "x", OtherReadings: []Reading{{"y", other}}}
	if _, err := s.Check(func(*Claim) error { calls++; return nil }); err != nil || calls != len(s.Forms()) {
		t.Errorf("the names of %d forms were checked (%v), want %d", calls, err, len(s.Forms()))
	}
}

func TestExpectations(t *testing.T) {
	s := Sentence{Claim: form, Expected: "fails, because it\n is short", ExpectedQuick: "exceeds, because it is shorter"}
	if got, want := s.Expects(false), (Expectation{DoesNotHold, "it is short"}); got != want {
		t.Errorf("the full version expects %+v, want %+v", got, want)
	}
	if got, want := s.Expects(true), (Expectation{Exceeds, "it is shorter"}); got != want {
		t.Errorf("the quick version expects %+v, want %+v", got, want)
	}
	all := []Verdict{Holds, Exceeds, Undecided, DoesNotHold, NotCheckable}
	for expected, met := range map[Verdict]string{
		"": "yes yes yes no yes", Holds: "yes no no no yes", Exceeds: "no yes no no yes", DoesNotHold: "no no no yes yes",
	} {
		var got []string
		for _, v := range all {
			got = append(got, map[bool]string{true: "yes", false: "no"}[Expectation{Verdict: expected}.Met(v)])
		}
		if strings.Join(got, " ") != met {
			t.Errorf("expected %q: %v, want %s", expected, got, met)
		}
	}
}
