package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Decision is what a cache did with one request.
type Decision struct {
	Pos     int
	Query   policies.Object // the requested object
	Hit     bool            // Entry answered
	Entry   policies.Object // only with Hit; another than Query where similar ones answer
	Loaded  bool            // Query is resident now and was not before
	Refused bool            // the admission in front of the cache kept Query out
	Evicted []Left          // in the order of their eviction
	Removed []Left          // before the request: deleted, made invalid by a write, or expired
	// Prefetched are the objects that were loaded ahead of their requests after this one, in this order.
	Prefetched []policies.Object
	// Strangers are the keys of what was loaded so far and is never requested in the trace: object NumObjects + i of this
	// decision has the i-th of them.
	Strangers []stream.Key
}

// Left is an object that left the cache.
type Left struct {
	Object policies.Object
	Why    string // that of a cache.Departure or a traces.Cause
}

// Explain replays a cell and passes on each of its decisions. Only caches that serve their requests one by one can be
// explained: exact and semantic. When ctx ends it does not wait for a request that takes long; the decision about that
// one may still be passed on.
func (r *Replayer) Explain(ctx context.Context, c Cell, each func(Decision) error) error {
	_, err := policies.Await(ctx, func(ctx context.Context) (any, error) { return nil, r.explain(ctx, c, each) })
	return err
}

// CheckExplain rejects a cell that Explain cannot explain on any trace.
func CheckExplain(c Cell) error {
	switch e := c.Replayed().Cache.Entry; {
	case cache.Can[cache.Driven](e):
		return fmt.Errorf("cache %s serves requests when a model of time says so, which explain does not use; use the "+
			"cache exact or semantic", e.Name)
	case !e.OneByOne:
		return fmt.Errorf("cache %s serves requests in groups, so no single request tells why an object was evicted; "+
			"use the cache exact or semantic", e.Name)
	case c.Policy.Entry.Kind == policies.Bound:
		return fmt.Errorf("policy %s is a bound, which makes no decisions; choose another policy, such as opt",
			c.Policy.Name())
	}
	return nil
}

func (r *Replayer) explain(ctx context.Context, c Cell, each func(Decision) error) error {
	if err := CheckExplain(c); err != nil {
		return err
	}
	c, v, place, err := r.followed(c)
	if err != nil {
		return err
	}
	r.expect([]Cell{c})
	w := &witness{place: place, removals: v.trace.Removals}
	served, _, err := r.build(ctx, c, v.trace, 0, v.nextUse, w)
	if err != nil {
		return fmt.Errorf("policy %s: %w", c.Policy, err)
	}
	w.addresses, _ = served.(cache.Addressing)
	f := feed.New(v.trace, served, c.Capacity.Bytes)
	for pos, o := range v.trace.Objects {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.seen = Decision{Query: o}
		w.remove(f, pos)
		w.seen.Removed, w.seen.Evicted = w.seen.Evicted, nil
		f.Serve(pos, pos+1)
		if err := each(place.translate(w.seen)); err != nil {
			return err
		}
	}
	return nil
}

// followed checks a cell whose replay is observed request by request, and returns it with its parts as replayed, what
// it sees of the trace, and where that is in the whole trace.
func (r *Replayer) followed(c Cell) (Cell, *view, *placeInWhole, error) {
	if err := r.Check(c); err != nil {
		return c, nil, nil, err
	}
	c.Parts = c.Replayed()
	place, err := r.placeInWhole(c)
	return c, r.view(c.Capacity), place, err
}

// Open returns the empty cache of a cell, and the trace as it sees it, for callers that serve the requests themselves.
// With an observer the cache exact serves each by itself, and can drop objects; it may be nil.
func (r *Replayer) Open(ctx context.Context, c Cell, watch cache.Observer) (*traces.Trace, cache.Cache, error) {
	if err := r.Check(c); err != nil {
		return nil, nil, err
	}
	c.Parts = c.Replayed()
	v := r.view(c.Capacity)
	served, _, err := r.build(ctx, c, v.trace, 0, v.nextUse, watch)
	if err != nil {
		err = fmt.Errorf("policy %s: %w", c.Policy, err)
	}
	return v.trace, served, err
}

// OpenNodes returns what makes the empty cache of each of several nodes that have the cache of a cell, and the trace as
// they see it, for callers that send each prompt to a node. No part of the cell may know the future.
func (r *Replayer) OpenNodes(ctx context.Context, c Cell) (*traces.Trace, func(int) (cache.Replica, error), error) {
	if err := r.Check(c); err != nil {
		return nil, nil, err
	}
	c.Parts = c.Replayed()
	v := r.view(c.Capacity)
	config, _, err := r.config(ctx, c, v.trace, 0, v.nextUse, nil, true)
	return v.trace, replicas.CachesOf(c.Cache.Entry, config), err
}

