package compare

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment/baseline"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/records"
)

func gate(t *testing.T, failIf string, tolerances ...string) Options {
	t.Helper()
	g := Gate{FailIf: failIf}
	for _, text := range tolerances {
		g.Rules = append(g.Rules, must.Get(baseline.ParseRule(text))(t))
	}
	return Options{Gate: g}
}

// lru is 0.2 points worse, fifo 0.3 points better, and random within its interval.
func gated() []*Run {
	old := []records.Record{rec("a", "lru", "10", 500), rec("a", "fifo", "10", 500),
		rec("a", "random", "10", 500, seed(1)), rec("a", "random", "10", 500, seed(2))}
	is := []records.Record{rec("a", "lru", "10", 498), rec("a", "fifo", "10", 503),
		rec("a", "random", "10", 490, seed(1)), rec("a", "random", "10", 470, seed(2))}
	return []*Run{newRun("old", old...), newRun("new", is...)}
}

func TestGate(t *testing.T) {
	for _, test := range []struct {
		options Options
		failing string
	}{
		{gate(t, ""), ""},
		{gate(t, FailIfMoved), "lru at 10 on a in new: hit ratio 50.00% → 49.80% (−0.20 points); " +
			"fifo at 10 on a in new: hit ratio 50.00% → 50.30% (+0.30 points)"},
		{gate(t, FailIfMoved, "0.25pp"), "fifo at 10 on a in new: hit ratio 50.00% → 50.30% (+0.30 points)"},
		{gate(t, FailIfMoved, "0.3pp"), ""},
		{gate(t, FailIfMoved, "1%rel", "policy=lru:exact"),
			"lru at 10 on a in new: hit ratio 50.00% → 49.80% (−0.20 points)"},
		{gate(t, FailIfWorse), "lru at 10 on a in new: hit ratio 50.00% → 49.80% (−0.20 points)"},
		{gate(t, FailIfWorse, "0.2pp"), ""},
	} {
		c := compared(t, test.options, gated()...)
		err := c.Err()
		if got := strings.Join(c.failing(), "; "); test.options.Gate.FailIf != "" && got != test.failing {
			t.Errorf("%+v: failing are %q, want %q", test.options.Gate, got, test.failing)
		}
		if (err != nil) != (test.failing != "") || err != nil && !errors.As(err, new(checks.FailedError)) {
			t.Errorf("%+v: %v", test.options.Gate, err)
		}
	}
	if got, want := compared(t, gate(t, FailIfWorse, "0.2pp"), gated()...).gateSummary(&compared(t, gate(t, FailIfWorse,
		"0.2pp"), gated()...).Versus[0]), "new against old: 0 of 3 cells became worse by more than allowed; 1 more may "+
		"have, within their intervals"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An error names ten cells, and JSON counts all.
func TestManyCellsFail(t *testing.T) {
	var old, is []records.Record
	for i := range int64(12) {
		capacity := fmt.Sprint(10 + i)
		old, is = append(old, rec("a", "lru", capacity, 500)), append(is, rec("a", "lru", capacity, 400))
	}
	c := compared(t, gate(t, FailIfMoved), newRun("old", old...), newRun("new", is...))
	if err := c.Err(); err == nil || !strings.HasSuffix(err.Error(), "; and 2 more") {
		t.Errorf("got %v", err)
	}
	if text := printed(t, c, "json"); !strings.Contains(text, `"failed":12`) {
		t.Errorf("JSON is %s", text)
	}
}

func TestGateErrors(t *testing.T) {
	for want, o := range map[string]Options{
		`--tolerance "metric=misses:1%rel" is for misses, and hit_ratio is compared`: gate(t, FailIfMoved,
			"metric=misses:1%rel"),
		`--tolerance "policy=lur:1pp": unknown policy "lur"; did you mean "lru"?`: gate(t, FailIfMoved, "policy=lur:1pp"),
	} {
		if _, err := Compare(gated(), o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	o := gate(t, FailIfMoved, "1pp")
	o.Metric = "misses"
	if _, err := Compare(gated(), o); err == nil || !strings.Contains(err.Error(), "misses is not a ratio") {
		t.Errorf("got %v", err)
	}
	if err := (Gate{}).CheckFormat("junit", Formats); err == nil || !strings.Contains(err.Error(), "--tolerance") {
		t.Errorf("junit without a tolerance: %v", err)
	}
}

// JUnit has a case for each cell and for each result without a partner, whatever their names contain.
func TestJUnit(t *testing.T) {
	const hostile = "a\x1b[31m<b>&\"]]>\n::error::x,y:z%0A|\x00"
	named := func(r *records.Record) { r.Label, r.Trace, r.TraceChecksum = hostile, hostile, "" }
	runs := gated()
	runs[0].add("old", []records.Record{rec("b", "lru", "10", 1, named), rec("b", "mru", "10", 1)})
	runs[1].add("new", []records.Record{rec("b", "lru", "10", 2, named)})
	c := compared(t, gate(t, FailIfMoved), runs...)
	count := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(printed(t, c, "junit")))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		must.Do(t, err)
		if start, ok := token.(xml.StartElement); ok {
			count[start.Name.Local]++
		}
	}
	if count["testcase"] != 5 || count["failure"] != 3 || count["skipped"] != 1 || count["system-out"] != 1 {
		t.Errorf("elements are %v", count)
	}
	t.Setenv("GITHUB_STEP_SUMMARY", "")
	for line := range strings.Lines(printed(t, c, "github")) {
		if strings.HasPrefix(line, "::error::") {
			t.Errorf("a name is a workflow command: %q", line)
		}
	}
	for _, format := range []string{"table", "markdown", "json", "csv"} {
		if text := printed(t, c, format); strings.ContainsAny(text, "\x1b\x00") {
			t.Errorf("%s has control characters: %q", format, text)
		}
	}
}
