package claims

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

// rec creates a record from a short text: "trace policy capacity hits/requests", and axes.
type (
	at      = map[string]string
	numbers = []results.PublishedPoint
)

func rec(t testing.TB, text string) records.Record {
	t.Helper()
	var r records.Record
	fields := strings.Fields(text)
	var hits, requests int64
	if n, err := fmt.Sscanf(fields[3], "%d/%d", &hits, &requests); n != 2 {
		t.Fatal(text, err)
	}
	r.SetInt(metric.Hits, hits)
	r.SetInt(metric.Requests, requests)
	r.Trace, r.Label, r.CapacityText = fields[0], fields[1], fields[2]
	fmt.Sscanf(fields[2], "%d", &r.Capacity)
	r.SetInt(metric.Misses, r.Int(metric.Requests)-r.Int(metric.Hits))
	r.Set(metric.HitRatio, float64(r.Int(metric.Hits))/float64(r.Int(metric.Requests)))
	r.Kind = "online"
	if strings.HasPrefix(r.Label, "opt") {
		r.Kind = "offline"
	}
	for _, axis := range fields[4:] {
		if seed, ok := strings.CutPrefix(axis, "seed="); ok {
			fmt.Sscan(seed, &r.Seed)
		} else {
			r.Axes = axis
		}
	}
	return r
}

func recs(t testing.TB, lines string) (all []records.Record) {
	for line := range strings.Lines(lines) {
		if strings.TrimSpace(line) != "" {
			all = append(all, rec(t, line))
		}
	}
	return all
}

// example has two traces, capacities of which one lacks a policy, a random policy with seeds, and a policy with an
// axis.
const example = `
oltp lru 250 160/1000
oltp lru 500 230/1000
oltp lru 1000 320/1000
oltp arc 250 210/1000
oltp arc 500 300/1000
oltp arc 1000 390/1000
oltp opt 250 380/1000
oltp opt 500 460/1000
oltp opt 1000 530/1000
oltp random 250 100/1000 seed=0
oltp random 250 140/1000 seed=1
oltp laru 250 380/1000 noise=0
oltp laru 250 300/1000 noise=0.5
oltp laru 250 150/1000 noise=1
gli lru 250 9/1000
gli lru 500 9/1000
gli arc 250 14/1000
gli arc 500 14/1000
gli arc(int=true) 500 14/1000
gli opt 250 176/1000
gli opt 500 343/1000
`

func exampleInput(t testing.TB) Input {
	return Input{
		Records: recs(t, example),
		Groups:  map[string][]string{"baselines": {"lru", "random"}, "classic": {"lru", "arc"}, "withLirs": {"lru", "lirs"}},
		References: map[string]results.Published{
			"published": {Within: 0.0005, Points: []results.PublishedPoint{
				{At: map[string]string{"trace": "oltp", "policy": "lru", "capacity": "250"}, Value: 0.1602},
				{At: map[string]string{"trace": "oltp", "policy": "lru", "capacity": "500"}, Value: 0.2296},
				{At: map[string]string{"trace": "oltp", "policy": "arc", "capacity": "250"}, Value: 0.22},
			}},
		},
		Absent: map[string]string{"lirs": "its paper leaves out the stack size"},
	}
}

