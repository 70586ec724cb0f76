package models

import (
	"testing"
	"time"
)

// A percentile is the least time that so many per cent of the times do not exceed.
func TestLatencyIsByNearestRank(t *testing.T) {
	times := make([]time.Duration, 200)
	for i := range times {
		times[i] = time.Duration(200-i) * time.Millisecond
	}
	from := func(start, done time.Duration) func(time.Duration) waited {
		return func(latency time.Duration) waited { return waited{start, start + latency, done} }
	}
	if got, want := newLatency(times, 400, from(time.Second, 3*time.Second)), (Latency{100.5, 100, 190, 198,
		200}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := newLatency(times[:10], 10, from(0, time.Second)), (Latency{195.5, 195, 200, 200, 10}); got != want {
		t.Errorf("ten times: got %v, want %v", got, want)
	}
	if got, want := newLatency(times[:1], 1, from(0, 0)), (Latency{200, 200, 200, 200, 0}); got != want {
		t.Errorf("one time: got %v, want %v", got, want)
	}
}
