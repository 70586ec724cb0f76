package baseline

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/records"
)

func TestParseTolerance(t *testing.T) {
	for text, want := range map[string]Tolerance{
		"exact": {}, "0pp": {}, "0.1pp": {Points: 0.1}, " 2 pp ": {Points: 2}, "1%rel": {Relative: 1},
		"100%rel": {Relative: 100},
	} {
		if got, err := ParseTolerance(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0.1", "0.1%", "pp", "-1pp", "101pp", "NaNpp", "infpp", "1%", "1rel", "1,5pp",
		"exactly"} {
		if got, err := ParseTolerance(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, seed := range []string{"0.1pp", "1%rel", "policy=lhd:exact",
		"policy=s3fifo(small=0.2,ghost=0.9),trace=a:b.txt:0.5pp", ":1pp", "=:1pp", "(:1pp"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		if err != nil {
			return
		}
		if again, err := ParseTolerance(r.Tolerance.String()); err != nil || again != r.Tolerance {
			t.Errorf("%q has tolerance %v, which is read as %v, %v", text, r.Tolerance, again, err)
		}
		if len(r.Where) == 0 && strings.Contains(text, ":") {
			t.Errorf("%q fits all cells", text)
		}
	})
}

// The allowed range includes the old value, and a larger tolerance allows no less.
func TestToleranceAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := rapid.Float64Range(0, 1).Draw(t, "was")
		is := rapid.Float64Range(0, 1).Draw(t, "is")
		amount := rapid.Float64Range(0.0001, 100).Draw(t, "amount")
		points, relative := Tolerance{Points: amount}, Tolerance{Relative: amount}
		if (Tolerance{}).Allows(was, is) != (was == is) {
			t.Fatalf("exact allows %v to become %v", was, is)
		}
		for _, tolerance := range []Tolerance{points, relative} {
			if !tolerance.Allows(was, was) {
				t.Fatalf("%v does not allow %v to stay", tolerance, was)
			}
			larger := Tolerance{tolerance.Points * 2, tolerance.Relative * 2}
			if tolerance.Allows(was, is) && !larger.Allows(was, is) {
				t.Fatalf("%v allows what %v does not", tolerance, larger)
			}
		}
		moved := math.Abs(is-was) * 100
		if moved < amount*0.999 && !points.Allows(was, is) || moved > amount*1.001+1e-9 && points.Allows(was, is) {
			t.Fatalf("%v on %v to %v: %v", points, was, is, points.Allows(was, is))
		}
		if relative.Allows(was, is) && moved > was*amount*1.001+1e-9 {
			t.Fatalf("%v allows %v to become %v", relative, was, is)
		}
	})
}

// A tolerance includes its end, however the numbers are rounded.
func TestToleranceIncludesItsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := float64(rapid.IntRange(0, 900).Draw(t, "was")) / 1000
		step := float64(rapid.IntRange(1, 100).Draw(t, "step")) / 1000
		if tolerance := (Tolerance{Points: step * 100}); !tolerance.Allows(was, was+step) ||
			!tolerance.Allows(was+step, was) {
			t.Fatalf("%v does not allow %v to become %v", tolerance, was, was+step)
		}
	})
}

func TestTheLastRuleThatFitsCounts(t *testing.T) {
	rec := records.Record{Trace: "a:b", Policy: "s3fifo", Label: "s3fifo(small=0.2,ghost=0.5)", Capacity: 100,
		CapacityText: "1%", Seed: 4, Axes: "noise=0.3"}
	rules := func(texts ...string) (rules []Rule) {
		for _, text := range texts {
			r := must.Get(ParseRule(text))(t)
			rules = append(rules, r)
		}
		return rules
	}
	for _, test := range []struct {
		rules []string
		want  string
	}{
		{nil, "exact"},
		{[]string{"1pp", "2%rel"}, "2%rel"},
		{[]string{"1pp", "policy=lru:2pp"}, "1pp"},
		{[]string{"policy=s3fifo:2pp"}, "2pp"},
		{[]string{"policy=s3fifo(small=0.2,ghost=0.5),seed=4:2pp"}, "2pp"},
		{[]string{"policy=s3fifo(small=0.1,ghost=0.5):2pp"}, "exact"},
		{[]string{"trace=a:b:2pp", "capacity=1%:3pp"}, "3pp"},
		{[]string{"capacity=100:3pp", "capacity=101:4pp"}, "3pp"},
		{[]string{"noise=0.30:3pp"}, "3pp"},
		{[]string{"3pp", "noise=0.3,seed=5:exact"}, "3pp"},
		{[]string{"3pp", "noise=0.3,seed=4:exact"}, "exact"},
	} {
		if got := tolerancesOf(rules(test.rules...), &rec).String(); got != test.want {
			t.Errorf("%v: got %s, want %s", test.rules, got, test.want)
		}
	}
	recs := []records.Record{rec, {Trace: "c", Policy: "lru", Label: "lru"}}
	if err := checkRules(rules("1pp", "policy=lru:1pp", "noise=0.3:1pp"), recs); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"trace=d:1pp":            `unknown trace "d"`,
		"nois=0.3:1pp":           `unknown dimension "nois"; did you mean "noise"?`,
		"policy=lru,seed=4:1pp":  "matches no record",
		"noise=0.4,policy=x:1pp": `unknown noise "0.4"`,
	} {
		must.Fail(t, checkRules(rules(text), recs), want, text)
	}
}

