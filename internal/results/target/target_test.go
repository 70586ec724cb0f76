package target

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/results/records"
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

func curves() []Curve {
	return []Curve{
		{Policy: "lru", Online: true, Points: []Point{{10, 0.1}, {100, 0.3}, {1000, 0.5}}},
		{Policy: "fast", Online: true, Points: []Point{{10, 0.3}, {100, 0.45}, {1000, 0.5}}},
		{Policy: "flat", Online: true, Points: []Point{{10, 0.1}, {100, 0.2}, {1000, 0.2}}},
		{Policy: "best", Points: []Point{{10, 0.46}, {100, 0.6}, {1000, 0.7}}},
	}
}

// 90% of 0.5 is 0.45: lru needs 10^2.75, three quarters of the way from 100 to 1000 on a logarithmic axis.
func TestNeeds(t *testing.T) {
	a, ok := Of(Target{0.9, true}, records.Objects, curves())
	if !ok || a.Level != 0.45 || a.Largest != (Point{1000, 0.5}) || a.Of != "lru" {
		t.Fatalf("answer %+v", a)
	}
	var got []string
	for _, n := range a.Needs {
		got = append(got, n.Policy+" "+a.CapacityOf(n)+" "+a.Basis(n))
	}
	want := []string{
		"fast 100 replayed: 100 (45.00%)",
		"lru ~563 between 100 (30.00%) and 1,000 (50.00%)",
		"flat more than 1,000 not reached at the largest replayed: 1,000 (20.00%)",
		"best at most 10 the smallest replayed: 10 (46.00%)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("needs %q, want %q", got, want)
	}
	const sentence = "90% of the largest hit ratio: 100 objects with fast, ~563 with lru, more than 1,000 with flat; " +
		"offline: at most 10 with best"
	if a.Sentence() != sentence {
		t.Errorf("%s", a.Sentence())
	}
	if lines := a.Explanation(); len(lines) != 4 || !strings.Contains(lines[0], "(lru at 1,000 objects)") {
		t.Errorf("explanation %q", lines)
	}
}

func TestHitRatioAsTarget(t *testing.T) {
	a, ok := Of(Target{0.5, false}, records.Bytes, curves())
	if !ok || a.Level != 0.5 || !strings.HasPrefix(a.Sentence(), "a hit ratio of 0.5: 1000 B with lru, 1000 B with fast") {
		t.Errorf("%v %s", ok, a.Sentence())
	}
}

// Nothing lies between 4 and 5 objects.
func TestNeighbouringCapacities(t *testing.T) {
	lru := Curve{Policy: "lru", Online: true, Points: []Point{{4, 0.3}, {5, 0.6}}}
	if a, _ := Of(Target{0.9, true}, records.Objects, []Curve{lru}); a.CapacityOf(a.Needs[0]) != "5" {
		t.Errorf("%s", a.Sentence())
	}
}

// What comes from samples is never said to be known exactly.
func TestEstimatesAreMarked(t *testing.T) {
	c := curves()
	for i := range c {
		c[i].Estimate = true
	}
	a, _ := Of(Target{0.9, true}, records.Objects, c)
	for _, n := range a.Needs {
		if n.How == Replayed {
			t.Errorf("%s: %s", n.Policy, a.CapacityOf(n))
		}
	}
}

func TestNoAnswer(t *testing.T) {
	if _, ok := Of(Target{}, records.Objects, curves()); ok {
		t.Error("an answer to no question")
	}
	asked, unasked := Flag{Target: Default, IsSet: true}, NewFlag()
	without := []Curve{{Policy: "lru", Online: true, Points: []Point{{1, 0}, {2, 0}, {3, 0}}}}
	for _, c := range [][]Curve{without, curves()[3:]} {
		a, ok := Of(Default, records.Objects, c)
		if want := "90% of the largest hit ratio: unknown, because no online policy has a hit"; a.Sentence() != want {
			t.Errorf("%s, want %s", a.Sentence(), want)
		}
		if !ok || !asked.Shows(a, 1) || unasked.Shows(a, 3) || len(a.Explanation()) > 0 {
			t.Errorf("%+v is shown to who has not asked, or not to who has", a)
		}
	}
	a, ok := Of(Target{0.6, false}, records.Objects, curves()[3:])
	if want := "a hit ratio of 0.6: offline: 100 objects with best"; !ok || a.Sentence() != want {
		t.Errorf("%s, want %s", a.Sentence(), want)
	}
}

