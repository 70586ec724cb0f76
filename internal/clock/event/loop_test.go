package event

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func run(t testing.TB, l *Loop) {
	t.Helper()
	must.Do(t, l.Run(t.Context()))
}

func TestEqualTimesRunInTheOrderOfTheCalls(t *testing.T) {
	var l Loop
	var ran []int
	for i := range 100 {
		l.At(time.Duration(i%3), func() { ran = append(ran, i) })
	}
	run(t, &l)
	want := make([]int, 100)
	for i := range want {
		want[i] = i
	}
	slices.SortStableFunc(want, func(a, b int) int { return a%3 - b%3 })
	if !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
}

// TestQueueAgainstSorting schedules and cancels at random, also from within events, and holds what ran against a list
// that is searched.
func TestQueueAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var l Loop
		type scheduled struct {
			when time.Duration
			id   int
		}
		var timers []Timer
		var waiting []scheduled
		var act func()
		schedule := func() {
			s := scheduled{l.Now() + time.Duration(rng.IntN(5)), len(timers)}
			waiting = append(waiting, s)
			timers = append(timers, l.At(s.when, func() {
				first := slices.MinFunc(waiting, func(a, b scheduled) int {
					if a.when != b.when {
						return int(a.when - b.when)
					}
					return a.id - b.id
				})
				if first != s || l.Now() != s.when {
					t.Fatalf("at %d ran %v, want %v", l.Now(), s, first)
				}
				waiting = slices.DeleteFunc(waiting, func(w scheduled) bool { return w.id == s.id })
				act()
			}))
		}
		act = func() {
			for range rng.IntN(4) {
				if len(timers) < 200 {
					schedule()
				}
			}
			if rng.IntN(3) == 0 && len(timers) > 0 {
				id := rng.IntN(len(timers))
				want := slices.ContainsFunc(waiting, func(w scheduled) bool { return w.id == id })
				if got := l.Cancel(timers[id]); got != want {
					t.Fatalf("Cancel(%d) = %v, want %v", id, got, want)
				}
				waiting = slices.DeleteFunc(waiting, func(w scheduled) bool { return w.id == id })
			}
		}
		for range 10 {
			schedule()
		}
		for l.Step() {
			if len(l.queue.entries) != len(waiting) {
				t.Fatalf("%d pending, want %d", len(l.queue.entries), len(waiting))
			}
		}
		if len(waiting) > 0 {
			t.Fatalf("%d events did not run", len(waiting))
		}
	})
}

func TestCancelIsForOneEventOnly(t *testing.T) {
	var l Loop
	if l.Cancel(Timer{}) {
		t.Error("the zero Timer cancelled something")
	}
	first := l.After(1, func() {})
	run(t, &l)
	ran := false
	l.After(1, func() { ran = true }) // takes the slot of first
	if l.Cancel(first) {
		t.Error("a timer that has run cancelled another")
	}
	run(t, &l)
	if !ran {
		t.Error("the second event did not run")
	}
}

func TestThePastIsRefused(t *testing.T) {
	var l Loop
	l.After(5, func() {})
	run(t, &l)
	defer func() {
		if recover() == nil {
			t.Error("an event before now was scheduled")
		}
	}()
	l.At(4, func() {})
}

func TestTheEndOfTheClockIsAnError(t *testing.T) {
	for name, schedule := range map[string]func(l *Loop, done func()){
		"a delay":       func(l *Loop, done func()) { l.After(10, func() { l.After(math.MaxInt64, done) }) },
		"arrivals":      func(l *Loop, done func()) { Poisson(l, 1, 1e-300, 1, func(int) { done() }) },
		"a queued link": func(l *Loop, done func()) { NewQueuedLink(l, math.MaxInt64, 1e-300).Transfer(1, done) },
		"a shared link": func(l *Loop, done func()) {
			l.After(10, func() { NewSharedLink(l, math.MaxInt64, 1e-300).Transfer(1, done) })
		},
	} {
		var l Loop
		schedule(&l, func() {})
		if err := l.Run(t.Context()); !errors.Is(err, errEndOfTime) || l.Now() != math.MaxInt64 {
			t.Errorf("%s: ended at %d with %v", name, l.Now(), err)
		}
	}
}