func TestEvaluate(t *testing.T) {
	in := exampleInput(t)
	for _, test := range []struct {
		claim, want string
	}{
		{"hit_ratio(arc) > hit_ratio(lru) where trace = oltp and capacity in 250, 500, 1000",
			"reproduced: at all 3 points; closest at oltp, capacity 250: 21.00% > 16.00%"},
		{"misses(laru) == misses(opt) where noise = 0",
			"reproduced: 620 = 620 (oltp, capacity 250, noise 0); 4 points left out: no record of laru"},
		{"misses(laru) == misses(opt)",
			"refuted: fails at 2 of 3 points; worst at oltp, capacity 250, noise 1: 850 > 620; 4 points left out: no " +
				"record of laru"},
		{"hit_ratio(laru) / max over baselines of hit_ratio between 1.05 and 1.12 where noise = 1",
			"refuted: 0.9375, outside 1.05 to 1.12 (oltp, capacity 250, noise 1); 4 points left out: no record of laru"},
		{"hit_ratio(laru) / max over baselines of hit_ratio between 0.9 and 0.95 where noise = 1",
			"reproduced: 0.9375 (oltp, capacity 250, noise 1); 4 points left out: no record of laru"},
		{"hit_ratio(lru) never decreases with capacity",
			"reproduced: in all 2 series; closest at gli: from 0.90% at capacity 250 to 0.90% at capacity 500"},
		{"hit_ratio(lru) increases with capacity",
			"refuted: fails in 1 of 2 series; worst at gli: from 0.90% at capacity 250 to 0.90% at capacity 500"},
		{"hit_ratio(laru) decreases with noise",
			"reproduced: from 38.00% at noise 0 to 15.00% at noise 1 (oltp, capacity 250)"},
		{"hit_ratio(laru) is monotone in noise",
			"reproduced: from 38.00% at noise 0 to 15.00% at noise 1 (oltp, capacity 250)"},
		{"hit_ratio(arc) is first among classic",
			"reproduced: at all 5 points; closest at gli, capacity 250: arc 1.40% is number 1 of 2, ahead of lru 0.90%"},
		{"hit_ratio(arc) is first among all",
			"refuted: fails at 7 of 7 points; worst at gli, capacity 500: arc 1.40% is number 2 of 4, behind opt 34.30%"},
		{"hit_ratio(arc) is second among all where capacity = 1000",
			"reproduced: arc 39.00% is number 2 of 3, ahead of lru 32.00% (oltp, capacity 1000)"},
		// A policy that is in a group and named as well counts once.
		{"mean over classic, lru of hit_ratio == 18.5% where trace = oltp and capacity = 250",
			"reproduced: 18.50% = 18.5% (oltp, capacity 250)"},
		{"hit_ratio(arc) is last among classic, opt, lru where capacity = 1000",
			"refuted: arc 39.00% is number 2 of 3, ahead of lru 32.00% (oltp, capacity 1000)"},
		{"misses(arc) is last among lru, arc, opt",
			"refuted: fails at 5 of 5 points; worst at oltp, capacity 1000: arc 610 is number 2 of 3, ahead of lru 680"},
		{"hit_ratio(lru) == published(lru)",
			"reproduced: at all 2 points; closest at oltp, capacity 500: 23.00% beside 22.96%, 0.04% apart, 0.05% allowed; 3 " +
				"points left out: published(lru) has no number there"},
		{"hit_ratio(arc) == published(arc)",
			"refuted: 21.00% beside 22.00%, 1.00% apart, 0.05% allowed (oltp, capacity 250); 4 points left out: " +
				"published(arc) has no number there"},
		{"hit_ratio(lru) == published(lru) within 0.005%",
			"refuted: fails at 2 of 2 points; worst at oltp, capacity 500: 23.00% beside 22.96%, 0.04% apart; 3 points " +
				"left out: published(lru) has no number there"},
		{"hit_ratio(opt) == published(opt)",
			"not testable here: published(opt) has no number there"},
		{"hit_ratio(lru) > 159e-3 where trace = oltp and capacity = 250",
			"reproduced: 16.00% > 159e-3 (oltp, capacity 250)"},
		{"misses(lru) < 8.401E+2 where trace = oltp and capacity = 250",
			"reproduced: 840 < 8.401E+2 (oltp, capacity 250)"},
		{"mean over trace of hit_ratio(arc) > 15% where capacity = 500",
			"reproduced: 15.70% > 15% (capacity 500)"},
		{"mean over trace of hit_ratio(arc) > 40% where capacity = 1000",
			"refuted: 39.00% < 40% (capacity 1000); over 1 place on trace"},
		{"hit_ratio(lru) < hit_ratio(lirs)",
			"not testable here: lirs is not in the experiment: its paper leaves out the stack size"},
		{"hit_ratio(lru) < hit_ratio(sieve)",
			"not testable here: no record of sieve"},
		{"hit_ratio(lru) < hit_ratio(arc) where trace = oltpp",
			"not testable here: no record where trace = oltpp, but at trace oltp, gli"},
		{"hit_ratio(lru) < hit_ratio(arc) where capacity in 250, 750",
			"reproduced: at all 2 points; closest at gli, capacity 250: 0.90% < 1.40%; no record at capacity 750"},
		{"byte_hit_ratio(lru) < byte_hit_ratio(arc)",
			"not testable here: byte_hit_ratio of lru is not in the records"},
		{"hit_ratio(lru) / (hit_ratio(arc) - hit_ratio(arc)) > 1",
			"not testable here: it divides by zero"},
		{"hit_ratio(arc) > 1.5 * hit_ratio(lru) at 40% of points",
			"reproduced: at 2 of 5 points; worst at oltp, capacity 1000: 39.00% < 48.00%"},
		{"abs(hit_ratio(arc) - hit_ratio(lru)) < 10%",
			"reproduced: 0.50% to 7.00%, at all 5 points; closest at oltp, capacity 1000: 7.00% < 10%"},
		{"max over seed of hit_ratio(random) < hit_ratio(lru)",
			"reproduced: 14.00% < 16.00% (oltp, capacity 250); 4 points left out: no record of random"},
		{"hit_ratio(lru) < hit_ratio(arc) < hit_ratio(opt)",
			"reproduced: at all 5 points; closest at gli, capacity 250: 0.90% < 1.40% < 17.60%"},
		{"misses(lru) <= (capacity + log2(capacity) + 2) * misses(opt)",
			"reproduced: at all 5 points; closest at oltp, capacity 250: 840 < 161,178.8"},
		{"argmax over capacity of hit_ratio(arc) >= 500",
			"refuted: 250 to 1,000, fails at 1 of 2 points; worst at gli: 250 < 500; over 2 to 3 places on capacity"},
	} {
		checkResult(t, in, test.claim, test.want)
	}
}

