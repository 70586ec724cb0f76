package read

import (
	"container/heap"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// applyWrites turns a trace with a row per operation into what is replayed: its requests and the Removals. Rows that
// only remove objects from the cache, or do nothing, are no requests.
func (l *loader) applyWrites() (*traces.Trace, error) {
	t := l.trace
	if l.opts.Writes != "" && !slices.ContainsFunc(t.Ops, stream.Op.Writes) {
		t.Warnings = append(t.Warnings, "writes "+l.opts.Writes+" changes nothing: no request writes")
	}
	if l.ttls == nil && !l.opts.WantTimes(l.keep) {
		t.Times = nil // kept for times to live, but there are none
	}
	if l.opts.Ops || t.Ops == nil && l.ttls == nil && l.flushed.rows == nil {
		return t, nil
	}
	if l.ttls != nil && l.tenancy.mixes() && !l.opts.Merge {
		return nil, fmt.Errorf("%s: times to live need times, which mixed files do not share; add --merge, or write "+
			"--tenant 'file(mix=none)'", t.Name)
	}
	t.Written = traces.Written{Mode: l.writes, Rows: len(t.Objects)}
	if l.opts.Ends && l.ttls != nil {
		t.Ends = make([]int64, len(t.Objects))
	}
	if warning := removeObjects(t, l.ttls, &l.flushed).contradiction(); warning != "" {
		t.Warnings = append(t.Warnings, warning)
	}
	l.ttls = nil
	if !l.opts.Keys {
		t.Keys = nil
	}
	if !l.opts.WantTimes(l.keep) {
		t.Times = nil
	}
	t, err := l.requestsOf(t)
	if err == nil && !slices.ContainsFunc(t.Ops, isNoPlainRead) {
		t.Ops = nil
	}
	return t, err
}

// isNoPlainRead reports whether a request must be told apart from a read that loads what it misses.
func isNoPlainRead(op stream.Op) bool { return op.Writes() || op&stream.IfPresent != 0 }

// requestsOf returns a trace without the rows that are no requests, for which it needs the memory of the others again.
func (l *loader) requestsOf(t *traces.Trace) (*traces.Trace, error) {
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
		if t.Written.Writes == 0 {
			return nil, fmt.Errorf("%s: holds no requests: all of its %d rows delete", t.Name, t.Written.Rows)
		}
		return nil, fmt.Errorf("%s: holds no requests: all of its %d rows write or delete; --writes count makes requests "+
			"of writes", t.Name, t.Written.Rows)
	}
	if err := l.opts.Memory.Need(t.Bytes(), t.Name+": its requests without those that write or delete"); err != nil {
		return nil, err
	}
	var labels []uint16
	kept := t.Only(func(pos int) bool {
		is := mode.Requests(t.Ops[pos])
		if is && l.labels != nil {
			labels = append(labels, l.labels.of[pos])
		}
		return is
	})
	if l.labels != nil {
		l.labels.of = labels
	}
	kept.Warnings, kept.Limited = t.Warnings, t.Limited
	return kept, nil
}

// life is what the log has said about an object so far.
type life uint8

const (
	unsaid  life = iota // nothing: it may have been stored before the log began
	stored              // it was written
	missing             // it was deleted, or its time to live ended
)

// follower tracks what the rows of a trace do to its objects. It replaces their operations by those of a replay: reads
// and writes, with stream.IfPresent if a miss loads nothing.
type follower struct {
	trace   *traces.Trace
	ttls    []int64   // per row; nil without times to live
	valid   *validity // nil without times to live
	lives   []life
	present []bool // a cache may have the object
	flushed *flushes

	// over says of which objects the time to live ended, and nothing has been stored since by what the log says that the
	// server found; nil if it does not say. Hits of them are late.
	over       []bool
	hits, late int
}

// removeObjects fills Removals, from the operations and the times to live, and counts what it finds. An object that no
// request can have loaded since it was last removed is not removed again.
func removeObjects(t *traces.Trace, ttls []int64, flushed *flushes) *follower {
	f := newFollower(t, ttls, flushed)
	starts := t.Starts
	for pos := 0; pos < len(t.Objects); {
		if len(starts) > 0 && starts[0] == pos {
			starts = starts[1:]
			f.flush(pos)
			f.valid.reset()
			clear(f.lives)
			clear(f.over)
			f.flushed.over = nil
		}
		pos = f.follow(pos)
	}
	return f
}

