package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/seeded"
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
	const holds, fails = "hit_ratio(a) > hit_ratio(b)", "hit_ratio(a) < hit_ratio(b)"
	const exceeds = "hit_ratio(a) about 30% or more"
	other := "1 claim has another verdict than expected; if that is right, change what the experiment expects"
	for _, test := range []struct{ claim, expected, want, says string }{
		{holds, "", "", "reproduced"},
		{fails, "", "1 claim is refuted", "refuted"},
		{exceeds, "", "", "exceeded"},
		{fails, "refuted, because a hits more", "", "refuted, as expected"},
		{holds, "refuted, because a hits more", other, "reproduced, but expected: refuted"},
		{exceeds, "refuted, because a hits more", other, "exceeded, but expected: refuted"},
		{fails, "undecided, because a hits more", other, "refuted, but expected: undecided"},
		{"hit_ratio(a) > hit_ratio(b) where trace = u", "refuted, because a hits more", "", "not testable here"},
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
	if got, want := s.Verdict(), "checked 1 of 1 claim: 1 reproduced"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := "read as relative; read as points: refuted, 25.00% beside 50%, outside 45.00% to 55.00% (t, capacity 10)"
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
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || read.OtherReadings[0].Verdict != claims.Refuted ||
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
		as(claims.Reproduced, ""), as(claims.Exceeded, claims.Exceeded), as(claims.Exceeded, ""), as(claims.Undecided, ""),
		as(claims.Refuted, claims.Refuted), as(claims.Refuted, ""),
	}}
	want := "checked 6 of 6 claims: 1 reproduced, 2 exceeded (1 as expected), 1 undecided, 2 refuted (1 as expected)"
	if got := s.Verdict(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestClaimsThatCannotFailAreNamed(t *testing.T) {
	s := judged(t, experiment.Claim{Claim: "hit_ratio(a) <= 1"})
	if c := s.Claims[0]; !c.CannotFail || c.verdict() != "reproduced, whatever is measured" {
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
		c := experiment.Claim{Claim: "hit_ratio(a) < hit_ratio(b)", Expected: "refuted, because " + because, Note: "So."}
		s := judged(t, c)
		if got := s.Claims[0].Why(); got != "a hits more. So." {
			t.Errorf("got %q", got)
		}
	}
}

// judgedAll judges claims about a trace t, where a hits 50% and b 25%, and a trace u, where a hits nothing.
func judgedAll(t *testing.T, cs ...experiment.Claim) []Claim {
	t.Helper()
	var recs []records.Record
	for _, of := range []struct {
		trace, label string
		x            float64
	}{{"t", "a", 0.5}, {"t", "b", 0.25}, {"u", "a", 0}, {"u", "b", 0.25}} {
		recs = append(recs, records.Record{Trace: of.trace, Label: of.label, Kind: "online", CapacityText: "10", Capacity: 10,
			Values: metric.ValuesOf(map[string]float64{"hit_ratio": of.x})})
	}
	return must.Get(judge(&experiment.File{Name: "x", Claims: cs, Traces: []experiment.Trace{{Name: "t"}, {Name: "u"}}},
		recs))(t)
}

// A precondition that is refuted or not tested takes the verdict of the claims that hang on it, and of those that hang
// on these; one that is met or undecided does not. What was measured stays.
func TestPreconditionsGateClaims(t *testing.T) {
	const met, refuted, absent = "hit_ratio(b) < 30%", "hit_ratio(b) > 30%", "hit_ratio(c) > 30%"
	for _, test := range []struct {
		before string
		want   claims.Verdict
		reason string
	}{
		{met, claims.Reproduced, ""},
		{refuted, claims.NotTestable, "its precondition is refuted: hit_ratio(b) > 30% (25.00% to 25.00%, fails at 2 of 2 " +
			"points"},
		{absent, claims.NotTestable, "its precondition is not testable here: hit_ratio(c) > 30% (no record of c"},
	} {
		all := judgedAll(t, experiment.Claim{Claim: test.before, Name: "p"},
			experiment.Claim{Claim: "hit_ratio(b) > 20%", Name: "q", Given: "p"},
			experiment.Claim{Claim: "hit_ratio(a) < 60%", Given: "q", Expected: "refuted"}, experiment.Claim{Claim: met})
		for _, c := range all[1:3] {
			if c.Verdict != test.want || c.Measured == "" {
				t.Errorf("given %s: %s is %s, measured %q; want %s", test.before, c.Claim, c.Verdict, c.Measured, test.want)
			}
		}
		if got := all[1].Reason; !strings.HasPrefix(got, test.reason) || test.reason == "" && got != "" {
			t.Errorf("given %s: the reason is %q, want %q", test.before, got, test.reason)
		}
		if all[3].Verdict != claims.Reproduced {
			t.Errorf("a claim without a precondition is %s", all[3].Verdict)
		}
		if gated := test.want == claims.NotTestable; gated && (len(all[2].quantities) == 0 ||
			!all[2].Expected.Met(all[2].Verdict)) {
			t.Errorf("what was measured of %s is not pinned", all[2].Claim)
		}
	}
}

// Of any list of claims, each with a precondition above it or none, those lose their verdict from which a chain of
// preconditions leads to one that is refuted or not tested.
func TestGatesAgreeWithNaiveReading(t *testing.T) {
	texts := map[claims.Verdict]string{claims.Reproduced: "hit_ratio(b) < 30%", claims.Refuted: "hit_ratio(b) > 30%",
		claims.Exceeded: "hit_ratio(b) about 10% or more", claims.NotTestable: "hit_ratio(c) > 30%"}
	verdicts := []claims.Verdict{claims.Reproduced, claims.Refuted, claims.Exceeded, claims.NotTestable}
	whole := t
	gated := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "claims")
		of, given := make([]claims.Verdict, n), make([]int, n)
		var cs []experiment.Claim
		for i := range n {
			of[i] = rapid.SampledFrom(verdicts).Draw(t, "verdict")
			given[i] = rapid.IntRange(-1, i-1).Draw(t, "given")
			c := experiment.Claim{Claim: texts[of[i]], Name: strconv.Itoa(i)}
			if given[i] >= 0 {
				c.Given = strconv.Itoa(given[i])
			}
			cs = append(cs, c)
		}
		for i, c := range judgedAll(whole, cs...) {
			want := of[i]
			for at := given[i]; at >= 0; at = given[at] {
				if of[at] == claims.Refuted || of[at] == claims.NotTestable {
					want = claims.NotTestable
				}
			}
			if c.Verdict != want {
				t.Fatalf("claim %d of %v, given %v, is %s, want %s", i, of, given, c.Verdict, want)
			}
			if want != of[i] {
				gated++
			}
		}
	})
	seeded.Covers(t, gated > 0, "no claim lost its verdict")
}

