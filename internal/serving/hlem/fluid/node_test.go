package fluid

import (
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// TestIdle: what waits is served, and embeddings are refilled as fast as the link allows.
func TestIdle(t *testing.T) {
	for refill, rate := range map[hlem.Refill]float64{hlem.Throttled: 3.2e9, hlem.Naive: 12.5e9, hlem.Off: 0} {
		m := anchored(0.96)
		l := hlem.Load{HotShare: 0.38, Rate: m.Rate(0.38, 0.85, 0.4)}
		n := m.NewNode()
		n.Refill = refill
		calm := n.Step(l, 0.4).P99
		busy := l
		busy.Rate *= 2
		behind := n.Run(busy, 0.4).Behind
		if n.Idle(0.4, 1); math.Abs(n.queue.Delay-(behind-1)) > 1e-9 {
			t.Errorf("%v s of work are left after 1 s of %v s", n.queue.Delay, behind)
		}
		n.Idle(0.4, 100)
		if p99 := n.Step(l, 0.4).P99; p99 > 1.1*calm {
			t.Errorf("P99 of %v s after a pause, %v s before", p99, calm)
		}
		if got := n.Idle(0.5, 0.5); math.Abs(got-4*rate) > 1 {
			t.Errorf("refill %s: %v bytes in half a second on 8 GPUs, want %v", refill, got, 4*rate)
		}
		if got, want := n.Idle(0.5, 1000), 0.1*8*80*gigabyte-4*rate; rate > 0 && math.Abs(got-want) > 1e-3*want {
			t.Errorf("refill %s: %v bytes until EMB is full, want %v", refill, got, want)
		}
	}
}

// TestCutOff: an epoch that is cut off has as many requests and misses as time has passed.
func TestCutOff(t *testing.T) {
	m := anchored(0.96)
	l := hlem.Load{HotShare: 0.38, Rate: m.Rate(0.38, 0.85, 0.4)}
	whole, part := m.NewNode().Run(l, 0.4), m.NewNode().RunFor(l, 0.4, 1)
	if math.Abs(float64(5*part.Requests-whole.Requests)) > 5 || math.Abs(5*part.MissBytes/whole.MissBytes-1) > 1e-6 ||
		math.Abs(part.P99/whole.P99-1) > 1e-6 {
		t.Errorf("one second: %+v; five: %+v", part, whole)
	}
}