// verdictOf evaluates a claim about a few records; only the verdict of the result is fixed.
func verdictOf(t *testing.T, in Input, text string) Result {
	t.Helper()
	c := must.Get(Parse(text))(t)
	return c.Evaluate(NewData(in))
}

// checkResult compares the verdict, the measurement and the reason with want.
func checkResult(t *testing.T, in Input, claim, want string) {
	t.Helper()
	if r := verdictOf(t, in, claim); fmt.Sprintf("%s: %s%s", r.Verdict, r.Measured, r.Reason) != want {
		t.Errorf("%s\n got %s: %s%s\nwant %s", claim, r.Verdict, r.Measured, r.Reason, want)
	}
}

// byCapacity is one policy on one trace, with capacities of every kind.
func byCapacity(t *testing.T) Input {
	in := Input{Records: recs(t, `
		oltp lru 10 1/10
		oltp lru 1% 2/10
		oltp lru 2% 3/10
		oltp lru 64MiB 4/10
		oltp lru 200 5/10`)}
	for i, capacity := range []int64{10, 10, 20, 64 << 20, 200} {
		in.Records[i].Capacity = capacity
		in.Records[i].CapacityShare = new(float64(capacity) / 1010)
	}
	return in
}

func TestWhere(t *testing.T) {
	for where, want := range map[string]string{
		"capacity = 1%":                           "2",
		"capacity = 1.0%":                         "2",
		"capacity = 10":                           "1,2",
		"capacity = 64MiB":                        "4",
		"capacity in 1%, 200, 300":                "2,5",
		"capacity != 1%":                          "1,3,4,5",
		"capacity not in 1%, 2%":                  "1,4,5",
		"capacity < 64MiB":                        "1,2,3,5",
		"capacity >= 1%":                          "2,3,4,5", // 10 of 1010 are less than 1%
		"capacity < 2%":                           "1,2",
		"capacity <= 2% and capacity > 0.5%":      "1,2,3",
		"capacity between 10 and 20":              "1,2,3",
		"trace = oltp and capacity >= 200":        "4,5",
		"trace != oltp":                           "",
		"trace in 'oltp', gli and capacity = 200": "5",
		"seed = 0 and capacity = 200":             "5",
	} {
		r := verdictOf(t, byCapacity(t), "hits(lru) > 0 where "+where)
		var hits []string
		for _, p := range r.Points {
			hits = append(hits, strings.Fields(p.Measured)[0])
		}
		slices.Sort(hits)
		if got := strings.Join(hits, ","); got != want {
			t.Errorf("%s: got %s, want %s: %+v", where, got, want, r)
		}
	}
}

func TestWhereOnAxes(t *testing.T) {
	in := Input{Records: recs(t, `
		oltp laru 10 1/10 noise=0.10,mode=sync
		oltp laru 10 2/10 noise=0.5,mode=async
		oltp lru 10 3/10`)}
	for claim, want := range map[string]string{
		"hits(laru) == 1 where noise = 0.1": "reproduced: 1 = 1 (oltp, capacity 10, " +
			"noise 0.10, mode sync)",
		"hits(laru) == 1 where noise = 10%": "reproduced: 1 = 1 (oltp, capacity 10, " +
			"noise 0.10, mode sync)",
		"hits(laru) == 2 where mode = async": "reproduced: 2 = 2 (oltp, capacity 10, " +
			"noise 0.5, mode async)",
		"hits(laru) == 2 where noise > 0.1": "reproduced: 2 = 2 (oltp, capacity 10, " +
			"noise 0.5, mode async)",
		"hits(laru) == 2 where noise = 3": "not testable here: no record where " +
			"noise = 3, but at noise 0.10, 0.5",
		"hits(laru) == 2 where mode > async": "not testable here: async is not a " +
			"number, so mode > async cannot be compared",
		"hits(laru) == 2 where alpha = 1": "not testable here: no record has the " +
			"dimension alpha",
		"hits(lru) == 3 where noise = 0.1": "reproduced: 3 = 3 (oltp, capacity 10)",
		"hits(lru) increases with noise": "not testable here: its records " +
			"have no place on noise",
		"hits(laru) increases with mode": "not testable here: mode is not a " +
			"number there, so it has no order",
		"hits(laru) increases with noise": "not testable here: it has only one " +
			"place on noise",
		"max over mode of hits(laru) increases with noise": "reproduced: from 1 at noise 0.10 to 2 at " +
			"noise 0.5 (oltp, capacity 10); over 1 place on mode",
		"noise * 10 == hits(laru) where mode = sync": "reproduced: 1 = 1 (oltp, capacity 10, " +
			"noise 0.10, mode sync)",
		"hits(laru at noise = 0.5) == 2 * hits(laru at noise = 0.1 and mode = sync)": "reproduced: 2 = 2 (oltp, capacity 10" +
			", " +
			"mode async); 1 point left out: 0 places match noise 0.5, want one",
		"hits(lru) > hits(laru at noise = 50%)": "reproduced: 3 > 2 (oltp, capacity 10, " +
			"mode async); 1 point left out: 0 places match noise 50%, want one",
		"hits(lru at noise = 1) == 3": "reproduced: 3 = 3 (oltp, capacity 10)",
		"hits(laru at noise = 1) == 3": "not testable here: 0 places match " +
			"noise 1, want one",
		"hits(laru at alpha = 1) == 3": "not testable here: no record has the " +
			"dimension alpha",
		"hits(laru at mode = sync) < hits(lru) where noise = 0.5": "not testable here: 0 places match " +
			"mode sync, want one",
		"hits(laru at seed = 0) <= 3 * hits(laru)": "reproduced: at all 2 points; for example " +
			"at oltp, capacity 10, noise 0.10, mode sync: 1 < 3",
		"sum over noise of sum over mode of (hits(laru) + hits(lru)) == 9": "reproduced: 9 = 9 (oltp, capacity 10); " +
			"over 1 place on mode",
	} {
		checkResult(t, in, claim, want)
	}
}

