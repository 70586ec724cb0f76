package memory

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Times of the watch. Memory fills at a few GB per second, so that some 10 MB are taken between two looks.
const (
	lookEvery = 10 * time.Millisecond
	patience  = 2 * time.Second // for what was told to stop
)

// Shares of the budget: from softShare on the collector works harder, and at hardShare nothing is waited for any more.
const (
	softShare = 0.9
	hardShare = 1.1
)

// Watch makes the collector keep to the budget and calls stop as soon as the program takes more than it, with the error
// to end with. A program that takes yet more, or has not given memory back a while later, is not going to stop by
// itself: then Watch calls abort, which must end it. The function that Watch returns ends the watch.
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

// exceeded is the error of a program that took more than its budget.
func (b *Budget) exceeded() error {
	return &Error{
		What: "the run was stopped before it took more than its budget", Total: b.total, Origin: b.origin,
		Help: []string{"--sample", "--limit"},
	}
}

// runtimeBytes returns how much memory the Go runtime holds.
func runtimeBytes() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
