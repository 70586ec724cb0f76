package servers

import (
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// redis is Redis, or Valkey: a table of items whose memory is limited by maxmemory. Before each command it evicts until
// it is below (evict.c); ten times a second it looks for keys that have expired (expire.c).
type redis struct {
	redisMemory
	keys, deadlines            table // of all items, and of those with a time to live
	limit, used, values, taken int64
	tally

	items    dense.Set // all keys
	expiring dense.Set // those with a time to live
	at       []redisItem
	integers func(o policies.Object) bool
	collections

	evictor
	age        *recency // of an evictor that goes by nothing else
	notes      []string // what a user should know from the start
	volatile   bool     // only keys with a time to live are evicted
	none       bool     // nothing is evicted
	buffer     int64    // bytes that the client's buffer has beside data, until bufferEnds
	bufferEnds int64
	nextScan   int64 // of the active cycle
	cursor     int   // where it looks on: it passes all keys, as that of Redis does, and so finds those dead the longest
}

// redisItem is what is known of an object, in one place: a request needs all of it.
type redisItem struct {
	bytes, value int64 // of the item, and of its value
	end          int64 // when its time to live ends; 0 for never
}

// evictor chooses what Redis evicts.
type evictor interface {
	hit(r *request)
	insert(r *request)
	// victim returns a key among candidates, of which there is at least one, and forgets it.
	victim(candidates []policies.Object, now int64, r *redis) policies.Object
	removed(o policies.Object)
	// resized says how many bytes are left for items.
	resized(room int64)
}

// The active cycle of expiry runs hz = 10 times a second. It looks at the next 20 keys, and again while more than a
// tenth of them had expired.
const (
	scanEvery  = second / 10
	scanKeys   = 20
	mostScans  = 1000 // for a pause in the trace
	deadTenths = 10
)

func (s *redis) tick(now int64) {
	if now < s.nextScan || len(s.expiring.All) == 0 {
		return
	}
	scans := min(mostScans, 1+(now-s.nextScan)/scanEvery)
	if s.nextScan == 0 {
		scans = 1
	}
	s.nextScan = now + scanEvery
	for range scans {
		if !s.scan(now) {
			return
		}
	}
}

// scan is a cycle. It reports whether keys with a time to live are left.
func (s *redis) scan(now int64) bool {
	for len(s.expiring.All) > 0 {
		looked, found := min(scanKeys, len(s.expiring.All)), 0
		for range looked {
			if s.cursor--; s.cursor < 0 || s.cursor >= len(s.expiring.All) {
				s.cursor = len(s.expiring.All) - 1
			}
			if o := s.expiring.All[s.cursor]; s.at[o].end < now {
				s.expire(o) // another key comes to this place, which was looked at
				found++
			}
			if len(s.expiring.All) == 0 {
				return false
			}
		}
		if found*deadTenths <= looked {
			return true
		}
	}
	return false
}

func (s *redis) expire(o policies.Object) {
	s.expired++
	s.remove(o)
}

// dead reports whether the time to live of a key has ended.
func (s *redis) dead(o policies.Object, now int64) bool { return s.at[o].end != 0 && s.at[o].end < now }

func (s *redis) serve(r *request) bool {
	if r.now >= s.bufferEnds {
		s.buffer = 0
	}
	s.makeRoom(r.now, 0)
	if s.some {
		s.count(r)
	}
	o := r.object
	there := s.items.Has(o)
	if there && len(s.expiring.All) > 0 && s.dead(o, r.now) { // a lazy expiry
		s.expire(o)
		there = false
	}
	switch {
	case there && !r.write && s.age != nil: // the common case: no call that is looked up
		s.age.touch(o, r.now)
	case there && !r.write:
		s.evictor.hit(r)
	case there && r.present: // changes the time to live, if anything
		s.setEnd(o, r.end)
	case !there && r.present:
	case !s.receive(r):
		s.refused++
	case s.items.Has(o):
		s.overwrite(r)
	default:
		s.store(r)
	}
	return there
}

const (
	// largeArgument is from where on Redis gives the buffer of a client away as the value (PROTO_MBULK_BIG_ARG), and
	// makes another one as large, which it shrinks when it looks at its clients the second time.
	largeArgument = 32 << 10
	clientsEvery  = second / 10
)

// receive takes the value that is to be stored into memory, before anything is evicted for it. It reports whether the
// memory suffices then.
func (s *redis) receive(r *request) bool {
	if r.value >= largeArgument {
		s.buffer, s.bufferEnds = r.value+2, (r.now/clientsEvery+2)*clientsEvery
	}
	return s.makeRoom(r.now, s.arguments(r))
}

// makeRoom evicts until the memory is below its limit, with an argument of a command. It reports whether it is.
func (s *redis) makeRoom(now, argument int64) bool {
	for s.used+s.buffer+argument > s.limit {
		candidates := s.items.All
		if s.volatile {
			candidates = s.expiring.All
		}
		if s.none || len(candidates) == 0 {
			return false
		}
		s.free(s.evictor.victim(candidates, now, s))
		s.evicted++
	}
	return true
}

func (s *redis) store(r *request) {
	o := r.object
	bytes := s.itemOf(r)
	s.at[o].bytes, s.at[o].value = bytes, r.value
	s.used += bytes
	s.values += r.value
	s.items.Add(o)
	s.used += s.keys.count(o, 1)
	if r.end != 0 {
		s.mark(o, r.end)
	}
	s.evictor.insert(r)
	if more := s.keys.grow(s.items.All, s.used, s.limit); more != 0 {
		s.used += more
		s.evictor.resized(s.room())
	}
	s.taken = max(s.taken, s.used)
}

// overwrite gives a key another value. Its counter of hits stays.
func (s *redis) overwrite(r *request) {
	o := r.object
	bytes, at := s.itemOf(r), &s.at[o]
	s.used += bytes - at.bytes
	s.values += r.value - at.value
	at.bytes, at.value = bytes, r.value
	s.mark(o, r.end)
	s.evictor.hit(r)
	s.taken = max(s.taken, s.used)
}

// setEnd changes the time to live of a key, and so what it takes.
func (s *redis) setEnd(o policies.Object, end int64) {
	if (end != 0) != (s.at[o].end != 0) && s.layout == apart {
		entry := s.block(dictEntry)
		if end == 0 {
			entry = -entry
		}
		s.used += entry
		s.at[o].bytes += entry
	}
	s.mark(o, end)
}

// mark notes when the time to live of a key ends.
func (s *redis) mark(o policies.Object, end int64) {
	if s.at[o].end = end; (end != 0) == s.expiring.Has(o) {
		return
	}
	if end == 0 {
		s.expiring.Remove(o)
		s.used += s.deadlines.count(o, -1)
		return
	}
	s.expiring.Add(o)
	s.used += s.deadlines.count(o, 1)
	if more := s.deadlines.grow(s.expiring.All, s.used, s.limit); more != 0 {
		s.used += more
		s.evictor.resized(s.room())
	}
}

func (s *redis) remove(o policies.Object) bool {
	if !s.items.Has(o) {
		return false
	}
	s.free(o)
	s.evictor.removed(o)
	return true
}

// room returns how many bytes items may take.
func (s *redis) room() int64 { return s.limit - s.base - s.keys.size() - s.deadlines.size() }

// free takes a key away that the evictor has forgotten, or is about to.
func (s *redis) free(o policies.Object) {
	s.used -= s.at[o].bytes
	s.values -= s.at[o].value
	s.items.Remove(o)
	s.used += s.keys.count(o, -1)
	if s.at[o].end != 0 {
		s.mark(o, 0)
	}
}

func (s *redis) has(o policies.Object, now int64) bool {
	return s.items.Has(o) && !s.dead(o, now)
}

func (s *redis) state() state {
	return state{items: int64(len(s.items.All)), values: s.values, used: s.used, own: s.base, taken: s.taken,
		tally: s.tally}
}

func (s *redis) remark() string {
	notes := s.notes
	if short := s.collections.remark(); short != "" {
		notes = append(slices.Clip(notes), short)
	}
	return strings.Join(notes, "; ")
}

// sampled is Redis' own evictor: of a few keys that it draws, and of candidates that it kept of earlier draws, that of
// the highest score. Scores of kept candidates stay what they were.
type sampled struct {
	score   scorer
	age     *recency // the same, if keys are scored by it: it is asked most often
	draws   random.Draws
	samples int
	drawn   [8]policies.Object
	pool    []candidate // at most poolSize, by score; the last is evicted next
}

// poolSize is how many candidates are kept between evictions.
const poolSize = 16

type candidate struct {
	score  int64
	object policies.Object
}

// scorer scores keys: the highest is evicted.
type scorer interface {
	of(o policies.Object, now int64) int64
	touch(o policies.Object, now int64)
	create(o policies.Object, now int64)
}

func (e *sampled) hit(r *request)          { e.score.touch(r.object, r.now) }
func (e *sampled) insert(r *request)       { e.score.create(r.object, r.now) }
func (e *sampled) removed(policies.Object) {}
func (e *sampled) resized(int64)           {}

func (e *sampled) victim(candidates []policies.Object, now int64, s *redis) policies.Object {
	for {
		for left := min(e.samples, len(candidates)); left > 0; left -= len(e.drawn) {
			e.sample(candidates, min(left, len(e.drawn)), now)
		}
		for n := len(e.pool); n > 0; n = len(e.pool) {
			o := e.pool[n-1].object
			e.pool = e.pool[:n-1]
			if s.items.Has(o) && (!s.volatile || s.expiring.Has(o)) {
				return o
			}
		}
	}
}

// sample draws some keys, and keeps them as candidates. That it draws all of them before it looks at one lets the
// processor wait for all of them at once.
func (e *sampled) sample(keys []policies.Object, n int, now int64) {
	drawn := e.drawn[:n]
	for i := range drawn {
		drawn[i] = keys[e.draws.Below(uint64(len(keys)))]
	}
	for _, o := range drawn {
		c := candidate{object: o}
		if e.age != nil {
			c.score = e.age.of(o, now)
		} else {
			c.score = e.score.of(o, now)
		}
		e.keep(c)
	}
}

// keep puts a candidate into the pool, before those of equal scores. If the pool is full, the lowest leaves it.
func (e *sampled) keep(c candidate) {
	if n := len(e.pool); n < poolSize {
		e.pool = append(e.pool, c)
		for ; n > 0 && e.pool[n-1].score >= c.score; n-- {
			e.pool[n] = e.pool[n-1]
		}
		e.pool[n] = c
		return
	}
	pool := (*[poolSize]candidate)(e.pool)
	if pool[0].score >= c.score {
		return
	}
	at := 0
	for ; at+1 < poolSize && pool[at+1].score < c.score; at++ {
		pool[at] = pool[at+1]
	}
	pool[at] = c
}

// recency scores by the time since a key was used, by a clock that ticks each second.
type recency struct {
	used      []uint32 // per object: the tick
	now, tick int64    // nanoseconds, and what the clock shows then: scores need no division
}

func (c *recency) at(now int64) int64 {
	if now != c.now {
		c.now, c.tick = now, now/second
	}
	return c.tick
}

func (c *recency) of(o policies.Object, now int64) int64 { return c.at(now) - int64(c.used[o]) }
func (c *recency) touch(o policies.Object, now int64)    { c.used[o] = uint32(c.at(now)) }
func (c *recency) create(o policies.Object, now int64)   { c.used[o] = uint32(c.at(now)) }

// frequency scores by a counter that rises ever more rarely, and falls with each minute.
type frequency struct {
	counters  []uint8
	minutes   []uint32 // per object: when the counter was last changed
	decay     int64    // minutes until a counter falls by 1; 0: never
	factor    float64  // lfu-log-factor
	draws     random.Draws
	begin     int64 // nanoseconds from a full minute to the 0 of the trace's clock
	now, tick int64 // nanoseconds, and the minute then
}

// newCounter is the counter of a new key.
const newCounter = 5

// minute returns the minute by the server's clock: all counters fall together.
func (f *frequency) minute(now int64) int64 {
	if now != f.now {
		f.now, f.tick = now, (now+f.begin)/(60*second)
	}
	return f.tick
}

func (f *frequency) decayed(o policies.Object, now int64) int64 {
	counter := int64(f.counters[o])
	if passed := f.minute(now) - int64(f.minutes[o]); passed > 0 && f.decay > 0 {
		counter = max(0, counter-passed/f.decay)
	}
	return counter
}

func (f *frequency) of(o policies.Object, now int64) int64 { return math.MaxUint8 - f.decayed(o, now) }

func (f *frequency) create(o policies.Object, now int64) {
	f.counters[o], f.minutes[o] = newCounter, uint32(f.minute(now))
}

func (f *frequency) touch(o policies.Object, now int64) {
	counter := f.decayed(o, now)
	f.minutes[o] = uint32(f.minute(now))
	if counter < math.MaxUint8 {
		const odds = 1 << 31
		chance := 1 / (float64(float64(max(0, counter-newCounter))*f.factor) + 1)
		if float64(f.draws.Below(odds)) < chance*odds {
			counter++
		}
	}
	f.counters[o] = uint8(counter)
}

// soonest scores keys by the end of their times to live: the soonest is evicted.
type soonest struct{ at []redisItem }

func (s soonest) of(o policies.Object, _ int64) int64 { return -s.at[o].end }
func (s soonest) touch(policies.Object, int64)        {}
func (s soonest) create(policies.Object, int64)       {}

// anyKey evicts a key at random.
type anyKey struct{ draws random.Draws }

func (e *anyKey) hit(*request)            {}
func (e *anyKey) insert(*request)         {}
func (e *anyKey) removed(policies.Object) {}
func (e *anyKey) resized(int64)           {}
func (e *anyKey) victim(candidates []policies.Object, _ int64, _ *redis) policies.Object {
	return candidates[e.draws.Below(uint64(len(candidates)))]
}