func TestSpanAndSum(t *testing.T) {
	for ns, want := range map[float64]time.Duration{0: 0, 1.9: 1, 1e300: endOfTime, math.Inf(1): endOfTime,
		1 << 63: endOfTime} {
		if got := Span(ns); got != want {
			t.Errorf("Span(%v) = %d, want %d", ns, got, want)
		}
	}
	if got := Sum(1, 2, 3); got != 6 {
		t.Errorf("1+2+3 = %d", got)
	}
	if got := Sum(endOfTime, 1, endOfTime); got != endOfTime {
		t.Errorf("beyond the end of the clock: %d", got)
	}
}

func TestRunEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var l Loop
	var again func()
	n := 0
	again = func() {
		if n++; n == 10 {
			cancel()
		}
		l.After(1, again)
	}
	again()
	if err := l.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func TestStationServesInTheOrderOfArrival(t *testing.T) {
	var l Loop
	s := NewStation(&l, 2)
	var done []string
	for i, service := range []time.Duration{10, 4, 1, 5, 1} {
		l.At(time.Duration(i), func() {
			s.Acquire(func() {
				l.After(service, func() {
					done = append(done, fmt.Sprintf("%d@%d", i, l.Now()))
					s.Release()
				})
			})
		})
	}
	run(t, &l)
	// 0 runs 0-10 and 1 1-5; then 2 5-6, 3 6-11 and, beside it, 4 10-11, which is granted later and so ends after 3.
	if want := []string{"1@5", "2@6", "0@10", "3@11", "4@11"}; !slices.Equal(done, want) {
		t.Errorf("done %v, want %v", done, want)
	}
}

// meanWait returns the mean time in the queue of a station with one server and Poisson arrivals of rate rho, in units
// of the mean service.
func meanWait(t *testing.T, rho float64, service func(*rand.Rand) float64) float64 {
	const customers, unit = 150_000, float64(time.Millisecond)
	rng := rand.New(rand.NewPCG(1, 2))
	var l Loop
	s := NewStation(&l, 1)
	var sum float64
	var arrive func(n int)
	arrive = func(n int) {
		if n == customers {
			return
		}
		came := l.Now()
		s.Acquire(func() {
			sum += float64(l.Now() - came)
			l.After(time.Duration(unit*service(rng)), s.Release)
		})
		l.After(time.Duration(unit*rng.ExpFloat64()/rho), func() { arrive(n + 1) })
	}
	arrive(0)
	run(t, &l)
	return sum / customers / unit
}

// TestQueueingFormulas holds the mean wait against Pollaczek and Khinchine's: rho/(1-rho) services for M/M/1, half of
// that for M/D/1.
func TestQueueingFormulas(t *testing.T) {
	for _, rho := range []float64{0.3, 0.7} {
		mm1, md1 := rho/(1-rho), rho/(1-rho)/2
		if got := meanWait(t, rho, (*rand.Rand).ExpFloat64); math.Abs(got/mm1-1) > 0.05 {
			t.Errorf("M/M/1 at %v: mean wait %.4f, want %.4f", rho, got, mm1)
		}
		if got := meanWait(t, rho, func(*rand.Rand) float64 { return 1 }); math.Abs(got/md1-1) > 0.05 {
			t.Errorf("M/D/1 at %v: mean wait %.4f, want %.4f", rho, got, md1)
		}
	}
}

// BenchmarkLoop is the hold model: 1000 events are scheduled, and each schedules another when it runs.
func BenchmarkLoop(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var l Loop
	var again func()
	again = func() { l.After(time.Duration(rng.IntN(1_000_000)), again) }
	for range 1000 {
		again()
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Step()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
