package sim_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// atTimes is a trace with the times of its requests in seconds.
func atTimes(keys string, seconds ...float64) *traces.Trace {
	t := simtest.FromKeys(keys)
	for _, s := range seconds {
		t.Times = append(t.Times, int64(s*1e9))
	}
	return t
}

func replayOrigin(t *testing.T, tr *traces.Trace, warmup int, window string) sim.Result {
	t.Helper()
	c := simtest.Cell(t, "lru", capacity.Of(100, false))
	c.Series = must.Get(series.ParseWindow(window))(t)
	return simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup}), c)
}

// checkOrigin compares mean, P99 and peak of the misses, in misses per minute; -1: not there.
func checkOrigin(t *testing.T, what string, r sim.Result, want ...float64) {
	t.Helper()
	for i, name := range []string{"origin_misses", "origin_misses_p99", "origin_misses_peak"} {
		got, ok := r.Get(name)
		if !ok {
			got = -1.0 / 60
		}
		if math.Abs(60*got-want[i]) > 1e-9 {
			t.Errorf("%s: %s is %v a minute, want %v", what, name, 60*got, want[i])
		}
	}
}

const minuteWindow = "1m:misses_per_second,missed_mbs"

// Two misses in the first minute, none in the second, one in the third, none in the empty ones up to 5:00; the miss
// after that is in a minute that is not whole.
func TestOriginWorkedExample(t *testing.T) {
	tr := atTimes("abbabcbad", 100, 110, 159, 165, 170, 230, 235, 340, 402)
	r := replayOrigin(t, tr, 0, minuteWindow)
	checkOrigin(t, "whole", r, 3.0/5, 2, 2)
	var rates []float64
	for _, row := range rowsOf(r.Series, series.MissesPerSecond) {
		rates = append(rates, math.Round(60*row.Value))
	}
	if want := []float64{2, 0, 1, 0, 0, 1}; !equal(rates, want) {
		t.Errorf("misses of the minutes %v, want %v", rates, want)
	}
	if rows := rowsOf(r.Series, series.MissedBytes); len(rows) > 0 || len(rowsOf(r.Series, "hit_ratio")) > 0 {
		t.Errorf("rows of sizes that do not count, or that are not named: %v", r.Series)
	}
	checkOrigin(t, "after a warm-up in the first minute", replayOrigin(t, tr, 1, minuteWindow), 1.0/4, 1, 1)
	checkOrigin(t, "after a warm-up in the last", replayOrigin(t, tr, 8, minuteWindow), -1, -1, -1)
	checkOrigin(t, "windows of two minutes", replayOrigin(t, tr, 0, "2m:misses_per_second"), -1, -1, -1)
	checkOrigin(t, "not named", replayOrigin(t, tr, 0, "1m"), -1, -1, -1)
	tr.SampleRate = 0.1
	checkOrigin(t, "sample", replayOrigin(t, tr, 0, minuteWindow), 30.0/5, 20, 20)
	// 3 misses in 20 seconds are as many as 9 in a minute
	checkOrigin(t, "short", replayOrigin(t, atTimes("abac", 0, 5, 6, 20), 0, minuteWindow), 9, 9, 9)
	checkOrigin(t, "one moment", replayOrigin(t, atTimes("abac", 5, 5, 5, 5), 0, minuteWindow), -1, -1, -1)
}

func equal(a, b []float64) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// The minutes have all misses and all bytes that miss, and every minute has a row.
func TestOriginAddsUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tr := policytest.Trace(rapid.Uint64Range(0, 50).Draw(rt, "seed"), 300, 60)
		gap := rapid.Int64Range(1, 200).Draw(rt, "seconds")
		tr.Times = nil
		at := int64(0)
		for i := range tr.Objects {
			at += int64(i) * 7 % (2 * gap) * 1e9
			tr.Times = append(tr.Times, at)
		}
		c := simtest.Cell(t, "lru", capacity.OfBytes(rapid.Int64Range(1, tr.Footprint()).Draw(rt, "capacity")))
		c.Series = must.Get(series.ParseWindow(minuteWindow))(t)
		r := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c)
		var misses, mb float64
		rows := rowsOf(r.Series, series.MissesPerSecond)
		for i, row := range rows {
			misses += 60 * row.Value
			if row.Time != float64(60*(i+1)) {
				rt.Fatalf("row %d is of %v s", i, row.Time)
			}
		}
		for _, row := range rowsOf(r.Series, series.MissedBytes) {
			mb += 60 * row.Value
		}
		bytes := r.Int(metric.RequestedBytes) - r.Int(metric.HitBytes)
		if math.Abs(misses-float64(r.Int(metric.Misses))) > 1e-6 || math.Abs(mb*1e6-float64(bytes)) > 1e-3 {
			rt.Fatalf("the minutes have %v misses of %d, and %v MB of %d bytes", misses, r.Int(metric.Misses), mb, bytes)
		}
		if want := int(at/int64(time.Minute)) + 1; len(rows) != want {
			rt.Fatalf("%d minutes, want %d", len(rows), want)
		}
	})
}

func TestOriginNeedsTimes(t *testing.T) {
	of := func(tr *traces.Trace, window string) error {
		c := simtest.Cell(t, "lru", capacity.Of(100, false))
		c.Series = must.Get(series.ParseWindow(window))(t)
		return sim.NewReplayer(tr, sim.ReplayerOptions{}).Check(c)
	}
	timed := atTimes("ab", 0, 100)
	for _, tt := range []struct {
		trace        *traces.Trace
		window, want string
	}{
		{simtest.FromKeys("ab"), minuteWindow,
			"--origin, or misses per second in --series: ab has no times; name their column"},
		{timed, "10:misses_per_second", "misses per second need windows of time, such as 1m"},
		{atTimes("ab", 0, 100*86400), "1m:misses_per_second", "lasts 100 days, but misses per minute are limited to " +
			"69 days; use --limit, or longer windows, such as --series 1h:misses"},
	} {
		if err := of(tt.trace, tt.window); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.window, err, tt.want)
		}
	}
	if err := of(timed, minuteWindow); err != nil {
		t.Error(err)
	}
	timed.Starts = []int{0, 1}
	if err := of(timed, minuteWindow); err == nil {
		t.Error("files with clocks of their own are accepted")
	}
}
