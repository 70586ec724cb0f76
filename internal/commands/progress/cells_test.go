package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/experiment"
)

// However many cells run, and however fast they come and go, all that is said of them fits into one line.
func TestSweepProgressFitsIntoItsLine(t *testing.T) {
	p := &Cells{total: 1000, begin: time.Now()}
	var running []experiment.Task
	for range 100 {
		running = append(running, p.Loading("a trace with a rather long name"))
	}
	for i := range 900 {
		p.Loading("another").End()
		running[0].Set(int64(i), 900)
	}
	for _, width := range []int{-3, 0, 1, 20, 60, 200} {
		text := p.caption(width)
		if n := len([]rune(text)); n > max(width, 0) {
			t.Errorf("%d columns for %q, which has %d", width, text, n)
		}
	}
	if line := p.text(77); len([]rune(line)) > 77 || !strings.HasPrefix(line, "▕") {
		t.Errorf("%q does not fit 77 columns", line)
	}
	text := p.caption(200)
	if !strings.Contains(text, "0 of 1000 cells") || !strings.Contains(text, "loading a trace") {
		t.Errorf("caption %q, want what is done and what has been running longest", text)
	}
}
