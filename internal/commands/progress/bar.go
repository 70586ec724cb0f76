// Package progress shows the progress of work: a bar with rate and remaining time on a terminal, otherwise nothing. It
// is the terminal's status, one line whatever goes on at the same time, and nothing is left of it at the end.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachesim/cachesim/internal/base/show"
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
	scale       float64
}{
	Trees:    {" trees", "%.0f", 1},
	Episodes: {" episodes", "%.1f", 1},
	Requests: {" k requests", "%.0f k", 1000},
	Pairs:    {" M pairs", "%.0f M", 1_000_000},
	Texts:    {" texts", "%.0f", 1},
	Heads:    {" heads", "%.1f", 1},
	Searches: {"", "%.1f", 1},
}

// Bar is a bar with rate and remaining time on a terminal, and nothing elsewhere. Its methods may be called from
// any goroutine.
type Bar struct {
	to    io.Writer // on which the bar is drawn; nil: no bar
	notes io.Writer // writes lines for the user above the bar
	end   func()    // takes the bar from the screen
	what  string
	unit  Unit

	done, total atomic.Int64 // total 0: unknown
	begin       atomic.Int64 // of the work, in nanoseconds of the clock
}

// New returns a bar on w, which is silent if w is not a terminal or quiet is set.
func New(w io.Writer, quiet bool, what string, unit Unit) *Bar {
	if quiet {
		w = io.Discard
	}
	if !terminal.Is(w) {
		return &Bar{notes: w}
	}
	return newBar(w, what, unit)
}

func newBar(w io.Writer, what string, unit Unit) *Bar {
	p := &Bar{to: w, notes: w, what: what, unit: unit}
	p.begin.Store(time.Now().UnixNano())
	p.end = terminal.Status(w, func(int) string { return p.text(time.Now()) })
	return p
}

// text is the line of the bar: what is done of all, how fast, and how long the rest will take at that speed. What is
// unknown is left out.
func (p *Bar) text(now time.Time) string {
	done, total := float64(p.done.Load()), float64(p.total.Load())
	elapsed := now.Sub(time.Unix(0, p.begin.Load())).Seconds()
	parts := []string{p.counted(done, total)}
	if done > 0 && elapsed > 0 {
		if rate := p.rate(done / elapsed); rate != "" {
			parts = append(parts, rate+"/s")
		}
		if total > 0 {
			left := time.Duration(elapsed / done * max(0, total-done) * float64(time.Second))
			parts = append(parts, left.Round(time.Second).String()+" left")
		}
	}
	if total <= 0 {
		return p.what + " " + strings.Join(parts, ", ")
	}
	return p.what + " " + drawn(done/total) + " " + strings.Join(parts, ", ")
}

// counted is what is done of all.
func (p *Bar) counted(done, total float64) string {
	count := func(x float64) string { return show.Size(int64(x), 3) }
	s, isCounted := shown[p.unit]
	switch {
	case p.unit == Steps && total > 0: // whose number says nothing to users
		return fmt.Sprintf("%.0f%%", 100*min(1, done/total))
	case p.unit == Steps:
		return ""
	case isCounted:
		count = func(x float64) string { return fmt.Sprintf("%.0f", x/s.scale) }
	}
	if total <= 0 {
		return count(done) + s.noun
	}
	return count(done) + " / " + count(total) + s.noun
}

// rate is what is done in a second; "" for steps.
func (p *Bar) rate(perSecond float64) string {
	s, isCounted := shown[p.unit]
	switch {
	case isCounted:
		return fmt.Sprintf(s.speed, perSecond/s.scale)
	case p.unit == Steps:
		return ""
	}
	return show.Size(int64(perSecond), 2)
}

// barWidth leaves room in 80 columns for the figures.
const barWidth = 14

// drawn is a bar of which a share is filled.
func drawn(share float64) string {
	full := int(barWidth * min(1, max(0, share)))
	return "▕" + strings.Repeat("█", full) + strings.Repeat(" ", barWidth-full) + "▏"
}

// Set moves the bar to done of total; total 0 means unknown.
func (p *Bar) Set(done, total int64) {
	p.done.Store(done)
	if total > 0 {
		p.total.Store(total)
	}
}

func (p *Bar) Add(n int64) { p.done.Add(n) }

// Interlude shows another bar instead of p's, until end is called, while p's does not move.
func (p *Bar) Interlude(what string, unit Unit) (set func(done, total int64), end func()) {
	if p.to == nil {
		return nil, func() {}
	}
	other, begin := newBar(p.to, what, unit), time.Now()
	return other.Set, func() {
		other.end()
		p.begin.Add(int64(time.Since(begin))) // the rate of p's bar does not include the interlude
	}
}

// Preparing shows a bar of a preparation instead of p's once set receives how much of it is done, until end is called.
// A preparation that was abandoned may still call set, which then does nothing.
func (p *Bar) Preparing() (set func(done, total int64), end func()) {
	var mu sync.Mutex
	ended, finish := false, func() {}
	var show func(done, total int64)
	set = func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if ended || p.to == nil {
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
	if p.to == nil {
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

// Finish takes the bar from the screen.
func (p *Bar) Finish() {
	if p.to != nil {
		p.end()
	}
}
