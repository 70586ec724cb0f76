// Package progress shows the progress of work: a bar with rate and remaining time on a terminal, otherwise nothing.
package progress

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/experiment"
)

// Unit is what a progress bar counts.
type Unit int

// What bars count.
const (
	Bytes Unit = iota
	Requests
	Trees
	Episodes
	Searches
	Pairs
	Texts
	Steps
	Heads
)

// shown is how bars show what is neither bytes nor steps: with a noun, at a speed, and in units of so many.
var shown = map[Unit]struct {
	noun, speed string
	scale       int64
}{
	Trees:    {noun: " trees", speed: "%.0f"},
	Episodes: {noun: " episodes", speed: "%.1f"},
	Requests: {" k requests", "%.0f k", 1000},
	Pairs:    {" M pairs", "%.0f M", 1_000_000},
	Texts:    {noun: " texts", speed: "%.0f"},
	Heads:    {noun: " heads", speed: "%.1f"},
	Searches: {speed: "%.1f"},
}

// Bar is a bar with rate and remaining time on a terminal, and nothing elsewhere. Its methods may be called from
// any goroutine.
type Bar struct {
	container *mpb.Progress // nil: no bar
	notes     io.Writer     // writes lines for the user above the bar
	bar       *mpb.Bar
	done      atomic.Int64
	scale     int64 // the bar counts in this unit: single requests would fill the line with digits
}

// New returns a bar on w, which is silent if w is not a terminal or quiet is set.
func New(w io.Writer, quiet bool, what string, unit Unit) *Bar {
	if quiet {
		w = io.Discard
	}
	if !terminal.Is(w) {
		return &Bar{notes: w}
	}
	return newBar(newContainer(w), what, unit)
}

func newContainer(w io.Writer) *mpb.Progress {
	file, _ := terminal.File(w)
	return mpb.New(mpb.WithOutput(file), mpb.WithWidth(barWidth))
}

func newBar(container *mpb.Progress, what string, unit Unit) *Bar {
	p := &Bar{container: container, notes: terminal.NewStderr(container), scale: max(1, shown[unit].scale)}
	counters, speed := decor.CountersKibiByte("% .1f / % .1f"), decor.AverageSpeed(decor.SizeB1024(0), ", % .1f")
	if s, ok := shown[unit]; ok {
		counters, speed = decor.CountersNoUnit("%d / %d"+s.noun), decor.AverageSpeed(0, ", "+s.speed+"/s")
	}
	if unit == Steps { // whose number says nothing to users
		counters, speed = decor.Percentage(), nil
	}
	// A bar without a total does not end by itself.
	p.bar = p.container.New(0, barStyle(),
		mpb.PrependDecorators(decor.Name(what+" ")),
		mpb.AppendDecorators(decor.Name(" "), counters, speed, decor.Name(", "), decor.AverageETA(decor.ET_STYLE_GO),
			decor.Name(" left")))
	return p
}

// barWidth leaves room in 80 columns for the figures, and for the ^C that a terminal writes before them.
const barWidth = 16

func barStyle() mpb.BarFillerBuilder {
	return mpb.BarStyle().Lbound("▕").Rbound("▏").Filler("█").Tip("").Padding(" ")
}

// Set moves the bar to done of total; total 0 means unknown.
func (p *Bar) Set(done, total int64) {
	if p.bar == nil {
		return
	}
	if total > 0 {
		p.bar.SetTotal(max(1, total/p.scale), false)
	}
	p.done.Store(done)
	p.bar.SetCurrent(done / p.scale)
}

func (p *Bar) Add(n int64) {
	if p.bar == nil {
		return
	}
	p.bar.SetCurrent(p.done.Add(n) / p.scale)
}

// Interlude runs another bar below p's, until end is called, while p's does not move.
func (p *Bar) Interlude(what string, unit Unit) (set func(done, total int64), end func()) {
	if p.bar == nil {
		return nil, func() {}
	}
	other := newBar(p.container, what, unit)
	return other.Set, func() {
		other.bar.Abort(true)
		p.bar.DecoratorAverageAdjust(time.Now()) // the rate of p's bar does not include the interlude
	}
}

// Preparing shows a bar of a preparation below p's once set receives how much of it is done, until end is called. A
// preparation that was abandoned may still call set, which then does nothing.
func (p *Bar) Preparing() (set func(done, total int64), end func()) {
	var mu sync.Mutex
	ended, finish := false, func() {}
	var show func(done, total int64)
	set = func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if ended || p.bar == nil {
			return
		}
		if show == nil {
			show, finish = p.Interlude("preparing", Steps)
		}
		show(done, total)
	}
	return set, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		finish()
	}
}

// OfReplays shows the requests that replays serve, all on one bar; nil if there is no bar.
func (p *Bar) OfReplays() experiment.Progress {
	if p.bar == nil {
		return nil
	}
	return replaysProgress{p}
}

// replaysProgress implements experiment.Progress for the replays of one trace that is in memory.
type replaysProgress struct{ *Bar }

func (p replaysProgress) Loading(string) experiment.Task { return barTask{} }
func (p replaysProgress) Planned(requests int64)         { p.Set(0, requests) }
func (p replaysProgress) Replaying([]experiment.Cell) experiment.Task {
	return &replayTask{bar: p.Bar}
}

func (p replaysProgress) Comparing(string) experiment.Task {
	set, end := p.Interlude("comparing queries", Pairs)
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
	bar  *Bar
	done int64
}

func (t *replayTask) Set(done, _ int64) {
	t.bar.Add(done - t.done)
	t.done = done
}

func (t *replayTask) End() {}

// Note writes a line for the user.
func (p *Bar) Note(text string) {
	fmt.Fprintf(p.notes, "%s\n", terminal.InLine(terminal.Shorten(text)))
}

func (p *Bar) Finish() {
	if p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.container.Wait()
}
