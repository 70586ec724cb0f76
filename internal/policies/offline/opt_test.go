package offline

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// watched compares every victim of an offline policy with all residents.
type watched struct {
	policies.Policy
	t      *rapid.T
	cache  *policytest.Driven
	trace  []policies.Object
	value  func(size int64, distance float64) float64 // the largest value should leave
	within float64                                    // share of the largest value that a victim must reach
}

// distance returns the number of requests until o is requested again, by a naive search of the trace.
func (w *watched) distance(o policies.Object, now int) float64 {
	i := slices.Index(w.trace[now+1:], o)
	if i < 0 {
		return math.Inf(1)
	}
	return float64(i + 1)
}

func (w *watched) Victim(r policies.Request) policies.Object {
	largest := 0.0
	for o, size := range w.cache.Stored {
		largest = max(largest, w.value(size, w.distance(o, r.Pos)))
	}
	v := w.Policy.Victim(r)
	if got := w.value(w.cache.Stored[v], w.distance(v, r.Pos)); got < w.within*largest {
		w.t.Fatalf("request %d: victim %d has the value %v, the largest is %v", r.Pos, v, got, largest)
	}
	return v
}

func TestOfflineVictims(t *testing.T) {
	distance := func(_ int64, distance float64) float64 { return distance }
	room := func(size int64, distance float64) float64 { return float64(size) * distance }
	for _, c := range []struct {
		spec   string
		value  func(size int64, distance float64) float64
		within float64
	}{
		{"opt", distance, 1},
		{"belady-size", room, 1}, // sizes up to 12 each have a class of their own
		{"belady-size(classes=2)", room, 1 / 1.5},
		{"belady-size(classes=1)", room, 1 / 2.0},
	} {
		t.Run(c.spec, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := policytest.DrawWorkload(t)
				w.Config.NextUse = policytest.NextUses(w.Trace, w.Config.Objects)
				d := policytest.Drive(t, c.spec, w.Config)
				d.Policy = &watched{d.Policy, t, d, w.Trace, c.value, c.within}
				w.AfterEachRequest(t, d, func() {})
			})
		})
	}
}

func TestBeladySizeExample(t *testing.T) {
	// When 3 needs room, 0 takes 6 x 3 until it is needed, 1 takes 2 x 4, and 2 is never needed again. When 4 needs
	// room, 0 takes 6 x 2 and 1 takes 2 x 3.
	objects, sizes := []policies.Object{0, 1, 2, 3, 4, 3, 0, 1}, []int64{6, 2, 1, 1, 1}
	d := policytest.Drive(t, "belady-size", policies.Config{Capacity: 9, Objects: 5, Requests: len(objects),
		NextUse: policytest.NextUses(objects, 5)})
	var victims []policies.Object
	for i, o := range objects[:5] {
		_, v := d.Serve(o, sizes[o], i)
		victims = append(victims, v...)
	}
	if want := []policies.Object{2, 0}; !slices.Equal(victims, want) {
		t.Errorf("victims %v, want %v", victims, want)
	}
}

// TestBeladySizePrunes replays an object that always hits: its past positions must not pile up.
func TestBeladySizePrunes(t *testing.T) {
	objects := make([]policies.Object, 10000)
	for i := range objects {
		objects[i] = policies.Object(i % 2)
	}
	d := policytest.Drive(t, "belady-size", policies.Config{Capacity: 2, Objects: 2, Requests: len(objects),
		NextUse: policytest.NextUses(objects, 2)})
	d.ServeAll(objects...)
	for _, c := range d.Policy.(*beladySize).classes {
		if cap(c.Entries) > 300 {
			t.Errorf("room for %d entries for 2 residents", cap(c.Entries))
		}
	}
}

func TestSizeClassesRise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perTwo := rapid.IntRange(1, 1024).Draw(t, "classes")
		a, b := rapid.Int64Range(0, math.MaxInt64).Draw(t, "a"), rapid.Int64Range(0, math.MaxInt64).Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		classA, classB := sizeClassOf(a, perTwo), sizeClassOf(b, perTwo)
		if classA > classB || classA < 0 {
			t.Fatalf("size %d is in class %d, size %d in class %d", a, classA, b, classB)
		}
		if width := 1 + 1/float64(perTwo); classA == classB && float64(b) > width*float64(max(1, a))*(1+1e-9) {
			t.Fatalf("sizes %d and %d share class %d", a, b, classA)
		}
	})
}
