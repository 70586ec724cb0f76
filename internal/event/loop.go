// Package event simulates what takes time: a virtual clock, timers, servers with queues, links with latency and
// bandwidth, and fetches that several requests wait for. A Loop runs what was scheduled in the order of its times, on
// one goroutine and without a wall clock, so that the same schedule always gives the same result.
package event

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Loop is a virtual clock with what is scheduled on it. Times are since the start of the simulation, to the nanosecond.
// The zero value is ready to use.
type Loop struct {
	now    time.Duration
	queue  queue
	timers []timer
	free   []int32 // of timers
	seq    uint64
}

// timer is something scheduled.
type timer struct {
	do  func()
	seq uint64
	at  int32 // its place in the queue
}

// Timer names something scheduled. The zero value names nothing.
type Timer struct {
	slot int32
	seq  uint64 // 0: nothing
}

// Now returns the time of the event that is running.
func (l *Loop) Now() time.Duration { return l.now }

// At schedules do for the time when, which must not be before Now. What is scheduled for equal times runs in the order
// of the calls.
func (l *Loop) At(when time.Duration, do func()) Timer {
	if when < l.now {
		panic(fmt.Sprintf("event: scheduled for %v, but it is %v already", when, l.now))
	}
	l.seq++
	slot := l.slot()
	l.timers[slot].do, l.timers[slot].seq = do, l.seq
	l.queue.push(entry{when, l.seq, slot}, l.timers)
	return Timer{slot, l.seq}
}

// After schedules do for delay after Now. What would lie beyond the end of the clock, 292 years, lies at its end.
func (l *Loop) After(delay time.Duration, do func()) Timer {
	return l.At(Sum(l.now, delay), do)
}

// endOfTime is where the clock ends.
const endOfTime time.Duration = math.MaxInt64

// errEndOfTime is what Run returns where something lies at the end of the clock.
var errEndOfTime = errors.New("what is simulated takes longer than 292 years; make its times shorter, or its rates " +
	"and bandwidths higher")

// Span returns the time of ns nanoseconds, from 0, rounded down; what is longer than the clock ends with it.
func Span(ns float64) time.Duration {
	if !(ns < float64(endOfTime)) {
		return endOfTime
	}
	return time.Duration(ns)
}

// Sum returns the sum of times from 0; what is longer than the clock ends with it.
func Sum(spans ...time.Duration) (sum time.Duration) {
	for _, span := range spans {
		sum += min(span, endOfTime-sum)
	}
	return sum
}

// Cancel takes back what t names. It reports false where that has run or been cancelled before.
func (l *Loop) Cancel(t Timer) bool {
	if t.seq == 0 || l.timers[t.slot].seq != t.seq {
		return false
	}
	l.queue.remove(l.timers[t.slot].at, l.timers)
	l.release(t.slot)
	return true
}

// Pending returns how many events are scheduled.
func (l *Loop) Pending() int { return len(l.queue.entries) }

// Step moves the clock to the next event and runs it. It reports false where nothing is scheduled.
func (l *Loop) Step() bool {
	if len(l.queue.entries) == 0 {
		return false
	}
	first := l.queue.entries[0]
	l.queue.remove(0, l.timers)
	do := l.timers[first.slot].do
	l.release(first.slot)
	l.now = first.when
	do()
	return true
}

// contextEvery is how many events run between two looks at the context.
const contextEvery = 1 << 4

// Run runs events until none is scheduled, or ctx ends, whose error it returns. It is an error that the clock comes to
// its end.
func (l *Loop) Run(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case !l.Step():
			return nil
		case l.now == endOfTime:
			return errEndOfTime
		}
	}
}

// slot returns a free slot of timers.
func (l *Loop) slot() int32 {
	if n := len(l.free); n > 0 {
		slot := l.free[n-1]
		l.free = l.free[:n-1]
		return slot
	}
	l.timers = append(l.timers, timer{})
	return int32(len(l.timers) - 1)
}

func (l *Loop) release(slot int32) {
	l.timers[slot] = timer{}
	l.free = append(l.free, slot)
}
