package checks

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
)

// rows returns records of two policies at two capacities.
func rows() (recs []records.Record) {
	for i, ratio := range []float64{0.3, 0.572, 0.6, 0.8} {
		r := records.Record{Trace: "day.csv", Policy: "lru", Label: "lru", SampleRate: 1, CapacityText: "1%", Capacity: 10,
			CapacityUnit: records.Objects, Values: metric.ValuesOf(map[string]float64{"hit_ratio": ratio})}
		if i%2 == 1 {
			r.Policy, r.Label = "s3fifo", "s3fifo(small=0.2,ghost=0.9)"
		}
		if i >= 2 {
			r.CapacityText, r.Capacity = "10%", 100
		}
		recs = append(recs, r)
	}
	return recs
}

func floors(t *testing.T, texts ...string) *Floors {
	t.Helper()
	f := &Floors{}
	for _, text := range texts {
		must.Do(t, f.Set(text))
	}
	return f
}

func TestTheLastFloorThatMatchesCounts(t *testing.T) {
	for _, test := range []struct {
		floors          []string
		failing, judged int
	}{
		{nil, 0, 0},
		{[]string{"30%"}, 0, 4},
		{[]string{"0.3001"}, 1, 4},
		{[]string{"57.2%"}, 1, 4}, // 57.2/100 is more than 0.572
		{[]string{"100%"}, 4, 4},
		{[]string{"0"}, 0, 4},
		{[]string{"policy=s3fifo:60%"}, 1, 2},
		{[]string{"policy=s3fifo(small=0.2,ghost=0.9),capacity=10%:60%"}, 0, 1},
		{[]string{"100%", "policy=lru:0.1", "policy=s3fifo,capacity=10:0.5"}, 1, 4},
		{[]string{"policy=lru:100%", "10%"}, 0, 4},
	} {
		j := floors(t, test.floors...).Judge(rows(), false)
		if len(j.failing) != test.failing || len(j.suite.Cases) != test.judged {
			t.Errorf("%q: %d of %d fail, want %d of %d", test.floors, len(j.failing), len(j.suite.Cases), test.failing,
				test.judged)
		}
		if err := j.Err(); (err != nil) != (test.failing > 0) || err != nil && !errors.As(err, new(FailedError)) {
			t.Errorf("%q: %v", test.floors, err)
		}
	}
}

// No cache has no hits, so it reaches a floor only if one is for it.
func TestNoCacheHasNoFloorOfOthers(t *testing.T) {
	records.DeclareRole("idle-here", records.Role{Idle: true})
	recs := rows()[:2]
	recs[0].Policy, recs[0].Label = "idle-here", "idle-here"
	if j := floors(t, "50%").Judge(recs, false); len(j.suite.Cases) != 1 || j.Err() != nil {
		t.Errorf("%d rows are judged: %v", len(j.suite.Cases), j.Err())
	}
	if err := floors(t, "policy=idle-here:50%").Judge(recs, false).Err(); err == nil {
		t.Error("a floor of its own is ignored")
	}
}

func TestARowWithoutAHitRatioFails(t *testing.T) {
	recs := rows()[:1]
	recs[0].Delete(metric.HitRatio)
	if err := floors(t, "0").Judge(recs, false).Err(); err == nil {
		t.Error("it passed")
	}
}

