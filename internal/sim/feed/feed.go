// Package feed serves the requests of a trace to a cache, with what happens between them, and counts what follows.
package feed

import (
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/records/bylabel"
	"github.com/cachesim/cachesim/internal/traces"
)

// longestWindow is the least room for sizes, so that a replay makes it once.
const longestWindow = 1 << 15

// Tally is what a replay counted.
type Tally struct {
	cache.Counts                 // of the requests that belong to hits and misses; evictions are those of all
	Reads, Writes cache.Counts   // apart, if the trace has writes
	Removals      int64          // objects that left the cache although nothing needed their room
	Labels        []cache.Counts // per label of the trace, of the same requests as Counts
}

// Minus returns what was counted since an earlier moment.
func (n Tally) Minus(earlier Tally) Tally {
	return Tally{n.Counts.Minus(earlier.Counts), n.Reads.Minus(earlier.Reads), n.Writes.Minus(earlier.Writes),
		n.Removals - earlier.Removals, n.Labels}
}

// Sum sets the counts of the requests that belong to hits and misses, from those of reads and writes.
func (n *Tally) Sum(t *traces.Trace) {
	n.Counts = n.Reads.Plus(n.Writes)
	if t.Fills() {
		n.Counts = n.Reads
		n.Evictions, n.Oversized = n.Reads.Evictions+n.Writes.Evictions, n.Reads.Oversized+n.Writes.Oversized
	}
}

// AddTo adds the metrics of writes and removals, where the trace has any. A write on one of several nodes removes from
// the others, too.
func (n Tally) AddTo(v *metric.Values, t *traces.Trace) {
	if len(t.Removals) > 0 || n.Removals > 0 {
		v.SetInt(metric.Removals, n.Removals)
	}
	for i, of := range n.Labels {
		bylabel.Add(v, t.Labels.Names[i], bylabel.Counts{Requests: of.Requests, Hits: of.Hits, Bytes: of.Bytes,
			HitBytes: of.HitBytes, Tokens: of.Tokens, HitTokens: of.HitTokens})
	}
	if !t.HasWrites() {
		return
	}
	v.SetInt(metric.Reads, n.Reads.Requests)
	v.SetInt(metric.ReadHits, n.Reads.Hits)
	v.SetQuotient(metric.ReadHitRatio, float64(n.Reads.Hits), float64(n.Reads.Requests))
	v.SetInt(metric.Writes, n.Writes.Requests)
	v.SetInt(metric.WriteHits, n.Writes.Hits)
	v.SetQuotient(metric.WriteHitRatio, float64(n.Writes.Hits), float64(n.Writes.Requests))
}

// Feeder serves the requests of a trace in runs: between two of them objects are removed, or reads and writes, which
// are counted apart, take turns.
type Feeder struct {
	trace    *traces.Trace
	cache    cache.Cache
	bytes    bool    // capacity counts bytes
	sizes    []int64 // a buffer
	removals []traces.Removal
	keeper   bool    // the cache is a cache.Timekeeper
	several  Several // nil if there is one cache
	Tally
}

// Several is implemented by several caches that each have a feeder of their own.
type Several interface {
	// ServeRange serves the requests [from, to), with what happens between them, and returns what was counted so far.
	ServeRange(from, to int) Tally
}

// New returns a feeder of a cache; bytes says that its capacity counts these. The cache must be Dropping if the trace
// has removals, or requests that load nothing.
func New(t *traces.Trace, c cache.Cache, bytes bool) *Feeder {
	f := &Feeder{trace: t, cache: c, bytes: bytes, removals: t.Removals}
	_, f.keeper = c.(cache.Timekeeper)
	f.several, _ = c.(Several)
	if t.Labels != nil {
		f.Labels = make([]cache.Counts, len(t.Labels.Names))
	}
	return f
}

// Serve serves the requests [from, to), and what is removed before them: those of one label after another if hits are
// counted by labels.
func (f *Feeder) Serve(from, to int) {
	if f.several != nil {
		f.Tally = f.several.ServeRange(from, to)
		return
	}
	if f.Labels == nil {
		f.serveAll(from, to)
		return
	}
	of := f.trace.Labels.Of
	for from < to {
		end := from + 1
		for end < to && of[end] == of[from] {
			end++
		}
		before := f.Counts
		f.serveAll(from, end)
		f.Labels[of[from]] = f.Labels[of[from]].Plus(f.Counts.Minus(before))
		from = end
	}
}

// serveAll serves the requests [from, to), whatever their labels.
func (f *Feeder) serveAll(from, to int) {
	if f.bytes && f.trace.RequestSizes == nil && len(f.sizes) < to-from {
		f.sizes = make([]int64, max(to-from, longestWindow))
	}
	if len(f.removals) == 0 && f.trace.Ops == nil {
		f.cache.Serve(cache.WindowOf(f.trace, from, to, f.bytes, f.sizes), &f.Counts)
		return
	}
	counts := &f.Counts
	for from < to {
		f.Remove(from)
		end := f.endOfRun(from, to)
		if f.trace.Ops != nil {
			counts = &f.Reads
			if f.trace.IsWrite(from) {
				counts = &f.Writes
			}
		}
		w := cache.WindowOf(f.trace, from, end, f.bytes, f.sizes)
		if f.trace.Passes(from) {
			f.cache.(cache.Dropping).LookAll(w, counts)
		} else {
			f.cache.Serve(w, counts)
		}
		from = end
	}
	if f.trace.Ops != nil {
		f.Sum(f.trace)
	}
}

// Remove removes what leaves the cache before the request at pos.
func (f *Feeder) Remove(pos int) {
	for len(f.removals) > 0 && int(f.removals[0].Before) <= pos {
		if r := f.removals[0]; !(f.keeper && r.Why == traces.Expired) && f.cache.(cache.Dropping).Drop(r.Object) {
			f.Removals++
		}
		f.removals = f.removals[1:]
	}
}

// endOfRun returns the end of the run of requests that begins at from and ends at to at the latest.
func (f *Feeder) endOfRun(from, to int) int {
	if len(f.removals) > 0 {
		to = min(to, int(f.removals[0].Before))
	}
	if f.trace.Ops == nil {
		return to
	}
	end := EndOfKind(f.trace, from, to)
	if f.trace.Groups != nil { // whose requests have one operation
		end = min(to, GroupEnd(f.trace, end))
	}
	return end
}

// EndOfKind returns the end of a run of requests of one kind within a range: all read or all write, and all load their
// misses or none does.
func EndOfKind(t *traces.Trace, from, to int) int {
	end, write, passes := from+1, t.IsWrite(from), t.Passes(from)
	for end < to && t.IsWrite(end) == write && t.Passes(end) == passes {
		end++
	}
	return end
}

// GroupEnd returns the end of the group that contains the request before to.
func GroupEnd(t *traces.Trace, to int) int {
	next, _ := slices.BinarySearch(t.Groups, to)
	if next == len(t.Groups) {
		return len(t.Objects)
	}
	return t.Groups[next]
}

// A cache serves a window of requests between two checks of the context. Windows last about WindowTime: they are long
// if a request takes nanoseconds, and short if each request trains, predicts or draws a million candidates.
const (
	WindowTime     = 5 * time.Millisecond
	ShortestWindow = 4
	LongestWindow  = 1 << 15
)

// NextWindow returns the length of the next window, given the length and the time of the last one.
func NextWindow(length int, took time.Duration) int {
	switch {
	case took > WindowTime:
		return max(length/2, ShortestWindow)
	case took < WindowTime/4:
		return min(2*length, LongestWindow)
	}
	return length
}
