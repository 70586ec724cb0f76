package challenge

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

func contestOf(t *testing.T, variant, against string) *Contest {
	return must.Get(NewContest(Names{Variant: variant, Against: against, Predictor: "popu"}))(t)
}

// Every workload that is drawn, changed or simplified is one that the commands read, and phases are as long as they
// may be.
func TestWorkloadsAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Capacity: rapid.IntRange(1, 500).Draw(t, "capacity"),
			Requests: rapid.IntRange(100, 20_000).Draw(t, "requests")}
		g := draws{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), o}
		w := rapid.SampledFrom(Kinds).Draw(t, "kind").draw(g)
		for range 20 {
			if p, is := w.(phases); is {
				if n := p.requests(); n > o.Requests+mostPhases || n < o.least()-mostPhases || len(p) > mostPhases {
					t.Fatalf("%d requests in %d phases, want at most %d, and half as many at least", n, len(p), o.Requests)
				}
			}
			checkParsed(t, w)
			for at, more := 0, true; more; at++ {
				var all []Workload
				all, more = w.simpler(at)
				for _, simple := range all {
					checkParsed(t, simple)
				}
			}
			w = w.changed(g)
		}
	})
}

func checkParsed(t *rapid.T, w Workload) {
	if _, err := gen.Parse(w.Generator(1), ""); err != nil {
		t.Fatal(err)
	}
}

// Searches of each kind find what is known to be worse, on any number of cores, and what they report is what a replay
// of the reported workload has.
func TestSearchFindsWhatIsWorse(t *testing.T) {
	for _, c := range []struct {
		variant, against string
		o                Options
		behind           float64
		command          string
	}{
		{"lru", "lirs", Options{Capacity: 20, Requests: 2000, Tries: 60}, 0.2,
			"--policy 'lru,lirs' --capacity 20 --seed 5"},
		{"igtcache", "s3fifo", Options{Capacity: 100, Requests: 3000, Tries: 20}, 0.05,
			"--policy 'igtcache,s3fifo' --capacity 100 --seed 5"},
		{"topic-lru", "lirs", Options{Capacity: 30, Requests: 500, Tries: 12}, 0.01,
			"--cache 'semantic' --policy 'topic-lru,lirs' --capacity 30 --seed 5"},
	} {
		contest := contestOf(t, c.variant, c.against)
		c.o.Keep, c.o.Seed, c.o.Jobs = 3, 5, 1
		tried := 0
		all := must.Get(contest.Search(t.Context(), c.o, func() { tried++ }))(t)
		found := all.Found
		if tried != c.o.Tries || all.Tried != tried || all.Refused >= tried || len(found) == 0 || len(found) > c.o.Keep ||
			found[0].Behind < c.behind {
			t.Fatalf("%s: %d tries found %+v, want a workload on which it is %v behind", c.variant, tried, all, c.behind)
		}
		for i, f := range found {
			again := Found{Workload: f.Workload, Seed: f.Seed}
			if must.Do(t, contest.try(t.Context(), &again, c.o, 1)); !reflect.DeepEqual(again, f) {
				t.Errorf("%+v was reported, a replay has %+v", f, again)
			}
			if i > 0 && f.Behind > found[i-1].Behind {
				t.Errorf("workload %d is worse than the one before it", i)
			}
		}
		row := contest.Rows(all, c.o)[0]
		if row.Metric != "hit_ratio" || row.Behind != row.BestValue-row.Value ||
			!strings.Contains(row.Command, c.command) || !strings.Contains(row.Command, row.Trace) {
			t.Errorf("%+v: want a difference of hit ratios, and a command with %s", row, c.command)
		}
		c.o.Jobs = 3
		if other := must.Get(contest.Search(t.Context(), c.o, func() {}))(t); !reflect.DeepEqual(other, all) {
			t.Errorf("three jobs found %+v, one found %+v", other, all)
		}
	}
}

