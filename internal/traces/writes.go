package traces

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Removal is an object that leaves every cache before a request: it was deleted, a write made it invalid, or its time
// to live ended.
type Removal struct{ Before, Object uint32 }

// Written says what the writes, deletions and times to live in the files of a trace do to it; the zero value: the
// files have none.
type Written struct {
	Mode      stream.Writes
	Rows      int // requests and others
	Writes    int // rows that write
	Deletions int // rows that delete
	Expiries  int // objects whose time to live ended before they were deleted, written or replaced
}

// Any reports whether the files have any of these.
func (w Written) Any() bool { return w.Writes+w.Deletions+w.Expiries > 0 }

// Text says in a few words what there is, "" if there is nothing: "writes fill (4,211 of 80,000 requests), 17
// deletions".
func (w Written) Text() string {
	var parts []string
	if w.Writes > 0 {
		parts = append(parts, fmt.Sprintf("writes %s (%s of %s requests)", w.Mode, count(w.Writes),
			count(w.Rows-w.Deletions)))
	}
	for _, n := range []struct {
		count    int
		one, all string
	}{{w.Deletions, "deletion", "deletions"}, {w.Expiries, "expiry", "expiries"}} {
		if noun := n.all; n.count > 0 {
			if n.count == 1 {
				noun = n.one
			}
			parts = append(parts, count(n.count)+" "+noun)
		}
	}
	return strings.Join(parts, ", ")
}

func count(n int) string { return metric.Requests.Text(float64(n)) }

// removalsIn returns the removals before requests of a part, with positions in the part.
func (t *Trace) removalsIn(from, to int) (in []Removal) {
	first, _ := slices.BinarySearchFunc(t.Removals, from, compareRemoval)
	end, _ := slices.BinarySearchFunc(t.Removals, to, compareRemoval)
	for _, r := range t.Removals[first:end] {
		in = append(in, Removal{r.Before - uint32(from), r.Object})
	}
	return in
}

func compareRemoval(r Removal, pos int) int { return cmp.Compare(int(r.Before), pos) }

// IsWrite reports whether the request at pos writes.
func (t *Trace) IsWrite(pos int) bool { return t.Ops != nil && t.Ops[pos] == stream.OpWrite }

// Fills reports whether the trace has writes that fill a cache, and are no part of hits and misses.
func (t *Trace) Fills() bool { return t.Ops != nil && t.Written.Mode == stream.WritesFill }

// Counted returns how many of the requests [from, to) belong to hits and misses: all but the writes that fill.
func (t *Trace) Counted(from, to int) (n int) {
	if !t.Fills() {
		return to - from
	}
	for pos := from; pos < to; pos++ {
		if !t.IsWrite(pos) {
			n++
		}
	}
	return n
}

// NextUses returns for each request the position of the next one to the same object that can hit because the object
// stays in the cache, or oracle.Never if the object is removed before. If the trace has Starts, positions count within
// its parts.
//
// If writes fill, a request whose object is written next has none: keeping the object until then is worth nothing. The
// write puts it into the cache in any case, and does not count. With this column Belady's rule is optimal for equal
// sizes. Call what happens to an object from one removal or write to the next a life of it, and imagine another object
// in each life. Then the first request of a life always misses, whatever the policy does, so that the fewest misses of
// all requests are also the fewest of those that count; and the rule is optimal for this trace. The cache differs from
// the imagined one only in what is left of lives that have ended: a removed object, which makes room at once, and an
// object that is written, which gives its room to its next life. There it is the victim that the rule chooses first,
// since it has no next use.
func (t *Trace) NextUses() []uint32 {
	if stated := t.NextUse(); stated != nil {
		return stated
	}
	if len(t.Starts) == 0 {
		return t.nextInPart()
	}
	all := make([]uint32, 0, len(t.Objects))
	for _, part := range t.Parts() {
		all = append(all, part.nextInPart()...)
	}
	return all
}

