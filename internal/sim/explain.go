package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/interruptible"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// Decision is what a cache did with one request.
type Decision struct {
	Pos     int
	Query   policies.Object   // the requested object
	Hit     bool              // Entry answered
	Entry   policies.Object   // only with Hit; another than Query where similar ones answer
	Loaded  bool              // Query is resident now and was not before
	Evicted []policies.Object // in the order of their eviction
}

// Explain replays a cell and passes on each of its decisions. Only caches that serve their requests one by one can be
// explained: exact and semantic. When ctx ends it does not wait for a request that takes long; the decision about that
// one may still be passed on.
func (r *Replayer) Explain(ctx context.Context, c Cell, each func(Decision) error) error {
	_, err := interruptible.Call(ctx, func() (struct{}, error) { return struct{}{}, r.explain(ctx, c, each) })
	return err
}

func (r *Replayer) explain(ctx context.Context, c Cell, each func(Decision) error) error {
	if c.Cache.Entry.Modelled {
		return fmt.Errorf("cache %s serves requests when a model of time says so, which explain does not use; use exact or "+
			"semantic", c.Cache.Name())
	}
	if err := r.Check(c); err != nil {
		return err
	}
	switch {
	case !c.Cache.Entry.OneByOne:
		return fmt.Errorf("cache %s serves requests in groups, so no single request tells why an object was evicted; use "+
			"exact or semantic", c.Cache.Name())
	case c.Policy.Entry.Kind == policies.Bound:
		return fmt.Errorf("%s is a bound: it makes no decisions", c.Policy.Name())
	}
	r.Expect([]Cell{c})
	w := &witness{}
	v := r.view(c.Capacity)
	served, _, err := r.build(ctx, c, v.trace, 0, v.nextUse, w)
	if err != nil {
		return fmt.Errorf("policy %s: %w", c.Policy, err)
	}
	sizes := make([]int64, 1)
	place := placeInWhole{whole: r.trace, bytes: c.Capacity.Bytes}
	for pos, o := range v.trace.Objects {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.seen = Decision{Query: o}
		served.Serve(cache.WindowOf(v.trace, pos, pos+1, c.Capacity.Bytes, sizes), &cache.Counts{})
		if err := each(place.translate(w.seen)); err != nil {
			return err
		}
	}
	return nil
}

// Streams replays the requests of a cell before a position, all of them if it is 0, and returns what the cache knows of
// the streams of accesses then.
func (r *Replayer) Streams(ctx context.Context, c Cell, to int) (all []cache.StreamState, err error) {
	return interruptible.Call(ctx, func() ([]cache.StreamState, error) {
		if err := r.Check(c); err != nil {
			return nil, err
		}
		v := r.view(c.Capacity)
		served, _, err := r.build(ctx, c, v.trace, 0, v.nextUse, nil)
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", c.Policy, err)
		}
		streaming, ok := served.(cache.Streaming)
		if !ok {
			return nil, fmt.Errorf("policy %s does not divide the cache among streams of accesses; use %s", c.Policy.Name(),
				strings.Join(managing(), ", "))
		}
		end := len(v.trace.Objects)
		if to > 0 {
			end = min(end, to)
		}
		const atATime = 4096
		sizes := make([]int64, atATime)
		for from := 0; from < end; from += atATime {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			window := cache.WindowOf(v.trace, from, min(from+atATime, end), c.Capacity.Bytes, sizes)
			served.Serve(window, &cache.Counts{})
		}
		return streaming.Streams(), nil
	})
}

// managing returns the names of the policies that manage a cache.
func managing() (names []string) {
	for _, e := range policies.All() {
		if e.Manages {
			names = append(names, e.Name)
		}
	}
	return names
}

// placeInWhole translates the decisions of a replay that leaves out requests of size 0, and renumbers its objects, into
// the positions and numbers of the whole trace.
type placeInWhole struct {
	whole   *traces.Trace
	bytes   bool
	next    int               // position of the request after the last translated one
	objects []policies.Object // for each requested object, its number in the whole trace
}

// translate must be called for each request, in their order.
func (p *placeInWhole) translate(d Decision) Decision {
	for p.bytes && p.whole.Size(p.next) == 0 {
		p.next++
	}
	d.Pos = p.next
	p.next++
	if int(d.Query) == len(p.objects) {
		p.objects = append(p.objects, p.whole.Objects[d.Pos])
	}
	d.Query = p.objects[d.Query]
	if d.Hit {
		d.Entry = p.objects[d.Entry]
	}
	for i, o := range d.Evicted {
		d.Evicted[i] = p.objects[o]
	}
	return d
}

// witness records what happens in a pool at a request.
type witness struct{ seen Decision }

// Hit implements cache.HitObserver.
func (w *witness) Hit(o policies.Object) { w.seen.Hit, w.seen.Entry = true, o }

// Loaded implements cache.LoadObserver.
func (w *witness) Loaded(policies.Object, int64, policies.Reason) { w.seen.Loaded = true }

// Left implements cache.Observer.
func (w *witness) Left(o policies.Object, _ int64, _ cache.Departure) {
	w.seen.Evicted = append(w.seen.Evicted, o)
}
