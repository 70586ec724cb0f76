package main

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progressUnit is what a progress bar counts.
type progressUnit int

const (
	unitBytes progressUnit = iota
	unitRequests
)

// progress is a bar with rate and remaining time on a terminal, and nothing elsewhere. Its methods may be called from any goroutine.
type progress struct {
	mu    sync.Mutex
	bar   *progressbar.ProgressBar // nil: silent
	done  int64
	total int64
	scale int64 // the bar counts in this unit: single requests would fill the line with digits
}

// newProgress returns a bar on w, silent where w is no terminal or quiet is set.
func newProgress(w io.Writer, quiet bool, what string, unit progressUnit) *progress {
	if quiet || !isTerminal(w) {
		return &progress{}
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionShowCount(),
	}
	p := &progress{scale: 1}
	if unit == unitBytes {
		options = append(options, progressbar.OptionShowBytes(true))
	} else {
		p.scale = 1000
		options = append(options, progressbar.OptionShowIts(), progressbar.OptionSetItsString("k requests"))
	}
	p.bar = progressbar.NewOptions64(-1, options...)
	return p
}

// set moves the bar to done of total; total 0 means unknown.
func (p *progress) set(done, total int64) {
	if p.bar == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if total > 0 && total != p.total {
		p.total = total
		p.bar.ChangeMax64(max(1, total/p.scale))
	}
	p.done = done
	_ = p.bar.Set64(p.done / p.scale)
}

// add moves the bar forward.
func (p *progress) add(n int64) {
	if p.bar == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	_ = p.bar.Set64(p.done / p.scale)
}

// finish removes the bar.
func (p *progress) finish() {
	if p.bar == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.bar.Clear()
}
