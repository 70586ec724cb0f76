package terminal

import (
	"io"
	"slices"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
)

// A status is the last line of a terminal while work goes on. It is drawn again every statusEvery, and makes room for
// whatever else is written. Of several statuses the one that began last is shown: there is never more than one line,
// and none when all have ended.
type status struct {
	draw func(width int) string // returns text for at most width columns
}

const (
	statusEvery = 100 * time.Millisecond
	// statusRoom is left free at the right: a full line would wrap, and a terminal writes ^C there.
	statusRoom = 3
	eraseLine  = "\r\x1b[K"
)

// Status shows what draw returns, until end is called; nothing if w is not an Output on a terminal. draw is called from
// another goroutine, and must not write to w.
func Status(w io.Writer, draw func(width int) string) (end func()) {
	o, ok := w.(*Output)
	if !ok || !Is(w) {
		return func() {}
	}
	s := &status{draw}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.statuses = append(o.statuses, s); len(o.statuses) == 1 {
		o.stopDrawing = make(chan struct{})
		go o.drawUntil(o.stopDrawing)
	}
	return sync.OnceFunc(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.statuses = slices.DeleteFunc(o.statuses, func(other *status) bool { return other == s })
		if len(o.statuses) == 0 {
			close(o.stopDrawing)
			o.erase()
		}
	})
}

func (o *Output) drawUntil(stop <-chan struct{}) {
	ticker := time.NewTicker(statusEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			o.redraw()
		}
	}
}

// redraw draws the latest status if it has changed.
func (o *Output) redraw() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.statuses) == 0 {
		return
	}
	width := Width(o) - statusRoom
	line := text.Snip(Printable(InLine(o.statuses[len(o.statuses)-1].draw(width))), max(1, width), "…")
	if line == o.drawn {
		return
	}
	io.WriteString(o.to, eraseLine+line)
	o.drawn = line
}

// erase takes the status from the screen. It is drawn again at the next tick, so that nothing is left of it where the
// program ends in between.
func (o *Output) erase() {
	if o.drawn != "" {
		io.WriteString(o.to, eraseLine)
		o.drawn = ""
	}
}
