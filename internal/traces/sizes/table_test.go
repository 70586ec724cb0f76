package sizes

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// TestTableIsAMap compares the table with a map, and checks that it stays within its bound.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, want := NewTable(slotBytes*2*firstSlots), map[string]int64{}
		for i := range rapid.IntRange(0, 3*firstSlots).Draw(t, "keys") {
			key := fmt.Sprint(i % (firstSlots + 200))
			s.Set([]byte(key), int64(i))
			want[key] = int64(i)
		}
		for key, size := range want {
			if got, ok := s.Of([]byte(key)); !ok || got != size {
				t.Fatalf("%s: got %d, %v, want %d", key, got, ok, size)
			}
		}
	})
	s := NewTable(0)
	for i := range 2 * firstSlots {
		s.Set(fmt.Append(nil, i), 1)
	}
	if len(s.slots) != firstSlots {
		t.Errorf("%d slots, want no more than at first", len(s.slots))
	}
	if _, ok := s.Of([]byte("new")); ok {
		t.Error("a full table knows a key that it never saw")
	}
}