// contradiction says that the server hit what had expired by the log's own times, "" if it hardly did. Some do, such as
// Varnish in its grace.
func (f *follower) contradiction() string {
	const hardly = 0.05
	if float64(f.late) <= hardly*float64(f.hits) {
		return ""
	}
	return fmt.Sprintf("times contradict times to live: of %s that the log states, %s were of objects whose time to live "+
		"had ended, and which nothing had stored since; look at the units of the times to live (ttl-unit) and "+
		"of the times, or whether the server follows them", show.Counted(f.hits, "hit"), show.Count(int64(f.late)))
}

// find compares what the server found with the times to live.
func (f *follower) find(pos int) {
	if f.over == nil {
		return
	}
	o := f.trace.Objects[pos]
	switch {
	case f.trace.Served[pos] == stream.ServedHit:
		f.hits++
		if f.over[o] {
			f.late++
		}
	case f.trace.Served[pos] != stream.ServedPass:
		f.over[o] = false
	}
}

// noteEnds notes when the times to live end that rows state, or that writes leave as they are.
func (f *follower) noteEnds(from, end int) {
	if f.trace.Ends == nil {
		return
	}
	for pos := from; pos < end; pos++ {
		ends := int64(math.MaxInt64)
		if f.trace.IsWrite(pos) {
			ends = f.valid.end(f.trace.Objects[pos])
		} else if f.ttl(pos) > 0 {
			ends = f.end(pos)
		}
		if ends != math.MaxInt64 {
			f.trace.Ends[pos] = ends
		}
	}
}

func newFollower(t *traces.Trace, ttls []int64, flushed *flushes) *follower {
	f := &follower{trace: t, ttls: ttls, lives: make([]life, t.NumObjects), present: make([]bool, t.NumObjects),
		flushed: flushed}
	if ttls != nil {
		f.valid = newValidity(t.NumObjects)
	}
	if ttls != nil && t.Served != nil {
		f.over = make([]bool, t.NumObjects)
	}
	return f
}

// follow does what the command at a position does, and returns the position of the next one.
func (f *follower) follow(pos int) int {
	f.flush(pos)
	f.expire(pos)
	end := f.endOfCommand(pos)
	for row := pos; row < end; row++ {
		f.find(row)
	}
	if end-pos > 1 {
		f.command(pos, end)
	} else {
		f.row(pos, f.trace.Op(pos), true)
	}
	f.noteEnds(pos, end)
	return end
}

// follows reports whether it counts what is stored: under other modes conditions always hold.
func (f *follower) follows() bool { return f.trace.Written.Mode.Fills() }

// endOfCommand returns where the rows of the command that begins at a position end.
func (f *follower) endOfCommand(pos int) int {
	for f.trace.Op(pos)&stream.WithNext != 0 && pos+1 < len(f.trace.Objects) {
		pos++
	}
	return pos + 1
}

func (f *follower) expire(pos int) {
	if f.valid == nil {
		return
	}
	for gone, ok := f.valid.expired(f.trace.Times[pos]); ok; gone, ok = f.valid.expired(f.trace.Times[pos]) {
		f.trace.Written.Expiries++
		f.lives[gone] = missing
		if f.over != nil {
			f.over[gone] = true
		}
		f.remove(pos, gone, traces.Expired)
	}
}

func (f *follower) remove(pos int, o uint32, why traces.Cause) {
	if f.present[o] {
		// A server may hold an object whose time to live has ended until the log deletes it.
		f.present[o] = why == traces.Expired && f.trace.Ends != nil
		f.trace.Removals = append(f.trace.Removals, traces.Removal{Before: uint32(pos), Object: o, Why: why})
	}
}

// flush removes what is deleted all at once before a row.
func (f *follower) flush(pos int) {
	for f.flushed.waits(pos) {
		f.trace.Written.Flushes++
		for _, o := range f.flushed.next(f.trace.Keys) {
			f.lives[o] = missing
			f.valid.clear(o)
			f.remove(pos, o, traces.Deleted)
		}
	}
}

// isMissing reports whether the log says that there is no such object.
func (f *follower) isMissing(o uint32) bool {
	return f.lives[o] == missing || f.lives[o] == unsaid && f.flushed.covers(o, f.trace.Keys)
}