func (t *Trace) nextInPart() []uint32 {
	removals, fills := t.Removals, t.Fills()
	if len(removals) == 0 && !fills {
		return oracle.NextUse(t.Objects, t.NumObjects)
	}
	next := memory.Column[uint32](len(t.Objects))
	soonest := slices.Repeat([]uint32{oracle.Never}, t.NumObjects)
	for pos := len(t.Objects) - 1; pos >= 0; pos-- {
		o := t.Objects[pos]
		next[pos], soonest[o] = soonest[o], uint32(pos)
		if fills && t.IsWrite(pos) {
			soonest[o] = oracle.Never
		}
		for n := len(removals); n > 0 && int(removals[n-1].Before) >= pos; n-- {
			soonest[removals[n-1].Object] = oracle.Never
			removals = removals[:n-1]
		}
	}
	return next
}

// applyWrites returns what is replayed of a trace with a row of each operation: its requests, without what only takes
// objects out of the cache or does nothing, and the Removals.
func (l *loader) applyWrites() (*Trace, error) {
	t := l.trace
	if l.opts.Writes != "" && !slices.Contains(t.Ops, stream.OpWrite) {
		t.Warnings = append(t.Warnings, "writes "+l.opts.Writes+" changes nothing: no request writes")
	}
	if l.ttls == nil && !l.opts.wantTimes(l.keep) {
		t.Times = nil // kept for times to live, of which there are none
	}
	if l.opts.Ops || t.Ops == nil && l.ttls == nil {
		return t, nil
	}
	if l.ttls != nil && l.tenancy.mixes() && !l.opts.Merge {
		return nil, fmt.Errorf("%s: times to live need the times of the requests, which files that are mixed do not "+
			"share; add --merge, or write --tenant 'file(mix=none)'", t.Name)
	}
	t.Written = Written{Mode: l.writes, Rows: len(t.Objects)}
	t.removeObjects(l.ttls)
	l.ttls = nil
	if !l.opts.wantTimes(l.keep) {
		t.Times = nil
	}
	t, err := l.requestsOf(t)
	if err == nil && !slices.Contains(t.Ops, stream.OpWrite) {
		t.Ops = nil
	}
	return t, err
}

// requestsOf returns a trace without the rows that are no requests, for which it needs the memory of the others again.
func (l *loader) requestsOf(t *Trace) (*Trace, error) {
	mode := t.Written.Mode
	requests := len(t.Objects)
	for _, op := range t.Ops {
		if !mode.Requests(op) {
			requests--
		}
	}
	switch requests {
	case len(t.Objects):
		return t, nil
	case 0:
		return nil, errOnlyWrites(t)
	}
	if err := l.opts.Memory.Need(t.Bytes(), t.Name+": its requests without those that write or delete"); err != nil {
		return nil, err
	}
	kept := t.only(func(pos int) bool { return mode.Requests(t.Ops[pos]) })
	kept.Warnings, kept.Limited = t.Warnings, t.Limited
	return kept, nil
}

func errOnlyWrites(t *Trace) error {
	if t.Written.Writes == 0 {
		return fmt.Errorf("%s: holds no requests: all of its %d rows delete", t.Name, t.Written.Rows)
	}
	return fmt.Errorf("%s: holds no requests: all of its %d rows write or delete; --writes count makes requests of writes",
		t.Name, t.Written.Rows)
}

// removeObjects fills Removals, from the operations and the times to live, and counts what it finds. An object that no
// request can have loaded since it was last removed is not removed again.
func (t *Trace) removeObjects(ttls []int64) {
	w := &t.Written
	present := make([]bool, t.NumObjects)
	var valid *validity
	if ttls != nil {
		valid = newValidity(t.NumObjects)
	}
	remove := func(pos int, o uint32) {
		if present[o] {
			present[o] = false
			t.Removals = append(t.Removals, Removal{uint32(pos), o})
		}
	}
	starts := t.Starts
	for pos, o := range t.Objects {
		if len(starts) > 0 && starts[0] == pos {
			starts = starts[1:]
			valid.reset()
		}
		if valid != nil {
			for gone, ok := valid.expired(t.Times[pos]); ok; gone, ok = valid.expired(t.Times[pos]) {
				w.Expiries++
				remove(pos, gone)
			}
		}
		op := stream.OpUnknown
		if t.Ops != nil {
			op = t.Ops[pos]
		}
		switch op {
		case stream.OpDelete:
			w.Deletions++
			remove(pos, o)
			valid.clear(o)
			continue
		case stream.OpWrite:
			w.Writes++
			switch w.Mode {
			case stream.WritesIgnore:
				continue
			case stream.WritesInvalidate:
				remove(pos, o)
				valid.clear(o)
				continue
			}
			valid.clear(o)
		}
		present[o] = true
		if valid != nil && ttls[pos] > 0 {
			valid.begin(o, t.Times[pos], ttls[pos])
		}
	}
}

