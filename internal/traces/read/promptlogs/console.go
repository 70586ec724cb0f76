package promptlogs

import (
	"bytes"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// noEnd is said of a last line without a line break: servers end each line with one.
const noEnd = "in a last line without its end, which may be cut"

// preemptions are what lines have that say that a running request lost its memory: in vLLM's statistics, which have
// the number only where it is above 0, and in warnings of vLLM before version 1 and of SGLang.
var preemptions = [][]byte{[]byte(", Preemptions: "), []byte(" is preempted by PreemptionMode."),
	[]byte("KV cache pool is full. Retract requests.")}

// preempted is said of them.
const preempted = "of preemptions, after which the engine computes requests again, and the replay does not"

// leaveOutOther leaves a line out that is no request and no answer.
func (c *collector) leaveOutOther(line []byte) {
	why := "other lines"
	for _, mark := range preemptions {
		if bytes.Contains(line, mark) {
			why = preempted
		}
	}
	if c.src.Unended {
		why = noEnd
	}
	c.leaveOut(why)
}

// NoteEnd notes a request or an answer in a last line that may be cut.
func NoteEnd(src *source.Source) {
	if src.Unended {
		src.Reading.Notable = stream.Count(src.Reading.Notable, noEnd, 1)
	}
}