// A claim that excludes a trace of the experiment is counted as narrowed, and what it comes to on all is shown.
func TestNarrowedClaimsAreShown(t *testing.T) {
	all := judgedAll(t, experiment.Claim{Claim: "hit_ratio(a) > hit_ratio(b) where trace != u"},
		experiment.Claim{Claim: "hit_ratio(a) > hit_ratio(b) where trace = t"},
		experiment.Claim{Claim: "hit_ratio(a) > hit_ratio(b) where trace != v"})
	if c := all[0]; c.Verdict != claims.Reproduced || c.Narrowed.Verdict != claims.Refuted ||
		!strings.HasPrefix(c.read(), "narrowed: without u; with it refuted, fails at 1 of 2 points") {
		t.Errorf("got %+v: %s", c, c.read())
	}
	for _, c := range all[1:] {
		if len(c.Narrowed.Without) > 0 || c.read() != "" {
			t.Errorf("%s is narrowed: %s", c.Claim, c.read())
		}
	}
	got, want := Summary{Claims: all}.Verdict(), "checked 3 of 3 claims: 2 reproduced (1 narrowed), 1 refuted"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A constant that was fitted on the number of a claim makes it no result, and is said beside the verdict.
func TestCalibratedClaimsSayTheirConstant(t *testing.T) {
	all := judgedAll(t, experiment.Claim{Claim: "hit_ratio(b) > 20%", Calibrated: "scale, because no time is stated"},
		experiment.Claim{Claim: "hit_ratio(b) > 30%", Calibrated: "scale, because no time is stated", Note: "why"})
	if c := all[0]; c.Verdict != claims.Calibrated || c.Mark() != "c" || c.Why() != "scale was fitted on this number: no "+
		"time is stated" || !c.Expected.Met(c.Verdict) {
		t.Errorf("got %s %s: %s", c.Mark(), c.Verdict, c.Why())
	}
	if c := all[1]; c.Verdict != claims.Refuted || c.Why() != "why" {
		t.Errorf("got %s: %s", c.Verdict, c.Why())
	}
}

// The index counts the sentences of each paper that ran, without questions of ours.
func TestIndexCountsByPaper(t *testing.T) {
	as := func(v claims.Verdict, ours bool) Claim { return Claim{Finding: claims.Finding{Verdict: v}, Ours: ours} }
	got := papersTable([]Summary{
		{Name: "laru-fig4", Claims: []Claim{as(claims.Reproduced, false), as(claims.Refuted, true)}},
		{Name: "laru-fig5", Claims: []Claim{as(claims.Refuted, false), as(claims.Refuted, false)}},
		{Name: "qsac-fig2", Claims: []Claim{as(claims.Calibrated, false)}}, {Name: "zipf-skew", Claims: []Claim{
			as(claims.Reproduced, false)}},
	})
	want := [][]string{{"LARU", "3", "1", "0", "2", "1"}, {"LiteCache", "1", "0", "1", "0", "0"}}
	if !slices.EqualFunc(got.Rows, want, slices.Equal) || len(got.Columns) != len(want[0]) {
		t.Errorf("got %q of %+v, want %q", got.Rows, got.Columns, want)
	}
	if rows := papersTable([]Summary{{Name: "zipf-skew", Claims: []Claim{as(claims.Refuted, false)}}}).Rows; rows != nil {
		t.Errorf("an experiment of no paper has the rows %q", rows)
	}
}
