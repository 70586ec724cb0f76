package claims

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/records"
)

// rec makes a record from a few words: "trace policy capacity hits/requests", and axes.
func rec(t testing.TB, text string) records.Record {
	t.Helper()
	var r records.Record
	fields := strings.Fields(text)
	if n, err := fmt.Sscanf(fields[3], "%d/%d", &r.Hits, &r.Requests); n != 2 {
		t.Fatal(text, err)
	}
	r.Trace, r.Label, r.CapacityText = fields[0], fields[1], fields[2]
	fmt.Sscanf(fields[2], "%d", &r.Capacity)
	r.Misses = r.Requests - r.Hits
	r.HitRatio = float64(r.Hits) / float64(r.Requests)
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

// example has two traces, capacities of which one lacks a policy, a random policy with seeds, and a policy with an axis.
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
		References: map[string]Reference{
			"published": {Within: 0.0005, Points: []Number{
				{At: map[string]string{"trace": "oltp", "policy": "lru", "capacity": "250"}, Value: 0.1602},
				{At: map[string]string{"trace": "oltp", "policy": "lru", "capacity": "500"}, Value: 0.2296},
				{At: map[string]string{"trace": "oltp", "policy": "arc", "capacity": "250"}, Value: 0.22},
			}},
		},
		Absent: map[string]string{"lirs": "its paper leaves out the stack size"},
	}
}

func TestEvaluate(t *testing.T) {
	d := NewData(exampleInput(t))
	for _, test := range []struct {
		claim, want string
	}{
		{"hit_ratio(arc) > hit_ratio(lru) where trace = oltp and capacity in 250, 500, 1000",
			"holds: at all 3 points; closest at oltp, capacity 250: 21.00% > 16.00%"},
		{"misses(laru) == misses(opt) where noise = 0",
			"holds: 620 = 620 (oltp, capacity 250, noise 0); 4 points left out: no record of laru"},
		{"misses(laru) == misses(opt)",
			"does not hold: not at 2 of 3 points; worst at oltp, capacity 250, noise 1: 850 > 620; 4 points left out: no record of laru"},
		{"hit_ratio(laru) / max over baselines of hit_ratio between 1.05 and 1.12 where noise = 1",
			"does not hold: 0.9375, outside 1.05 to 1.12 (oltp, capacity 250, noise 1); 4 points left out: no record of laru"},
		{"hit_ratio(laru) / max over baselines of hit_ratio between 0.9 and 0.95 where noise = 1",
			"holds: 0.9375 (oltp, capacity 250, noise 1); 4 points left out: no record of laru"},
		{"hit_ratio(lru) never decreases with capacity",
			"holds: in all 2 series; closest at gli: 0.90% at capacity 250, 0.90% at capacity 500"},
		{"hit_ratio(lru) increases with capacity",
			"does not hold: not in 1 of 2 series; worst at gli: 0.90% at capacity 250, 0.90% at capacity 500"},
		{"hit_ratio(laru) decreases with noise",
			"holds: 38.00% at noise 0, 15.00% at noise 1 (oltp, capacity 250)"},
		{"hit_ratio(laru) is monotone in noise",
			"holds: 38.00% at noise 0, 15.00% at noise 1 (oltp, capacity 250)"},
		{"hit_ratio(arc) is first among classic",
			"holds: at all 5 points; closest at gli, capacity 250: arc 1.40% is number 1 of 2, ahead of lru 0.90%"},
		{"hit_ratio(arc) is first among all",
			"does not hold: not at 7 of 7 points; worst at gli, capacity 500: arc 1.40% is number 2 of 4, behind opt 34.30%"},
		{"hit_ratio(arc) is second among all where capacity = 1000",
			"holds: arc 39.00% is number 2 of 3, ahead of lru 32.00% (oltp, capacity 1000)"},
		{"misses(arc) is last among lru, arc, opt",
			"does not hold: not at 5 of 5 points; worst at oltp, capacity 1000: arc 610 is number 2 of 3, ahead of lru 680"},
		{"hit_ratio(lru) == published(lru)",
			"holds: at all 2 points; closest at oltp, capacity 500: 23.00% beside 22.96%, 0.04% apart; 3 points left out: published(lru) has no number there"},
		{"hit_ratio(arc) == published(arc)",
			"does not hold: 21.00% beside 22.00%, 1.00% apart (oltp, capacity 250); 4 points left out: published(arc) has no number there"},
		{"hit_ratio(lru) == published(lru) within 0.005%",
			"does not hold: not at 2 of 2 points; worst at oltp, capacity 500: 23.00% beside 22.96%, 0.04% apart; 3 points left out: published(lru) has no number there"},
		{"hit_ratio(opt) == published(opt)",
			"not checkable here: published(opt) has no number there"},
		{"mean over trace of hit_ratio(arc) > 15% where capacity = 500",
			"holds: 15.70% > 15% (capacity 500)"},
		{"mean over trace of hit_ratio(arc) > 40% where capacity = 1000",
			"does not hold: 39.00% < 40% (capacity 1000); over 1 place on trace"},
		{"hit_ratio(lru) < hit_ratio(lirs)",
			"not checkable here: lirs is not in the experiment: its paper leaves out the stack size"},
		{"hit_ratio(lru) < hit_ratio(sieve)",
			"not checkable here: no record of sieve"},
		{"hit_ratio(lru) < hit_ratio(arc) where trace = oltpp",
			"not checkable here: no record where trace = oltpp, but at trace oltp, gli"},
		{"hit_ratio(lru) < hit_ratio(arc) where capacity in 250, 750",
			"holds: at all 2 points; closest at gli, capacity 250: 0.90% < 1.40%; no record at capacity 750"},
		{"byte_hit_ratio(lru) < byte_hit_ratio(arc)",
			"not checkable here: no byte_hit_ratio of lru is recorded"},
		{"hit_ratio(lru) / (hit_ratio(arc) - hit_ratio(arc)) > 1",
			"not checkable here: it divides by zero"},
		{"hit_ratio(arc) > 1.5 * hit_ratio(lru) at 40% of points",
			"holds: at 2 of 5 points; worst at oltp, capacity 1000: 39.00% < 48.00%"},
		{"abs(hit_ratio(arc) - hit_ratio(lru)) < 10%",
			"holds: 0.50% to 7.00%, at all 5 points; closest at oltp, capacity 1000: 7.00% < 10%"},
		{"max over seed of hit_ratio(random) < hit_ratio(lru)",
			"holds: 14.00% < 16.00% (oltp, capacity 250); 4 points left out: no record of random"},
		{"hit_ratio(lru) < hit_ratio(arc) < hit_ratio(opt)",
			"holds: at all 5 points; closest at gli, capacity 250: 0.90% < 1.40% < 17.60%"},
		{"misses(lru) <= (capacity + log2(capacity) + 2) * misses(opt)",
			"holds: at all 5 points; closest at oltp, capacity 250: 840 < 161,178.8"},
		{"argmax over capacity of hit_ratio(arc) >= 500",
			"does not hold: 250 to 1,000, not at 1 of 2 points; worst at gli: 250 < 500; over 2 to 3 places on capacity"},
	} {
		c, err := Parse(test.claim)
		if err != nil {
			t.Errorf("%s: %v", test.claim, err)
			continue
		}
		r := c.Evaluate(d)
		got := fmt.Sprintf("%s: %s%s", r.Verdict, r.Measured, r.Reason)
		if got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.claim, got, test.want)
		}
	}
}
