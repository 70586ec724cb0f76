package sim

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/traces"
)

// Tally is what a replay counted.
type Tally struct {
	cache.Counts               // of the requests that belong to hits and misses; evictions are those of all
	Reads, Writes cache.Counts // apart, if the trace has writes
	Removals      int64        // objects that left the cache although nothing needed their room
}

func (n Tally) minus(earlier Tally) Tally {
	return Tally{n.Counts.Minus(earlier.Counts), n.Reads.Minus(earlier.Reads), n.Writes.Minus(earlier.Writes),
		n.Removals - earlier.Removals}
}

// sum sets the counts of the requests that belong to hits and misses, from those of reads and writes.
func (n *Tally) sum(t *traces.Trace) {
	n.Counts = n.Reads.Plus(n.Writes)
	if t.Fills() {
		n.Counts = n.Reads
		n.Evictions, n.Oversized = n.Reads.Evictions+n.Writes.Evictions, n.Reads.Oversized+n.Writes.Oversized
	}
}

// addTo adds the metrics of writes and removals, where the trace has any.
func (n Tally) addTo(v *metric.Values, t *traces.Trace) {
	if len(t.Removals) > 0 {
		v.SetInt(metric.Removals, n.Removals)
	}
	if t.Ops == nil {
		return
	}
	v.SetInt(metric.Reads, n.Reads.Requests)
	v.SetInt(metric.ReadHits, n.Reads.Hits)
	v.SetQuotient(metric.ReadHitRatio, float64(n.Reads.Hits), float64(n.Reads.Requests))
	v.SetInt(metric.Writes, n.Writes.Requests)
	v.SetInt(metric.WriteHits, n.Writes.Hits)
	v.SetQuotient(metric.WriteHitRatio, float64(n.Writes.Hits), float64(n.Writes.Requests))
}

// feeder serves the requests of a trace in runs: between two of them objects are removed, or reads and writes, which
// are counted apart, take turns.
type feeder struct {
	trace    *traces.Trace
	cache    cache.Cache
	bytes    bool    // capacity counts bytes
	sizes    []int64 // a buffer
	removals []traces.Removal
	Tally
}

func newFeeder(t *traces.Trace, c cache.Cache, bytes bool) *feeder {
	return &feeder{trace: t, cache: c, bytes: bytes, removals: t.Removals}
}

// serve serves the requests [from, to), and what is removed before them.
func (f *feeder) serve(from, to int) {
	if f.bytes && f.trace.RequestSizes == nil && len(f.sizes) < to-from {
		f.sizes = make([]int64, max(to-from, longestWindow))
	}
	if len(f.removals) == 0 && f.trace.Ops == nil {
		f.cache.Serve(cache.WindowOf(f.trace, from, to, f.bytes, f.sizes), &f.Counts)
		return
	}
	counts := &f.Counts
	for from < to {
		f.remove(from)
		end := f.endOfRun(from, to)
		if f.trace.Ops != nil {
			counts = &f.Reads
			if f.trace.IsWrite(from) {
				counts = &f.Writes
			}
		}
		if f.trace.Passes(from) {
			f.pass(from, end, counts)
		} else {
			f.cache.Serve(cache.WindowOf(f.trace, from, end, f.bytes, f.sizes), counts)
		}
		from = end
	}
	if f.trace.Ops != nil {
		f.sum(f.trace)
	}
}

// pass serves requests that load nothing where they miss: the cache sees only those that hit.
func (f *feeder) pass(from, to int, counts *cache.Counts) {
	holding := f.cache.(cache.Dropping)
	for pos := from; pos < to; pos++ {
		if holding.Holds(f.trace.Objects[pos]) {
			f.cache.Serve(cache.WindowOf(f.trace, pos, pos+1, f.bytes, f.sizes), counts)
			continue
		}
		counts.Requests++
		if f.bytes {
			counts.Bytes += f.trace.Size(pos)
		}
	}
}

// remove removes what leaves the cache before the request at pos.
func (f *feeder) remove(pos int) {
	for len(f.removals) > 0 && int(f.removals[0].Before) <= pos {
		if f.cache.(cache.Dropping).Drop(f.removals[0].Object) {
			f.Removals++
		}
		f.removals = f.removals[1:]
	}
}

// endOfRun returns the end of the run of requests that begins at from and ends at to at the latest.
func (f *feeder) endOfRun(from, to int) int {
	if len(f.removals) > 0 {
		to = min(to, int(f.removals[0].Before))
	}
	if f.trace.Ops == nil {
		return to
	}
	end := endOfKind(f.trace, from, to)
	if f.trace.Groups != nil { // whose requests have one operation
		end = min(to, groupEnd(f.trace, end))
	}
	return end
}

// endOfKind returns where the requests from one position on, up to another, that all read or all write, and load what
// they miss or do not, end.
func endOfKind(t *traces.Trace, from, to int) int {
	end, write, passes := from+1, t.IsWrite(from), t.Passes(from)
	for end < to && t.IsWrite(end) == write && t.Passes(end) == passes {
		end++
	}
	return end
}

// checkWrites rejects parts that cannot replay what writes, deletions and times to live do in a trace.
func checkWrites(c Cell, t *traces.Trace) error {
	if len(t.Removals) == 0 && !t.Fills() && t.Written.Passing == 0 {
		return nil
	}
	what := fmt.Sprintf("cannot follow what takes objects out of a cache, or fills it (%s: %s)", t.Name, t.Written.Text())
	const instead = "read the trace with --writes count, without deletions (the option ops=accesses of its format) and " +
		"without times to live"
	switch {
	case c.Model != nil:
		return fmt.Errorf("model %s serves requests on a clock of its own, and %s; remove the model, or %s",
			c.Model.Name(), what, instead)
	case !c.Cache.Entry.Drops:
		return fmt.Errorf("cache %s serves groups of requests as a whole, and %s; use the exact cache, or %s",
			c.Cache.Name(), what, instead)
	}
	return nil
}