// Streams replays the requests of a cell before a position, all of them if it is 0, and returns what the cache knows of
// the streams of accesses then.
func (r *Replayer) Streams(ctx context.Context, c Cell, to int) (all []cache.StreamState, err error) {
	return policies.Await(ctx, func(ctx context.Context) ([]cache.StreamState, error) {
		t, served, err := r.Open(ctx, c, nil)
		if err != nil {
			return nil, err
		}
		streaming, ok := served.(cache.Streaming)
		if !ok {
			return nil, fmt.Errorf("cache %s does not divide the capacity among streams of accesses; add --cache with one "+
				"of: %s", c.Cache.Name(),
				strings.Join(cache.NamesThatCan[cache.Streaming](), ", "))
		}
		end := len(t.Objects)
		if to > 0 {
			end = min(end, to)
		}
		const atATime = 4096
		f := feed.New(t, served, c.Capacity.Bytes)
		for from := 0; from < end; from += atATime {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			f.Serve(from, min(from+atATime, end))
		}
		return streaming.Streams(), nil
	})
}

// placeInWhole translates the positions and objects of a replay that leaves out requests of size 0, and renumbers its
// objects, back into the whole trace's. Addresses that the trace never requests get the numbers behind its objects.
type placeInWhole struct {
	whole     *traces.Trace
	bytes     bool
	next      int                 // position of the request after the last translated one
	objects   []policies.Object   // for each object of the replay, its number in the whole trace
	addresses *prefetch.Addresses // nil unless the replay has them
	strangers []stream.Key
	numbers   map[uint64]policies.Object // of strangers, by address
}

func (r *Replayer) placeInWhole(c Cell) (*placeInWhole, error) {
	v := r.view(c.Capacity)
	addresses, err := v.addressesFor(c)
	if err != nil {
		return nil, err
	}
	p := &placeInWhole{whole: r.trace, bytes: c.Capacity.Bytes, addresses: addresses,
		objects: make([]policies.Object, v.trace.NumObjects), numbers: map[uint64]policies.Object{}}
	pos := -1
	for _, o := range v.trace.Objects {
		pos = p.counted(pos + 1)
		p.objects[o] = r.trace.Objects[pos]
	}
	return p, nil
}

// counted returns the position of the first request from one on that the replay has.
func (p *placeInWhole) counted(pos int) int {
	for p.bytes && p.whole.Size(pos) == 0 {
		pos++
	}
	return pos
}

// translate must be called for each request, in their order.
func (p *placeInWhole) translate(d Decision) Decision {
	d.Pos = p.counted(p.next)
	p.next = d.Pos + 1
	d.Query = p.objects[d.Query]
	if d.Hit {
		d.Entry = p.objects[d.Entry]
	}
	d.Strangers = p.strangers
	return d
}

// stranger returns the number of an address that the trace never requests.
func (p *placeInWhole) stranger(address uint64) policies.Object {
	o, known := p.numbers[address]
	if !known {
		o = policies.Object(p.whole.NumObjects + len(p.strangers))
		p.numbers[address], p.strangers = o, append(p.strangers, p.addresses.KeyAt(address))
	}
	return o
}

// witness records what happens in a pool at a request. It implements cache.HitObserver, cache.LoadObserver,
// cache.RefusalObserver and cache.Observer.
type witness struct {
	seen      Decision
	place     *placeInWhole
	addresses cache.Addressing // nil unless the cache prefetches
	removing  bool             // the trace removes what leaves now
	removals  []traces.Removal // from the last request on
}

// name returns the number of an object in the whole trace. The cache may give the number of a stranger that was evicted
// to another one, so this cannot wait until the end of the request.
func (w *witness) name(o policies.Object) policies.Object {
	if int(o) < len(w.place.objects) {
		return w.place.objects[o]
	}
	return w.place.stranger(w.addresses.Address(o))
}

func (w *witness) Hit(o policies.Object) { w.seen.Hit, w.seen.Entry = true, o }

func (w *witness) Loaded(o policies.Object, _ int64, why policies.Reason) {
	if why == policies.Prefetch {
		w.seen.Prefetched = append(w.seen.Prefetched, w.name(o))
		return
	}
	w.seen.Loaded = true
}

func (w *witness) NotAdmitted(policies.Object) { w.seen.Refused = true }

func (w *witness) Left(o policies.Object, _ int64, why cache.Departure) {
	cause := why.String()
	if w.removing {
		cause = w.removal(o).String()
	}
	w.seen.Evicted = append(w.seen.Evicted, Left{w.name(o), cause})
}

// remove removes what leaves before the request at pos.
func (w *witness) remove(f *feed.Feeder, pos int) {
	for len(w.removals) > 0 && int(w.removals[0].Before) < pos {
		w.removals = w.removals[1:]
	}
	w.removing = true
	f.Remove(pos)
	w.removing = false
}

// removal returns why the trace removes an object before this request.
func (w *witness) removal(o policies.Object) traces.Cause {
	at := slices.IndexFunc(w.removals, func(r traces.Removal) bool { return r.Object == o })
	return w.removals[at].Why
}