// Values of a at 1, of b at 2 and so on, at one point.
func TestComparisons(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 100/1000\n t b 1 110/1000\n t c 1 110/1000\n t d 1 200/1000")}
	for claim, holds := range map[string]bool{
		"hits(b) == hits(c)":                                 true,
		"hits(a) == hits(b)":                                 false,
		"hits(a) != hits(b)":                                 true,
		"hits(a) != hits(b) within 10":                       false,
		"hits(a) == hits(b) within 10":                       true,
		"hits(a) == hits(b) within 9.9":                      false,
		"hits(a) == hits(b) within 10% of it":                true,
		"hits(a) == hits(b) within 9% of it":                 false,
		"hit_ratio(a) == hit_ratio(b) within 1%":             true, // rounded, 0.11 - 0.1 is more than 0.01
		"hit_ratio(b) == hit_ratio(a) within 1%":             true,
		"hit_ratio(a) == hit_ratio(b) within 0.99%":          false,
		"hit_ratio(b) < hit_ratio(a)":                        false,
		"hit_ratio(b) < hit_ratio(a) within 1%":              false,
		"hit_ratio(b) < hit_ratio(a) within 1.1%":            true,
		"hit_ratio(b) <= hit_ratio(a) within 1%":             true,
		"hit_ratio(a) > hit_ratio(b) within 1.1%":            true,
		"hit_ratio(a) >= hit_ratio(b) within 1%":             true,
		"hit_ratio(b) <= hit_ratio(c)":                       true,
		"hit_ratio(b) < hit_ratio(c)":                        false,
		"hits(a) < hits(b) == hits(c) < hits(d)":             true,
		"hits(a) < hits(b) < hits(c) < hits(d)":              false,
		"hits(b) / hits(a) between 1.1 and 1.2":              true,
		"hits(b) / hits(a) between 1.11 and 1.2":             false,
		"hits(b) / hits(a) between 1.11 and 1.2 within 0.01": true,
		"hit_ratio(a) + misses(a) / requests(a) == 1":        true,
		"-hits(a) + 2 * hits(b) - hits(c) == 10":             true,
		"hits(a) - (hits(b) - hits(c)) == 100":               true,
		"hits(a) - hits(b) - hits(c) == -120":                true,
		"hits(d) / hits(a) / 2 == 1":                         true,
		"min(hits(a), hits(b)) == hits(a)":                   true,
		"median over a, b, d of hits == hits(b)":             true,
		"median over a, b, c, d of hits == 110":              true,
		"geomean over a, d of hits == sqrt(20000)":           true,
		"mean over all of hits == 130":                       true,
		"sum over all of hits == 520":                        true,
		"max over all of (hits / requests) == 20%":           true,
		"max over b of abs(hits - hits(a)) == 10":            true,
		"ln(hits(a)) == ln(2) * log2(hits(a))":               true,
		"hits(d) is first among all":                         true,
		"hits(b) is second among all":                        true, // with c
		"hits(b) is third among all":                         false,
		"hits(a) is last among all":                          true,
		"hits(b) is last among all":                          false,
		"hits(b) is last among all within 10":                true,
		"misses(a) is last among all":                        true,
		"misses(a) is highest among all":                     true,
		"misses(d) is lowest among all":                      true,
		"misses(d) is first among a, b":                      true,
		"hits(b) is first among a, c":                        true,
		"hits(a) is first among b within 10":                 true,
		"hits(a) is first among b within 10% of it":          true,
		"hits(a) is first among b within 9% of it":           false,
	} {
		if r := verdictOf(t, in, claim); (r.Verdict == Reproduced) != holds || r.Verdict == NotTestable {
			t.Errorf("%s: got %+v, want %v", claim, r, holds)
		}
	}
}

