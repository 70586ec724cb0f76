package suite

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
)

// Check is a property of every policy.
type Check struct {
	Name  string
	Mix   Mix
	Units policies.Units // in which capacities are counted
	// Part says that a later check has all of it. It comes first, as its violations are easier to understand.
	Part  bool
	holds func(ctx context.Context, p Subject, s Script) error
}

// Checks are all of them, in the order in which they are made.
var Checks = []Check{
	{Name: "hits and misses", Part: true, holds: contract},
	{Name: "tiny caches", Mix: Mix{Tiny: true}, Part: true, holds: contract},
	{Name: "huge objects", Mix: Mix{Huge: true}, Units: policies.UnitsBytes, Part: true, holds: contract},
	{Name: "removals", Mix: Mix{Kinds: []Kind{Drop}}, Part: true, holds: contract},
	{Name: "loads ahead of requests", Mix: Mix{Kinds: []Kind{Load}}, Part: true, holds: contract},
	{Name: "writes of other sizes", Mix: Mix{Writes: true}, Units: policies.UnitsBytes, Part: true, holds: contract},
	{Name: "changes of the capacity", Mix: Mix{Kinds: []Kind{Resize}}, Part: true, holds: contract},
	{Name: "all of these together", Mix: everything, holds: contract},
	{Name: "the same every time", Mix: everything, holds: sameEveryTime},
	{Name: "loads every miss", Units: policies.UnitsObjects, holds: loadsEveryMiss},
	{Name: "a capacity that stays changes nothing", Mix: everything, holds: sameCapacity},
	{Name: "shrinks to one, and fills again", Mix: everything, holds: shrinksToOne},
	{Name: "meets its objects one by one", Mix: everything, holds: grown},
	{Name: "follows sizes only if it says so", Mix: everything, Units: policies.UnitsBytes, holds: followsSizes},
	{Name: "resized as loaded with that size", Mix: everything, Units: policies.UnitsBytes, holds: resizedAsLoaded},
	{Name: "batches as one by one", Units: policies.UnitsObjects, holds: replaysUnits},
	{Name: "batches of pools as one by one", Mix: everything, Units: policies.UnitsObjects, holds: servesUnits},
}

// In reports whether a check, and a policy, work with a unit of capacity.
func (c Check) In(unit bool, e policies.Entry) bool {
	works := func(u policies.Units) bool {
		return u == policies.UnitsBoth || (u == policies.UnitsObjects) == unit
	}
	return works(c.Units) && works(e.Units)
}

// contract expects that victims are resident and the cache is never above its capacity, whatever happens.
func contract(ctx context.Context, p Subject, s Script) error {
	_, err := p.play(ctx, &s, s.Steps)
	return err
}

// differ returns an error if two logs differ: where, and how.
func differ(got, want []string, gotIn, wantIn string) error {
	for i := range max(len(got), len(want)) {
		a, b := "nothing more", "nothing more"
		if i < len(got) {
			a = got[i]
		}
		if i < len(want) {
			b = want[i]
		}
		if a != b {
			return fmt.Errorf("event %d %s is %q, and %s %q", i, gotIn, a, wantIn, b)
		}
	}
	return nil
}

func sameEveryTime(ctx context.Context, p Subject, s Script) error {
	first, err := p.play(ctx, &s, s.Steps)
	if err != nil {
		return err
	}
	second, err := p.play(ctx, &s, s.Steps)
	if err != nil {
		return err
	}
	return differ(second.Log, first.Log, "of the second replay", "of the first")
}

// loadsEveryMiss expects that a policy that must load what is missed does.
func loadsEveryMiss(ctx context.Context, p Subject, s Script) error {
	d, err := p.drive(ctx, &s)
	if err != nil {
		return err
	}
	d.loadsAll = !p.Entry.Bypasses(p.Params) && !p.Entry.Unbounded
	return d.DoAll(s.Steps)
}

// sameCapacity resizes to the same capacity, which must change nothing.
func sameCapacity(ctx context.Context, p Subject, s Script) error {
	capacity := s.Capacity
	var resized []Step
	for i, st := range s.Steps {
		if st.Kind == Resize {
			capacity = st.Amount
		}
		resized = append(resized, st)
		if i%3 == 0 {
			resized = append(resized, Step{Kind: Resize, Amount: capacity})
		}
	}
	plain, err := p.play(ctx, &s, s.Steps)
	if err != nil {
		return err
	}
	got, err := p.play(ctx, &s, resized)
	if err != nil {
		return err
	}
	return differ(got.Log, plain.Log, "after the same capacity was set again", "without")
}

// shrinksToOne shrinks a cache to one object, or one byte, and then lets it grow until all objects fit. From then on it
// must keep what it loads.
func shrinksToOne(ctx context.Context, p Subject, s Script) error {
	half := len(s.Steps) / 2
	d, err := p.play(ctx, &s, s.Steps[:half])
	if err != nil {
		return err
	}
	if err := d.Do(Step{Kind: Resize, Amount: 1}); err != nil {
		return err
	}
	if len(d.Stored) > 1 {
		return fmt.Errorf("%d objects are in a cache of 1", len(d.Stored))
	}
	const room = 100_000 // a part of it is room for all, too: some policies refuse what is larger
	if err := d.Do(Step{Kind: Resize, Amount: room}); err != nil {
		return err
	}
	for _, st := range s.Steps[half:] {
		if st.Kind == Resize || st.Kind == Drop {
			continue
		}
		if err := d.Do(st); err != nil {
			return err
		}
		if loaded := d.Stored[st.Object] != 0; loaded == p.Entry.Idle && !p.Chooses {
			return fmt.Errorf("after the cache was shrunk to 1 and has room for all again, object %d is not loaded", st.Object)
		}
	}
	return nil
}

