package setreplay

import (
	"reflect"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/policies/slabs"
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
		{"a long batch", caches(2000, 50, 4), 12e6, 4, leastChunk, 12e6},
		{"one cache", caches(1, 5000, 4), 128, 4, 48 * 11e6, 15e6},
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

// No chunk has more lookups in one set than a warp serves in a second or so, which is known before the launch: two
// objects that alternate in one of many sets are the worst case.
func TestLongestSetEndsChunks(t *testing.T) {
	const most, requests = 100, 3000
	tr := Trace{Objects: make([]uint32, requests), Count: 40, Hashes: make([]uint32, 40), Keys: make([]uint64, 40)}
	for i := range tr.Objects {
		tr.Objects[i] = uint32(i % 2)
		if i < requests/3 { // first, they are evenly divided
			tr.Objects[i] = uint32(i % 40)
		}
	}
	for o := range tr.Hashes {
		tr.Hashes[o] = uint32(max(0, o-1)) // 0 and 1 are in one set
	}
	seen := 0
	tr.Predict = append(tr.Predict, func(from int, next []uint64) {
		if seen != from {
			t.Errorf("predictions from %d on, after those up to %d", from, seen)
		}
		for i := range next {
			next[i] = uint64((from + i) % 7)
		}
		seen = (from + len(next)) % requests
	})
	cells := []Cell{{Sets: 20, Ways: 1, Slabs: 1, Lanes: 1}, {Sets: 20, Ways: 2, Slabs: 1, Lanes: 2},
		{Sets: 20, Ways: 2, Slabs: 1, Lanes: 2, Replacement: slabs.Replacement{Candidates: []int{2}}}}
	for _, batch := range []int{1, 40} {
		tr.Batch = batch
		whole, err := Replay(t.Context(), ptxrun.New(ptxrun.Options{}), tr, cells, Options{})
		must.Do(t, err)
		var served []int
		d := &longestSet{Device: ptxrun.New(ptxrun.Options{})}
		parts, err := Replay(t.Context(), d, tr, cells,
			Options{Set: most, Progress: func(n int) { served = append(served, n) }})
		if err != nil || !reflect.DeepEqual(parts, whole) {
			t.Errorf("batches of %d: %+v in chunks, %+v at once (%v)", batch, parts, whole, err)
		}
		if batch == 1 && (d.longest > most || slices.Max(served) < 200 || slices.Min(served[1:len(served)-1]) < most/2) {
			t.Errorf("chunks of %d requests, with up to %d lookups in a set; want at most %d", served, d.longest, most)
		}
	}
}

// longestSet is a device that finds the longest set of the launches of sets_stacks.
type longestSet struct {
	cuda.Device
	longest int
}

func (d *longestSet) Load(ptx []byte) (cuda.Module, error) {
	m, err := d.Device.Load(ptx)
	return longestSetModule{m, d}, err
}

type longestSetModule struct {
	cuda.Module
	device *longestSet
}

func (m longestSetModule) Launch(kernel string, grid cuda.Grid, arguments ...any) error {
	if kernel == "sets_stacks" {
		starts := make([]uint32, arguments[0].(uint32)+1)
		if err := cuda.Download(m.device, starts, arguments[1].(cuda.Pointer)); err != nil {
			return err
		}
		for i := range starts[1:] {
			m.device.longest = max(m.device.longest, int(starts[i+1]-starts[i]))
		}
	}
	return m.Module.Launch(kernel, grid, arguments...)
}
