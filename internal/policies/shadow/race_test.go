package shadow

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
)

// A change is expected to cost the entries that are absent, times the share of such entries that are requested.
func TestCostOfAChange(t *testing.T) {
	for _, test := range []struct {
		price Price
		want  float64
	}{
		{Price{}, 0},
		{Price{Absent: 100}, 100},                        // nothing is known: each may be requested
		{Price{Absent: 100, Unused: 100}, 50},            // 100 of 200 were, or may be
		{Price{Absent: 100, Used: 100, Unused: 600}, 25}, // 200 of 800
		{Price{Absent: 0, Used: 100, Unused: 600}, 0},    // all are resident
	} {
		if got := test.price.Cost(); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%+v costs %v, want %v", test.price, got, test.want)
		}
	}
}

// loader is a member that also loads ahead: the object after the one that is requested.
type loader struct {
	held             []policies.Object // the oldest first
	entered, evicted []policies.Object
}

func (l *loader) Serve(r policies.Request, capacity int64) (hit bool) {
	l.entered, l.evicted = nil, nil
	for i, o := range []policies.Object{r.Object, r.Object + 1} {
		if at := slices.Index(l.held, o); at >= 0 {
			hit = hit || i == 0
			continue
		}
		l.held, l.entered = append(l.held, o), append(l.entered, o)
		if len(l.held) > int(capacity) {
			l.evicted = append(l.evicted, l.held[0])
			l.held = l.held[1:]
		}
	}
	return hit
}

func (l *loader) Entered() []policies.Object { return l.entered }
func (l *loader) Evicted() []policies.Object { return l.evicted }
func (l *loader) Has(o policies.Object) bool { return slices.Contains(l.held, o) }
func (l *loader) Drop(o policies.Object) {
	l.held = slices.DeleteFunc(l.held, func(p policies.Object) bool { return p == o })
}
func (l *loader) Resize(int64) {}
func (l *loader) Grow(int)     {}

// Whatever comes and goes, the entries of a member that are not resident are counted.
func TestAbsentEntriesAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const objects = 20
		all := []*loader{{}, {}}
		race := NewRace(all, objects+1)
		capacity := rapid.Int64Range(2, 12).Draw(t, "capacity")
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			o := rapid.Uint32Range(0, objects-1).Draw(t, "object")
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				race.Enter(o)
			case 1:
				race.Leave(o)
			case 2:
				race.Drop(o)
			default:
				race.Serve(policies.Request{Object: o, Pos: i, Size: 1}, capacity)
			}
			for m, l := range all {
				absent := 0
				for _, o := range l.held {
					if !race.resident[o] {
						absent++
					}
				}
				if got := race.accounts[m].Absent; got != absent {
					t.Fatalf("%d entries are absent, want %d", got, absent)
				}
			}
		}
	})
}
