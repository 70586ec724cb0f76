package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/cachesim/cachesim/internal/experiment"
)

// sweepProgress shows a bar for the whole sweep with the remaining time, and above it one for each cell that runs. All of them fit into
// 80 columns. It implements experiment.Progress.
type sweepProgress struct {
	container *mpb.Progress
	overall   *mpb.Bar
	total     int // cells to run
	begin     time.Time

	mu       sync.Mutex
	finished int
	running  map[*sweepTask]int // cells of each task
}

const sweepNameWidth = 50

// newSweepProgress returns a display on w, or nil where w is no terminal or quiet is set.
func newSweepProgress(w io.Writer, quiet bool, total int) *sweepProgress {
	if quiet || total == 0 || !isTerminal(w) {
		return nil
	}
	file, _ := fileOf(w)
	p := &sweepProgress{
		container: mpb.New(mpb.WithOutput(file), mpb.WithWidth(barWidth)),
		total:     total, begin: time.Now(), running: map[*sweepTask]int{},
	}
	p.overall = p.container.New(int64(total)*shares, barStyle(), mpb.BarPriority(1<<30), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return sweepName(p.caption()) })),
		mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5})))
	return p
}

// shares is how finely the bar of the whole sweep counts each cell.
const shares = 1000

// sweepName brings a name to the width of its column.
func sweepName(name string) string {
	return text.Pad(text.Snip(name, sweepNameWidth, "…"), sweepNameWidth, ' ')
}

// caption says how many cells are finished and how long the others will take if they are like those before.
func (p *sweepProgress) caption() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := fmt.Sprintf("%d of %d cells", p.finished, p.total)
	if done := p.done(); done > 0 {
		left := float64(time.Since(p.begin)) * (float64(p.total) - done) / done
		s += fmt.Sprintf(", %s left", time.Duration(left).Round(time.Second))
	}
	return s
}

// done returns the number of cells that are finished, with the shares done of those that run.
func (p *sweepProgress) done() float64 {
	done := float64(p.finished)
	for task, cells := range p.running {
		done += float64(cells) * task.share
	}
	return done
}

// Loading implements experiment.Progress.
func (p *sweepProgress) Loading(trace string) experiment.Task {
	return p.begins("loading "+trace, 0)
}

// Comparing implements experiment.Progress.
func (p *sweepProgress) Comparing(trace string) experiment.Task {
	return p.begins("comparing queries of "+trace, 0)
}

// Replaying implements experiment.Progress.
func (p *sweepProgress) Replaying(cells []experiment.Cell) experiment.Task {
	name := cells[0].String()
	if more := len(cells) - 1; more > 0 {
		name = fmt.Sprintf("%s and %d more", name, more)
	}
	return p.begins(name, len(cells))
}

func (p *sweepProgress) begins(name string, cells int) experiment.Task {
	bar := p.container.New(0, barStyle(), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(sweepName(name))), mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5})))
	task := &sweepTask{progress: p, bar: bar}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[task] = cells
	return task
}

// note writes a line above the bars.
func (p *sweepProgress) note(text string) { fmt.Fprintf(p.container, "%s\n", printable([]byte(text))) }

// finish removes the display.
func (p *sweepProgress) finish() {
	if p == nil {
		return
	}
	p.overall.Abort(true)
	p.container.Wait()
}

// sweepTask is the line of one task.
type sweepTask struct {
	progress *sweepProgress
	bar      *mpb.Bar
	share    float64 // done; guarded by progress.mu
}

// Set implements experiment.Task.
func (t *sweepTask) Set(done, total int64) {
	if total <= 0 {
		return
	}
	t.bar.SetTotal(total, false)
	t.bar.SetCurrent(min(done, total))
	t.progress.moved(t, min(1, float64(done)/float64(total)))
}

// End implements experiment.Task.
func (t *sweepTask) End() {
	t.bar.Abort(true)
	p := t.progress
	p.mu.Lock()
	p.finished += p.running[t]
	delete(p.running, t)
	p.mu.Unlock()
	p.moved(t, 1)
}

func (p *sweepProgress) moved(t *sweepTask, share float64) {
	p.mu.Lock()
	t.share = share
	done := p.done()
	p.mu.Unlock()
	p.overall.SetCurrent(int64(shares * done))
}