// On nodes, which have memory of their own, the P99 counts: it may be many times as long.
func TestNodesAreComparedByP99(t *testing.T) {
	names := Names{Variant: "static(r=0.9)", Kind: "nodes", Against: "static(r=0.8),static(r=0.1)"}
	contest := must.Get(NewContest(names))(t)
	o := Options{Requests: 200_000}
	values := append([]string{"tables=5", "layers=12"}, make([]string, len(nodes.parts[0].settings)-2)...)
	f := Found{Seed: 1, Workload: settings{&nodes, []part{{0, values}}, o.Requests}}
	must.Do(t, contest.try(t.Context(), &f, o, 1))
	if f.Best != 1 || f.Values[0] < 2*f.Values[2] || f.Behind != f.Values[0]/f.Values[2]-1 {
		t.Errorf("%+v: want r=0.1 as the best, and a ratio of P99", f)
	}
	row := contest.Rows(Searched{Found: []Found{f}, Tried: 1}, o)[0]
	want := "--cache 'pools(nodes=1)' --model fluid --allocate 'static(r=0.9),static(r=0.1)' --seed 0"
	if row.Metric != "latency_p99_ms" || !strings.HasSuffix(row.Command, want) {
		t.Errorf("%+v: want latencies, and a command with %s", row, want)
	}
	f = Found{Seed: 1, Workload: f.Workload}
	o.Requests = 1000
	if must.Do(t, contest.try(t.Context(), &f, o, 1)); f.Values != nil || f.Requests <= o.Requests {
		t.Errorf("%+v: want no replay of a workload that is too long", f)
	}
}

// A search that is stopped has found what one with as many tries has, and tries one workload at least.
func TestStoppedSearchHasTheResultOfItsTries(t *testing.T) {
	contest := contestOf(t, "lru", "lirs")
	o := Options{Capacity: 20, Requests: 2000, Tries: 100, Keep: 3, Seed: 5, Jobs: 1}
	for _, left := range []int{0, 1, 20, 32, 37} {
		asked, stopped := 0, o
		stopped.Stop = func() bool { asked++; return asked >= left }
		got := must.Get(contest.Search(t.Context(), stopped, func() {}))(t)
		if want := max(1, left); got.Tried != want {
			t.Fatalf("stopped after %d tries, want %d", got.Tried, want)
		}
		fewer := o
		fewer.Tries = got.Tried
		if want := must.Get(contest.Search(t.Context(), fewer, func() {}))(t); !reflect.DeepEqual(got, want) {
			t.Errorf("stopped after %d tries, found %+v, want %+v", got.Tried, got, want)
		}
	}
}

// A simpler workload keeps nine tenths of the lag, and has at least half of the requests that are allowed.
func TestSimplifyKeepsTheLag(t *testing.T) {
	contest := contestOf(t, "lru", "lirs")
	o := Options{Capacity: 20, Requests: 3000}
	f := Found{Seed: 1, Workload: phases{{kind: "zipf", objects: 10, alpha: 1, requests: 500},
		{kind: "loop", objects: 30, requests: 2500}}}
	must.Do(t, contest.try(t.Context(), &f, o, 1))
	before := f.Behind
	must.Do(t, contest.simplify(t.Context(), &f, o))
	w := f.Workload.(phases)
	if len(w) != 1 || w.requests() != 2500 || f.Behind < keptShare*before {
		t.Errorf("%+v, %v behind; want the loop alone, since half of it is too short; it was %v behind", w, f.Behind, before)
	}
}

// A phase of a single request is removed or stays: half of it would be none.
func TestSimplifyKeepsSingleRequests(t *testing.T) {
	contest := contestOf(t, "lru", "lirs")
	o := Options{Capacity: 20, Requests: 2000}
	f := Found{Seed: 1, Workload: phases{{kind: "loop", objects: 30, requests: 1},
		{kind: "loop", objects: 30, requests: 999}}}
	must.Do(t, contest.try(t.Context(), &f, o, 1))
	must.Do(t, contest.simplify(t.Context(), &f, o))
	if w := f.Workload.(phases); len(w) != 2 {
		t.Errorf("%+v, want both phases, since one of them is too short", w)
	}
}

