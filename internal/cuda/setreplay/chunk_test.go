package setreplay

import (
	"testing"

	"github.com/cachesim/cachesim/internal/cuda/ptxrun"
)

// No launch takes much longer than a second, whatever the memory: a kernel is not interrupted, and the driver of a GPU
// that has a display ends it after a few seconds.
func TestChunksEndSoon(t *testing.T) {
	caches := func(n, sets, ways int) []Cell {
		cells := make([]Cell, n)
		for i := range cells {
			cells[i] = Cell{Sets: sets, Ways: ways, Slabs: 1, Lanes: ways}
		}
		return cells
	}
	tr := Trace{Objects: make([]uint32, 15e6), Count: 1, Batch: 128}
	for _, test := range []struct {
		name       string
		cells      []Cell
		batch      int
		processors int
		want, most int64
	}{
		{"one small set", caches(1, 1, 64), 128, 132, 11e6, 11e6},
		{"one small set and a long batch", caches(1, 1, 64), 12e6, 132, 11e6, 12e6},
		{"one cache of many sets", caches(1, 5000, 4), 128, 4, 48 * 11e6, 15e6},
		{"many caches", caches(100, 50, 4), 128, 20, 24 * 11e5, 15e6},
		{"one pass for all ways", caches(100, 50, 4), 1, 4, 48 * 11e6, 15e6},
		{"more caches than warps", caches(2000, 50, 4), 128, 4, leastChunk, leastChunk},
	} {
		tr.Batch = test.batch
		d := ptxrun.New(ptxrun.Options{Memory: 1 << 50, Processors: test.processors})
		r, err := newReplay(d, tr, test.cells, Options{})
		if err != nil || r.inASecond(test.processors) != test.want || int64(r.chunk) != test.most {
			t.Errorf("%s: %d requests in a second, chunks of %d, want %d and %d (%v)", test.name,
				r.inASecond(test.processors), r.chunk, test.want, test.most, err)
		}
	}
}
