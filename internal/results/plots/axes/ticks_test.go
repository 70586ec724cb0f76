package axes

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func labels(t Ticker, low, high float64) string {
	var all []string
	for _, tick := range t.Ticks(low, high) {
		if tick.Label != "" {
			all = append(all, tick.Label)
		}
	}
	return strings.Join(all, " | ")
}

func TestTickLabels(t *testing.T) {
	for _, c := range []struct {
		ticker    Ticker
		low, high float64
		want      string
	}{
		{Ticker{Scale: Log, Unit: Number}, 250, 2000, "500 | 1k | 2k"},
		{Ticker{Scale: Log, Unit: Number}, 1, 1e6, "1 | 10 | 100 | 1k | 10k | 100k | 1M"},
		{Ticker{Scale: Log, Unit: Number}, 1, 1e12, "1 | 100 | 10k | 1M | 100M | 10G | 1T"},
		{Ticker{Scale: Log, Unit: Bytes}, 1 << 20, 1 << 30, "1 MiB | 4 MiB | 16 MiB | 64 MiB | 256 MiB | 1 GiB"},
		{Ticker{Scale: Log, Unit: Bytes}, 60 << 20, 600 << 20, "64 MiB | 128 MiB | 256 MiB | 512 MiB"},
		{Ticker{Scale: Log, Unit: Seconds}, 1e-3, 1e6, "1 ms | 1 s | 1 min | 1 h | 1 d"},
		{Ticker{Scale: Log, Unit: Number}, 100, 150, "100 | 110 | 120 | 130 | 140 | 150"},
		{Ticker{Scale: Linear, Unit: Number, Most: 5}, 0.0014, 0.875, "0.2 | 0.4 | 0.6 | 0.8"},
		{Ticker{Scale: Linear, Unit: Percent}, 0.1, 0.62, "10% | 20% | 30% | 40% | 50% | 60%"},
		{Ticker{Scale: Linear, Unit: Bytes}, 0, 6 << 20, "0 B | 1 MiB | 2 MiB | 3 MiB | 4 MiB | 5 MiB | 6 MiB"},
		{Ticker{Scale: Linear, Unit: Plain, Most: 5}, 0, 53123, "0 | 20,000 | 40,000"},
		{Ticker{Scale: Log, Unit: Plain}, 0.5, 53123, "1 | 10 | 100 | 1,000 | 10,000"},
		{Ticker{Scale: Linear, Unit: Seconds}, 0, 7200, "0 | 20 min | 40 min | 60 min | 80 min | 100 min | 120 min"},
	} {
		if got := labels(c.ticker, c.low, c.high); got != c.want {
			t.Errorf("%+v from %g to %g: %s, want %s", c.ticker, c.low, c.high, got, c.want)
		}
	}
}

// Whatever the range, an axis has a few labels, all different and within it.
func TestTicksAreFewAndDifferent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]Unit{Number, Bytes, Percent, Seconds, Plain}).Draw(t, "unit")
		scale := rapid.SampledFrom([]Scale{Linear, Log}).Draw(t, "scale")
		low := math.Exp2(rapid.Float64Range(10, 40).Draw(t, "log low"))
		high := low * rapid.Float64Range(1.1, 1e6).Draw(t, "ratio")
		seen := map[string]bool{}
		for _, tick := range (Ticker{Scale: scale, Unit: unit}).Ticks(low, high) {
			if tick.Value < low*(1-1e-6) || tick.Value > high*(1+1e-6) {
				t.Fatalf("tick at %g is outside of %g to %g", tick.Value, low, high)
			}
			if tick.Label != "" && seen[tick.Label] {
				t.Fatalf("label %q appears twice between %g and %g", tick.Label, low, high)
			}
			if tick.Label != "" {
				seen[tick.Label] = true
			}
		}
		if len(seen) < 1 || len(seen) > MaxLabels {
			t.Fatalf("%d labels between %g and %g", len(seen), low, high)
		}
	})
}

// Whatever its range, an axis of dates has few ticks, in their order and within it.
func TestDateTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "from"), 0).UTC()
		seconds := rapid.Float64Range(10, 2e8).Draw(t, "seconds")
		ticks := dateTicks(from, 0, seconds, MaxLabels)
		if len(ticks) < 1 || len(ticks) > MaxLabels+1 {
			t.Fatalf("%d ticks from %s on for %v s: %v", len(ticks), from, seconds, ticks)
		}
		for i, tick := range ticks {
			if tick.Value < 0 || tick.Value > seconds || i > 0 && tick.Value <= ticks[i-1].Value {
				t.Fatalf("ticks at %v", ticks)
			}
		}
	})
}
