package controllers

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

func defaultSurge() *surge { return newSurge(params.Defaults(withRecovery(recoveryOn))) }

// counted returns a window of many requests, as many of which are of hot users as chance makes of a share.
func counted(random *rand.Rand, share float64) *hlem.Window {
	const n = 2400
	hot := 0
	for range n {
		if random.Float64() < share {
			hot++
		}
	}
	return &hlem.Window{Requests: n, HotShare: float64(hot) / n, Ratio: 0.4}
}

// Chance alone, and a share that rises slowly, begin a burst in at most one of a thousand epochs.
func TestSurgeHasFewFalseAlarms(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, rise := range map[string]float64{"steady": 0, "trend": 0.25} {
		alarms, epochs := 0, 0
		for range 20 {
			s := defaultSurge()
			for epoch := range 200 {
				epochs++
				if _, ok := s.override(counted(random, 0.38+rise*float64(epoch)/200)); ok {
					alarms++
				}
			}
		}
		if alarms > epochs/1000 {
			t.Errorf("%s: %d alarms in %d epochs", name, alarms, epochs)
		}
	}
}

// A burst moves memory to the users by as much as the share of hot users has risen, and back when it ends.
func TestSurgeFollowsTheShareAndGoesBack(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s := defaultSurge()
	for range 30 {
		s.override(counted(random, 0.38))
	}
	base := s.hot.value()
	for epoch := range 4 {
		w := counted(random, 0.60)
		want := 0.4 - 0.35*(w.HotShare-base)
		if got, ok := s.override(w); !ok || math.Abs(got-want) > 1e-9 {
			t.Fatalf("epoch %d of the burst: ratio %v (%t), want %v", epoch, got, ok, want)
		}
	}
	if got, ok := s.override(counted(random, 0.38)); !ok || got != 0.4 {
		t.Errorf("after the burst: ratio %v (%t), want that of before", got, ok)
	}
	if _, ok := s.override(counted(random, 0.38)); ok {
		t.Error("an epoch after the burst belongs to it")
	}
}

// A share that stays higher is another load after 8 epochs.
func TestSurgeEndsWhenItLasts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	s := defaultSurge()
	for range 30 {
		s.override(counted(random, 0.2))
	}
	overridden := 0
	for range 100 {
		if _, ok := s.override(counted(random, 0.5)); ok {
			overridden++
		}
	}
	if overridden != 9 { // the last one goes back
		t.Errorf("%d epochs belong to bursts, want 9", overridden)
	}
}
