package tiers

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies"
)

// hierarchy is what hierarchies of objects and of prompts have in common: the tiers, what moves down, and counts.
type hierarchy struct {
	*book
	levels  []*level
	mode    string
	moves   bool    // an object comes to a lower tier when the one above evicts it
	promote int     // hits in a lower tier after which an object moves up; 0: never
	since   []uint8 // per object: hits since it came to a lower tier; nil if the first one counts, or none
	// last is the position of each object's last request, for policies that look up its next one; else nil.
	last    []uint32
	bytes   int64 // of a block of a prompt, if that is known; 0 otherwise
	sized   bool  // bytes are known
	prompts bool  // requests are blocks of prompts
	gone    int64 // objects that have left the last tier that had them
	pos     int   // of the last request
	ahead   int   // how much larger the position of the last request is in the tiers that all nodes share
	// moving is an object that is being copied to the first tier, if movesUp.
	moving  policies.Object
	movesUp bool
	down    []policies.Object // evicted from one tier, and on their way to another one, each because of the one before it
	time    int64             // of the last request

	prefetches bool               // a prefetcher loads objects
	requested  []bool             // per object: the trace has requested it; nil if last is, or nothing prefetches
	observer   cache.Observer     // of the first tier; may be nil
	follower   cache.TierObserver // of all tiers; may be nil

	predictors []*predictor // of the tiers whose policies use one, if there are several tiers

	admitting []*level // that have an admission
	swap      *swap    // nil unless the tiers are an engine's two memories
	nodes     *nodes   // all nodes, if it is one of several; nil: it is the only one
}

// book has what has happened in the tiers, of all nodes together.
type book struct {
	tiers       []counts // the first one first
	requests    int64    // that count
	nextPos     int      // of the next block: how many the prompts that have begun on any node have
	from, until int64    // the earliest and the latest time of them
	began       []counts // the part of tiers that does not count
}

// level is one tier, of one node or of all.
type level struct {
	name string
	at   int        // 0 for the first
	of   *hierarchy // whose request it serves, if all nodes share it
	pool *cache.Pool
	// admission decides what is written to the tier; nil: everything
	admission admit.Admission
	seen      int          // requests that it has seen
	predictor *predictor   // nil if its policy uses none, or it is the only tier
	tree      *prefix.Tree // of the pool, if its blocks form chains; nil otherwise
	store     *store       // of the pool, if prompts offer their blocks to it; nil otherwise
	*counts
}

// counts are what happened in a tier.
type counts struct {
	hits, hitTokens       int64
	readBytes             int64 // of the hits
	written, writtenBytes int64 // objects that became resident
	evicted, promoted     int64 // promoted: hits that moved to the first tier, or were copied there
	refused               int64 // objects that admission did not let in
	fetched, fetchedBytes int64 // objects that a prefetcher has brought to the first tier
}

func (c counts) minus(b counts) counts {
	return counts{c.hits - b.hits, c.hitTokens - b.hitTokens, c.readBytes - b.readBytes,
		c.written - b.written, c.writtenBytes - b.writtenBytes, c.evicted - b.evicted, c.promoted - b.promoted,
		c.refused - b.refused, c.fetched - b.fetched, c.fetchedBytes - b.fetchedBytes}
}

// at notes that a request comes at a time. Those of several nodes may come in another order than in the trace.
func (b *book) at(now int64) {
	if b.requests == 0 {
		b.from, b.until = now, now
	}
	b.from, b.until = min(b.from, now), max(b.until, now)
}

// find returns the first level that has an object, -1 if none has.
func (h *hierarchy) find(o policies.Object) int {
	for i, l := range h.levels {
		if l.pool.Has(o) {
			return i
		}
	}
	return -1
}

// expire removes what has expired from all tiers.
func (h *hierarchy) expire(now int64) {
	for _, l := range h.levels {
		l.pool.Expire(now)
	}
}

// due reports whether an object that hits in a lower tier moves up. It counts the hit.
func (h *hierarchy) due(o policies.Object) bool {
	if h.since == nil {
		return h.promote == 1
	}
	if h.since[o] < math.MaxUint8 {
		h.since[o]++
	}
	return int(h.since[o]) >= h.promote
}

