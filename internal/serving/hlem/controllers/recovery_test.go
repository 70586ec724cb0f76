package controllers

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

func defaultRecovery() *recovery {
	return newPaperRecovery(params.Defaults(withRecovery(recoveryPaper)))
}

// steady is a P99 of 30 ms with a standard deviation of 1 ms.
func steady(epoch int) float64 { return 0.030 + 0.001*float64(1-2*(epoch%2)) }

// settled returns a detector that has seen its window of steady epochs.
func settled(t *testing.T) *recovery {
	t.Helper()
	c := defaultRecovery()
	for epoch := range 40 {
		if c.detect(steady(epoch)) {
			t.Fatalf("a burst in steady epoch %d", epoch)
		}
	}
	return c
}

// A step of 3 sigma fires once, the baseline is frozen meanwhile, and the burst ends with the second calm epoch.
func TestBurstIsDetectedAndReleased(t *testing.T) {
	c := settled(t)
	mean, deviation := c.mean.value(), deviationOf(c.recent)
	if math.Abs(mean-0.030) > 1e-4 || math.Abs(deviation-0.001) > 1e-9 {
		t.Fatalf("baseline %v ± %v, want 0.030 ± 0.001", mean, deviation)
	}
	for epoch := range 4 {
		if !c.detect(mean + 3*deviation) {
			t.Fatalf("epoch %d of the burst is none", epoch)
		}
	}
	if c.mean.value() != mean || deviationOf(c.recent) != deviation {
		t.Errorf("the baseline moved to %v ± %v", c.mean.value(), deviationOf(c.recent))
	}
	if !c.detect(0.030) || !c.detect(0.045) || !c.detect(0.030) {
		t.Error("one calm epoch ends the burst")
	}
	if c.detect(0.030) {
		t.Error("two calm epochs do not end the burst")
	}
	if c.detect(mean + 1.5*deviation) {
		t.Error("1.5 deviations begin a burst")
	}
}

// A step that stays is a burst of 8 epochs, and then the new load: it does not fire again.
func TestLastingChangeFiresOnce(t *testing.T) {
	c := settled(t)
	for epoch := range 100 {
		if got, want := c.detect(0.060+steady(epoch)), epoch < 8; got != want {
			t.Fatalf("epoch %d after the step: burst %v", epoch, got)
		}
	}
}

// Without 10 epochs of history nothing is a burst, and a deviation below the floor counts as 0.5 ms.
func TestBurstNeedsHistory(t *testing.T) {
	c := defaultRecovery()
	for epoch := range 10 {
		if c.detect(0.010 * float64(1+epoch*epoch)) {
			t.Errorf("a burst in epoch %d", epoch)
		}
	}
	for p99, want := range map[float64]bool{0.03099: false, 0.03102: true} {
		c := defaultRecovery()
		for range 20 {
			c.detect(0.030)
		}
		if got := c.detect(p99); got != want {
			t.Errorf("burst %v at %v s after a constant P99 of 30 ms", got, p99)
		}
	}
}

func TestOverride(t *testing.T) {
	c := settled(t)
	w := &hlem.Window{Requests: 1, Ratio: 0.5, P99: 0.060, HotShare: 0.41, Objective: hlem.DefaultObjective()}
	if r, ok := c.override(w); !ok || r != 0.4 {
		t.Errorf("with many hot users %v, %v, want 0.4", r, ok)
	}
	w.HotShare = 0.40
	if r, ok := c.override(w); !ok || r != 0.5 {
		t.Errorf("with few hot users %v, %v, want to hold 0.5", r, ok)
	}
	w.P99 = math.NaN()
	if _, ok := c.override(w); ok {
		t.Error("a P99 that is no number belongs to a burst")
	}
	var none *recovery
	if _, ok := none.override(w); ok {
		t.Error("without a recovery controller there is an override")
	}
}

// A burst moves the ratio by 0.25 at most, however long it lasts; the next one may move it again.
func TestShiftOfBurstIsBounded(t *testing.T) {
	c := settled(t)
	w := &hlem.Window{Requests: 1, Ratio: 0.7, P99: 0.060, HotShare: 0.5, Objective: hlem.DefaultObjective()}
	burst := func(want ...float64) {
		t.Helper()
		for epoch, want := range want {
			r, ok := c.override(w)
			if !ok || math.Abs(r-want) > 1e-12 {
				t.Fatalf("epoch %d of the burst: %v, %v, want %v", epoch, r, ok, want)
			}
			w.Ratio = r
		}
	}
	burst(0.6, 0.5, 0.45, 0.45, 0.45)
	for range 2 {
		c.detect(0.030)
	}
	burst(0.35, 0.25, 0.2, 0.2)
}

// No burst is longer than 8 epochs, and the detector stays finite, whatever it sees.
func TestBurstsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := defaultRecovery()
		length := 0
		for range 200 {
			p99 := rapid.SampledFrom([]float64{0.01, 0.02, 0.03, 0.031, 0.05, 3}).Draw(t, "p99")
			if c.detect(p99) {
				length++
			} else {
				length = 0
			}
			if length > 8 || len(c.recent) > 10 || math.IsNaN(c.mean.value()) {
				t.Fatalf("a burst of %d epochs, %d in the window, mean %v", length, len(c.recent), c.mean.value())
			}
		}
	})
}

func TestAverage(t *testing.T) {
	a := average{kept: 0.9}
	a.add(10)
	if math.Abs(a.value()-10) > 1e-12 {
		t.Errorf("after one value %v", a.value())
	}
	a.add(20)
	if want := (0.09*10 + 0.1*20) / 0.19; math.Abs(a.value()-want) > 1e-12 {
		t.Errorf("after two values %v, want %v", a.value(), want)
	}
}

func TestLatencyIsBounded(t *testing.T) {
	w := &hlem.Window{P99: math.Inf(1), Objective: hlem.Objective{Latency: 30 * time.Millisecond}}
	if p, ok := latency(w); !ok || p != 0.12 {
		t.Errorf("an overload counts as %v, %v, want 0.12 s", p, ok)
	}
}