// validity knows until when objects are valid, in nanoseconds. Its methods may be called on nil: all are for ever.
//
// Memory: 16 bytes per object, and 16 for each that has an end; a few more where an object's end moves forward.
type validity struct {
	now   int64   // the latest time so far, as clocks may go back
	ends  []int64 // per object; math.MaxInt64: never
	next  []int64 // per object: its earliest entry in queue; math.MaxInt64: it has none
	queue expiries
}

func newValidity(objects int) *validity {
	v := &validity{ends: make([]int64, objects), next: make([]int64, objects), now: math.MinInt64}
	for o := range v.ends {
		v.ends[o], v.next[o] = math.MaxInt64, math.MaxInt64
	}
	return v
}

// begin starts a period of validity at a time, unless one is under way.
func (v *validity) begin(o uint32, at, ttl int64) {
	if v.ends[o] != math.MaxInt64 || at > math.MaxInt64-ttl {
		return
	}
	v.ends[o] = at + ttl
	if v.ends[o] < v.next[o] {
		v.next[o] = v.ends[o]
		heap.Push(&v.queue, expiry{v.ends[o], o})
	}
}

func (v *validity) clear(o uint32) {
	if v != nil {
		v.ends[o] = math.MaxInt64
	}
}

// reset begins again with no object.
func (v *validity) reset() {
	if v == nil {
		return
	}
	for _, e := range v.queue {
		v.ends[e.object], v.next[e.object] = math.MaxInt64, math.MaxInt64
	}
	v.queue, v.now = v.queue[:0], math.MinInt64
}

// expired returns an object that is no longer valid at a time; false if there is no further one. An entry of the queue
// may be out of date: the end of its object has moved.
func (v *validity) expired(at int64) (o uint32, ok bool) {
	v.now = max(v.now, at)
	for len(v.queue) > 0 && v.queue[0].end <= v.now {
		e := heap.Pop(&v.queue).(expiry)
		if e.end != v.next[e.object] {
			continue
		}
		v.next[e.object] = math.MaxInt64
		switch end := v.ends[e.object]; {
		case end <= v.now:
			v.ends[e.object] = math.MaxInt64
			return e.object, true
		case end != math.MaxInt64:
			v.next[e.object] = end
			heap.Push(&v.queue, expiry{end, e.object})
		}
	}
	return 0, false
}

type expiry struct {
	end    int64
	object uint32
}

// expiries implements heap.Interface.
type expiries []expiry

func (h expiries) Len() int      { return len(h) }
func (h expiries) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *expiries) Push(x any)   { *h = append(*h, x.(expiry)) }

func (h expiries) Less(i, j int) bool {
	return h[i].end < h[j].end || h[i].end == h[j].end && h[i].object < h[j].object
}

func (h *expiries) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// agree makes sure that files with operations leave no doubt about what their writes do.
func (s *scan) agree(path string, fields stream.Fields, byFormat stream.Writes) error {
	switch {
	case s.opts.Ops || !fields.Op:
		return nil
	case s.opts.Writes != "" || s.writesOf == "":
		if s.opts.Writes == "" {
			s.writes = byFormat
		}
		s.writesOf = path
		return nil
	case byFormat != s.writes:
		return fmt.Errorf("%s and %s do not go together: writes %s in the one and %s in the other, by their formats; say "+
			"what they do with --writes %s (in an experiment writes: ...)", s.writesOf, path, s.writes, byFormat,
			strings.Join(stream.WritesNames(), "|"))
	}
	return nil
}
