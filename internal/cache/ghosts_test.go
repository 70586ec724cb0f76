package cache

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
)

// Ghosts are those of lists that are searched.
func TestGhosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const objects = 12
		most := rapid.IntRange(1, 4).Draw(t, "most")
		g := NewGhosts(objects, most)
		lists := make([][]policies.Object, 3)
		forget := func(o policies.Object) {
			for i := range lists {
				lists[i] = slices.DeleteFunc(lists[i], func(have policies.Object) bool { return have == o })
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			o := policies.Object(rapid.IntRange(0, objects-1).Draw(t, "object"))
			pool := rapid.IntRange(0, 2).Draw(t, "pool")
			switch rapid.IntRange(0, 8).Draw(t, "step") {
			case 0:
				g.Clear(pool)
				lists[pool] = nil
			case 1, 2, 3:
				want := slices.Contains(lists[pool], o)
				forget(o)
				if got := g.Take(pool, o); got != want {
					t.Fatalf("object %d a ghost of %d: %v, want %v", o, pool, got, want)
				}
			default:
				forget(o)
				if lists[pool] = append(lists[pool], o); len(lists[pool]) > most {
					lists[pool] = lists[pool][1:]
				}
				g.Add(pool, o)
			}
		}
	})
}