// What is unknown has no lines to explain it.
func TestPrintUnknown(t *testing.T) {
	a, _ := Of(Default, records.Objects, nil)
	for markdown, want := range map[bool]string{
		false: "\n90% of the largest hit ratio: unknown, because no\nonline policy has a hit\n",
		true:  "\n**90% of the largest hit ratio: unknown, because no online policy has a hit**\n",
	} {
		var text strings.Builder
		if err := records.PrintAnswers(&text, []Answer{a}, markdown, 50); err != nil || text.String() != want {
			t.Errorf("%v %q, want %q", err, text.String(), want)
		}
	}
}

// A name with a comma is not read as two.
func TestNamesWithCommas(t *testing.T) {
	c := curves()
	c[1].Policy = "arc, next"
	a, _ := Of(Default, records.Objects, c)
	const want = "90% of the largest hit ratio: 100 objects with arc, next; ~563 with lru; more than 1,000 with flat; " +
		"offline: at most 10 with best"
	if a.Sentence() != want {
		t.Errorf("%s, want %s", a.Sentence(), want)
	}
}

func TestGroupsOfRecords(t *testing.T) {
	var recs []records.Record
	add := func(trace, policy, kind string, capacity int64, hitRatio float64) {
		recs = append(recs, records.Record{Trace: trace, Label: policy, Policy: policy, Kind: kind, Capacity: capacity,
			CapacityUnit: records.Objects, Values: metric.ValuesOf(map[string]float64{"hit_ratio": hitRatio})})
	}
	for i, capacity := range []int64{100, 10, 1000} {
		add("a", "lru", "online", capacity, []float64{0.3, 0.1, 0.5}[i])
		add("a", "bound", "bound", capacity, 0.9)
	}
	add("b", "lru", "online", 10, 0.1)
	blocks := func(*records.Record) string { return "blocks" }
	answers := FromRecords(NewFlag(), recs, nil, blocks)
	if len(answers) != 1 || answers[0].Name != "a" || len(answers[0].Needs) != 1 ||
		answers[0].Sentence() != "90% of the largest hit ratio: ~563 blocks with lru" {
		t.Errorf("answers %+v", answers)
	}
	if n := len(FromRecords(Flag{Target: Default, IsSet: true}, recs, nil, blocks)); n != 2 {
		t.Errorf("%d answers, want 2", n)
	}
}

// What knows the future through a part of it is listed with the offline policies, and its hit ratio is not the largest.
func TestForesightDoesNotCompete(t *testing.T) {
	records.DeclareFuture(func(_, part string) bool { return part == "oracle" })
	t.Cleanup(func() { records.DeclareFuture(func(_, _ string) bool { return false }) })
	for _, k := range records.PartKinds {
		var recs []records.Record
		for i, capacity := range []int64{10, 100, 1000} {
			r := records.Record{Trace: "t", Policy: "lru", Label: "lru", Kind: "online", Capacity: capacity,
				CapacityShare: new(0.5), CapacityUnit: records.Objects}
			r.Set(metric.HitRatio, 0.1*float64(i+1))
			knows := r
			knows.Label, knows.Policy, knows.Values = "laru", "laru", metric.ValuesOf(map[string]float64{"hit_ratio": 0.9})
			*k.Field(&knows) = "oracle"
			recs = append(recs, r, knows)
		}
		var a Answer
		if k.Apart { // two tables: nothing competes in that of the oracle
			objects := func(*records.Record) string { return "objects" }
			answers := FromRecords(Flag{Target: Default, IsSet: true}, recs, nil, objects)
			if len(answers) != 2 || answers[1].Of != "" {
				t.Fatalf("%s: %+v", k.Name, answers)
			}
			continue
		}
		a = FromRecords(NewFlag(), recs, nil, func(*records.Record) string { return "objects" })[0]
		if a.Of != "lru" || !strings.Contains(a.Sentence(), "; offline: at most 10 with laru") {
			t.Errorf("%s: the largest is of %s: %s", k.Name, a.Of, a.Sentence())
		}
	}
}