// On another trace only hit ratios count, and what a rule names.
func TestWhatATolerancePassesOnAnotherTrace(t *testing.T) {
	was := records.Record{Capacity: 10, Values: metric.ValuesOf(map[string]float64{"requests": 1000, "hits": 500,
		"misses": 500, "hit_ratio": 0.5, "evictions": 490, "byte_hit_ratio": 0.4, "bytes": 1000})}
	is := records.Record{Capacity: 20, Values: metric.ValuesOf(map[string]float64{"requests": 2000, "hits": 1020,
		"misses": 980, "hit_ratio": 0.51, "evictions": 900, "byte_hit_ratio": 0.37, "bytes": 3000})}
	for text, want := range map[string]bool{
		"exact": false, "1pp": false, "3pp": true, "2.9pp": false, "8%rel": true, "7%rel": false,
		"3pp metric=evictions:exact": false, "3pp metric=evictions:90%rel": true,
		"exact metric=hit_ratio:1pp metric=byte_hit_ratio:3pp": true,
	} {
		var rules []Rule
		for _, rule := range strings.Fields(text) {
			r := must.Get(ParseRule(rule))(t)
			rules = append(rules, r)
		}
		allowed := tolerancesOf(rules, &was)
		if got := allowed.allowOnAnother(compare(&was, &is, allowed)); got != want {
			t.Errorf("%s: got %t, want %t", text, got, want)
		}
	}
	without := is
	without.Delete(metric.ByteHitRatio)
	allowed := tolerances{Tolerance: Tolerance{Points: 100}}
	if allowed.allowOnAnother(compare(&was, &without, allowed)) {
		t.Error("a ratio that is missing was allowed")
	}
}

// A tolerance applies to hits: it never excuses other requests, another capacity, or a metric that only one side has.
func TestWhatATolerancePasses(t *testing.T) {
	was := records.Record{Capacity: 10, Values: metric.ValuesOf(map[string]float64{"requests": 1000, "hits": 500,
		"misses": 500, "hit_ratio": 0.5, "evictions": 490, "byte_hit_ratio": 0.4, "bytes": 1000})}
	missesOf := func(misses int64) func(*records.Record) {
		return func(r *records.Record) {
			r.SetInt(metric.Misses, misses)
			r.SetInt(metric.Hits, 1000-misses)
			r.Set(metric.HitRatio, float64(1000-misses)/1000)
		}
	}
	for _, test := range []struct {
		name   string
		change func(*records.Record)
		within bool
	}{
		{"nothing", func(*records.Record) {}, true},
		{"1 point less", missesOf(510), true},
		{"1 point more", missesOf(490), true},
		{"1.1 points less", missesOf(511), false},
		{"1.1 points more", missesOf(489), false},
		{"evictions", func(r *records.Record) { r.SetInt(metric.Evictions, r.Int(metric.Evictions)+1) }, true},
		{"byte hit ratio by 1 point", func(r *records.Record) { r.Set(metric.ByteHitRatio, 0.41) }, true},
		{"byte hit ratio by 2 points", func(r *records.Record) { r.Set(metric.ByteHitRatio, 0.42) }, false},
		{"no byte hit ratio", func(r *records.Record) { r.Delete(metric.ByteHitRatio) }, false},
		{"capacity", func(r *records.Record) { r.Capacity++ }, false},
		{"requests", func(r *records.Record) { r.SetInt(metric.Requests, r.Int(metric.Requests)+1) }, false},
		// On a sample the hit ratio is not a share of the replayed requests.
		{"misses alone", func(r *records.Record) { r.SetInt(metric.Misses, r.Int(metric.Misses)+11) }, false},
		{"hit ratio alone", func(r *records.Record) { r.Set(metric.HitRatio, r.Float(metric.HitRatio)+0.011) }, false},
	} {
		is := was
		test.change(&is)
		differences := compare(&was, &is, tolerances{})
		if got := (tolerances{Tolerance: Tolerance{Points: 1}}).allow(&was, &is, differences); got != test.within {
			t.Errorf("%s: within 1pp is %t; differences %+v", test.name, got, differences)
		}
		if exact := (tolerances{}).allow(&was, &is, differences); exact != (test.name == "nothing") {
			t.Errorf("%s: exactly the same is %t", test.name, exact)
		}
	}
	// Misses are also measured as a share of the requests: 1% of a hit ratio of 50% is 5 requests.
	for misses, within := range map[int64]bool{495: true, 494: false, 505: true, 506: false} {
		is := was
		missesOf(misses)(&is)
		if got := (tolerances{Tolerance: Tolerance{Relative: 1}}).allow(&was, &is,
			compare(&was, &is, tolerances{})); got != within {
			t.Errorf("%d misses instead of 500: within 1%%rel is %t", misses, got)
		}
	}
}