func TestTrends(t *testing.T) {
	for _, test := range []struct {
		hits  [4]int
		holds string // the movements that hold
	}{
		{[4]int{1, 2, 3, 4}, "increases never-decreases monotone near-never-increases near-never-decreases"},
		{[4]int{1, 2, 2, 4}, "never-decreases monotone near-never-decreases"},
		{[4]int{2, 2, 2, 2}, "never-increases never-decreases monotone constant near-never-increases near-never-decreases " +
			"near-constant"},
		{[4]int{3, 2, 3, 2}, "near-never-increases near-never-decreases near-constant"},
		{[4]int{4, 2, 3, 1}, "near-never-increases"},
		{[4]int{9, 4, 2, 1}, "decreases never-increases monotone near-never-increases"},
	} {
		in := Input{}
		for i, hits := range test.hits {
			// The records are not in the order of their places.
			in.Records = append([]records.Record{rec(t, fmt.Sprintf("t a 1 %d/10 x=%d", hits, 8+i))}, in.Records...)
		}
		var holds []string
		for _, form := range []string{
			"increases with", "decreases with", "never increases with", "never decreases with", "is monotone in",
			"is constant in",
			"near never increases with", "near never decreases with", "near is constant in",
		} {
			bare, near := strings.CutPrefix(form, "near ")
			text := "hits(a) " + bare + " x"
			if near {
				text += " within 1"
			}
			if verdictOf(t, in, text).Verdict == Reproduced {
				form = strings.TrimSuffix(strings.TrimSuffix(strings.Replace(form, "is ", "", 1), " with"), " in")
				holds = append(holds, strings.ReplaceAll(form, " ", "-"))
			}
		}
		if got := strings.Join(holds, " "); got != test.holds {
			t.Errorf("%v: got %s, want %s", test.hits, got, test.holds)
		}
	}
}

// A policy that ran with several seeds counts as their mean; if all seeds give the same value, the mean is that value
// to the last digit.
func TestSeeds(t *testing.T) {
	var lines strings.Builder
	for seed := range 7 {
		fmt.Fprintf(&lines, "t random 1 %d/7 seed=%d\n t sure 1 3/7 seed=%d\n", seed, seed, seed)
	}
	in := Input{Records: recs(t, lines.String()+"t lru 1 3/7")}
	for _, claim := range []string{
		"hits(random) == hits(lru) within 2.1", "hit_ratio(sure) == hit_ratio(lru)", "min over seed of hits(random) == 0",
		"hits(random) == 2 where seed = 2",
		"hits(random) increases with seed", "hits(random) < hits(lru) where seed < 3", "seed == hits(random)",
	} {
		if r := verdictOf(t, in, claim); r.Verdict != Reproduced {
			t.Errorf("%s: got %+v", claim, r)
		}
	}
}

