package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/page"
)

// judged judges one claim about two policies, whose hit ratios are 50% and 25%.
func judged(t *testing.T, c experiment.Claim) Summary {
	t.Helper()
	var recs []records.Record
	for label, x := range map[string]float64{"a": 0.5, "b": 0.25} {
		recs = append(recs, records.Record{Trace: "t", Label: label, Kind: "online", CapacityText: "10", Capacity: 10,
			Values: metric.ValuesOf(map[string]float64{"hit_ratio": x})})
	}
	all := must.Get(judge(&experiment.File{Name: "x", Claims: []experiment.Claim{c}}, recs))(t)
	return Summary{Name: "x", Claims: all}
}

// With --strict, a claim fails that does not hold, and one whose verdict is not the announced one.
func TestJudgeComparesWithWhatIsExpected(t *testing.T) {
	const holds, fails, exceeds = "hit_ratio(a) > hit_ratio(b)", "hit_ratio(a) < hit_ratio(b)", "hit_ratio(a) about 30%"
	other := "1 claim has another verdict than expected; if that is right, change what the experiment expects"
	for _, test := range []struct{ claim, expected, want, says string }{
		{holds, "", "", "holds"},
		{fails, "", "1 claim does not hold", "does not hold"},
		{exceeds, "", "", "exceeds"},
		{fails, "fails, because a hits more", "", "does not hold, as expected"},
		{holds, "fails, because a hits more", other, "holds, but expected not to hold"},
		{exceeds, "fails, because a hits more", other, "exceeds, but expected not to hold"},
		{fails, "undecided, because a hits more", other, "does not hold, but expected to be undecided"},
		{"hit_ratio(a) > hit_ratio(b) where trace = u", "fails, because a hits more", "", "not checkable here"},
	} {
		s := judged(t, experiment.Claim{Claim: test.claim, Expected: test.expected})
		got := ""
		if err := Judge(s); err != nil {
			got = err.Error()
		}
		if got != test.want || s.Claims[0].verdict() != test.says {
			t.Errorf("%s, expected %q: %q, %q; want %q, %q", test.claim, test.expected, got, s.Claims[0].verdict(), test.want,
				test.says)
		}
	}
}

// The verdict on a sentence with two readings is that of the likelier one; the other is shown beside it.
func TestReadingsHaveOneVerdict(t *testing.T) {
	s := judged(t, experiment.Claim{
		Claim: "1 - hit_ratio(b) / hit_ratio(a) about 50%", Reading: "relative",
		OtherReadings: []claims.Reading{{Reading: "points", Claim: "hit_ratio(a) - hit_ratio(b) about 50%"}},
		Changed:       []claims.Change{{On: "2026-11-23", Before: "hit_ratio(a) > 1%", Why: "too <weak>"}},
	})
	if got, want := s.Verdict(), "checked 1 of 1 claim: 1 holds"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := "read as relative; read as points: does not hold, 25.00% beside 50%, outside 45.00% to 55.00% (t, capacity 10)"
	if got := s.Claims[0].read(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, format := range []string{"table", "markdown"} {
		var out bytes.Buffer
		if err := Print(&out, []Summary{s}, format, PrintOptions{}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s (%v) lacks %q:\n%s", format, err, want, out.String())
		}
	}
	var out bytes.Buffer
	must.Do(t, Print(&out, []Summary{s}, "json", PrintOptions{}))
	var read Claim
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || read.OtherReadings[0].Verdict != claims.DoesNotHold ||
		read.OtherReadings[0].Reading.Reading != "points" || read.Changed[0].Before != "hit_ratio(a) > 1%" {
		t.Errorf("read back as %+v (%v)", read, err)
	}
	var w page.Writer
	writeClaim(&w, s.Claims[0])
	for _, want := range []string{
		"Read as points (hit_ratio(a)", "until 2026-11-23: ", "hit_ratio(a) &gt; 1%", "too &lt;weak&gt;",
	} {
		if !strings.Contains(string(w.Written()), want) {
			t.Errorf("the page lacks %q:\n%s", want, w.Written())
		}
	}
}

func TestSummaryCountsWhatWasExpected(t *testing.T) {
	as := func(v, expected claims.Verdict) Claim {
		return Claim{Finding: claims.Finding{Verdict: v}, Expected: claims.Expectation{Verdict: expected}}
	}
	s := Summary{Claims: []Claim{
		as(claims.Holds, ""), as(claims.Exceeds, claims.Exceeds), as(claims.Exceeds, ""), as(claims.Undecided, ""),
		as(claims.DoesNotHold, claims.DoesNotHold), as(claims.DoesNotHold, ""),
	}}
	want := "checked 6 of 6 claims: 1 holds, 2 exceed (1 as expected), 1 is undecided, 2 do not hold (1 as expected)"
	if got := s.Verdict(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestClaimsThatCannotFailAreNamed(t *testing.T) {
	s := judged(t, experiment.Claim{Claim: "hit_ratio(a) <= 1"})
	if c := s.Claims[0]; !c.CannotFail || c.verdict() != "holds, whatever is measured" {
		t.Errorf("got %+v: %s", c, c.verdict())
	}
	if got := s.CannotFail(); len(got) != 1 || !strings.Contains(got[0], `claim "hit_ratio(a) <= 1": it holds with `+
		`1,000`) {
		t.Errorf("warnings %q", got)
	}
	if s := judged(t, experiment.Claim{Claim: "hit_ratio(a) > 1%"}); s.CannotFail() != nil {
		t.Errorf("warnings %q of a claim that can fail", s.CannotFail())
	}
}

// A reason may end with a full stop; the note follows it.
func TestTheReasonHasOneFullStop(t *testing.T) {
	for _, because := range []string{"a hits more", "a hits more."} {
		c := experiment.Claim{Claim: "hit_ratio(a) < hit_ratio(b)", Expected: "fails, because " + because, Note: "So."}
		s := judged(t, c)
		if got := s.Claims[0].Why(); got != "a hits more. So." {
			t.Errorf("got %q", got)
		}
	}
}
