package sim_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

func rowsOf(rows []series.Row, name string) (chosen []series.Row) {
	for _, r := range rows {
		if r.Name == name {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// Windows of four requests over a b a b, c c c c, a: two hits, three, and none; lru of two objects.
func TestSeriesWorkedExample(t *testing.T) {
	tr := simtest.FromKeys("ababcccca")
	c := simtest.Cell(t, "lru", capacity.Of(2, false))
	c.Series = series.Window{Requests: 4}
	out := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c)
	want := []series.Row{
		{Time: 4, Name: "hit_ratio", Value: 0.5}, {Time: 4, Name: "evictions"}, {Time: 4, Name: "occupancy", Value: 1},
		{Time: 8, Name: "hit_ratio", Value: 0.75}, {Time: 8, Name: "evictions", Value: 1},
		{Time: 8, Name: "occupancy", Value: 1},
		{Time: 9, Name: "hit_ratio"}, {Time: 9, Name: "evictions", Value: 1}, {Time: 9, Name: "occupancy", Value: 1},
	}
	if !slices.Equal(out.Series, want) {
		t.Errorf("%v, want %v", out.Series, want)
	}
}

// Windows of a span of time have no rows where nothing is requested.
func TestSeriesOverTime(t *testing.T) {
	tr := simtest.FromKeys("aabba")
	tr.Times = []int64{100e9, 101e9, 103e9, 119e9, 140e9}
	c := simtest.Cell(t, "lru", capacity.Of(5, false))
	c.Series = series.Window{Span: 10 * time.Second}
	out := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c)
	var got []string
	for _, r := range out.Series {
		if r.Name == "hit_ratio" || r.Name == "window_requests" {
			got = append(got, fmt.Sprintf("%s %v %.3g", r.Name, r.Time, r.Value))
		}
	}
	want := []string{"window_requests 10 3", "hit_ratio 10 0.333", "window_requests 20 1", "hit_ratio 20 1",
		"window_requests 50 1", "hit_ratio 50 1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A series changes no figure, its windows add up to the whole, and no cache is ever above its capacity, whichever the
// policy, the cache, the unit and the window.
func TestSeriesAddUp(t *testing.T) {
	for _, bytes := range brief.Sample(2, false, true) {
		policytest.ForSample(t, bytes, func(test *testing.T, e policies.Entry) {
			rapid.Check(test, func(t *rapid.T) {
				tr := policytest.Trace(rapid.Uint64Range(0, 50).Draw(t, "seed"), 400, 60)
				size := capacity.Of(rapid.Int64Range(1, 50).Draw(t, "capacity"), bytes)
				if bytes {
					size = capacity.Of(200+10*size.Amount, true)
				}
				c := simtest.Cell(t, policytest.Spec(e), size)
				c.Seed = 5
				plain := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c)
				c.Series = series.Window{Requests: rapid.Int64Range(1, 500).Draw(t, "window")}
				out := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c)
				if !reflect.DeepEqual(plain.Values, out.Values) {
					t.Fatalf("%+v with a series, %+v without", out.Values, plain.Values)
				}
				hits, before := 0.0, 0.0
				for _, r := range rowsOf(out.Series, "hit_ratio") {
					hits += r.Value * (r.Time - before)
					before = r.Time
				}
				if int64(math.Round(hits)) != out.Int(metric.Hits) || before != 400 {
					t.Fatalf("windows up to %v have %v hits, want 400 and %d", before, hits, out.Int(metric.Hits))
				}
				for _, r := range rowsOf(out.Series, "occupancy") {
					if r.Value > 1 || r.Value < 0 {
						t.Fatalf("occupancy %v after %v requests", r.Value, r.Time)
					}
				}
			})
		})
	}
}

// In every kind of cache the windows add up, of models the latencies too.
func TestSeriesOfEveryCache(t *testing.T) {
	prompts := policytest.RandomPrompts(rand.New(rand.NewPCG(1, 2)), 300, 8, 4)
	lookups := simtest.Lookups(40)
	queries := policytest.Trace(3, 500, 60)
	for _, test := range []struct {
		trace *traces.Trace
		parts []string
	}{
		{prompts, []string{"cache=prefix"}}, {prompts, []string{"cache=prefix(evict=node)"}},
		{prompts, []string{"cache=prefix(evict=any)"}}, {prompts, []string{"cache=prefix",
			"model=prefill(model=qwen3-8b,concurrency=3)"}},
		{lookups, []string{"cache=sets"}}, {lookups, []string{"cache=sets(ways=4)", "model=sls(inflight=2)"}},
		{queries, nil},
	} {
		for _, policy := range []string{"lru", "s3fifo", "w-tinylfu", "opt", "uniform"} {
			c := simtest.Cell(t, policy, capacity.Of(48, false), test.parts...)
			r := sim.NewReplayer(test.trace, sim.ReplayerOptions{})
			plain := simtest.Replay(t, r, c)
			c.Series = series.Window{Requests: 100}
			out := simtest.Replay(t, r, c)
			if !reflect.DeepEqual(out.Values, plain.Values) {
				t.Errorf("%s: a series changes what a replay of %s gives", test.parts, policy)
			}
			hits, before, full := 0.0, 0.0, 0.0
			for _, r := range rowsOf(out.Series, "hit_ratio") {
				hits += r.Value * (r.Time - before)
				before = r.Time
			}
			for _, r := range rowsOf(out.Series, "occupancy") {
				full = max(full, r.Value)
			}
			if int64(math.Round(hits)) != out.Int(metric.Hits) || full == 0 || full > 1 {
				t.Errorf("%s, %s: windows have %v hits, want %d; at most %v are taken", test.parts, policy, hits,
					out.Int(metric.Hits), full)
			}
			latencies := rowsOf(out.Series, "latency_mean_ms")
			if (c.Model != nil) != (len(latencies) > 0) {
				t.Errorf("%s: %d windows with latencies", test.parts, len(latencies))
			}
			for _, r := range latencies {
				if r.Value <= 0 || r.Value > out.Float(models.LatencyMean)*50 {
					t.Errorf("%s: mean latency %v in a window, %v of all", test.parts, r.Value, out.Float(models.LatencyMean))
				}
			}
		}
	}
}

func TestSeriesRefuses(t *testing.T) {
	timeless := simtest.FromKeys("abab")
	for _, test := range []struct {
		window series.Window
		trace  *traces.Trace
		parts  []string
	}{
		{series.Window{Span: time.Second}, timeless, nil},
		{series.Window{Span: time.Nanosecond}, policytest.Trace(1, 2000, 50), nil},
		{series.Window{Span: time.Hour}, simtest.Lookups(10), []string{"cache=sets", "model=sls"}},
	} {
		c := simtest.Cell(t, "lru", capacity.Of(2, false), test.parts...)
		c.Series = test.window
		if err := sim.NewReplayer(test.trace, sim.ReplayerOptions{}).Check(c); err == nil ||
			!strings.Contains(err.Error(), "series") {
			t.Errorf("%s on %s: %v, want an error about the series", test.window, test.trace.Name, err)
		}
	}
}

// Of a divided cache each tenant has rows, and the quotas of a window add up to the capacity.
func TestSeriesOfTenants(t *testing.T) {
	tr := policytest.Trace(1, 2000, 100)
	tr.Tenants = &traces.Tenants{Names: []string{"a", "b", "c"}, Of: make([]uint32, tr.NumObjects)}
	for o := range tr.Tenants.Of {
		tr.Tenants.Of[o] = uint32(o % 3)
	}
	c := simtest.Cell(t, "lru", capacity.Of(30, false), "allocator=equal")
	c.Series = series.Window{Requests: 500}
	out := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c)
	quotas := map[float64]float64{}
	for _, r := range rowsOf(out.Series, "quota") {
		quotas[r.Time] += r.Value
	}
	if len(quotas) != 4 || math.Abs(quotas[500]-1) > 1e-9 || math.Abs(quotas[2000]-1) > 1e-9 {
		t.Errorf("quotas add up to %v, want 1 in each of 4 windows", quotas)
	}
	labels := map[string]int{}
	for _, r := range rowsOf(out.Series, "hit_ratio") {
		labels[r.Label]++
	}
	if want := map[string]int{"": 4, "a": 4, "b": 4, "c": 4}; !maps.Equal(labels, want) {
		t.Errorf("rows of hit ratios %v, want %v", labels, want)
	}
}