func TestARowBelowItsFloorIsNotShownAtIt(t *testing.T) {
	recs := rows()[:1]
	recs[0].Set(metric.HitRatio, 0.59999999)
	want := "lru at 1% (10) has 59.9999%, want at least 60%"
	if err := floors(t, "60%").Judge(recs, false).Err(); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFloorsThatMatchNothing(t *testing.T) {
	for text, want := range map[string]string{
		"policy=lur:1%":             `unknown policy "lur"; did you mean "lru"?`,
		"place=lru:1%":              `unknown dimension "place"`,
		"capacity=11:1%":            `unknown capacity "11"`,
		"policy=lru,trace=day:1%":   `unknown trace "day"`,
		"policy=lru,capacity=2%:1%": `unknown capacity "2%"`,
	} {
		f := floors(t, text)
		if err := f.Judge(rows(), false).Err(); err == nil || !strings.Contains(err.Error(), want) ||
			errors.As(err, new(FailedError)) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
		if err := f.Judge(rows()[:1], true).Err(); err != nil {
			t.Errorf("%s, with records missing: %v", text, err)
		}
		before := f.CheckNames(rows())
		if isCapacity := strings.Contains(text, "capacity"); (before == nil) != isCapacity {
			t.Errorf("%s, before the replays: %v", text, before)
		}
	}
	recs := rows()
	both := floors(t, "policy=lru,capacity=10%:1%").Judge(slices.Delete(recs, 2, 3), false).Err()
	if both == nil || !strings.Contains(both.Error(), "none meets all conditions at once") {
		t.Errorf("got %v", both)
	}
}

func TestFloorsThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "60", "-1%", "101%", "1.01", "NaN", "inf%", "%", "policy=lru:", "policy=lru", ":1%",
		"policy:1%", "policy=:1%", "policy=lru(:1%"} {
		if err := (&Floors{}).Set(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	f := floors(t, "1%", " policy = lru : 2 % ")
	if err := f.Replace(f.GetSlice()); err != nil || f.String() != "1%  policy = lru : 2 % " || len(f.list) != 2 {
		t.Errorf("got %q, %v", f, err)
	}
}

func TestWhatIsSaidOfFloors(t *testing.T) {
	t.Setenv(summaryFile, "")
	j := floors(t, "policy=s3fifo:60%").Judge(rows(), false)
	want := "the check failed: 1 of 2 rows are below --min-hit-ratio: s3fifo(small=0.2,ghost=0.9) at 1% (10) has " +
		"57.2000%, want at least 60%"
	if got := j.Remark(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var out strings.Builder
	if err := j.Print(&out, GitHub, nil); err != nil || !strings.HasSuffix(out.String(),
		"\nday.csv: 1 of 2 rows reach --min-hit-ratio; 2 more have none\n") {
		t.Errorf("got %q, %v", &out, err)
	}
	many := slices.Concat(rows(), rows(), rows())
	if err := floors(t, "100%").Judge(many, false).Err(); !strings.HasSuffix(err.Error(), "; and 2 more") {
		t.Errorf("got %v", err)
	}
	if got := (&Floors{}).Judge(many, false).Remark(); got != "" {
		t.Errorf("without floors: %q", got)
	}
	refused := (&Floors{}).CheckFormat(JUnit, []string{"table", "csv"})
	if refused == nil || (&Floors{}).CheckFormat("table", nil) != nil || floors(t, "1%").CheckFormat(JUnit, nil) != nil {
		t.Errorf("got %v", refused)
	}
	failed := fmt.Errorf("full")
	t.Setenv(summaryFile, t.TempDir()+"/summary.md")
	if err := j.Print(io.Discard, GitHub, func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

// Floors reach rows by their parts, and the hit ratios of tenants, nodes and what --by counts.
func TestFloorsOfPartsAndLabels(t *testing.T) {
	recs := rows()[:2]
	recs[0].Admission, recs[0].Cache, recs[1].Cache = "second", "tiers(host=4x)", "exact"
	for name, x := range map[string]float64{"tenant_hit_ratio[web]": 0.9, "tenant_hit_ratio[db]": 0.1,
		"node_token_hit_ratio[0]": 0.2, "label_hit_ratio[a.example]": 0.4} {
		recs[0].SetNamed(name, x)
	}
	recs[0].By = "host"
	for _, test := range []struct {
		floors          []string
		failing, judged int
	}{
		{[]string{"admission=second:31%"}, 1, 1},
		{[]string{"admit=none:57%"}, 0, 1},
		{[]string{"cache=tiers:29%"}, 0, 1},
		{[]string{"cache=tiers(host=4x),policy=lru:99%"}, 1, 1},
		{[]string{"tenant=web:80%"}, 0, 1},
		{[]string{"tenant=web,db:80%"}, 1, 2},
		{[]string{"20%", "tenant=db:20%"}, 1, 3},
		{[]string{"node=0:20%", "host=a.example:41%"}, 1, 2},
	} {
		j := floors(t, test.floors...).Judge(recs, false)
		if len(j.failing) != test.failing || len(j.suite.Cases) != test.judged || j.mistake != nil {
			t.Errorf("%q: %d of %d fail, want %d of %d; %v", test.floors, len(j.failing), len(j.suite.Cases), test.failing,
				test.judged, j.mistake)
		}
	}
	for text, want := range map[string]string{
		"tenant=wbe:1%":     `unknown tenant "wbe"; did you mean "web"?`,
		"admission=seond:1": `unknown admission "seond"; did you mean "second"?`,
		"stream=a:1%":       `unknown dimension "stream"`,
		"host=b.example:1%": `unknown label "b.example"`,
	} {
		f := floors(t, text)
		if err := f.Judge(recs, false).Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if before := f.CheckNames(recs); (before == nil) == strings.HasPrefix(text, "admission") {
			t.Errorf("%s, before the replays: %v", text, before)
		}
	}
	got := floors(t, "tenant=db:20%").Judge(recs, false).Err()
	if want := "lru at 1% (10), tenant=db, tiers(host=4x), second has 10.0000%, want at least 20%"; got == nil ||
		!strings.HasSuffix(got.Error(), want) {
		t.Errorf("got %v, want %s", got, want)
	}
}