// insert makes an object resident, and reports whether it is: the policy or admission may refuse it, or its size.
func (l *level) insert(r policies.Request) bool {
	r.Pos = l.position(r.Pos)
	if r.Size > l.pool.Capacity() || !l.admits(r) || !l.pool.Miss(r) {
		return false
	}
	l.entered(r.Object, r.Size)
	return true
}

// position returns where a request is among those that the tier may see: of its node, or of all that share it.
func (l *level) position(ofNode int) int {
	if l.at >= l.of.SharedFrom() {
		return ofNode + l.of.ahead
	}
	return ofNode
}

func (l *level) entered(o policies.Object, size int64) {
	l.written++
	l.writtenBytes += l.of.sizeOf(size)
	if l.at > 0 && l.of.since != nil {
		l.of.since[o] = 0
	}
}

// admits reports whether the admission of a tier lets an object in, and counts those that it does not.
func (l *level) admits(r policies.Request) bool {
	if l.admission == nil || l.admission.Admit(r) {
		return true
	}
	l.refused++
	return false
}

func (h *hierarchy) see(r policies.Request) {
	for _, l := range h.admitting {
		l.admission.Request(r, l.seen)
		l.seen++
	}
}

// sizeOf returns the bytes of an object that is charged a size.
func (h *hierarchy) sizeOf(charge int64) int64 {
	if h.bytes > 0 {
		return h.bytes
	}
	return charge
}

func (l *level) Left(o policies.Object, size int64, why cache.Departure) {
	h := l.of
	if l.at == 0 && h.observer != nil {
		h.observer.Left(o, size, why)
	}
	if why == cache.Dropped { // the hierarchy has moved or removed it
		return
	}
	l.evicted++
	switch {
	case h.swap != nil:
		h.swapDown(o)
	case h.mode == inclusive:
		h.dropAbove(l, o)
	case why == cache.Expired || h.mode == writeThrough:
	case h.mode == exclusive || !h.above(l.at, o):
		h.down = append(h.down, o)
		h.offer(h.moved(o, size), l.at+1)
		h.down = h.down[:len(h.down)-1]
	}
	if h.find(o) < 0 && !h.above(l.at, o) {
		h.gone++
	}
}

// dropAbove removes an evicted object from the tiers above, on all nodes that share the tier that evicted it.
func (h *hierarchy) dropAbove(l *level, o policies.Object) {
	if h.nodes != nil && l.at >= h.nodes.from {
		h.nodes.drop(o, l.at)
		return
	}
	h.dropFrom(h.levels[:l.at], o)
}

func (h *hierarchy) dropFrom(levels []*level, o policies.Object) {
	for _, l := range levels {
		if l.pool.Drop(o) {
			l.evicted++
		}
	}
}

// above reports whether a tier above a level has an object, or is about to.
func (h *hierarchy) above(at int, o policies.Object) bool {
	for _, l := range h.levels[:at] {
		if l.pool.Has(o) || l.tree != nil && l.tree.Has(o) {
			return true
		}
	}
	return at > 0 && (h.movesUp && o == h.moving || slices.Contains(h.down, o))
}

// moved returns a request for an object that comes down from the tier above.
func (h *hierarchy) moved(o policies.Object, size int64) policies.Request {
	r := policies.Request{Object: o, Query: o, Pos: h.pos, Size: size, Time: h.time}
	switch {
	case h.requested != nil && !h.requested[o]: // so there is no position to look up its next request from
		r.Reason = policies.Prefetch
	case h.last != nil:
		r.Pos = int(h.last[o])
	}
	return r
}

// offer offers an object to the tiers from a level on, until one keeps it. One that has it already need not be written.
func (h *hierarchy) offer(r policies.Request, from int) bool {
	for _, l := range h.levels[from:] {
		if l.pool.Has(r.Object) || l.insert(r) {
			return true
		}
	}
	return false
}

func (h *hierarchy) note(o policies.Object, pos int) {
	if h.last != nil {
		h.last[o] = uint32(pos)
	}
	if h.requested != nil {
		h.requested[o] = true
	}
}

func (b *book) BeginCounting() {
	b.began = append(b.began[:0], b.tiers...)
	b.requests = 0
}

// Used implements cache.Occupied for the first tier, whose size is the capacity of the cell.
func (h *hierarchy) Used() int64 { return h.levels[0].pool.Used() }