func TestPublished(t *testing.T) {
	in := Input{
		Records: recs(t, "x lru 1% 10/100 noise=0.50\n x lru 200 20/100 noise=0.50\n y lru 1% 40/100 noise=0.50"),
		References: map[string]results.Published{
			"paper":    {Points: numbers{{At: at{"policy": "lru", "noise": "0.5", "capacity": "200.0"}, Value: 20}}},
			"bypolicy": {Points: numbers{{At: at{"policy": "lru"}, Value: 20}, {At: at{"policy": "arc"}, Value: 30}}},
			"model": {Points: numbers{{At: at{"trace": "x", "capacity": "1%"}, Value: 10},
				{At: at{"trace": "y"}, Value: 40}}},
			"twice":     {Points: numbers{{At: at{"trace": "x"}, Value: 10}, {At: at{"capacity": "1%"}, Value: 40}}},
			"means":     {Points: numbers{{At: at{"capacity": "1%"}, Value: 25}}},
			"near":      {Within: 1, Points: numbers{{At: at{"capacity": "200"}, Value: 21}}},
			"elsewhere": {Points: numbers{{At: at{"alpha": "1"}, Value: 20}}},
		},
	}
	for claim, want := range map[string]string{
		"hits(lru) == paper(lru)": "reproduced: 20 = 20 (x, capacity 200, noise 0.50); 2 points left " +
			"out: paper(lru) has no number there",
		"hits(lru) == bypolicy(lru) where capacity = 200": "reproduced: 20 = 20 (x, capacity 200, noise 0.50)",
		"hits(lru) == model": "reproduced: at all 2 points; for example at x, capacity 1%, noise " +
			"0.50: 10 = 10; 1 point left out: model has no number there",
		"hits(lru) == twice where trace = y": "reproduced: 40 = 40 (y, capacity 1%, noise 0.50)",
		"hits(lru) == twice where capacity = 1%": "reproduced: 40 = 40 (y, capacity 1%, noise 0.50); 1 point left out: " +
			"twice has several numbers there",
		"mean over trace of hits(lru) == means": "reproduced: 25 = 25 (capacity 1%, noise 0.50); 1 point left out: " +
			"means has no number there; over 1 to 2 places on trace",
		"hits(lru) == near": "reproduced: 20 beside 21, 1 apart, 1 allowed (x, capacity 200, " +
			"noise 0.50); 2 points left out: near has no number there",
		"hits(lru) == near within 0.5": "refuted: 20 beside 21, 1 apart (x, capacity 200, noise " +
			"0.50); 2 points left out: near has no number there",
		"hits(lru) >= near": "refuted: 20 < 21 (x, capacity 200, noise 0.50); 2 points " +
			"left out: near has no number there",
		"max over lru of abs(hits - paper) == 0": "reproduced: 0 = 0 (x, capacity 200, noise 0.50); 2 points left out: " +
			"paper has no number there",
		"hits(lru) == elsewhere where capacity = 200": "reproduced: 20 = 20 (x, capacity 200, noise 0.50)",
	} {
		checkResult(t, in, claim, want)
	}
}

