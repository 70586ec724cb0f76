package recency

import (
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"pgregory.net/rapid"
)

// The traces of the suite are too small to reach the log: it must give the same result as the list.
func TestLRULogEqualsList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := rapid.IntRange(1, 40).Draw(t, "objects")
		length := rapid.IntRange(1, 400).Draw(t, "length")
		requests := rapid.SliceOfN(rapid.Uint32Range(0, uint32(objects-1)), length, length).Draw(t, "requests")
		cfg := policies.Config{Capacity: int64(rapid.IntRange(1, 45).Draw(t, "capacity")), Unit: true, Objects: objects}
		list, log := newLRU(cfg), newLRU(cfg)
		log.resident = make([]bool, objects)
		for len(requests) > 0 {
			n := rapid.IntRange(1, len(requests)).Draw(t, "batch")
			hits, evictions := list.ReplayUnit(requests[:n], 0)
			if h, e := log.ReplayUnit(requests[:n], 0); h != hits || e != evictions {
				t.Fatalf("list: %d hits, %d evictions; log: %d, %d", hits, evictions, h, e)
			}
			requests = requests[n:]
		}
	})
}
