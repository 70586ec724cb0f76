package memory

import (
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"
)

// Times of the watch. Memory fills at a few GB per second, so some 10 MB are used between two checks.
const (
	lookEvery = 10 * time.Millisecond
	patience  = 2 * time.Second // for stop to take effect
)

// Shares of the budget: above softShare the collector works harder, and above hardShare the watch no longer waits.
const (
	softShare = 0.9
	hardShare = 1.1
)

// Watch makes the collector keep to the budget and calls stop, with the error to end with, as soon as the program
// exceeds it. If the program uses even more, or has not released memory a while later, it is not going to stop by
// itself: then Watch calls abort, which must end it. The returned function ends the watch.
func (b *Budget) Watch(stop, abort func(error)) (end func()) {
	before := debug.SetMemoryLimit(int64(softShare * float64(b.total)))
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		b.watch(quit, stop, abort)
	}()
	return func() {
		close(quit)
		<-ended
		debug.SetMemoryLimit(before)
	}
}

func (b *Budget) watch(quit chan struct{}, stop, abort func(error)) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var stopped time.Time
	for {
		select {
		case <-quit:
			return
		case <-ticker.C:
		}
		used := b.used()
		switch {
		case used <= b.total:
		case stopped.IsZero():
			stopped = time.Now()
			stop(b.exceeded())
		case float64(used) > hardShare*float64(b.total) || time.Since(stopped) > patience:
			abort(b.exceeded())
			return
		}
	}
}

// exceeded is the error of a program that used more than its budget.
func (b *Budget) exceeded() error {
	help := []string{"--sample", "--limit"}
	if advice := b.advice.Load(); advice != nil {
		help = slices.Insert(help, 0, *advice)
	}
	return &Error{What: "the run was stopped before it exceeded its budget", Total: b.total, Origin: b.origin, Help: help}
}

// runtimeBytes returns how much memory the Go runtime holds.
func runtimeBytes() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
