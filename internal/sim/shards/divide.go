// Package shards replays a trace of objects on several nodes, each with a cache of its own. Which node serves a request
// depends on keys and the order of requests alone, so the trace is divided before the replay: the requests of a node
// are a trace of its own, and its cache is as if it were the only one.
package shards

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/serving/route"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// Life is a node from when it is added until it is lost.
type Life struct {
	Node   int
	Trace  *traces.Trace // of what it serves
	Warmup int           // requests of Trace that only warm up

	positions []uint32 // of the requests in the whole trace
	lost      bool
	until     int // position at which it is lost
}

// Division is what each node serves.
type Division struct {
	Lives []Life
	Nodes int // at most, at any time

	changed int     // position of the last change of nodes; 0 if there is none
	moved   float64 // share of the objects that have another node after a change, summed over all changes
	placed  bool    // objects have nodes of their own
}

// CheckTrace rejects a router that does not route the requests of a trace.
func CheckTrace(router route.Spec, t *traces.Trace) error {
	switch {
	case prompts.Of(t.Kind) != nil:
		return fmt.Errorf("router %s: %s has prompts, which caches of objects serve block by block; add --cache prefix or "+
			"tiers, or remove --nodes and --route", router, t.Name)
	case len(t.Starts) > 0:
		return fmt.Errorf("router %s: %s is replayed file by file, each with an empty cache; remove --per-file, or --nodes "+
			"and --route", router, t.Name)
	}
	for _, p := range router.Entry.OfPrompts {
		if value := router.Params[p.Name]; value != p.Default {
			return fmt.Errorf("router %s: %s=%v is about prompts, and %s has objects, which are routed by their keys; remove it",
				router, p.Name, value, t.Name)
		}
	}
	_, err := begins(route.EpochsOf(router), t)
	return err
}

// begins returns the positions at which epochs begin.
func begins(epochs []route.Epoch, t *traces.Trace) (at []int, err error) {
	at = []int{0}
	for _, e := range epochs[1:] {
		pos := at[len(at)-1]
		switch {
		case e.Counted:
			pos = e.Requests
		case t.Times == nil:
			return nil, fmt.Errorf("nodes change after %s, but %s has no times; name their column, as in --input-format "+
				"csv:time=1, or write after how many requests, as in lose=2@100000", e.Moment, t.Name)
		default:
			for pos < len(t.Times) && t.Times[pos]-t.Times[0] < int64(e.Time) {
				pos++
			}
		}
		if pos >= len(t.Objects) {
			return nil, fmt.Errorf("nodes change after %s, and %s has only %s; choose an earlier moment", e.Moment,
				t.Name, show.Count(int64(len(t.Objects))))
		}
		at = append(at, pos)
	}
	return at, nil
}

// Divide divides the requests of a trace among nodes. A write is served by one node, and removes the object from the
// others that may have it; a removal reaches all of these.
func Divide(t *traces.Trace, router route.Spec, seed uint64, warmup int) (*Division, error) {
	key := func(o uint32) string { return t.Key(int(o)).String() }
	placement, err := route.NewPlacement(router, t.NumObjects, key, seed)
	if err != nil {
		return nil, err
	}
	epochs := route.EpochsOf(router)
	from, err := begins(epochs, t)
	if err != nil {
		return nil, err
	}
	d := &divider{trace: t, placement: placement, removals: t.Removals, warmup: warmup}
	d.life = make([]int, route.Most(route.ChangesOf(router)))
	for node := range d.life {
		d.life[node] = -1
	}
	d.Nodes = len(d.life)
	for i, e := range epochs {
		end := len(t.Objects)
		if i+1 < len(epochs) {
			end = from[i+1]
		}
		d.use(e.Nodes, from[i])
		d.divide(from[i], end)
	}
	d.cut()
	return &d.Division, nil
}

// divider divides a trace.
type divider struct {
	Division
	trace     *traces.Trace
	placement route.Placement
	removals  []traces.Removal   // to come
	life      []int              // per node: its life, -1 while it does not exist
	removed   [][]traces.Removal // per life
	homes     []uint16           // per object: the first of its homes so far; nil at first
	single    bool               // each object has one home now
	warmup    int
}

