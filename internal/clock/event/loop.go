// Package event simulates what takes time: a virtual clock, timers, servers with queues, links with latency and
// bandwidth, and fetches that several requests wait for. A Loop runs scheduled events in the order of their times, on
// one goroutine and without a wall clock, so the same schedule always gives the same result.
package event

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Loop is a virtual clock with scheduled events. Times are since the start of the simulation, to the nanosecond. The
// zero value is ready to use.
type Loop struct {
	now    time.Duration
	queue  queue[time.Duration]
	timers slots[timer]
	seq    uint64
}

// timer is something scheduled.
type timer struct {
	do  func()
	seq uint64
}

// Timer identifies a scheduled event. The zero value identifies none.
type Timer struct {
	slot int32
	seq  uint64 // 0: nothing
}

// Now returns the time of the event that is running.
func (l *Loop) Now() time.Duration { return l.now }

// At schedules do for the time when, which must not be before Now. Events with equal times run in the order of the
// calls.
func (l *Loop) At(when time.Duration, do func()) Timer {
	if when < l.now {
		panic(fmt.Sprintf("event: scheduled for %v, but it is already %v", when, l.now))
	}
	l.seq++
	slot := l.timers.put(timer{do, l.seq})
	l.queue.push(entry[time.Duration]{when, l.seq, slot})
	return Timer{slot, l.seq}
}

// After schedules do for delay after Now. A time beyond the end of the clock, 292 years, is moved to its end.
func (l *Loop) After(delay time.Duration, do func()) Timer {
	return l.At(Sum(l.now, delay), do)
}

// endOfTime is the end of the clock.
const endOfTime time.Duration = math.MaxInt64

// errEndOfTime is the error of Run if an event is at the end of the clock.
var errEndOfTime = errors.New("the simulated time exceeds 292 years; use shorter times, or higher rates and bandwidths")

// Span returns the time of ns nanoseconds, from 0, rounded down; times longer than the clock become its end.
func Span(ns float64) time.Duration {
	// Negated, so that NaN, from a division of 0 by 0, becomes the end as well.
	if !(ns < float64(endOfTime)) {
		return endOfTime
	}
	return time.Duration(ns)
}

// Sum returns the sum of times from 0; a sum longer than the clock becomes its end.
func Sum(spans ...time.Duration) (sum time.Duration) {
	for _, span := range spans {
		sum += min(span, endOfTime-sum)
	}
	return sum
}

// Cancel cancels the event of t. It returns false if the event has already run or been cancelled.
func (l *Loop) Cancel(t Timer) bool {
	// The slot may have a new timer since; only the sequence number is never used twice.
	if t.seq == 0 || l.timers.items[t.slot].seq != t.seq {
		return false
	}
	l.queue.remove(t.slot)
	l.timers.take(t.slot)
	return true
}

// Next returns the time of the next event; false if nothing is scheduled.
func (l *Loop) Next() (when time.Duration, ok bool) {
	if len(l.queue.entries) == 0 {
		return 0, false
	}
	return l.queue.entries[0].key, true
}

// Step moves the clock to the next event and runs it. It returns false if nothing is scheduled.
func (l *Loop) Step() bool {
	if len(l.queue.entries) == 0 {
		return false
	}
	first := l.queue.pop()
	// Taken before it runs: it may schedule again, and cancelling its own timer must find nothing.
	t := l.timers.take(first.slot)
	l.now = first.key
	t.do()
	return true
}

// contextEvery is the number of events between two checks of the context.
const contextEvery = 1 << 4

// Run runs events until none is scheduled, or until ctx ends, whose error it then returns. It is an error if the clock
// reaches its end.
func (l *Loop) Run(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !l.Step() {
			return nil
		}
		if err := l.Ended(); err != nil {
			return err
		}
	}
}

// Ended returns an error if the clock has reached its end. Callers of Step check it; Run does.
func (l *Loop) Ended() error {
	if l.now == endOfTime {
		return errEndOfTime
	}
	return nil
}

// slots keep things by small numbers, each in use by one of them at a time.
type slots[T any] struct {
	items []T
	free  []int32
}

func (s *slots[T]) put(item T) int32 {
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		s.items[slot] = item
		return slot
	}
	s.items = append(s.items, item)
	return int32(len(s.items) - 1)
}

// take frees a slot, and returns what was there.
func (s *slots[T]) take(slot int32) (item T) {
	item, s.items[slot] = s.items[slot], item
	s.free = append(s.free, slot)
	return item
}
