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
		{Sentence{Claim: form, Expected: "refuted, because the trace is short"}, ""},
		{Sentence{Claim: form, Expected: "undecided", Note: "Two seeds."}, ""},
		{Sentence{Claim: form, ExpectedQuick: "reproduced"}, ""},
		{
			Sentence{Claim: form, Expected: "refuted"},
			`[expected]: nothing says why; write "refuted, because ...", or add a note`,
		},
		{Sentence{Claim: form, Expected: "refuted, because "}, `[expected]: the reason after "because" is missing`},
		{
			Sentence{Claim: form, Expected: "reproduced"},
			"[expected]: that a claim is reproduced is expected anyway; remove the key",
		},
		{Sentence{Claim: form, ExpectedQuick: "exceeds"}, `[expected-quick]: unknown verdict "exceeds"; did you mean ` +
			`"exceeded"?`},
		{Sentence{Claim: form, Expected: "calibrated"}, `[expected]: unknown verdict "calibrated"`},
		{Sentence{Claim: form, Calibrated: "scale, because no time is stated"}, ""},
		{Sentence{Claim: form, Calibrated: "scale"}, `[calibrated]: "scale" names no constant and why it was fitted`},
		{Sentence{Claim: form, Calibrated: ", because x"}, `[calibrated]: ", because x" names no constant`},
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
	s := Sentence{
		Claim: form, Expected: "refuted, because it\n is short", ExpectedQuick: "exceeded, because it is shorter",
	}
	if got, want := s.Expects(false), (Expectation{Refuted, "it is short"}); got != want {
		t.Errorf("the full version expects %+v, want %+v", got, want)
	}
	if got, want := s.Expects(true), (Expectation{Exceeded, "it is shorter"}); got != want {
		t.Errorf("the quick version expects %+v, want %+v", got, want)
	}
	all := []Verdict{Reproduced, Exceeded, Undecided, Refuted, NotTestable, Calibrated}
	for expected, met := range map[Verdict]string{
		"": "yes yes yes no yes yes", Reproduced: "yes no no no yes yes", Exceeded: "no yes no no yes no",
		Refuted: "no no no yes yes no",
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

// A claim on whose number a constant was fitted is reproduced by construction, and refuted like any other.
func TestCalibratedClaimsAreCountedApart(t *testing.T) {
	s := Sentence{Claim: form, Calibrated: "scale of the\n model, because no time is stated"}
	if got, want := s.Calibration(), (Calibration{"scale of the model", "no time is stated"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, v := range Verdicts {
		want := v
		if v == Reproduced {
			want = Calibrated
		}
		if got := s.Judged(v); got != want {
			t.Errorf("%s is judged %s, want %s", v, got, want)
		}
		if got := (Sentence{Claim: form}).Judged(v); got != v {
			t.Errorf("without a constant, %s is judged %s", v, got)
		}
	}
}

func TestVerdictsHaveMarks(t *testing.T) {
	var marks, met string
	for _, v := range Verdicts {
		if marks += v.Mark(); v.IsMet() {
			met += v.Mark()
		}
	}
	if marks != "✓↑c≈✗–" || met != "✓↑c" {
		t.Errorf("the marks are %q, and %q are met", marks, met)
	}
}

// Conditions that exclude traces narrow a claim; those that say of which traces it is do not.
func TestWhole(t *testing.T) {
	for text, want := range map[string]string{
		"hits(a) > 1 where trace != t": "hits(a) > 1 without [t]",
		"hits(a) > 1 at 50% of points where capacity = 3 and trace not in t, u": "hits(a) > 1 at 50% of points " +
			"where capacity = 3 without [t u]",
		"hits(a) > 1":                      "nothing",
		"hits(a) > 1 where trace = t":      "nothing",
		"hits(a) > 1 where tau != 0.5":     "nothing",
		"hits(a) > 1 where trace in t":     "nothing",
		"hits(a) > 1 where noise not in 1": "nothing",
	} {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := "nothing"
		if whole, without := c.Whole(); whole != nil {
			got = fmt.Sprintf("%s without %v", whole, without)
		}
		if got != want || c.String() != text {
			t.Errorf("%s: got %s, want %s", c, got, want)
		}
	}
}
