package allocate

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestFluidFollowsBatchSizes(t *testing.T) {
	for text, want := range map[string][]int64{
		"batch-sizes(train=t1:300;t0:100)":            {750, 250, 0}, // pools: t1, t0, others
		"batch-sizes(train=t1:300;t0:100,share=0.4)":  {300, 100, 600},
		"batch-sizes(train=t1:300)":                   {900, 100}, // at most its data set
		"batch-sizes(train=t0:1;t1:1;t2:1;t3:1)":      {250, 250, 250, 250},
		"batch-sizes(train=t0:1,share=0)":             {0, 1000},
		"batch-sizes(train=t0:1;t1:1;t2:1;t3:999997)": {0, 0, 0, 900},
	} {
		a := build(t, text, names(4))
		_, pools := a.(Pooling).Pools()
		s := &State{Capacity: 1000, Pools: make([]Pool, len(pools))}
		for i := range s.Pools {
			s.Pools[i].Data = 900
		}
		if got := ask(t, a, s); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestQuiverTakesWholeDataSetsByBenefit(t *testing.T) {
	for text, want := range map[string][]int64{
		"quiver(train=t0:2;t1:3)":           {200, 300, 500}, // t1 whole, t0 what is left of the half
		"quiver(train=t0:4;t1:3)":           {400, 100, 500},
		"quiver(train=t0:4;t1:3,share=0.8)": {400, 300, 300},    // both whole; the others have the rest
		"quiver(train=t0:4;t1:3,share=0.2)": {200, 0, 800},      // none is whole
		"quiver(train=t2:4;t1:3;t0:2)":      {200, 300, 0, 500}, // t2 does not fit, t1 does, t0 no longer
	} {
		a := build(t, text, names(4))
		s := &State{Capacity: 1000}
		of, pools := a.(Pooling).Pools()
		data := []int64{400, 300, 900, 900}
		for range pools {
			s.Pools = append(s.Pools, Pool{})
		}
		for tenant, pool := range of {
			s.Pools[pool].Data = data[tenant]
		}
		if got := ask(t, a, s); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// Without given benefits, the first requests decide: t1 computes less between its requests, so it waits more.
func TestQuiverProfiles(t *testing.T) {
	a := build(t, "quiver(train=t0;t1,profile=100)", names(3))
	if needs := a.Needs(); needs.Every != 100 {
		t.Fatalf("it is called every %d requests, want 100", needs.Every)
	}
	s := &State{Capacity: 900, Pools: []Pool{{Data: 400}, {Data: 400}, {Data: 400}}}
	if got := ask(t, a, s); !slices.Equal(got, []int64{300, 300, 300}) {
		t.Errorf("%v before the profile, want equal shares", got)
	}
	s.Epoch, s.Elapsed = 1, int64(10*time.Second)
	for i, requests := range []int64{20, 70, 10} {
		s.Pools[i].Requests, s.Pools[i].MeanBytes, s.Pools[i].Capacity = requests, 1e5, 300
	}
	want := []int64{50, 400, 450}
	if got := ask(t, a, s); !slices.Equal(got, want) {
		t.Errorf("%v after the profile, want %v", got, want)
	}
	for i := range s.Pools {
		s.Pools[i].Capacity = want[i]
		s.Pools[i].Requests = 100 - s.Pools[i].Requests
	}
	if got := ask(t, a, s); !slices.Equal(got, want) {
		t.Errorf("%v later, want the same", got)
	}
}

// A tenant that requests nothing within the profile does not get what one that does could use.
func TestQuiverKnowsNothingOfTenantsThatHaveNotBegun(t *testing.T) {
	for _, elapsed := range []time.Duration{10 * time.Second, 0} { // 0: no clock
		a := build(t, "quiver(train=t0;t1,profile=100)", names(3))
		s := &State{Capacity: 900, Pools: []Pool{{Data: 400}, {Data: 400}, {Data: 400}}}
		ask(t, a, s)
		s.Epoch, s.Elapsed = 1, int64(elapsed)
		for i := range s.Pools {
			s.Pools[i].MeanBytes, s.Pools[i].Capacity = 1e5, 300
		}
		s.Pools[1].Requests, s.Pools[2].Requests = 10, 90
		if got, want := ask(t, a, s), []int64{50, 400, 450}; !slices.Equal(got, want) {
			t.Errorf("within %v: %v, want %v", elapsed, got, want)
		}
	}
}

func TestTrainingTenantsKeepToTheCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"quiver(train=t0:2;t2:1)", "quiver(train=t0;t1;t2)",
			"batch-sizes(train=t1:3;t0:1)", "batch-sizes(train=t0:1;t1:2;t2:3)", "quiver(train=t1,share=1)"}).Draw(t, "text")
		a := build(t, text, names(3))
		_, pools := a.(Pooling).Pools()
		s := &State{Capacity: rapid.Int64Range(0, 1<<50).Draw(t, "capacity"), Pools: make([]Pool, len(pools))}
		for i := range s.Pools {
			s.Pools[i].Data = rapid.Int64Range(0, 1<<50).Draw(t, "data")
		}
		for range 3 {
			for i, c := range ask(t, a, s) {
				s.Pools[i].Capacity, s.Pools[i].Requests = c, rapid.Int64Range(0, 1000).Draw(t, "requests")
			}
			s.Epoch++
			s.Elapsed = rapid.Int64Range(0, 1e12).Draw(t, "elapsed")
		}
	})
}

func TestTrainingTenantsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"quiver":                           "want the names of the training tenants",
		"quiver(train=a;)":                 "want the names of the training tenants",
		"quiver(train=a;a)":                "tenant a is given twice",
		"quiver(train=a:0)":                `"a:0" is not NAME:NUMBER with a number above 0`,
		"quiver(train=a:NaN)":              "is not NAME:NUMBER",
		"batch-sizes(train=a)":             "a has no batch size",
		"batch-sizes(train=a:1;b)":         "b has no batch size",
		"batch-sizes(train=a:1,share=1.1)": "share",
	} {
		must.NotGet(Registry.Parse(text))(t, want, text)
	}
	s := must.Get(Registry.Parse("batch-sizes(train=imagnet:1)"))(t)
	must.NotGet(New(s, []string{"imagenet"}))(t, `did you mean "imagenet"`)
}
