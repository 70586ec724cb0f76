package target

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/records"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Target{
		"90%": {0.9, true}, "100%": {1, true}, "0.5%": {0.005, true}, "0.5": {0.5, false}, "none": {},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "0%", "1", "90", "101%", "-5%", "NaN", "NaN%", "Inf", "50 %", "half", "%"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		} else if !strings.Contains(err.Error(), "want a share of the largest hit ratio") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"90%", "0.5", "none", "1e-3%", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text)
		if err == nil && (math.IsNaN(got.Value) || got.Value < 0 || got.Value > 1) {
			t.Errorf("%q is read as %v", text, got)
		}
	})
}

// found is a need that a search has found.
func found(policy string, capacity int64, exact bool) Need {
	return Need{Policy: policy, Online: true, Capacity: capacity, Exact: exact, Above: Point{capacity, 0.46},
		Below: Point{capacity - 1, 0.44}}
}

func answer(needs ...Need) Answer {
	return Answer{Target: Default, Level: 0.45, Largest: 0.5, Unit: records.Objects, Noun: "objects", Needs: needs}
}

// Policies that reach the target come first, each group by what is enough.
func TestSentences(t *testing.T) {
	opt := found("opt", 40, false)
	opt.Online = false
	between := Need{Policy: "arc", Online: true, How: Between, Below: Point{100, 0.4}, Above: Point{400, 0.5}}
	atMost := Need{Policy: "sieve", Online: true, How: Between, Above: Point{500, 0.5}}
	moreThan := Need{Policy: "mru", Online: true, How: Between, Below: Point{600, 0.4}}
	never := Need{Policy: "ttl", Online: true, How: Never, Below: Point{1000, 0.3}}
	a := answer(opt, never, moreThan, atMost, between, found("lru", 5630, true), found("s3fifo", 120, false))
	a.Sort()
	want := "90% of the largest hit ratio: 120 objects with s3fifo, between 100 and 400 with arc, at most 500 with " +
		"sieve, 5,630 with lru, more than 600 with mru; offline: 40 with opt; not with ttl at any capacity"
	if a.Sentence() != want {
		t.Errorf("%s, want %s", a.Sentence(), want)
	}
	a.Replays = 12
	wantLines := []string{
		"largest: 50.00%, of a cache that holds everything; 90% of it: 45.00%",
		"lru: exact; s3fifo, opt: a replay reaches it here, and misses it at 2% less (12 more replays)",
		"between, at most, more than: replays there; --target 90% searches further"}
	if lines := a.Explanation(); !slices.Equal(lines, wantLines) {
		t.Errorf("%q", lines)
	}
	for n, want := range map[int]string{0: "120 has 46.00%, 119 has 44.00%", 1: "400 has 50.00%, 100 has 40.00%",
		2: "500 has 50.00%"} {
		if got := a.Basis(a.Needs[n]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestIntervals(t *testing.T) {
	arc, lru := found("arc", 3000, false), found("lru", 3100, true)
	arc.Interval, lru.Interval, lru.Tied = &Interval{2951, 3390}, &Interval{2987, 3500}, true
	a := answer(arc, lru)
	a.Target = Target{Value: 0.45}
	if want := "a hit ratio of 0.45: 3,000 objects with arc (2,950 to 3,390), 3,100 with lru (2,990 to 3,500)"; a.
		Sentence() != want {
		t.Errorf("%s, want %s", a.Sentence(), want)
	}
	if text := strings.Join(a.Explanation(), "\n"); !strings.Contains(text, "(...): 95% confidence intervals "+
		"(bootstrap over 400 blocks of the trace); a tie: arc, lru") {
		t.Error(text)
	}
}

// Who has not asked is answered from three capacities on.
func TestAsks(t *testing.T) {
	asked, unasked, none := Flag{Target: Default, IsSet: true}, NewFlag(), Flag{IsSet: true}
	if !asked.Asks(1) || unasked.Asks(2) || !unasked.Asks(3) || none.Asks(3) {
		t.Error("answers to who has not asked, or none to who has")
	}
}

// What is unknown has no lines to explain it.
func TestPrintUnknown(t *testing.T) {
	a := Answer{Target: Default, Unit: records.Objects}
	for markdown, want := range map[bool]string{
		false: "\n90% of the largest hit ratio: unknown, because no\ncache has a hit, however large\n",
		true:  "\n**90% of the largest hit ratio: unknown, because no cache has a hit, however large**\n",
	} {
		var text strings.Builder
		if err := tabular.PrintAnswers(&text, []Answer{a}, markdown, 50); err != nil || text.String() != want {
			t.Errorf("%v %q, want %q", err, text.String(), want)
		}
	}
}

// A name with a comma is not read as two, and one object is no objects.
func TestNamesWithCommas(t *testing.T) {
	a := answer(found("arc, next", 1, true), found("lru", 5, true))
	const want = "90% of the largest hit ratio: 1 object with arc, next; 5 with lru"
	if a.Sentence() != want {
		t.Errorf("%s, want %s", a.Sentence(), want)
	}
}

// An interval contains the capacity, and ends where everything has room, whatever three digits make of its ends.
func TestIntervalsAreNotRoundedAway(t *testing.T) {
	for _, test := range []struct {
		unit                            string
		low, capacity, high, everything int64
		want                            string
	}{
		{records.Objects, 1500, 3867, 36_479, 36_479, " (1,500 to 36,479)"},
		{records.Objects, 36_466, 36_479, 36_479, 36_479, " (36,466 to 36,479)"},
		{records.Objects, 1504, 3867, 36_449, 36_479, " (1,500 to 36,400)"},
		{records.Objects, 34_400, 34_809, 34_809, 36_479, " (34,400 to 34,809)"},
		{records.Bytes, 25_375_539, 64_130_908, 601_358_336, 601_358_336, " (24.2 to 573.5 MiB)"},
		{records.Bytes, 61_583_916, 123_165_736, 123_165_736, 601_358_336, " (58.7 to 117.5 MiB)"},
	} {
		a := Answer{Unit: test.unit, Everything: test.everything}
		n := Need{Capacity: test.capacity, Interval: &Interval{test.low, test.high}}
		if got := a.InBrackets(n); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

// A screen has the two online policies that need least, lru, and those that never reach the target.
func TestShortAnswersKeepTheBestAndLRU(t *testing.T) {
	need := func(policy string, capacity int64) Need {
		return Need{Policy: policy, Online: true, How: Found, Capacity: capacity}
	}
	a := Answer{Target: Target{Share: true, Value: 0.9}, Unit: records.Objects, Noun: "objects", Needs: []Need{
		need("a", 1), need("b", 2), need("c", 3), need("lru", 4), need("d", 5), {Policy: "ttl", Online: true, How: Never},
		{Policy: "opt", How: Found, Capacity: 1}}}
	for want, answer := range map[string]Answer{
		"90% of the largest hit ratio: 1 object with a, 2 with b, 4 with lru; the other 2 need as much or more; " +
			"not with ttl at any capacity": a,
		"90% of the largest hit ratio: 1 object with a, 2 with b, 3 with c; offline: 1 with opt": {Target: a.Target,
			Unit: a.Unit, Noun: a.Noun, Needs: []Need{a.Needs[0], a.Needs[1], a.Needs[2], a.Needs[6]}},
	} {
		if got := answer.Short().Sentence(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if len(a.Needs) != 7 {
		t.Error("the whole answer has changed")
	}
}

// Two capacities that are written alike are not both named.
func TestBasis(t *testing.T) {
	a := Answer{Unit: records.Bytes}
	for _, c := range []struct {
		need Need
		want string
	}{
		{Need{Above: Point{64 << 20, 0.5}, Below: Point{32 << 20, 0.4}, Exact: true}, "64 MiB has 50.00%, 32 MiB has 40.00%"},
		{Need{Above: Point{64 << 20, 0.5}, Below: Point{64<<20 - 1, 0.5}, Exact: true}, "64 MiB has 50.00%, less has less"},
		{Need{Below: Point{64 << 20, 0.5}}, "64 MiB has 50.00%"},
	} {
		if got := a.Basis(c.need); got != c.want {
			t.Errorf("%+v: %q, want %q", c.need, got, c.want)
		}
	}
}
