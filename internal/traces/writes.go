package traces

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Removal is an object that leaves every cache before a request.
type Removal struct {
	Before, Object uint32
	Why            Cause
}

// Cause says why an object is removed.
type Cause uint8

const (
	Deleted     Cause = iota // alone, or with all others
	Invalidated              // by a write
	Expired                  // its time to live ended
)

func (c Cause) String() string { return [...]string{"deleted", "invalidated by a write", "expired"}[c] }

// Written says what the writes, deletions and times to live in the files of a trace do to it; the zero value: the
// files have none.
type Written struct {
	Mode      stream.Writes
	Rows      int // requests and others
	Writes    int // rows that write
	Deletions int // rows that delete
	Flushes   int // rows that delete all objects
	Expiries  int // objects whose time to live ended before they were deleted, written or replaced
	Passing   int // requests whose misses load nothing, lookups among them: see Trace.Passes
	Lookups   int // reads that only look: the log says that they store nothing
}

// Any reports whether the files have any of these.
func (w Written) Any() bool { return w.Writes+w.Deletions+w.Flushes+w.Expiries+w.Lookups > 0 }

// Text says in a few words what there is, "" if there is nothing: "writes fill (4,211 of 80,000 requests), 17
// deletions".
func (w Written) Text() string {
	var parts []string
	if w.Writes > 0 {
		parts = append(parts, fmt.Sprintf("writes %s (%s of %s requests)", w.Mode, stream.Thousands(w.Writes),
			stream.Thousands(w.Rows-w.Deletions)))
	}
	for _, n := range []struct {
		count    int
		one, all string
	}{{w.Deletions, "deletion", "deletions"}, {w.Flushes, "flush of all objects", "flushes of all objects"},
		{w.Expiries, "expiry", "expiries"}} {
		if noun := n.all; n.count > 0 {
			if n.count == 1 {
				noun = n.one
			}
			parts = append(parts, stream.Thousands(n.count)+" "+noun)
		}
	}
	if w.Lookups > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s requests only look: where they miss, nothing is loaded",
			stream.Thousands(w.Lookups), stream.Thousands(w.Rows-w.Deletions)))
	}
	return strings.Join(parts, ", ")
}

// removalsIn returns the removals before requests of a part, with positions in the part.
func (t *Trace) removalsIn(from, to int) (in []Removal) {
	first, _ := slices.BinarySearchFunc(t.Removals, from, compareRemoval)
	end, _ := slices.BinarySearchFunc(t.Removals, to, compareRemoval)
	for _, r := range t.Removals[first:end] {
		in = append(in, Removal{r.Before - uint32(from), r.Object, r.Why})
	}
	return in
}

func compareRemoval(r Removal, pos int) int { return cmp.Compare(int(r.Before), pos) }

// bitsIn returns the bits of requests of a part, with positions in the part.
func bitsIn(of stream.Bitset, from, to int) (in stream.Bitset) {
	if of == nil || from == 0 {
		return of
	}
	in = stream.Bitset{}
	for pos := from; pos < to; pos++ {
		if of.Has(pos) {
			in.Set(pos - from)
		}
	}
	return in
}

// IsWrite reports whether the request at pos writes, or is no request but a load.
func (t *Trace) IsWrite(pos int) bool {
	return t.Ops != nil && t.Ops[pos].Writes() || t.Loads != nil && t.Loads.Has(pos)
}

// HasWrites reports whether requests write, so that reads are counted apart from them.
func (t *Trace) HasWrites() bool {
	w := t.Written
	return t.Ops != nil && (w.Lookups == 0 || w.Writes > 0 && w.Mode.Requests(stream.OpWrite))
}

// Op returns the operation of the request at pos.
func (t *Trace) Op(pos int) stream.Op {
	if t.Ops == nil {
		return stream.OpUnknown
	}
	return t.Ops[pos]
}

// Passes reports whether a miss at pos loads nothing: the log says that the object is missing, or the request changes
// only resident objects, or only looks, or an answer fills the block.
func (t *Trace) Passes(pos int) bool {
	return t.Ops != nil && t.Ops[pos]&stream.IfPresent != 0 || t.passed != nil && t.passed.Has(pos)
}

// Fills reports whether the trace has writes that fill a cache, or loads, which are no part of hits and misses.
func (t *Trace) Fills() bool { return t.Loads != nil || t.Ops != nil && t.Written.Mode.Fills() }

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
// If writes fill, a request before a write of its object has none. Keeping the object until then is worth nothing,
// because the write puts it into the cache in any case, and does not count. With this column Belady's rule is optimal
// for equal sizes. Call what happens to an object from one removal or write to the next a life of it, and imagine
// another object in each life. Then the first request of a life always misses, whatever the policy does, so that the
// fewest misses of all requests are also the fewest of those that count; and the rule is optimal for this trace. The
// cache differs from the imagined one only in what is left of lives that have ended: a removed object, which makes room
// at once, and an object that is written, which gives its room to its next life. There it is the victim that the rule
// chooses first, since it has no next use.
//
// A lookup is a use like any other, but one that can only hit if the uses before it did, back to one that loads.
// Belady's rule does not see that, and is not optimal among lookups; oracle.GroupedLower bounds what is.
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
		next[pos] = soonest[o]
		switch {
		case t.passed != nil && t.passed.Has(pos): // it cannot hit
		case t.Passes(pos) && t.IsWrite(pos): // not worth keeping the object for: it is no read that could hit
		case fills && t.IsWrite(pos):
			soonest[o] = oracle.Never
		default:
			soonest[o] = uint32(pos)
		}
		for n := len(removals); n > 0 && int(removals[n-1].Before) >= pos; n-- {
			soonest[removals[n-1].Object] = oracle.Never
			removals = removals[:n-1]
		}
	}
	return next
}
