package policies

import (
	"slices"

	"pgregory.net/rapid"
)

// workload is a short random trace and a cache for it, by objects or by bytes.
type workload struct {
	trace  []Object
	sizes  []int64 // per object
	config Config
}

// drawTrace draws 1 to longest requests. It draws their number first: rapid's slices of open length have about 6
// elements.
func drawTrace(t *rapid.T, objects Object, longest int) []Object {
	requests := rapid.IntRange(1, longest).Draw(t, "requests")
	return rapid.SliceOfN(rapid.Uint32Range(0, objects-1), requests, requests).Draw(t, "trace")
}

func drawWorkload(t *rapid.T) workload {
	const objects = 30
	w := workload{
		trace: drawTrace(t, objects, 300),
		sizes: slices.Repeat([]int64{1}, objects),
	}
	w.config = Config{
		Capacity: rapid.Int64Range(1, 40).Draw(t, "capacity"),
		Unit:     rapid.Bool().Draw(t, "unit"),
		Objects:  objects,
		Requests: len(w.trace),
	}
	if !w.config.Unit {
		w.sizes = rapid.SliceOfN(rapid.Int64Range(1, 12), objects, objects).Draw(t, "sizes")
	}
	return w
}

// drawUnitWorkload is for policies that are compared with a version for objects of one size.
func drawUnitWorkload(t *rapid.T) workload {
	w := drawWorkload(t)
	w.config.Unit = true
	for o := range w.sizes {
		w.sizes[o] = 1
	}
	return w
}

// checkSameVictims replays random traces and requires the same hits and the same victims in the same order.
func checkSameVictims(t *rapid.T, w workload, got, want interface {
	serve(o Object, size int64, now int) (hit bool, victims []Object)
}) {
	for i, o := range w.trace {
		hit, victims := got.serve(o, w.sizes[o], i)
		wantHit, wantVictims := want.serve(o, w.sizes[o], i)
		if hit != wantHit || !slices.Equal(victims, wantVictims) {
			t.Fatalf("request %d (object %d): hit %v, victims %v; want hit %v, victims %v",
				i, o, hit, victims, wantHit, wantVictims)
		}
	}
}

// checkAfterEachRequest replays a random trace with occasional removals and, where sizes count, writes that change the
// size of a resident object. It calls check after each request.
func checkAfterEachRequest(t *rapid.T, spec string, w workload, check func(d *driven)) {
	removeEvery := rapid.IntRange(5, 100).Draw(t, "removeEvery")
	writeEvery := rapid.IntRange(1, 10).Draw(t, "writeEvery")
	d := drive(t, spec, w.config)
	for i, o := range w.trace {
		if _, resident := d.stored[o]; resident && i%removeEvery == 0 {
			d.policy.Remove(o)
			d.drop(o)
		}
		if d.stored[o] != 0 && !w.config.Unit && i%writeEvery == 0 {
			w.sizes[o] = newSize(t)
			d.write(o, w.sizes[o], i)
		} else {
			d.serve(o, w.sizes[o], i)
		}
		check(d)
	}
}

// newSize draws the size of a value that replaces another one: like other objects, or larger than many caches.
func newSize(t *rapid.T) int64 {
	return rapid.OneOf(rapid.Int64Range(1, 12), rapid.Int64Range(1, 60)).Draw(t, "new size")
}

func without(l []Object, o Object) []Object {
	return slices.DeleteFunc(slices.Clone(l), func(x Object) bool { return x == o })
}
