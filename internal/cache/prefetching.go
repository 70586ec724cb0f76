package cache

import (
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/prefetch"
)

// prefetching is an exact cache that also loads what a prefetcher proposes, after each request.
type prefetching struct {
	*Pool
	prefetcher prefetch.Prefetcher
	watcher    prefetch.Watcher  // nil where the prefetcher does not follow what becomes of objects
	numbers    *prefetch.Numbers // nil where proposals name objects of the trace
	observer   Observer          // beside the cache itself; nil: nobody

	known     []int64 // per object of the trace: its size; nil where the capacity counts objects
	changing  bool    // an object may change its size within the trace, so that the last one is its size
	charged   []int64 // per object: what it was charged when it was prefetched; nil where the capacity counts objects
	states    []uint8 // per object: how often it has been loaded since it was last asked for, and counted
	left      []departure
	proposals []prefetch.Proposal

	restored           int64 // objects that have left and come back, so that they were no evictions
	loaded, used       int64 // prefetched objects, and those of them that were then asked for
	loadedBytes, bytes int64 // what these were charged
}

// departure is an object that has left and the prefetcher has not been told of.
type departure struct {
	object policies.Object
	why    Departure
}

const (
	counted = 1 << 7      // the object was prefetched after the warm-up
	times   = counted - 1 // how often it has been loaded since it was last asked for: 0 where it was asked for
)

// newPrefetching returns an empty cache that prefetches.
func newPrefetching(c Config, p policies.Policy) *prefetching {
	objects := c.objects()
	cache := &prefetching{
		Pool:       NewPool(p, c.Capacity, objects),
		prefetcher: prefetch.New(*c.Prefetcher),
		observer:   c.Observer,
		states:     make([]uint8, objects),
	}
	cache.watcher, _ = cache.prefetcher.(prefetch.Watcher)
	if c.Addresses != nil {
		cache.numbers = prefetch.NewNumbers(c.Addresses, cache.Resident)
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

// Left implements Observer. The policy is in the middle of making room, so the prefetcher hears of it later.
func (c *prefetching) Left(o policies.Object, size int64, why Departure) {
	c.left = append(c.left, departure{o, why})
	if c.observer != nil {
		c.observer.Left(o, size, why)
	}
}

// Loaded implements LoadObserver.
func (c *prefetching) Loaded(o policies.Object, size int64, why policies.Reason) {
	if loads, ok := c.observer.(LoadObserver); ok {
		loads.Loaded(o, size, why)
	}
}

// Serve implements Cache.
func (c *prefetching) Serve(w Window, n *Counts) {
	evictions, oversized := c.Evictions()-c.restored, c.Oversized()
	for i := range w.Objects {
		r := w.Request(i)
		if w.Sizes != nil {
			n.Bytes += r.Size
		}
		if !c.serve(r) {
			continue
		}
		n.Hits++
		if w.Sizes != nil {
			n.HitBytes += r.Size
		}
	}
	n.Requests += int64(len(w.Objects))
	n.Evictions += c.Evictions() - c.restored - evictions
	n.Oversized += c.Oversized() - oversized
}

// serve serves a request and loads what the prefetcher proposes after it.
func (c *prefetching) serve(r policies.Request) (hit bool) {
	if c.changing {
		c.known[r.Object] = r.Size
	}
	hit = c.Request(r)
	a := prefetch.Access{Object: r.Object, Pos: r.Pos, Size: r.Size, Time: r.Time, Hit: hit}
	if c.numbers != nil {
		a.Key = c.numbers.Key(r.Object)
	}
	if hit {
		a.Prefetched = c.use(r.Object)
		if hits, ok := c.observer.(HitObserver); ok {
			hits.Hit(r.Object)
		}
	}
	c.settle(r)
	a.Resident = c.Resident(r.Object)
	c.proposals = c.prefetcher.Request(a, c.proposals[:0])
	for _, p := range c.proposals {
		c.propose(p, r)
	}
	return hit
}

// use notes that an object is asked for, and reports whether it was prefetched and had not been since.
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

// propose loads what is proposed after a request, unless it is resident or the policy refuses it.
func (c *prefetching) propose(p prefetch.Proposal, r policies.Request) {
	o := p.Object
	if c.numbers != nil {
		var ok bool
		if o, ok = c.numbers.Number(p.Key); !ok {
			return
		}
	}
	size := c.size(o, p, r)
	if c.prefetch(o, size, r) {
		c.note(o, size)
		if c.watcher != nil {
			c.watcher.Loaded(p)
		}
	}
	c.settle(r)
}

// note counts an object that has been prefetched.
func (c *prefetching) note(o policies.Object, size int64) {
	c.states[o] = counted | 1
	c.loaded++
	if c.charged != nil {
		c.charged[o] = size
		c.loadedBytes += size
	}
}

// prefetch loads an object after a request.
func (c *prefetching) prefetch(o policies.Object, size int64, r policies.Request) bool {
	r.Object, r.Query, r.Size, r.Reason = o, o, size, policies.Prefetch
	return c.Load(r)
}

// size returns what an object is charged when it is prefetched after a request.
func (c *prefetching) size(o policies.Object, p prefetch.Proposal, r policies.Request) int64 {
	switch {
	case c.known == nil:
		return 1
	case p.Size > 0:
		return p.Size
	case int(o) < len(c.known) && c.known[o] > 0:
		return c.known[o]
	}
	return r.Size // nothing is known of it
}

// settle tells the prefetcher who has left, and loads again what it wants back. That may have others leave, who are
// told of in turn: it ends as each is wanted back a few times at most.
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
	e := prefetch.Eviction{Object: o, Unused: int(state & times)}
	if c.numbers != nil {
		e.Key = c.numbers.Key(o)
	}
	for c.watcher.Evicted(e) && e.Unused > 0 {
		if e.Unused < times && d.forRoom() && c.takeBack(o, r) {
			c.states[o] = state&counted | uint8(e.Unused+1)
			c.watcher.Loaded(prefetch.Proposal{Object: o, Key: e.Key})
			return
		}
		e.Unused++
	}
}

// takeBack loads an object again that has left.
func (c *prefetching) takeBack(o policies.Object, r policies.Request) bool {
	size := int64(1)
	if c.charged != nil {
		size = c.charged[o]
	}
	if !c.prefetch(o, size, r) {
		return false
	}
	c.restored++
	return true
}

// forRoom reports whether the object made room for another one.
func (d departure) forRoom() bool {
	return d.why == ForDemand || d.why == ForPrefetch || d.why == ForRestore
}

// BeginCounting implements Warming: what was prefetched until now counts no longer.
func (c *prefetching) BeginCounting() {
	c.loaded, c.used, c.loadedBytes, c.bytes = 0, 0, 0, 0
	for o := range c.states {
		c.states[o] &^= counted
	}
}

// Counters implements Reporting. What has not been asked for by the end was prefetched in vain.
func (c *prefetching) Counters() []policies.Counter {
	all := append(c.Pool.Counters(),
		policies.Counter{Name: prefetch.Prefetches.Name, Value: float64(c.loaded)},
		policies.Counter{Name: prefetch.UsefulPrefetches.Name, Value: float64(c.used)},
		policies.Counter{Name: prefetch.WastedPrefetches.Name, Value: float64(c.loaded - c.used)})
	if c.charged == nil {
		return all
	}
	return append(all, policies.Counter{Name: prefetch.PrefetchedBytes.Name, Value: float64(c.loadedBytes)},
		policies.Counter{Name: prefetch.WastedBytes.Name, Value: float64(c.loadedBytes - c.bytes)})
}