func TestCheck(t *testing.T) {
	n := Names{
		Policies: []string{"lru", "arc(int=true)"}, Groups: []string{"baselines"}, Metrics: []string{"hit_ratio", "misses"},
		References: []string{"published"}, Axes: []string{"noise"}, Traces: []string{"oltp", "gli"},
	}
	for text, want := range map[string]string{
		"hit_ratio(lru) > published(arc( int=true )) where noise = 0 and trace = gli": "",
		"hit_ratio(lru) is first among online, baselines":                             "",
		"max over baselines of (hit_ratio - published) < noise":                       "",
		"mean over trace of hit_ratio(lru) > mean over noise of published":            "",
		"hit_ratio(lur) > 1": `unknown policy "lur"; did you mean "lru"? (exists: lru, ` +
			`arc(int=true))`,
		"hit_ration(lru) > 1": `unknown metric or reference "hit_ration"; did you mean ` +
			`"hit_ratio"? (exists: hit_ratio, misses, published)`,
		"hit_ratio(lru) > misses": "misses of which policy? Write misses(POLICY)",
		"hit_ratio(lru) > nois": `unknown dimension or reference "nois"; did you mean "noise"? ` +
			`(exists: trace, capacity, seed, noise, published)`,
		"hit_ratio(lru) > max over baseline of misses": `unknown dimension, policy or group "baseline"; did you mean ` +
			`"baselines"? (exists: trace, capacity, seed, noise, lru, arc(int=true), baselines, all, online, offline)`,
		"hit_ratio(lru) > max over all of mises": `unknown metric, reference or dimension "mises"; did you mean ` +
			`"misses"? (exists: hit_ratio, misses, published, trace, capacity, seed, noise)`,
		"hit_ratio(lru) increases with size": `unknown dimension "size" (exists: trace, capacity, seed, noise)`,
		// What records have without being listed is a figure, and no dimension.
		"hit_ratio(lru) == capacity_share(lru)": "",
		"hit_ratio(lru) increases with misses":  `unknown dimension "misses" (exists: trace, capacity, seed, noise)`,
		"hit_ratio(lru) > 1 where capacity_share = 1": `unknown dimension "capacity_share" (exists: trace, capacity, seed, ` +
			`noise)`,
		"hit_ratio(misses) > 1": `unknown policy "misses" (exists: lru, arc(int=true))`,
		"hit_ratio(lru) is first among lru, mru": `unknown policy or group "mru"; did you mean "lru"? (exists: lru, ` +
			`arc(int=true), baselines, all, online, offline)`,
		"hit_ratio(lru) > 1 where nose = 1": `unknown dimension "nose"; did you mean "noise"? (exists: trace, ` +
			`capacity, seed, noise)`,
		"hit_ratio(lru) > 1 where trace in oltp, glu": `unknown trace "glu"; did you mean "gli"? (exists: oltp, gli)`,
	} {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		got := ""
		if err := c.Check(n); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestNotCheckable(t *testing.T) {
	in := exampleInput(t)
	in.Groups["own"] = []string{"arc"}
	in.Groups["none"] = nil
	for claim, want := range map[string]string{
		"hit_ratio(arc) > max over withLirs of hit_ratio": "lirs is not in the experiment: its paper leaves " +
			"out the stack size",
		"hit_ratio(arc) is first among own":                    "there is no policy to compare arc with",
		"hit_ratio(arc) > max over none of hit_ratio":          "no record of none",
		"hit_ratio(arcc) > 1":                                  `no record of arcc; did you mean "arc"?`,
		"hit_ratio(random) > hit_ratio(lru) where trace = gli": "no record of random where trace = gli",
		"hit_ratio(random) > hit_ratio('arc(int=true)')":       "no point has records of all its policies",
		"hit_ratio(random) increases with capacity":            "it has only one place on capacity",
		"promotions(lru) > 1":                                  "promotions of lru is not in the records",
		"argmax over lru, arc of hit_ratio > 1":                "argmax needs a dimension, and lru, arc is not one",
		"ln(hits(lru) - hits(arc)) > 1":                        "its result is not finite",
		"geomean over trace of (hits(lru) - hits(lru)) > 1":    "its result is not finite",
		"hit_ratio(lru) > alpha":                               "no record has the dimension alpha",
		"hit_ratio(lru) increases with alpha":                  "no record has the dimension alpha",
		"mean over capacity of hit_ratio(lru) increases with capacity": "mean over capacity of hit_ratio(lru) does not " +
			"depend on capacity",
	} {
		if r := verdictOf(t, in, claim); r.Verdict != NotTestable || r.Reason != want || len(r.Points) > 0 {
			t.Errorf("%s\n got %+v\nwant %s", claim, r, want)
		}
	}
}

// What one seed gives says nothing of other seeds.
func TestOverASingleSeedIsNotCheckable(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 1/10\n t b 1 1/10")}
	want := "all records have the same seed, which says nothing of others; want at least two seeds"
	if r := verdictOf(t, in, "(max over seed of hits(a)) - (min over seed of hits(a)) <= 1"); r.Verdict != NotTestable ||
		r.Reason != want {
		t.Errorf("%+v", r)
	}
}

func TestCountersAreMetrics(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 1/10\n t b 1 1/10")}
	in.Records[0].SetNamed("phases", 3)
	in.Records[1].SetNamed("phases", 5)
	if r := verdictOf(t, in, "phases(a) < phases(b)"); r.Measured != "3 < 5 (t, capacity 1)" {
		t.Errorf("got %+v", r)
	}
}

// Every policy with its own axis multiplies the points, so there is a limit.
func TestTooManyPoints(t *testing.T) {
	var lines strings.Builder
	for policy := range 6 {
		for at := range 12 {
			fmt.Fprintf(&lines, "t p%d 1 1/10 x%d=%d\n", policy, policy, at)
		}
	}
	r := verdictOf(t, Input{Records: recs(t, lines.String())}, "max over p0, p1, p2, p3, p4, p5 of hits > 0")
	if r.Verdict != NotTestable || !strings.Contains(r.Reason, "more than 262144 points") {
		t.Errorf("got %s: %s", r.Verdict, r.Reason)
	}
}

func TestUnits(t *testing.T) {
	for _, test := range []struct {
		unit   unit
		values []float64
		want   string
	}{
		{share, []float64{0.34821, 0.35}, "34.82% 35.00%"},
		{share, []float64{0.348211, 0.348209}, "34.8211% 34.8209%"},
		{share, []float64{0.1, 0.1}, "10.00% 10.00%"},
		{count, []float64{94823, 94010}, "94,823 94,010"},
		{count, []float64{33990.4, 33990}, "33,990.4 33,990"},
		{count, []float64{1999.96, -1234.5}, "2000.0 -1234.5"},
		{plain, []float64{1.08349, 12}, "1.083 12"},
		{plain, []float64{1.08349, 1.08351}, "1.083 1.084"},
		{plain, []float64{1e20, 1.25e-7}, "1e+20 1.25e-07"},
	} {
		if got := strings.Join(test.unit.writeAll(test.values), " "); got != test.want {
			t.Errorf("%v: got %s, want %s", test.values, got, test.want)
		}
	}
}

// The examples of the documentation can be read.
func TestDocumentation(t *testing.T) {
	page := must.Get(os.ReadFile("../../../docs/claims.md"))(t)
	read := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		example, isExample := strings.CutPrefix(strings.TrimSpace(cells[2]), "`")
		example, rest := strings.CutSuffix(example, "`")
		if !isExample || !rest {
			continue
		}
		read++
		if _, err := Parse(strings.Replace(example, "...", "hits(lru) > 1", 1)); err != nil {
			t.Errorf("%s: %v", example, err)
		}
	}
	if read < 8 {
		t.Errorf("found %d examples only", read)
	}
}

// The members of a predefined group are those with records at a point. If only one has records there, nobody is ranked.
func TestPredefinedGroups(t *testing.T) {
	in := Input{
		Records: recs(t, "t a 1 1/10 noise=0\n t b 1 2/10 noise=1\n t c 1 3/10 noise=1\n t opt 1 9/10\n u a 1 4/10"),
	}
	checkResult(t, in, "max over online of hits < max over offline of hits where trace = t",
		"reproduced: at all 2 points; closest at t, capacity 1, noise 1: 3 < 9")
	checkResult(t, in, "max over online of hits >= 1", "reproduced: 1 to 4, at all 3 points; closest at t, capacity 1, "+
		"noise "+
		"0: 1 = 1")
	checkResult(t, in, "hits(c) is first among online", "reproduced: c 3 is number 1 of 2, ahead of b 2 (t, capacity 1, "+
		"noise 1); 1 point left out: no record of c")
	checkResult(t, in, "hits(a) is first among online", "not testable here: there is no policy to compare with")
}

// A policy that knows the future through a part of it is offline, and a cache without bounds is neither.
func TestForesightIsOffline(t *testing.T) {
	records.DeclareFuture(func(_, part string) bool { return part == "oracle" })
	t.Cleanup(func() { records.DeclareFuture(func(_, _ string) bool { return false }) })
	in := Input{Records: recs(t, "t a 1 1/10\nt b 1 2/10\nt c 1 8/10\nt opt 1 9/10\n")}
	in.Records[2].Predictor = "oracle"
	checkResult(t, in, "max over online of hits = 2", "reproduced: 2 = 2 (t, capacity 1)")
	checkResult(t, in, "max over offline of hits = 9", "reproduced: 9 = 9 (t, capacity 1)")
	checkResult(t, in, "min over offline of hits = 8", "reproduced: 8 = 8 (t, capacity 1)")
}

// Ranks are exact: a policy that is first is not second.
func TestRanksAreExact(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 4/10\nt b 1 3/10\nt c 1 2/10\nt d 1 1/10\n")}
	for policy, rank := range map[string]string{"a": "first", "b": "second", "c": "third", "d": "last"} {
		for _, said := range []string{"first", "second", "third", "last"} {
			if got := verdictOf(t, in, fmt.Sprintf("hits(%s) is %s among a, b, c, d", policy,
				said)).Verdict == Reproduced; got != (said == rank) {
				t.Errorf("%s, which is %s, is %s: %t", policy, rank, said, got)
			}
		}
	}
}

// 1% and 250 may be the same capacity on a trace; it is one place of a trend.
func TestACapacityWrittenTwiceIsOnePlace(t *testing.T) {
	in := Input{Records: recs(t, "t a 250 3/10\nt a 1% 3/10\nt a 500 4/10\n")}
	in.Records[1].Capacity = 250
	checkResult(t, in, "hits(a) increases with capacity", "reproduced: from 3 at capacity 250 to 4 at capacity 500 (t)")
}

// Policies are compared where both have records; places where only one has are not points.
func TestPlacesOfOnePolicyAreNoPoints(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 4/10 x=1\nt a 1 2/10 x=2\nt b 1 3/10 x=2\nt b 1 3/10 x=3\n")}
	checkResult(t, in, "hits(a) < hits(b)", "reproduced: 2 < 3 (t, capacity 1, x 2)")
}

func TestAFigureAtSeveralPlacesIsNone(t *testing.T) {
	in := Input{Records: recs(t, "t a 250 4/10\nt a 1% 4/10\nt a 500 6/10\n")}
	in.Records[1].Capacity = 250
	checkResult(t, in, "hits(a at capacity = 250) > 3", "not testable here: 2 places match capacity 250, want one")
	checkResult(t, in, "hits(a at capacity = 500) > 4", "reproduced: 6 > 4 (t)")
}

// TestPoliciesAtOneCapacity expects a policy that an experiment runs at one capacity to count at all others, and two of
// them to be compared although their capacities differ.
func TestPoliciesAtOneCapacity(t *testing.T) {
	in := Input{AtOneCapacity: []string{"a", "b"}, Records: recs(t, `
		t a 10 4/10
		t b 30 5/10 x=1
		t b 30 3/10 x=2
		t c 10 6/10
		t c 30 3/10
		u c 10 1/10`)}
	checkResult(t, in, "hits(a) < hits(b)", "refuted: fails at 1 of 2 points; worst at t, x 2: 4 > 3")
	checkResult(t, in, "hits(a) < hits(c)", "refuted: fails at 1 of 2 points; worst at t, capacity 30: 4 > 3; "+
		"1 point left out: no record of a")
	checkResult(t, in, "hits(a) < hits(c) where capacity = 10", "reproduced: 4 < 6 (t, capacity 10); 1 point left "+
		"out: no "+
		"record of a")
	in.AtOneCapacity = nil
	checkResult(t, in, "hits(a) < hits(b)", "not testable here: no point has records of all its policies")
}
