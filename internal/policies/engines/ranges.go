package engines

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/policies"
)

const (
	defaultPriority = policies.DefaultPriority // of blocks outside the ranges, and after the duration of their range
	highestPriority = policies.HighestPriority
	// mostRanges bounds the memory of a configuration, and the time to check it.
	mostRanges = 100
)

// tokenRange is a range of the tokens of every prompt. Blocks that begin in it have its priority.
type tokenRange struct {
	start, end int // end is math.MaxInt for all that follow
	priority   int
	duration   int64 // nanoseconds after their release; 0 for ever
}

func (r tokenRange) String() string {
	s := fmt.Sprintf("%d-", r.start)
	if r.end < math.MaxInt {
		s += strconv.Itoa(r.end)
	}
	if s += ":" + strconv.Itoa(r.priority); r.duration > 0 {
		s += "@" + time.Duration(r.duration).String()
	}
	return s
}

// parseRanges reads ranges such as 0-2048:90@30s/2048-4096:50, as TensorRT-LLM accepts them, and refuses those under
// which a block could be evicted before the blocks behind it.
func parseRanges(text string) (ranges []tokenRange, err error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, "/")
	if len(parts) > mostRanges {
		return nil, fmt.Errorf("ranges: %d ranges; want at most %d", len(parts), mostRanges)
	}
	for i, part := range parts {
		r, ok := parseRange(part)
		if !ok {
			return nil, fmt.Errorf("ranges: %q: want START-END:PRIORITY@DURATION, as in 0-2048:90@30s, with priorities from "+
				"%d to %d; END and @DURATION may be left out", part, defaultPriority, highestPriority)
		}
		if r.priority < defaultPriority {
			return nil, fmt.Errorf("ranges: %s has a priority below %d, whose blocks the engine evicts before the cache is "+
				"full; that is not modelled; raise the others instead", r, defaultPriority)
		}
		if i > 0 && r.start < ranges[i-1].end {
			return nil, fmt.Errorf("ranges: %s begins before the end of %s; want ranges in order that do not overlap", r,
				ranges[i-1])
		}
		ranges = append(ranges, r)
	}
	return ranges, checkRanges(ranges)
}

func parseRange(text string) (r tokenRange, ok bool) {
	span, priority, _ := strings.Cut(text, ":")
	priority, duration, lasts := strings.Cut(priority, "@")
	start, end, _ := strings.Cut(span, "-")
	r.end = math.MaxInt
	var errs [4]error
	r.start, errs[0] = strconv.Atoi(start)
	if end != "" || !strings.HasSuffix(span, "-") {
		r.end, errs[1] = strconv.Atoi(end)
	}
	r.priority, errs[2] = strconv.Atoi(priority)
	if lasts {
		var d time.Duration
		d, errs[3] = time.ParseDuration(duration)
		r.duration = int64(d)
	}
	for _, err := range errs {
		if err != nil {
			return r, false
		}
	}
	return r, r.start >= 0 && r.end > r.start && r.priority >= 0 && r.priority <= highestPriority &&
		(!lasts || r.duration > 0)
}

// checkRanges refuses ranges under which a block can come to the front of the queues while there are blocks behind it:
// TensorRT-LLM then forgets those, and their memory stays in the queues until it is their turn.
func checkRanges(ranges []tokenRange) error {
	all, covered := []tokenRange{}, 0
	for _, r := range ranges {
		if r.start > covered {
			all = append(all, tokenRange{start: covered, end: r.start, priority: defaultPriority})
		}
		all = append(all, r)
		covered = r.end
	}
	if covered < math.MaxInt {
		all = append(all, tokenRange{start: covered, end: math.MaxInt, priority: defaultPriority})
	}
	for i, behind := range all {
		for _, ahead := range all[:i] {
			if !ahead.outlasts(behind) {
				return fmt.Errorf("ranges: blocks of %s can be evicted before those of %s behind them, which is not modelled; "+
					"give earlier tokens higher priorities and longer durations", ahead, behind)
			}
		}
	}
	return nil
}

// outlasts reports whether a block in r, released no earlier than one behind it, is never evicted before that. When its
// duration ends, a block joins the end of the queue with the default priority.
func (r tokenRange) outlasts(behind tokenRange) bool {
	duration, after := r.lasting(), behind.lasting()
	if duration > 0 && after == 0 { // r falls to the default, and what is behind stays
		return behind.priority == defaultPriority
	}
	return r.priority >= behind.priority && (duration == 0 || duration >= after)
}

// lasting is the duration, where it makes a difference.
func (r tokenRange) lasting() int64 {
	if r.priority == defaultPriority {
		return 0
	}
	return r.duration
}
