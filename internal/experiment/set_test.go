package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

const forChanges = `
traces:
  - {name: made, generate: "zipf(objects=100,alpha=0.7)", with: {requests: [1000, 2000]}, capacities: 5}
  - {name: file, file: a.csv, limit: 500}
policies: [lru, s3fifo(small=0.1), {policy: lru-k, as: lru.2, with: {k: 2}}, arc]
groups: {new: [s3fifo(small=0.1)]}
capacities: 1%
figures: [{name: a, x: requests, y: misses, only: {policy: [lru, new], capacity: 1%}}]
claims: [{claim: misses(lru) > misses(arc) where capacity = 1%}]
quick:
  traces: [file]
  policies: [lru, "s3fifo(small=0.1)"]
  capacities: 10,20
  seeds: 2
  limit: 100
  set: warmup=7
`

func TestApply(t *testing.T) {
	for _, test := range []struct {
		set  string
		got  func(f *File) any
		want any
	}{
		{"capacities=1%,5%", func(f *File) any { return f.Capacities }, Capacities{"1%", "5%"}},
		{"capacities=1%,5%", func(f *File) any { return f.Traces[0].Capacities }, Capacities(nil)},
		{"seeds=3", func(f *File) any { return f.Seeds }, Seeds{0, 1, 2}},
		{"seeds=7,3", func(f *File) any { return f.Seeds }, Seeds{7, 3}},
		{"warmup=1000", func(f *File) any { return f.Warmup }, 1000},
		{"traces.made.warmup=500", func(f *File) any { return f.Traces[0].Warmup }, 500},
		{"unit-size=true", func(f *File) any { return f.UnitSize }, true},
		{"optimum=false", func(f *File) any { return *f.Optimum }, false},
		{"metrics=misses, hits", func(f *File) any { return f.Metrics }, Values{"misses", "hits"}},
		{"policies=arc,fifo", func(f *File) any { return f.labels() }, []string{"arc", "fifo"}},
		{"policies=arc,fifo", func(f *File) any { return f.Absent["lru"] }, "left out by --set"},
		{"traces.made.alpha=0.9,1.1", func(f *File) any { return f.Traces[0].With["alpha"] }, Values{"0.9", "1.1"}},
		{"traces.made.alpha=0.9", func(f *File) any { return f.Traces[0].Generate }, "zipf(objects=100)"},
		{"traces.made.limit=10,20", func(f *File) any { return f.Traces[0].With["limit"] }, Values{"10", "20"}},
		{"traces.file.limit=1000", func(f *File) any { return f.Traces[1].Limit }, 1000},
		{"traces.file.sample=5%", func(f *File) any { return f.Traces[1].Sample }, Number(0.05)},
		{"traces.file.file=b.csv", func(f *File) any { return f.Traces[1].paths() }, []string{"b.csv"}},
		{"traces.file.files=b.csv,c.csv", func(f *File) any { return f.Traces[1].paths() }, []string{"b.csv", "c.csv"}},
		{"traces.file.generate=uniform", func(f *File) any { return f.Traces[1].paths() }, []string(nil)},
		{"traces.made.capacities=3", func(f *File) any { return f.Traces[0].Capacities }, Capacities{"3"}},
		{"policies.s3fifo(small=0.1).small=0.2,0.3", func(f *File) any { return f.Policies[1] },
			Policy{Policy: "s3fifo", As: "s3fifo(small=0.1)", With: map[string]Values{"small": {"0.2", "0.3"}}}},
		{"policies.lru.2.k=3", func(f *File) any { return f.Policies[2].With["k"] }, Values{"3"}},
	} {
		f := mustParse(t, forChanges)
		if err := f.Apply([]string{test.set}, false); err != nil {
			t.Error(err)
		} else if got := test.got(f); !reflect.DeepEqual(got, test.want) {
			t.Errorf("after %s: %#v, want %#v", test.set, got, test.want)
		} else if !slices.Equal(f.Changes, []string{"--set " + test.set}) {
			t.Errorf("after %s the changes are %q", test.set, f.Changes)
		}
	}
}

