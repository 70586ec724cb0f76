package baseline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/records"
)

// traceChange is how a trace has changed. Counts are missing where no record has them.
type traceChange struct {
	Trace       string `json:"trace"`
	Records     int    `json:"records"` // of the baseline, on this trace
	Allowed     bool   `json:"allowed"`
	ChecksumWas string `json:"checksum_was"`
	ChecksumIs  string `json:"checksum_is"`
	Requests    *count `json:"requests,omitempty"` // of the sample, if there is one
	Objects     *count `json:"objects,omitempty"`
	Bytes       *count `json:"bytes,omitempty"` // the total size of the objects

	files string
}

// count is a count of the recorded trace, and of the one that was replayed.
type count struct {
	Was int64 `json:"was"`
	Is  int64 `json:"is"`

	sampled bool // by the replay of a sample
}

// changes returns the traces that have changed, each once.
func (r *Report) changes() (all []*traceChange) {
	changed := slices.DeleteFunc(slices.Clone(r.Results), func(result Result) bool { return result.Change == nil })
	for _, same := range records.GroupBy(changed, func(r Result) [3]string {
		return [3]string{r.Was.Trace, r.Change.Want, r.Change.Got}
	}) {
		change := same[0].Change
		c := &traceChange{Trace: same[0].Was.Trace, Records: len(same), Allowed: r.AllowsTraceChange,
			ChecksumWas: change.Want, ChecksumIs: change.Got, files: strings.Join(change.Files, ", ")}
		for i := range same {
			c.measure(&same[i])
		}
		all = append(all, c)
	}
	return all
}

// measure sets the counts that a replay knows and no earlier one did.
func (c *traceChange) measure(r *Result) {
	if r.Is == nil {
		return
	}
	sampled := r.Was.SampleRate != 1
	if c.Requests == nil {
		c.Requests = &count{requestsOf(&r.Was), requestsOf(r.Is), sampled}
	}
	was, knew := r.Was.Footprint()
	is, knows := r.Is.Footprint()
	place := &c.Objects
	if r.Was.CapacityUnit == records.Bytes {
		place = &c.Bytes
	}
	if knew && knows && *place == nil {
		*place = &count{was, is, sampled}
	}
}

func requestsOf(rec *records.Record) int64 { return rec.Int(metric.Requests) + rec.Warmup }

func (c *traceChange) String() string {
	var parts []string
	add := func(n *count, unit, noun, ofSample string) {
		if n == nil {
			return
		}
		text := fmt.Sprintf("%s → %s %s", show.Capacity(n.Was, unit), show.Capacity(n.Is, unit), noun)
		if n.Was == n.Is {
			text = fmt.Sprintf("still %s %s", show.Capacity(n.Is, unit), noun)
		}
		if n.sampled {
			text += ofSample
		}
		parts = append(parts, text)
	}
	const estimated = ", estimated from the sample"
	add(c.Requests, records.Objects, "requests", " of the sample")
	add(c.Objects, records.Objects, "distinct objects", estimated)
	add(c.Bytes, records.Bytes, "in distinct objects", estimated)
	parts = append(parts, fmt.Sprintf("its checksum is %s, the recorded one is %s", c.ChecksumIs, c.ChecksumWas))
	return show.Printable(c.files + ": the trace has changed: " + strings.Join(parts, "; "))
}

// toCase is a note if changes are allowed, and otherwise a failure.
func (c *traceChange) toCase() checks.Case {
	made := checks.Case{Class: c.Trace, Name: "the trace", Outcome: checks.Fails, Kind: string(TraceChanged),
		Title: fmt.Sprintf("%s: %s", TraceChanged, show.Printable(c.Trace)), Message: c.String()}
	if c.Allowed {
		made.Outcome = checks.Noted
	}
	return made
}
