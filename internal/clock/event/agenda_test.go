package event

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// TestAgendaAgainstSorting schedules and runs at random, and compares the order with a list that is searched.
func TestAgendaAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type scheduled struct {
			when time.Duration
			id   int
		}
		var a Agenda[int]
		var waiting []scheduled
		for id := range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(waiting) > 0 && rapid.Bool().Draw(t, "pop") {
				first := slices.MinFunc(waiting, func(a, b scheduled) int { // the first one of equal times
					return int(a.when - b.when)
				})
				if when, _ := a.Next(); when != first.when {
					t.Fatalf("next at %v, want %v", when, first.when)
				}
				if got := a.Pop(); got != first.id || a.Now() != first.when {
					t.Fatalf("event %d at %v, want %d at %v", got, a.Now(), first.id, first.when)
				}
				waiting = slices.DeleteFunc(waiting, func(s scheduled) bool { return s.id == first.id })
				continue
			}
			when := a.Now() + time.Duration(rapid.IntRange(0, 5).Draw(t, "delay"))
			a.At(when, id)
			waiting = append(waiting, scheduled{when, id})
			if len(a.queue) != len(waiting) {
				t.Fatalf("%d events, want %d", len(a.queue), len(waiting))
			}
		}
	})
}

func TestAgendaRefusesThePast(t *testing.T) {
	for name, f := range map[string]func(a *Agenda[int]){
		"scheduled before now":   func(a *Agenda[int]) { a.At(9, 1) },
		"moved back":             func(a *Agenda[int]) { a.Advance(9) },
		"moved past an event":    func(a *Agenda[int]) { a.Advance(13) },
		"moved, then scheduled":  func(a *Agenda[int]) { a.Advance(11); a.At(10, 1) },
		"popped, then scheduled": func(a *Agenda[int]) { a.Pop(); a.At(11, 1) },
	} {
		var a Agenda[int]
		a.Advance(10)
		a.At(12, 0)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(&a)
		}()
	}
}

func BenchmarkAgenda(b *testing.B) {
	var a Agenda[int32]
	for i := range int32(64) {
		a.At(time.Duration(i), i)
	}
	b.ReportAllocs()
	for b.Loop() {
		i := a.Pop()
		a.At(a.Now()+time.Duration(i*7919%997), i)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