func TestApplyErrors(t *testing.T) {
	for set, want := range map[string]string{
		"seeds":                   "--set seeds: want key=value",
		"seeds=":                  "--set seeds=: want key=value",
		"seedz=3":                 `unknown key "seedz"; did you mean "seeds"? (exists: seeds, series, `,
		"seeds=x":                 `seeds "x": want a number of seeds`,
		"warmup=-1":               `want a whole number from 0, not "-1"`,
		"optimum=maybe":           `want true or false, not "maybe"`,
		"metrics=hit_rate":        `test.yaml with --set metrics=hit_rate: metrics[0]: unknown metric "hit_rate"`,
		"traces.mad.alpha=1":      `unknown trace "mad"; did you mean "made"?`,
		"traces.made.alhpa=1":     `unknown key of trace made "alhpa"; did you mean "alpha"?`,
		"traces.made.alpha=x":     `trace made: alpha=x: want a number`,
		"traces.file.alpha=1":     `unknown key of trace file "alpha"`,
		"traces.made.seed=1":      `seed: is not an axis`,
		"traces.made.limit=1,-1":  `limit=-1: want a number of requests, from 1`,
		"policies.lru.k=1":        `unknown parameter of policy lru "k"`,
		"policies.fifo.k=1":       `unknown policy "fifo"`,
		"policies=arc,fof":        `unknown policy "fof"`,
		"policies=arc,arc":        "two policies are called arc",
		"capacities=1..999+1":     "",
		"capacities=1..99999+1":   "more than 10000 steps",
		"traces.made.capacities=": "want key=value",
	} {
		f := mustParse(t, forChanges)
		if err := f.Apply([]string{set}, false); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("--set %s gives %v, want %s", set, err, want)
		}
	}
}

// TestWarmupOfATrace: a trace may have a warm-up of its own, until --set warmup gives one to all.
func TestWarmupOfATrace(t *testing.T) {
	for _, test := range []struct {
		sets []string
		want []int
	}{
		{[]string{"warmup=7", "traces.made.warmup=50"}, []int{50, 7}},
		{[]string{"traces.made.warmup=50", "warmup=7"}, []int{7, 7}},
	} {
		f := mustParse(t, forChanges)
		must.Do(t, f.Apply(test.sets, false))
		for _, c := range mustExpand(t, f) {
			want := test.want[1]
			if c.Workload.Name == "made" {
				want = test.want[0]
			}
			if c.Warmup != want {
				t.Errorf("%q: trace %s has a warm-up of %d, want %d", test.sets, c.Workload.Name, c.Warmup, want)
			}
		}
	}
}

func TestQuick(t *testing.T) {
	f := mustParse(t, forChanges)
	must.Do(t, f.Apply([]string{"seeds=1"}, true))
	want := strings.Split(strings.TrimSpace(`
file 10 lru seed=0
file 10 s3fifo(small=0.1) seed=0
file 10 opt seed=0 (auxiliary)
file 20 lru seed=0
file 20 s3fifo(small=0.1) seed=0
file 20 opt seed=0 (auxiliary)
`), "\n")
	cells := mustExpand(t, f)
	if got := summary(cells); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if c := cells[0]; c.Workload.Limit != 100 || c.Warmup != 7 {
		t.Errorf("limit %d, warm-up %d", c.Workload.Limit, c.Warmup)
	}
	if !slices.Equal(f.Changes, []string{"--quick", "--set seeds=1"}) || f.Absent["arc"] != "left out by --quick" ||
		f.Quick != nil {
		t.Errorf("changes %q, absent %q", f.Changes, f.Absent)
	}
	if err := f.Apply(nil, true); err != nil || len(f.Changes) != 2 {
		t.Errorf("the quick version of the quick version: %v", err)
	}
	f = mustParse(t, base[strings.Index(base, "traces"):])
	must.Fail(t, f.Apply(nil, true), "test.yaml: has no quick version", "without a quick version")
}

