package event

import (
	"fmt"
	"time"
)

// Agenda is a virtual clock whose events are values instead of functions: scheduling and running one allocates nothing.
// Events cannot be cancelled. The zero value is ready to use.
type Agenda[E any] struct {
	now    time.Duration
	queue  []dated[E] // a heap like queue, with children per node
	inLine uint64     // events scheduled so far
}

// dated is an event at a time.
type dated[E any] struct {
	when time.Duration
	seq  uint64 // events at equal times come in this order
	what E
}

func (d *dated[E]) before(o *dated[E]) bool {
	return d.when < o.when || d.when == o.when && d.seq < o.seq
}

// Now returns the time of the event that Pop returned last.
func (a *Agenda[E]) Now() time.Duration { return a.now }

// At schedules an event for the time when, which must not be before Now. Events with equal times come in the order of
// the calls.
func (a *Agenda[E]) At(when time.Duration, what E) {
	if when < a.now {
		panic(fmt.Sprintf("event: scheduled for %v, but it is already %v", when, a.now))
	}
	a.inLine++
	e := dated[E]{when, a.inLine, what}
	a.queue = append(a.queue, e)
	at := len(a.queue) - 1
	for at > 0 {
		parent := (at - 1) / children
		if !e.before(&a.queue[parent]) {
			break
		}
		a.queue[at] = a.queue[parent]
		at = parent
	}
	a.queue[at] = e
}

// Next returns the time of the next event; false if nothing is scheduled.
func (a *Agenda[E]) Next() (when time.Duration, ok bool) {
	if len(a.queue) == 0 {
		return 0, false
	}
	return a.queue[0].when, true
}

// Pop moves the clock to the next event and returns it. There must be one.
func (a *Agenda[E]) Pop() E {
	first := a.queue[0]
	a.now = first.when
	end := len(a.queue) - 1
	last := a.queue[end]
	// Or the collector would keep what the event refers to.
	a.queue[end] = dated[E]{}
	a.queue = a.queue[:end]
	if end > 0 {
		a.sink(last)
	}
	return first.what
}

// Advance moves the clock to a time at which nothing is scheduled, but not past the next event.
func (a *Agenda[E]) Advance(to time.Duration) {
	if next, ok := a.Next(); to < a.now || ok && next < to {
		panic(fmt.Sprintf("event: the clock is to move from %v to %v, past the next event", a.now, to))
	}
	a.now = to
}

// sink puts an event where the root of the heap is missing.
func (a *Agenda[E]) sink(e dated[E]) {
	at := 0
	for {
		first := at*children + 1
		if first >= len(a.queue) {
			break
		}
		least := first
		for c := first + 1; c < min(first+children, len(a.queue)); c++ {
			if a.queue[c].before(&a.queue[least]) {
				least = c
			}
		}
		if !a.queue[least].before(&e) {
			break
		}
		a.queue[at] = a.queue[least]
		at = least
	}
	a.queue[at] = e
}
