package cache

import (
	"slices"

	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// Store is an exact cache into which a prefetcher can load objects: a pool, or several.
type Store interface {
	Occupied
	Reporting
	Capacity() int64
	Resident(o policies.Object) bool
	Observe(o Observer)
	// Request serves a request of the trace, and loads what misses; Look loads nothing.
	Request(r policies.Request) (hit bool)
	Look(r policies.Request) (hit bool)
	// Holds reports whether an object is resident, also in a further tier.
	Holds(o policies.Object) bool
	// Load loads an object without a request, if there is room for it, and reports whether it has.
	Load(r policies.Request) (loaded bool)
	// Drop removes an object, and reports whether it was resident.
	Drop(o policies.Object) bool
	// Ask, Arrive and Waited are as in requests.Asynchronous.
	Ask(r policies.Request, at int) (hit bool)
	Arrive(r policies.Request) (resident bool)
	Waited(r policies.Request)
	Evictions() int64
	Oversized() int64
}

// Charging is implemented by stores that charge a prefetched object to a part of the cache, and therefore must know for
// which request it was proposed. Only Divided is one: others have no parts.
type Charging interface {
	// Expect reports that an object that was proposed after the last request will be loaded, now or later.
	Expect(o policies.Object)
}

// Layered is implemented by stores with further tiers: what a lower tier has got has not left the cache.
type Layered interface {
	// Below reports whether a lower tier has an object, and the first one has not.
	Below(o policies.Object) bool
}

// Numbered is implemented by stores that need the addresses of objects, from before the first request on.
type Numbered interface{ SetNumbers(n *prefetch.Numbers) }

// prefetching is an exact cache that, after each request, also loads the proposals of a prefetcher. It implements
// requests.Asynchronous, Addressing, LoadObserver and Cache.
type prefetching struct {
	Store
	prefetcher prefetch.Prefetcher
	charging   Charging          // nil if the store is not
	watcher    prefetch.Watcher  // nil if the prefetcher does not follow the fate of objects
	backlog    prefetch.Backlog  // nil if the prefetcher has none
	numbers    *prefetch.Numbers // nil if proposals name objects of the trace
	observer   Observer          // in addition to the cache itself; may be nil

	known     []int64 // per object of the trace: its size; nil if the capacity counts objects
	changing  bool    // an object may change its size within the trace, so its last known size counts
	charged   []int64 // per object: its charged size when it was prefetched; nil if the capacity counts objects
	states    []uint8 // per object: how often it was prefetched since its last request, and counted
	left      []departure
	proposals []prefetch.Proposal
	delayed   *delayed         // nil if proposals are loaded at once, or a model of time says when
	coming    []bool           // per object: it is being fetched; nil unless objects arrive later
	last      policies.Request // the last one, if objects arrive later
	asked     int              // requests

	restored           int64 // objects that were evicted and loaded back, so these were not evictions
	loaded, used       int64 // prefetched objects, and how many of them were then requested
	loadedBytes, bytes int64 // their charged size
}

// departure is an eviction that the prefetcher has not been notified of yet.
type departure struct {
	object policies.Object
	why    Departure
}

// inBackground is how many objects of the prefetcher's backlog are loaded after each request, where nothing takes time.
const inBackground = 4

const (
	counted = 1 << 7      // the object was prefetched after the warm-up
	times   = counted - 1 // how often it was prefetched since its last request: 0 if it was requested
)

// NewPrefetcher returns the prefetcher of a cache that has one, into a store of some capacity.
func (c Config) NewPrefetcher(capacity int64) prefetch.Prefetcher {
	return prefetch.New(*c.Prefetcher, prefetch.Config{Trace: c.Trace, Layout: c.Layout, Capacity: capacity, Unit: c.Unit,
		Asynchronous: c.Asynchronous})
}

// Prefetching is an exact cache that prefetches.
type Prefetching interface {
	Cache
	requests.Asynchronous
	Dropping
	Occupied
	Reporting
	Warming
	Addressing
}

// Addressing is implemented by caches that may hold addresses that the trace never requests.
type Addressing interface {
	// Address returns the address of an object, which has one where the prefetcher computes with them.
	Address(o policies.Object) uint64
}

// NewPrefetching returns the cache that loads what a prefetcher proposes into an empty store.
func NewPrefetching(c Config, store Store, prefetcher prefetch.Prefetcher) Prefetching {
	objects := c.Room()
	cache := &prefetching{
		Store:      store,
		prefetcher: prefetcher,
		observer:   c.Observer,
		states:     make([]uint8, objects),
	}
	if c.Prefetcher != nil && !c.Asynchronous {
		if after := prefetch.DelayOf(*c.Prefetcher); after > 0 {
			cache.delayed = newDelayed(after, objects)
		}
	}
	if c.Asynchronous {
		cache.coming = make([]bool, objects)
	}
	cache.charging, _ = store.(Charging)
	cache.watcher, _ = cache.prefetcher.(prefetch.Watcher)
	cache.backlog, _ = cache.prefetcher.(prefetch.Backlog)
	if c.Addresses != nil && (c.Prefetcher == nil || c.Prefetcher.Entry.Addresses) {
		cache.numbers = prefetch.NewNumbers(c.Addresses, cache.present)
		if numbered, ok := store.(Numbered); ok {
			numbered.SetNumbers(cache.numbers)
		}
	}
	if !c.Unit {
		cache.known, cache.charged = c.Trace.ObjectSizes, make([]int64, objects)
		if c.Trace.RequestSizes != nil {
			cache.known, cache.changing = slices.Clone(c.Trace.ObjectSizes), true
		}
	}
	cache.Observe(cache)
	return cache
}

// present reports whether an object is in the cache or will arrive.
func (c *prefetching) present(o policies.Object) bool {
	return c.Resident(o) || c.coming != nil && c.coming[o] || c.delayed.comes(o)
}

func (c *prefetching) Address(o policies.Object) uint64 { return c.numbers.Key(o) }
func (c *prefetching) Evictions() int64                 { return c.Store.Evictions() - c.restored }

// Left implements Observer. The policy is still making room, so the prefetcher is notified later.
func (c *prefetching) Left(o policies.Object, size int64, why Departure) {
	c.left = append(c.left, departure{o, why})
	if c.observer != nil {
		c.observer.Left(o, size, why)
	}
}

// Drop implements Dropping. What is on its way does not arrive.
func (c *prefetching) Drop(o policies.Object) bool {
	if c.delayed.comes(o) {
		c.delayed.due[o] = 0
		c.lose(o)
	}
	dropped := c.Store.Drop(o)
	c.settle(c.last) // nothing is taken back, as no object made room for another
	return dropped
}

func (c *prefetching) Loaded(o policies.Object, size int64, why policies.Reason) {
	if loads, ok := c.observer.(LoadObserver); ok {
		loads.Loaded(o, size, why)
	}
}

func (c *prefetching) Serve(w Window, n *Counts)   { ServeEach(c, w, n) }
func (c *prefetching) LookAll(w Window, n *Counts) { LookEach(c, w, n) }

// Look serves a request that loads nothing where it misses. The prefetcher sees it only where it hits.
func (c *prefetching) Look(r policies.Request) (hit bool) {
	if hit = c.Store.Look(r); hit {
		if c.changing {
			c.known[r.Object] = r.Size
		}
		c.follow(r, hit)
		return hit
	}
	c.settle(r)
	if c.delayed != nil {
		c.arrive(r)
	}
	return hit
}

// Request serves a request and then loads the prefetcher's proposals.
func (c *prefetching) Request(r policies.Request) (hit bool) {
	if c.changing {
		c.known[r.Object] = r.Size
	}
	late := c.delayed != nil && c.delayed.take(r.Object)
	hit = c.Store.Request(r)
	if late && !c.Resident(r.Object) {
		c.lose(r.Object)
	}
	c.follow(r, hit)
	return hit
}

// follow shows the prefetcher a request that was served, and loads what it proposes.
func (c *prefetching) follow(r policies.Request, hit bool) {
	c.consult(r, r.Pos, hit, false)
	if c.delayed != nil {
		c.arrive(r)
	}
	for _, p := range c.proposals {
		c.propose(p, r)
	}
	if c.backlog != nil {
		c.proposals = c.backlog.More(inBackground, c.proposals[:0])
		for _, p := range c.proposals {
			c.propose(p, r)
		}
	}
}

// consult shows the prefetcher a request that has been served, at a position in the trace, and stores its proposals.
// comes says that the object will be loaded later.
func (c *prefetching) consult(r policies.Request, at int, hit, comes bool) {
	a := prefetch.Access{Object: r.Object, Pos: c.asked, At: at, Size: r.Size, Time: r.Time, Hit: hit}
	c.asked++
	if c.numbers != nil {
		a.Key = c.numbers.Key(r.Object)
		c.numbers.Requested(r.Object)
	}
	if hit {
		a.Prefetched = c.use(r.Object)
		if hits, ok := c.observer.(HitObserver); ok {
			hits.Hit(r.Object)
		}
	}
	c.settle(r)
	a.Resident = comes || c.Resident(r.Object)
	c.proposals = c.prefetcher.Request(a, c.proposals[:0])
}

// use records that an object is requested, and reports whether it was prefetched since its last request.
func (c *prefetching) use(o policies.Object) (prefetched bool) {
	state := c.states[o]
	if state == 0 {
		return false
	}
	c.states[o] = 0
	if state&counted != 0 {
		c.used++
		if c.charged != nil {
			c.bytes += c.charged[o]
		}
	}
	return true
}

// propose loads the proposals after a request, except those that are resident or bypassed by the policy.
func (c *prefetching) propose(p prefetch.Proposal, r policies.Request) {
	o, ok := c.object(p)
	if !ok {
		return
	}
	size := c.size(o, p, r)
	if c.delayed != nil {
		c.send(o, size, p, r)
		return
	}
	if c.charging != nil && !c.Resident(o) {
		c.charging.Expect(o)
	}
	if c.prefetch(o, size, r) {
		c.note(o, size)
		if c.watcher != nil {
			c.watcher.Loaded(p)
		}
	}
	c.settle(r)
}

// send lets a proposal arrive later, unless it is resident or on its way.
func (c *prefetching) send(o policies.Object, size int64, p prefetch.Proposal, r policies.Request) {
	if c.delayed.comes(o) || c.Resident(o) {
		return
	}
	c.delayed.add(o, size, r.Pos)
	c.expect(o, p)
}

func (c *prefetching) expect(o policies.Object, p prefetch.Proposal) {
	if c.charging != nil {
		c.charging.Expect(o)
	}
	if c.watcher != nil {
		c.watcher.Loaded(p)
	}
}

func (c *prefetching) arrive(r policies.Request) {
	for {
		a, ok := c.delayed.next(r.Pos)
		if !ok {
			return
		}
		if c.prefetch(a.object, a.size, r) {
			c.note(a.object, a.size)
		} else if !c.Resident(a.object) {
			c.lose(a.object)
		}
		c.settle(r)
	}
}

// object returns the number of a proposed object; false if there is none.
func (c *prefetching) object(p prefetch.Proposal) (o policies.Object, ok bool) {
	if c.numbers == nil {
		return p.Object, true
	}
	return c.numbers.Number(p.Key)
}

func (c *prefetching) note(o policies.Object, size int64) {
	c.states[o] = counted | 1
	c.loaded++
	if c.charged != nil {
		c.charged[o] = size
		c.loadedBytes += size
	}
}

func (c *prefetching) prefetch(o policies.Object, size int64, r policies.Request) bool {
	r.Object, r.Query, r.Size, r.Reason, r.Write = o, o, size, policies.Prefetch, false
	return c.Load(r)
}

// size returns the charged size of an object that is prefetched after a request.
func (c *prefetching) size(o policies.Object, p prefetch.Proposal, r policies.Request) int64 {
	switch {
	case c.known == nil:
		return 1
	case p.Size > 0:
		return p.Size
	case int(o) < len(c.known) && c.known[o] > 0:
		return c.known[o]
	}
	return r.Size // its size is unknown
}

// settle notifies the prefetcher of evicted objects, and loads again what it requests back. That may evict others, of
// which it is notified in turn. This ends because each object is requested back a few times at most.
func (c *prefetching) settle(r policies.Request) {
	for i := 0; i < len(c.left); i++ {
		c.tell(c.left[i], r)
	}
	c.left = c.left[:0]
}

func (c *prefetching) tell(d departure, r policies.Request) {
	o, state := d.object, c.states[d.object]
	c.states[o] = 0
	if c.watcher == nil {
		return
	}
	e := c.eviction(o, int(state&times))
	for c.watcher.Evicted(e) && e.Unused > 0 {
		if e.Unused < times && d.forRoom() && c.takeBack(o, r) {
			c.states[o] = state&counted | uint8(e.Unused+1)
			c.watcher.Loaded(prefetch.Proposal{Object: o, Key: e.Key})
			return
		}
		e.Unused++
	}
}

func (c *prefetching) eviction(o policies.Object, unused int) prefetch.Eviction {
	e := prefetch.Eviction{Object: o, Unused: unused}
	if c.numbers != nil {
		e.Key = c.numbers.Key(o)
	}
	return e
}

func (c *prefetching) takeBack(o policies.Object, r policies.Request) bool {
	size := int64(1)
	if c.charged != nil {
		size = c.charged[o]
	}
	layered, ok := c.Store.(Layered)
	gone := !ok || !layered.Below(o)
	if !c.prefetch(o, size, r) {
		return false
	}
	if gone {
		c.restored++
	}
	return true
}

// forRoom reports whether the object made room for another one.
func (d departure) forRoom() bool {
	return d.why <= ForRestore
}

// BeginCounting implements Warming: earlier prefetches no longer count.
func (c *prefetching) BeginCounting() {
	c.loaded, c.used, c.loadedBytes, c.bytes = 0, 0, 0, 0
	for o := range c.states {
		c.states[o] &^= counted
	}
	if c.delayed != nil {
		c.delayed.late = 0
	}
	if warming, ok := c.Store.(Warming); ok {
		warming.BeginCounting()
	}
}

// Counters implements Reporting. An object without a request by the end was prefetched in vain.
func (c *prefetching) Counters() []policies.Counter {
	all := append(c.Store.Counters(),
		policies.Count(prefetch.Prefetches, float64(c.loaded)),
		policies.Count(prefetch.UsefulPrefetches, float64(c.used)),
		policies.Count(prefetch.WastedPrefetches, float64(c.loaded-c.used)))
	if measured, ok := c.prefetcher.(prefetch.Measured); ok {
		all = append(all, policies.CountAll(measured.Measure())...)
	}
	if c.delayed != nil {
		all = append(all, policies.Count(prefetch.LateProposals, float64(c.delayed.late)))
	}
	if c.charged == nil {
		return all
	}
	return append(all, policies.Count(prefetch.PrefetchedBytes, float64(c.loadedBytes)),
		policies.Count(prefetch.WastedBytes, float64(c.loadedBytes-c.bytes)))
}