// command does what a command of several rows does.
func (f *follower) command(from, end int) {
	sources, found, required := 0, 0, true
	holds := true // the conditions of all rows that store
	ends := int64(math.MaxInt64)
	for pos := from; pos < end; pos++ {
		op, o := f.trace.Op(pos), f.trace.Objects[pos]
		if pos == end-1 || op.Kind() == stream.OpWrite {
			holds = holds && f.holds(pos, op)
			continue
		}
		sources++
		if !f.isMissing(o) {
			found++
			ends = f.valid.end(o)
		} else if op.Condition() == stream.IfPresent {
			required = false
		}
	}
	holds = holds && (sources == 0 || found > 0 && required) || !f.follows()
	for pos := from; pos < end; pos++ {
		op := f.trace.Op(pos) &^ stream.WithNext
		switch {
		case op.Kind() == stream.OpDelete && !holds: // a name that stays
			f.trace.Written.Deletions++
		case op.Kind() == stream.OpTake && holds:
			if f.row(pos, stream.OpWrite, true); f.trace.Written.Mode.Requests(op) {
				f.valid.set(f.trace.Objects[pos], ends)
			}
		case op.Kind() == stream.OpWrite && !holds && sources > 0: // the result is empty
			f.trace.Written.Writes++
			f.pass(pos, op)
			f.delete(pos, traces.Deleted)
		case op.Writes() && !holds:
			f.row(pos, op, false)
		case op.Kind() == stream.OpUpdate && pos < end-1: // a source
			f.row(pos, op, true)
		default:
			f.row(pos, op.Kind(), true)
		}
	}
}

// holds reports whether the condition of a row does. Where the log cannot say, it does.
func (f *follower) holds(pos int, op stream.Op) bool {
	if !f.follows() {
		return true
	}
	o := f.trace.Objects[pos]
	switch op.Condition() {
	case stream.IfAbsent:
		return f.lives[o] != stored
	case stream.IfPresent:
		return !f.isMissing(o)
	case 0:
		return true
	}
	ends := f.valid.end(o)
	timed := ends != math.MaxInt64
	known := timed || f.lives[o] == stored
	switch op.Condition() {
	case stream.IfLasting:
		return !timed
	case stream.IfExpiring:
		return timed || !known
	case stream.IfLater:
		return timed && f.end(pos) > ends || !known
	case stream.IfCut:
		return timed && f.end(pos) < ends || !known
	}
	return !timed || f.end(pos) < ends // stream.IfSooner
}

func (f *follower) ttl(pos int) int64 {
	if f.ttls == nil {
		return 0
	}
	return f.ttls[pos]
}

// row applies a row; its condition holds or not.
func (f *follower) row(pos int, op stream.Op, holds bool) {
	t, o := f.trace, f.trace.Objects[pos]
	mode := t.Written.Mode
	f.flushed.mention(o)
	if op.Writes() {
		t.Written.Writes++
		switch mode {
		case stream.WritesIgnore:
			return
		case stream.WritesInvalidate:
			f.delete(pos, traces.Invalidated)
			return
		}
	}
	holds = holds && f.holds(pos, op)
	switch op.Kind() {
	case stream.OpDelete:
		t.Written.Deletions++
		if holds {
			f.delete(pos, traces.Deleted)
		}
		return
	case stream.OpWrite, stream.OpTake:
		if !holds {
			f.pass(pos, op)
			return
		}
		f.lives[o] = stored
		f.valid.clear(o)
		f.load(pos, stream.OpWrite)
	case stream.OpUpdate:
		if f.follows() && op.Condition() == stream.IfPresent || !holds {
			f.pass(pos, op)
			return
		}
		f.lives[o] = stored
		if f.ttl(pos) > 0 {
			f.valid.clear(o)
		}
		f.load(pos, stream.OpWrite)
	case stream.OpExpire:
		if f.follows() {
			f.pass(pos, op)
		} else {
			f.load(pos, stream.OpWrite)
		}
		if !holds || f.follows() && f.isMissing(o) {
			return
		}
		f.valid.clear(o)
	default:
		if op.IsLookup() {
			t.Written.Lookups++
		}
		if op.IsLookup() || mode == stream.WritesStore && f.isMissing(o) {
			f.pass(pos, op)
			return
		}
		if mode == stream.WritesStore && f.ttl(pos) > 0 {
			f.valid.clear(o)
		}
		f.load(pos, op)
	}
	f.begin(pos)
}

// begin begins the time to live that a row states, if it states one, unless one is under way.
func (f *follower) begin(pos int) {
	if o := f.trace.Objects[pos]; f.ttl(pos) > 0 && f.valid.end(o) == math.MaxInt64 {
		f.valid.set(o, f.end(pos))
	}
}