// grown compares a policy that learns of its objects gradually with one that has room for all from the start.
func grown(ctx context.Context, p Subject, s Script) error {
	if p.Entry.Kind == policies.Offline && p.Entry.Relates {
		return nil // needs the sequence of requests, which names all objects
	}
	roomy, err := p.build(ctx, &s, s.Objects, true)
	if err != nil {
		return err
	}
	objects := 1 + len(s.Steps)%2
	small, err := p.build(ctx, &s, objects, true)
	if err != nil {
		return err
	}
	all, few := NewDriver(roomy, s.Capacity), NewDriver(small, s.Capacity)
	for _, st := range s.Steps {
		for int(st.Object) >= objects {
			objects *= 2
			if grower, ok := small.(policies.Grower); ok { // others keep nothing by number
				grower.Grow(objects)
			}
		}
		if err := all.Do(st); err != nil {
			return err
		}
		if err := few.Do(st); err != nil {
			return err
		}
	}
	return differ(few.Log, all.Log, "of a policy that grows", "of one with room for all")
}

// followsSizes tells policies that are no followers of sizes random ones, which must change nothing.
func followsSizes(ctx context.Context, p Subject, s Script) error {
	plain, err := p.drive(ctx, &s)
	if err != nil {
		return err
	}
	if _, ok := plain.policy.(policies.SizeFollower); ok {
		return nil
	}
	wrong, err := p.drive(ctx, &s)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	wrong.told = func(int64) int64 { return 1 + rng.Int64N(mostBytes) }
	if err := plain.DoAll(s.Steps); err != nil {
		return err
	}
	if err := wrong.DoAll(s.Steps); err != nil {
		return err
	}
	if err := differ(wrong.Log, plain.Log, "with other sizes", "with those of the trace"); err != nil {
		return fmt.Errorf("%T is no SizeFollower, but follows sizes: %w", plain.policy, err)
	}
	return nil
}

// resizedAsLoaded loads objects into a cache with room for all and then writes each with another size, or loads them
// with that size and writes it again: when the cache shrinks, and from then on, both must do the same.
func resizedAsLoaded(ctx context.Context, p Subject, s Script) error {
	if p.Entry.Kind == policies.Offline {
		return nil // ties go to the size class that came first
	}
	const room = 1 << 20
	shrink, steps := Step{Kind: Resize, Amount: s.Capacity}, s.Steps
	s.Capacity = room
	first, last := map[policies.Object]int64{}, map[policies.Object]int64{}
	for _, st := range steps {
		first[st.Object] = 1 + int64(st.Object)%9
		last[st.Object] = st.Size
	}
	var begin, other []Step
	for o := range policies.Object(s.Objects) {
		if last[o] == 0 {
			continue
		}
		load := Step{Kind: Request, Object: o, Size: first[o]}
		write := Step{Kind: Request, Object: o, Size: last[o], Write: true}
		begin = append(begin, load, write)
		load.Size = last[o]
		other = append(other, load, write)
	}
	s.Steps = slices.Concat(begin, []Step{shrink}, steps)
	resized, err := p.play(ctx, &s, s.Steps)
	if err != nil {
		return err
	}
	loaded, err := p.play(ctx, &s, slices.Concat(other, s.Steps[len(other):]))
	if err != nil {
		return err
	}
	return differ(resized.Log, loaded.Log, "of objects that writes have resized", "of those loaded with that size")
}

// replaysUnits compares the batch path of caches with the calls one by one.
func replaysUnits(ctx context.Context, p Subject, s Script) error {
	if p.Entry.Unbounded {
		return nil // a batch may exceed the capacity
	}
	built, err := p.build(ctx, &s, s.Objects, false)
	if err != nil {
		return err
	}
	batch, ok := built.(policies.UnitReplayer)
	if !ok {
		return nil
	}
	single, err := p.play(ctx, &s, s.Steps)
	if err != nil {
		return err
	}
	trace := s.Trace()
	hits, evictions := 0, 0
	for from, length := 0, 1; from < len(trace); length = length*7%257 + 1 { // it must keep its state between batches
		to := min(from+length, len(trace))
		h, e := batch.ReplayUnit(trace[from:to], from)
		hits, evictions, from = hits+h, evictions+e, to
	}
	if hits != single.hits || evictions != single.evictions {
		return fmt.Errorf("batches have %d hits and %d evictions, calls one by one %d and %d", hits, evictions, single.hits,
			single.evictions)
	}
	return nil
}

// servesUnits compares the batch path of pools with the calls one by one. Loads, drops and resizes are between the
// batches.
func servesUnits(ctx context.Context, p Subject, s Script) error {
	batches, err := p.drive(ctx, &s)
	if err != nil {
		return err
	}
	server, ok := batches.policy.(policies.UnitServer)
	if !ok {
		return nil
	}
	single, err := p.play(ctx, &s, s.Steps)
	if err != nil {
		return err
	}
	var batch []policies.Object
	for _, st := range s.Steps {
		if st.Kind == Request {
			batch = append(batch, st.Object)
			continue
		}
		batches.serveUnit(server, batch)
		batch = batch[:0]
		if err := batches.Do(st); err != nil {
			return err
		}
	}
	batches.serveUnit(server, batch)
	if batches.err != nil {
		return batches.err
	}
	if !maps.Equal(single.Stored, batches.Stored) || !slices.Equal(single.changed, batches.changed) {
		return fmt.Errorf("one by one %v are resident after the changes %v, with batches %v after %v", single.Stored,
			single.changed, batches.Stored, batches.changed)
	}
	return nil
}
