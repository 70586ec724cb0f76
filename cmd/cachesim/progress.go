package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/quote"
)

// progressUnit is what a progress bar counts.
type progressUnit int

const (
	unitBytes progressUnit = iota
	unitRequests
	unitTrees
	unitSearches
	unitPairs
	unitTexts
)

// progress is a bar with rate and remaining time on a terminal, and nothing elsewhere. Its methods may be called from
// any goroutine.
type progress struct {
	container *mpb.Progress // nil: no bar
	notes     io.Writer     // of lines for the user, which stand above the bar
	bar       *mpb.Bar
	done      atomic.Int64
	scale     int64 // the bar counts in this unit: single requests would fill the line with digits
}

// newProgress returns a bar on w, silent where w is no terminal or quiet is set.
func newProgress(w io.Writer, quiet bool, what string, unit progressUnit) *progress {
	if quiet {
		w = io.Discard
	}
	if !isTerminal(w) {
		return &progress{notes: w}
	}
	return newBar(newContainer(w), what, unit)
}

// newContainer returns what draws bars on a terminal.
func newContainer(w io.Writer) *mpb.Progress {
	file, _ := fileOf(w)
	return mpb.New(mpb.WithOutput(file), mpb.WithWidth(barWidth))
}

func newBar(container *mpb.Progress, what string, unit progressUnit) *progress {
	p := &progress{container: container, notes: newStderr(container), scale: 1}
	counters, speed := decor.CountersKibiByte("% .1f / % .1f"), decor.AverageSpeed(decor.SizeB1024(0), "% .1f")
	switch unit {
	case unitTrees:
		counters, speed = decor.CountersNoUnit("%d / %d trees"), decor.AverageSpeed(0, "%.0f/s")
	case unitRequests:
		p.scale = 1000
		counters, speed = decor.CountersNoUnit("%d / %d k requests"), decor.AverageSpeed(0, "%.0f k/s")
	case unitPairs:
		p.scale = 1_000_000
		counters, speed = decor.CountersNoUnit("%d / %d M pairs"), decor.AverageSpeed(0, "%.0f M/s")
	case unitTexts:
		counters, speed = decor.CountersNoUnit("%d / %d texts"), decor.AverageSpeed(0, "%.0f/s")
	case unitSearches:
		counters, speed = decor.CountersNoUnit("%d / %d"), decor.AverageSpeed(0, "%.1f/s")
	}
	// A bar without a total does not end by itself.
	p.bar = p.container.New(
		0,
		barStyle(),
		mpb.PrependDecorators(decor.Name(what+" ")),
		mpb.AppendDecorators(
			decor.Name(" "),
			counters,
			decor.Name(", "),
			speed,
			decor.Name(", "),
			decor.AverageETA(decor.ET_STYLE_GO),
			decor.Name(" left"),
		),
	)
	return p
}

// barWidth leaves room in 80 columns for the figures, and for the ^C that a terminal writes before them.
const barWidth = 16

func barStyle() mpb.BarFillerBuilder {
	return mpb.BarStyle().Lbound("▕").Rbound("▏").Filler("█").Tip("").Padding(" ")
}

// set moves the bar to done of total; total 0 means unknown.
func (p *progress) set(done, total int64) {
	if p.bar == nil {
		return
	}
	if total > 0 {
		p.bar.SetTotal(max(1, total/p.scale), false)
	}
	p.done.Store(done)
	p.bar.SetCurrent(done / p.scale)
}

// add moves the bar forward.
func (p *progress) add(n int64) {
	if p.bar == nil {
		return
	}
	p.bar.SetCurrent(p.done.Add(n) / p.scale)
}

// interlude runs another bar below p's, until end is called, while p's stands still.
func (p *progress) interlude(what string, unit progressUnit) (set func(done, total int64), end func()) {
	if p.bar == nil {
		return nil, func() {}
	}
	other := newBar(p.container, what, unit)
	return other.set, func() {
		other.bar.Abort(true)
		p.bar.DecoratorAverageAdjust(time.Now())
	}
}

// ofReplays shows the requests that replays serve, all on one bar; nil where there is none.
func (p *progress) ofReplays() experiment.Progress {
	if p.bar == nil {
		return nil
	}
	return replaysProgress{p}
}

// replaysProgress implements experiment.Progress for the replays of one trace that is in memory.
type replaysProgress struct{ *progress }

func (p replaysProgress) Loading(string) experiment.Task { return barTask{} }
func (p replaysProgress) Planned(requests int64)         { p.set(0, requests) }
func (p replaysProgress) Replaying([]experiment.Cell) experiment.Task {
	return &replayTask{bar: p.progress}
}

// Comparing implements experiment.Progress.
func (p replaysProgress) Comparing(string) experiment.Task {
	set, end := p.interlude("comparing queries", unitPairs)
	return barTask{set, end}
}

// barTask is a task with a bar of its own, or none.
type barTask struct {
	set func(done, total int64)
	end func()
}

func (t barTask) Set(done, total int64) {
	if t.set != nil {
		t.set(done, total)
	}
}

func (t barTask) End() {
	if t.end != nil {
		t.end()
	}
}

// replayTask moves the bar of all replays by what one of them has served.
type replayTask struct {
	bar  *progress
	done int64
}

func (t *replayTask) Set(done, _ int64) {
	t.bar.add(done - t.done)
	t.done = done
}

func (t *replayTask) End() {}

// note writes a line for the user.
func (p *progress) note(text string) { fmt.Fprintf(p.notes, "%s\n", printable(quote.Shorten(text))) }

// finish removes the bar.
func (p *progress) finish() {
	if p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.container.Wait()
}
