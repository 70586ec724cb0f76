package challenge

import (
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/gen"
)

func specsOf(t *testing.T, list string) []policies.Spec {
	return must.Get(policies.Registry.ParseList(list))(t)
}

// Every workload that is drawn or changed is one that the commands read, and as long as it may be.
func TestWorkloadsAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Capacity: rapid.IntRange(1, 500).Draw(t, "capacity"),
			Requests: rapid.IntRange(100, 20_000).Draw(t, "requests")}
		g := grammar{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), o}
		w := g.workload()
		for range 20 {
			if n := w.Requests(); n > o.Requests+mostPhases || n < o.least()-mostPhases || len(w) > mostPhases {
				t.Fatalf("%d requests in %d phases, want at most %d, and half as many at least", n, len(w), o.Requests)
			}
			if _, err := gen.Parse(w.Generator(1), ""); err != nil {
				t.Fatal(err)
			}
			w = g.change(w)
		}
	})
}

// A search finds that LRU loses on loops that do not fit, on any number of cores, and what it reports is what a replay
// of the reported workload has.
func TestSearchFindsLoops(t *testing.T) {
	specs := specsOf(t, "lru,lirs")
	o := Options{Capacity: 20, Requests: 2000, Tries: 60, Keep: 3, Seed: 5, Jobs: 1}
	tried := 0
	found := must.Get(Search(t.Context(), specs, o, func() { tried++ }))(t)
	if tried != o.Tries || len(found) == 0 || len(found) > o.Keep || found[0].Behind() < 0.2 {
		t.Fatalf("%d tries found %+v, want a workload on which lru is 20 points behind", tried, found)
	}
	for i, f := range found {
		again := Found{Workload: f.Workload, Seed: f.Seed}
		must.Do(t, again.replay(t.Context(), specs, o))
		if !reflect.DeepEqual(again, f) {
			t.Errorf("%+v was reported, a replay has %+v", f, again)
		}
		if i > 0 && f.Behind() > found[i-1].Behind() {
			t.Errorf("workload %d is worse than the one before it", i)
		}
	}
	o.Jobs = 3
	if other := must.Get(Search(t.Context(), specs, o, func() {}))(t); !reflect.DeepEqual(other, found) {
		t.Errorf("three jobs found %+v, one found %+v", other, found)
	}
}

// A shorter workload keeps nine tenths of the lag, and has at least half of the requests that are allowed.
func TestShortenKeepsTheLag(t *testing.T) {
	specs := specsOf(t, "lru,lirs")
	o := Options{Capacity: 20, Requests: 3000}
	f := Found{Seed: 1, Workload: Workload{{kind: "zipf", objects: 10, alpha: 1, requests: 500},
		{kind: "loop", objects: 30, requests: 2500}}}
	must.Do(t, f.replay(t.Context(), specs, o))
	before := f.Behind()
	must.Do(t, f.shorten(t.Context(), specs, o))
	if len(f.Workload) != 1 || f.Workload.Requests() != 2500 || f.Behind() < keptShare*before {
		t.Errorf("%+v, %v behind; want the loop alone, since half of it is too short; it was %v behind", f.Workload,
			f.Behind(), before)
	}
}

// A phase of a single request is removed or stays: half of it would be none.
func TestShortenKeepsSingleRequests(t *testing.T) {
	specs := specsOf(t, "lru,lirs")
	o := Options{Capacity: 20, Requests: 2000}
	f := Found{Seed: 1, Workload: Workload{{kind: "loop", objects: 30, requests: 1},
		{kind: "loop", objects: 30, requests: 999}}}
	must.Do(t, f.replay(t.Context(), specs, o))
	must.Do(t, f.shorten(t.Context(), specs, o))
	if len(f.Workload) != 2 {
		t.Errorf("%+v, want both phases, since one of them is too short", f.Workload)
	}
}

// What searches have found stays mended, or does not grow: testdata/found.tsv says how many points a policy was behind,
// and how many it may be now at most.
func TestFoundWorkloads(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("testdata/found.tsv"))(t))), "\n")
	for _, row := range rows[1:] {
		cells := strings.Split(row, "\t")
		specs := specsOf(t, cells[0]+","+cells[1])
		o := Options{Capacity: must.Get(strconv.Atoi(cells[2]))(t)}
		most := must.Get(strconv.ParseFloat(cells[4], 64))(t)
		requests := must.Get(generated(t.Context(), cells[5], 0))(t)
		hits := must.Get(hitRatios(t.Context(), requests, specs, o))(t)
		if behind := 100 * (slices.Max(hits[1:]) - hits[0]); behind > most {
			t.Errorf("%s: %s is %.2f points behind, want %v at most; it was %s", cells[5], cells[0], behind, most, cells[3])
		}
	}
}

// Nothing is found where there is nothing to find: no policy is behind itself under another name.
func TestNothingIsFoundAmongEquals(t *testing.T) {
	o := Options{Capacity: 10, Requests: 500, Tries: 20, Keep: 3, Jobs: 2}
	if found := must.Get(Search(t.Context(), specsOf(t, "lru,lru-stack"), o, func() {}))(t); len(found) != 0 {
		t.Errorf("found %+v, want nothing", found)
	}
}
