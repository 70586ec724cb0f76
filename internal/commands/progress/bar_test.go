package progress

import (
	"io"
	"testing"
	"time"
)

func TestTextOfABar(t *testing.T) {
	for _, test := range []struct {
		unit        Unit
		done, total int64
		want        string
	}{
		{Bytes, 0, 0, "doing 0 B"},
		{Bytes, 5 << 20, 0, "doing 5 MiB, 2.5 MiB/s"},
		{Bytes, 5 << 20, 20 << 20, "doing ▕███           ▏ 5 MiB / 20 MiB, 2.5 MiB/s, 6s left"},
		{Requests, 30_000, 20_000, "doing ▕██████████████▏ 30 / 20 k requests, 15 k/s, 0s left"},
		{Steps, 1, 4, "doing ▕███           ▏ 25%, 6s left"},
		{Texts, 0, 9, "doing ▕              ▏ 0 / 9 texts"},
	} {
		p := &Bar{what: "doing", unit: test.unit}
		p.begin.Store(time.Unix(100, 0).UnixNano())
		p.Set(test.done, test.total)
		if got := p.text(time.Unix(102, 0)); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// Where there is no terminal, a bar does nothing, and what it prepares may say how far it is at any time.
func TestNoBar(t *testing.T) {
	p := New(io.Discard, false, "writing", Requests)
	set, end := p.Preparing()
	set(1, 4)
	end()
	set(2, 4)
	if p.OfReplays() != nil {
		t.Error("replays have a bar")
	}
	p.Finish()
}