// The bound on tenants is one of series: a cache of more is divided all the same.
func TestSeriesOfTooManyTenants(t *testing.T) {
	tr := policytest.Trace(1, 2000, 200)
	tr.Tenants = &traces.Tenants{}
	for o := range tr.NumObjects {
		tr.Tenants.Names = append(tr.Tenants.Names, fmt.Sprint("tenant ", o))
		tr.Tenants.Of = append(tr.Tenants.Of, uint32(o))
	}
	c := simtest.Cell(t, "lru", capacity.Of(300, false), "allocator=equal")
	if n := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c).Int(metric.Requests); n != 2000 {
		t.Errorf("%v requests without a series, want 2000", n)
	}
	c.Series = series.Window{Requests: 500}
	err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Check(c)
	if err == nil || !strings.Contains(err.Error(), "tenants, more than 100") {
		t.Errorf("%v, want an error that names the bound", err)
	}
}

// Windows of time end at a time that can be written, however long they are and whenever the trace begins.
func TestSeriesOverLongTimes(t *testing.T) {
	for _, test := range []struct {
		times []int64
		span  time.Duration
		want  []float64
	}{
		{[]int64{1700000000e9, 1700000001e9}, math.MaxInt64, []float64{math.MaxInt64 / 1e9}},
		{[]int64{5e9, 9223372035e9}, 1e18, []float64{1e9, math.MaxInt64 / 1e9}},
	} {
		tr := simtest.FromKeys("ab")
		tr.Times = test.times
		c := simtest.Cell(t, "lru", capacity.Of(5, false))
		c.Series = series.Window{Span: test.span}
		var got []float64
		out := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c)
		for _, r := range rowsOf(out.Series, "hit_ratio") {
			got = append(got, r.Time)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("times %v in windows of %s: %v, want %v", test.times, test.span, got, test.want)
		}
	}
}