// A metric that a rule names is compared, by that rule alone.
func TestTolerancesOfMetrics(t *testing.T) {
	was := records.Record{Policy: "laru", Capacity: 10, Values: metric.ValuesOf(map[string]float64{"requests": 1000,
		"evictions": 400, "phases": 100, "hit_ratio": 0.5})}
	for _, test := range []struct {
		rules  []string
		metric string
		is     float64
		within bool
	}{
		{nil, "phases", 200, true}, // not compared unless named
		{[]string{"metric=phases:exact"}, "phases", 101, false},
		{[]string{"metric=phases:1%rel"}, "phases", 101, true},
		{[]string{"metric=phases:1%rel"}, "phases", 102, false},
		{[]string{"metric=phases:1%rel", "policy=lru,metric=phases:exact"}, "phases", 101, true},
		{[]string{"metric=phases:1%rel", "policy=laru,metric=phases:exact"}, "phases", 101, false},
		{[]string{"metric=evictions:1%rel"}, "evictions", 404, true},
		{[]string{"metric=evictions:1%rel"}, "evictions", 405, false},
		{[]string{"1pp", "metric=evictions:exact"}, "evictions", 401, false},
		{[]string{"1pp", "metric=hit_ratio:exact"}, "hit_ratio", 0.505, false},
		{[]string{"metric=hit_ratio:1pp"}, "hit_ratio", 0.505, true},
	} {
		var rules []Rule
		for _, text := range test.rules {
			r := must.Get(ParseRule(text))(t)
			rules = append(rules, r)
		}
		is := was
		is.SetNamed(test.metric, test.is)
		allowed := tolerancesOf(rules, &was)
		if got := allowed.allow(&was, &is, compare(&was, &is, allowed)); got != test.within {
			t.Errorf("%v: %s of %v is within: %t", test.rules, test.metric, test.is, got)
		}
		if err := checkRules(rules, []records.Record{was, {Policy: "lru", Values: was.Values}}); err != nil {
			t.Errorf("%v: %v", test.rules, err)
		}
	}
	for text, want := range map[string]string{
		"metric=phasess:exact":           `unknown metric "phasess"; did you mean "phases"?`,
		"metric=tenant_hit_ratio:1pp":    "has a value for each tenant; give the one you want as tenant_hit_ratio[NAME]",
		"metric=ns_per_request:1%rel":    "depends on the machine",
		"metric=phases:1pp":              "phases is not a ratio; want percent of the recorded value",
		"metric=hits,metric=phases:1pp":  "names two metrics",
		"metric=hit_ratio,policy=l:1prc": "want percentage points",
	} {
		must.NotGet(ParseRule(text))(t, want, text)
	}
	r := must.Get(ParseRule("metric=links:exact"))(t)
	must.Fail(t, checkRules([]Rule{r}, []records.Record{was}), "has links", "a metric that no record has")
}
