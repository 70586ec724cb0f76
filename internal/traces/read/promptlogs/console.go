package promptlogs

import (
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// noEnd is said of a last line without a line break: servers end each line with one.
const noEnd = "in a last line without its end, which may be cut"

// leaveOutOther leaves a line out that is no request and no answer.
func (c *collector) leaveOutOther() {
	if c.src.Unended {
		c.leaveOut(noEnd)
	} else {
		c.leaveOut("other lines")
	}
}

// NoteEnd notes a request or an answer in a last line that may be cut.
func NoteEnd(src *source.Source) {
	if src.Unended {
		src.Reading.Notable = stream.Count(src.Reading.Notable, noEnd, 1)
	}
}