// end returns when the time to live that a row states ends. It begins at the latest time so far. If the clock of the
// log went back and forth, a new object would otherwise expire at once. Redis counts in whole milliseconds, and an
// object is there until that of its end is over. MONITOR writes the time of a command a little after that by which the
// command goes.
func (f *follower) end(pos int) int64 {
	const millisecond = 1e6
	at, ttl := f.valid.now, f.ttl(pos)
	if at > math.MaxInt64-2*millisecond-ttl {
		return math.MaxInt64
	}
	if f.trace.Written.Mode == stream.WritesStore {
		return (at+ttl)/millisecond*millisecond + millisecond + 1
	}
	return at + ttl
}

// load notes a request that loads its object where it misses.
func (f *follower) load(pos int, op stream.Op) {
	o := f.trace.Objects[pos]
	if f.trace.Ops != nil {
		f.trace.Ops[pos] = op.Kind()
	}
	f.present[o] = true
	if f.lives[o] == missing {
		f.lives[o] = unsaid // a cache that loads what it reads has it again
	}
}

// pass notes a request that loads nothing: for a missing object, or one that only changes a resident object.
func (f *follower) pass(pos int, op stream.Op) {
	kind := stream.OpRead
	if op.Writes() {
		kind = stream.OpWrite
	}
	if f.trace.Ops == nil {
		f.trace.Ops = make([]stream.Op, len(f.trace.Objects))
	}
	f.trace.Ops[pos] = kind | stream.IfPresent
	f.trace.Written.Passing++
}

func (f *follower) delete(pos int, why traces.Cause) {
	o := f.trace.Objects[pos]
	f.lives[o] = missing
	f.remove(pos, o, why)
	f.valid.clear(o)
}

// flushes are the rows that delete all objects, and the objects that were mentioned since.
type flushes struct {
	rows      []flushRow // that come; nil if nothing is deleted all at once
	over      []string   // the keys of those that came
	mentioned []uint32   // objects that were not deleted all at once since
	listed    []bool     // per object: it is among mentioned
}

// flushRow is a row that deletes all objects before a position, or those that stream.FlushAll describes.
type flushRow struct {
	before int
	key    string
}

func (f *flushes) waits(pos int) bool { return len(f.rows) > 0 && f.rows[0].before <= pos }

// next returns the objects that the next row deletes, of those that were mentioned.
func (f *flushes) next(keys []stream.Key) (gone []uint32) {
	key := f.rows[0].key
	f.rows = f.rows[1:]
	if !slices.Contains(f.over, key) {
		f.over = append(f.over, key)
	}
	if key == stream.FlushAll {
		gone, f.mentioned = f.mentioned, nil
		clear(f.listed)
		return gone
	}
	f.mentioned = slices.DeleteFunc(f.mentioned, func(o uint32) bool {
		f.listed[o] = !deletes(key, keys[o])
		if !f.listed[o] {
			gone = append(gone, o)
		}
		return !f.listed[o]
	})
	return gone
}

// covers reports whether an object that was not mentioned before was deleted with all others.
func (f *flushes) covers(o uint32, keys []stream.Key) bool {
	return slices.ContainsFunc(f.over, func(key string) bool {
		return key == stream.FlushAll || deletes(key, keys[o])
	})
}

func (f *flushes) mention(o uint32) {
	if f.rows == nil {
		return
	}
	f.listed = padded(f.listed, int(o)+1)
	if !f.listed[o] {
		f.listed[o] = true
		f.mentioned = append(f.mentioned, o)
	}
}

// deletes reports whether a row with a key of stream.FlushAll's form deletes an object.
func deletes(row string, key stream.Key) bool {
	database, _, found := strings.Cut(key.Text, "/")
	if !found || !source.IsDigits([]byte(database)) {
		database = "0"
	}
	return row == database+"/*"
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

// end returns when an object ceases to be valid; math.MaxInt64: never.
func (v *validity) end(o uint32) int64 {
	if v == nil {
		return math.MaxInt64
	}
	return v.ends[o]
}

// set says when an object ceases to be valid.
func (v *validity) set(o uint32, end int64) {
	if v == nil {
		return
	}
	if v.ends[o] = end; end < v.next[o] {
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

func (h expiries) Len() int { return len(h) }

func (h expiries) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *expiries) Push(x any) { *h = append(*h, x.(expiry)) }

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
		return fmt.Errorf("%s and %s: writes %s in the one and %s in the other; set their effect with --writes %s (in an "+
			"experiment writes: ...)", s.writesOf, path, s.writes, byFormat,
			strings.Join(stream.WritesNames(), "|"))
	}
	return nil
}