// A sample takes the place of its trace; what it does not state stays, but for what says where requests come from.
func TestSamplesTakeThePlaceOfTraces(t *testing.T) {
	text := `
traces:
  - {name: real, file: real.csv, format: csv, limit: 1000, warmup: 7, capacities: 5}
  - {name: other, file: other.csv, limit: 9}
  - {name: private, file: private.csv}
  - {name: made, generate: zipf}
  - {name: drawn, generate: zipf, with: {alpha: [0.5, 1]}, sample: 0.5}
policies: [lru]
capacities: 10
optimum: false
quick:
  traces: made
  samples: [{name: drawn, file: d.txt}, {name: real, file: sample.txt}, {name: other, file: o.txt, warmup: 3, capacities: [20, 30]}]
  without: {private: it is private}
  capacities: 40
`
	f := mustParse(t, text)
	must.Do(t, f.Apply(nil, true))
	var got []string
	for _, c := range mustExpand(t, f) {
		got = append(got, fmt.Sprint(c.Workload.Name, " ", c.Workload.Files, " ", c.Workload.Format, " ", c.Workload.Limit,
			" ", c.Warmup, " ", c.Capacity))
	}
	want := []string{"real [sample.txt]  0 7 40", "other [o.txt]  0 3 20", "other [o.txt]  0 3 30", "made []  0 0 40",
		"drawn [d.txt]  0 0 40"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if f.Without["private"] != "it is private" {
		t.Errorf("without %q", f.Without)
	}
	for _, bad := range []struct{ old, new, want string }{
		{"{private: it is private}", "{made: no}", "made is under without, but it is replayed"},
		{"{private: it is private}", "{real: no}", "real is under without, but it is replayed"},
		{"{private: it is private}", "{private: ''}", "without: private has no reason"},
		{"{private: it is private}", "{nobody: no}", `unknown trace "nobody"`},
		{"{name: real, file: sample.txt}", "{name: nobody, file: sample.txt}", `unknown trace "nobody"`},
		{"  traces: made\n", "", "private is under without, but it is replayed"},
		{"{name: real, file: sample.txt}", "{name: other, file: s.txt}", "two samples are called other"},
		{"optimum: false", "optimum: false\nwithout: {made: no}", "made is under without, but it is replayed"},
		{"optimum: false", "optimum: false\nwithout: {x: ''}", "without: x has no reason"},
		{"{name: real, file: sample.txt}", "{name: real}", "want exactly one of file, files and generate"},
	} {
		changed := "name: x\ntitle: x\nsource: x\n" + strings.Replace(text, bad.old, bad.new, 1)
		_, err := parse([]byte(changed), source{name: "x.yaml"})
		must.Fail(t, err, bad.want, bad.new)
	}
}

// A sweep stores its --only in its folder. It may name what the quick version leaves out.
func TestOnlyMayNameWhatTheQuickVersionLeavesOut(t *testing.T) {
	text := strings.Replace(forChanges, "quick:", "only: [policy=arc]\nquick:", 1)
	f := mustParse(t, text)
	if cells := mustExpand(t, f); len(cells) == 0 || cells[0].Label != "arc" {
		t.Errorf("cells %q, want those of arc", summary(cells))
	}
	must.Fail(t, f.Apply(nil, true), `unknown policy "arc"`, "the quick version of arc, which it leaves out")
}

func TestQuickLimitsReplaceThoseOfTheTraces(t *testing.T) {
	f := mustParse(t, `
traces:
  - {name: axis, file: a.csv, with: {limit: [1000, 2000]}}
  - {name: long, file: a.csv, limit: 500}
  - {name: short, file: a.csv, limit: 50}
  - {name: all, generate: zipf, with: {alpha: [0.5, 1]}}
policies: [lru]
capacities: 10
optimum: false
quick: {limit: 100}
`)
	must.Do(t, f.Apply(nil, true))
	var got []string
	for _, c := range mustExpand(t, f) {
		got = append(got, fmt.Sprint(c.Workload.Name, " ", c.Workload.Limit, " ", c.Axes))
	}
	if want := []string{
		"axis 100 ",
		"long 100 ",
		"short 50 ",
		"all 100 alpha=0.5",
		"all 100 alpha=1",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestApplyNothingChangesNothing(t *testing.T) {
	f, other := mustParse(t, forChanges), mustParse(t, forChanges)
	if err := f.Apply(nil, false); err != nil || !same(f, other) {
		t.Errorf("%v: changed to %#v", err, f)
	}
}
