package progress

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/vbauerster/mpb/v8"
)

// screen keeps what a container draws, which it does when told so.
type screen struct {
	mu      sync.Mutex
	drawn   bytes.Buffer
	refresh chan any
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drawn.Write(b)
}

// draw returns what is drawn now. A container takes a request to draw when it has served the one before: the first
// removes bars that have ended.
func (s *screen) draw() string {
	s.refresh <- nil
	s.refresh <- nil
	s.mu.Lock()
	s.drawn.Reset()
	s.mu.Unlock()
	s.refresh <- nil
	s.refresh <- nil
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drawn.String()
}

// A preparation that is abandoned goes on for a while, and may tell how far it is when its bar has gone.
func TestPreparationGoesOnAfterItsEnd(t *testing.T) {
	s := &screen{refresh: make(chan any)}
	p := newBar(mpb.New(mpb.WithOutput(s), mpb.WithManualRefresh(s.refresh), mpb.WithWidth(barWidth)), "writing", Requests)
	shows := func(when string, preparing bool, want ...string) {
		t.Helper()
		got := s.draw()
		for _, text := range append(want, "writing") {
			if !strings.Contains(got, text) {
				t.Errorf("%s: %q lacks %q", when, got, text)
			}
		}
		if strings.Contains(got, "preparing") != preparing {
			t.Errorf("%s: %q, a bar of the preparation is %t", when, got, preparing)
		}
	}
	silent, endSilent := p.Preparing()
	set, end := p.Preparing()
	shows("before it said anything", false)
	set(1, 4)
	shows("at a quarter", true, "25 %")
	set(2, 4)
	shows("at a half", true, "50 %")
	end()
	shows("at its end", false)
	endSilent() // no error: it never printed
	set(3, 4)
	silent(1, 4)
	shows("after its end", false)
	p.Finish()
	set(4, 4)
	none := &Bar{notes: io.Discard}
	set, end = none.Preparing()
	set(1, 4)
	end()
}
