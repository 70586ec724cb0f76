package progress

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/experiment"
)

// Cells shows one bar for the whole sweep, with the remaining time and what has been running longest. It implements
// experiment.Progress.
type Cells struct {
	to    io.Writer
	end   func() // takes the bar from the screen
	total int    // cells to run
	begin time.Time

	mu       sync.Mutex
	finished int
	running  []*cellTask // in the order in which they began
}

// NewCells returns a display on w, or nil if w is not a terminal or quiet is set.
func NewCells(w io.Writer, quiet bool, total int) *Cells {
	if quiet || total == 0 || !terminal.Is(w) {
		return nil
	}
	p := &Cells{to: w, total: total, begin: time.Now()}
	p.end = terminal.Status(w, p.text)
	return p
}

// text is the bar and its caption, in at most that many columns.
func (p *Cells) text(width int) string {
	p.mu.Lock()
	share := p.done() / float64(p.total)
	p.mu.Unlock()
	bar := fmt.Sprintf("%s %3.0f%%", drawn(share), 100*share)
	return bar + p.caption(width-text.StringWidthWithoutEscSequences(bar))
}

// caption says, in at most that many columns, how many cells are finished, how long the others will take if they are
// like those before, and what runs.
func (p *Cells) caption(width int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := fmt.Sprintf("  %d of %d cells", p.finished, p.total)
	if done := p.done(); done > 0 {
		left := float64(time.Since(p.begin)) * (float64(p.total) - done) / done
		s += fmt.Sprintf(", %s left", time.Duration(left).Round(time.Second))
	}
	if len(p.running) > 0 {
		s += ": " + p.running[0].name
	}
	if width <= 0 {
		return ""
	}
	return text.Snip(show.Printable(s), width, "…")
}

// done returns the number of cells that are finished, with the shares done of those that run.
func (p *Cells) done() float64 {
	done := float64(p.finished)
	for _, task := range p.running {
		done += float64(task.cells) * task.share
	}
	return done
}

func (p *Cells) Loading(trace string) experiment.Task {
	return p.begins("loading "+trace, 0)
}

func (p *Cells) Comparing(trace string) experiment.Task {
	return p.begins("comparing queries of "+trace, 0)
}

// Planned implements experiment.Progress. The bar counts cells, not requests.
func (p *Cells) Planned(int64) {}

func (p *Cells) Replaying(cells []experiment.Cell) experiment.Task {
	name := cells[0].String()
	if more := len(cells) - 1; more > 0 {
		name = fmt.Sprintf("%s and %d more", name, more)
	}
	return p.begins(name, len(cells))
}

func (p *Cells) begins(name string, cells int) experiment.Task {
	task := &cellTask{progress: p, name: name, cells: cells}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, task)
	return task
}

// Note writes a line above the bar.
func (p *Cells) Note(text string) {
	fmt.Fprintln(p.to, terminal.InLine(terminal.Shorten(text)))
}

// Finish takes the bar from the screen.
func (p *Cells) Finish() {
	if p != nil {
		p.end()
	}
}

// cellTask is one of the things that run. It implements experiment.Task.
type cellTask struct {
	progress *Cells
	name     string
	cells    int
	share    float64 // done; guarded by progress.mu
}

func (t *cellTask) Set(done, total int64) {
	if total <= 0 {
		return
	}
	p := t.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	t.share = min(1, float64(done)/float64(total))
}

func (t *cellTask) End() {
	p := t.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished += t.cells
	p.running = slices.DeleteFunc(p.running, func(other *cellTask) bool { return other == t })
}