// use makes a change of the nodes before a position.
func (d *divider) use(nodes []uint16, pos int) {
	for node, life := range d.life {
		_, exists := slices.BinarySearch(nodes, uint16(node))
		switch {
		case exists && life < 0:
			d.life[node] = len(d.Lives)
			d.Lives = append(d.Lives, Life{Node: node})
			d.removed = append(d.removed, nil)
		case !exists && life >= 0:
			d.Lives[life].lost, d.Lives[life].until = true, pos
			d.life[node] = -1
		}
	}
	d.placement.Use(nodes)
	d.changed = pos
	if d.trace.NumObjects > 0 {
		d.move(len(nodes))
	}
}

// move counts the objects that have moved.
func (d *divider) move(nodes int) {
	first := d.homes == nil
	if first {
		d.homes = make([]uint16, d.trace.NumObjects)
	}
	moved := 0
	d.single = true
	for o := range d.homes {
		homes := d.placement.Homes(uint32(o))
		d.placed, d.single = d.placed || len(homes) < nodes, d.single && len(homes) == 1
		if !first && homes[0] != d.homes[o] {
			moved++
		}
		d.homes[o] = homes[0]
	}
	d.moved += float64(moved) / float64(len(d.homes))
}

// divide gives the requests [from, to) to nodes.
func (d *divider) divide(from, to int) {
	d.makeRoom(to - from)
	for len(d.removals) > 0 && int(d.removals[0].Before) < to {
		r := d.removals[0]
		d.removals = d.removals[1:]
		d.give(from, int(r.Before))
		from = int(r.Before)
		for _, node := range d.placement.Homes(r.Object) {
			d.remove(int(node), r)
		}
	}
	d.give(from, to)
	for i := range d.Lives {
		l := &d.Lives[i]
		l.Warmup, _ = slices.BinarySearch(l.positions, uint32(d.warmup))
	}
}

// makeRoom makes room for so many requests on the nodes that exist, as if they were equal but for an eighth.
func (d *divider) makeRoom(requests int) {
	nodes := 0
	for _, life := range d.life {
		if life >= 0 {
			nodes++
		}
	}
	for _, life := range d.life {
		if life >= 0 {
			l := &d.Lives[life]
			l.positions = slices.Grow(l.positions, requests/nodes*9/8)
		}
	}
}

// give gives requests to nodes, among which nothing is removed but by a write.
func (d *divider) give(from, to int) {
	if !d.single {
		d.giveAny(from, to)
		return
	}
	for i, o := range d.trace.Objects[from:to] {
		l := &d.Lives[d.life[d.homes[o]]]
		l.positions = append(l.positions, uint32(from+i))
	}
}

// giveAny is give where objects have several homes, of which the placement chooses one for each request.
func (d *divider) giveAny(from, to int) {
	t := d.trace
	for pos := from; pos < to; pos++ {
		o := t.Objects[pos]
		homes := d.placement.Homes(o)
		node := d.placement.Pick(homes)
		l := &d.Lives[d.life[node]]
		l.positions = append(l.positions, uint32(pos))
		if len(homes) > 1 && t.IsWrite(pos) {
			for _, other := range homes {
				if other != node {
					d.remove(int(other), traces.Removal{Object: o, Why: traces.Invalidated})
				}
			}
		}
	}
}

// remove removes an object from a node before its next request.
func (d *divider) remove(node int, r traces.Removal) {
	life := d.life[node]
	r.Before = uint32(len(d.Lives[life].positions))
	d.removed[life] = append(d.removed[life], r)
}

// cut makes the traces of the lives.
func (d *divider) cut() {
	picker := traces.NewPicker(d.trace)
	for i := range d.Lives {
		l := &d.Lives[i]
		l.Trace = picker.Pick(l.positions, d.removed[i])
	}
}

// Bytes estimates the memory of a division of a trace.
func Bytes(t *traces.Trace) int64 {
	return t.Bytes() + 2*4*int64(len(t.Objects)) + 16*int64(t.NumObjects)
}