// Parts and settings that do not matter go; one whose default would lose the lag stays.
func TestSimplifyDropsSettings(t *testing.T) {
	contest := must.Get(NewContest(Names{Variant: "lru", Against: "lirs", Kind: "readers", Prefetch: "none"}))(t)
	o := Options{Capacity: 60, Requests: 2000}
	stream := func(values ...string) part {
		return part{kind: 0, values: append(values, make([]string, 7-len(values))...)}
	}
	f := Found{Seed: 1, Workload: settings{&readers, []part{
		stream("files=1,blocks=5", "item=2", "together=2", "", "", "start=1900"),
		stream("files=10,blocks=8", "", "", "", "", "", "weight=2"),
	}, o.Requests}}
	must.Do(t, contest.try(t.Context(), &f, o, 1))
	must.Do(t, contest.simplify(t.Context(), &f, o))
	want := "readers(requests=2000,streams=forward(files=10,blocks=8),seed=1)"
	if got := f.Workload.Generator(1); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What is drawn may exclude each other, or be too short: that is counted, and no lag.
func TestRefusedWorkloads(t *testing.T) {
	contest := must.Get(NewContest(Names{Variant: "lru", Against: "lirs", Kind: "topics"}))(t)
	o := Options{Capacity: 20, Requests: 500}
	for _, values := range [][]string{{"long=0.9", "zipf=3"}, {"topics=1", "sessions=1"}} {
		one := grammar{parts: []partKind{{"", make([]setting, len(values))}}, text: topics.text}
		f := Found{Seed: 1, Workload: settings{&one, []part{{0, values}}, o.Requests}}
		if must.Do(t, contest.try(t.Context(), &f, o, 400)); f.Values != nil || f.Behind != 0 {
			t.Errorf("%v: %+v, want no replay", values, f)
		}
	}
	wrong := grammar{parts: []partKind{{"", make([]setting, 1)}}, text: topics.text}
	f := Found{Seed: 1, Workload: settings{&wrong, []part{{0, []string{"colour=3"}}}, o.Requests}}
	must.Fail(t, contest.try(t.Context(), &f, o, 1), "colour")
}

// What searches have found stays mended, or does not grow: testdata/found.tsv says how many points a policy was behind,
// and how many it may be now at most.
func TestFoundWorkloads(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("testdata/found.tsv"))(t))), "\n")
	for _, row := range rows[1:] {
		cells := strings.Split(row, "\t")
		names := Names{Variant: cells[0], Kind: cells[1], Against: cells[2], Predictor: "popu"}
		contest := must.Get(NewContest(names))(t)
		o := Options{Capacity: must.Get(strconv.Atoi(cells[3]))(t)}
		most := must.Get(strconv.ParseFloat(cells[5], 64))(t)
		requests := must.Get(contest.load(t.Context(), must.Get(workload.Generated(cells[6], 0))(t)))(t)
		values := must.Get(contest.measured(t.Context(), requests, o))(t)
		if _, behind := contest.best(values); 100*behind > most {
			t.Errorf("%s: %s is %.2f behind, want %v at most; it was %s", cells[6], cells[0], 100*behind, most, cells[4])
		}
	}
}

// Nothing is found where there is nothing to find: no policy is behind itself under another name.
func TestNothingIsFoundAmongEquals(t *testing.T) {
	o := Options{Capacity: 10, Requests: 500, Tries: 20, Keep: 3, Jobs: 2}
	all := must.Get(contestOf(t, "lru", "lru-stack").Search(t.Context(), o, func() {}))(t)
	if len(all.Found) != 0 {
		t.Errorf("found %+v, want nothing", all.Found)
	}
	var s strings.Builder
	must.Do(t, contestOf(t, "lru", "lru-stack").Print(&s, all, o, "table"))
	want := "where lru is furthest behind, at 10 objects, in 20 workloads of up to 500 requests (phases): nowhere\n"
	if s.String() != want {
		t.Errorf("%q, want %q", s.String(), want)
	}
}

// The kind follows from the variant.
func TestKindsOfVariants(t *testing.T) {
	for variant, want := range map[string]string{"lru": "phases", "best": "phases", "igtcache(mode=safe)": "readers",
		"rac-adaptive": "topics", "hlem2": "nodes", "balance": "nodes"} {
		contest := must.Get(NewContest(Names{Variant: variant}))(t)
		if contest.Kind.Name != want {
			t.Errorf("%s has the kind %s, want %s", variant, contest.Kind.Name, want)
		}
		if want == "readers" && len(contest.Parts) != 1+6*5 || want == "nodes" && len(contest.Parts) != 1+9 {
			t.Errorf("%s: %d parts", variant, len(contest.Parts))
		}
	}
	for _, c := range []struct {
		names Names
		want  string
	}{
		{Names{Variant: "nothing"}, "nothing"},
		{Names{Variant: "hlem2", Kind: "phases"}, "--workloads phases: hlem2"},
		{Names{Variant: "lru", Kind: "nodes"}, "--workloads nodes: lru"},
		{Names{Variant: "lru", Kind: "phase"}, `did you mean "phases"`},
		{Names{Variant: "hlem2", Prefetch: "next"}, "--prefetch: nodes prefetch nothing"},
		{Names{Variant: "lru", Prefetch: "nxt"}, "--prefetch: "},
		{Names{Variant: "lru,arc"}, "lru,arc"},
		{Names{Variant: "laru", Predictor: "nothing"}, "--predictor: "},
	} {
		_, err := NewContest(c.names)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", fmt.Sprint(c.names), err, c.want)
		}
	}
}
