package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// spareHeap is by how much a heap may grow before it is collected, however small it is, in bytes. A brief run ends
// before that; a fifth of its time would go into collections.
const spareHeap = 32 << 20

// KeepHeapSmall lets the garbage of the heap grow to a share of what is in use, in percent, or to 32 MiB if that is
// more. A heap of a few large columns is collected cheaply, while Go's default would let it grow to twice its size.
func KeepHeapSmall(percent int) {
	h := &heapKeeper{percent: percent, live: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}}
	h.set(h.wanted(0))
	h.watch()
}

// minHeap is what Go takes for in use where it is less, in bytes.
const minHeap = 4 << 20

// heapKeeper changes the percentage after each collection.
type heapKeeper struct {
	percent int // the least
	now     int
	live    []metrics.Sample
}

// watch calls adapt after the next collection, by an object that only this collection finds.
func (h *heapKeeper) watch() {
	type mark struct{ _ [16]byte } // larger than what is allocated together with other objects
	runtime.AddCleanup(new(mark), func(h *heapKeeper) { h.adapt() }, h)
}

func (h *heapKeeper) adapt() {
	metrics.Read(h.live)
	h.set(h.wanted(h.live[0].Value.Uint64()))
	h.watch()
}

// wanted returns the percentage for so many bytes in use.
func (h *heapKeeper) wanted(live uint64) int {
	return max(h.percent, int(spareHeap*100/max(live, minHeap)))
}

func (h *heapKeeper) set(percent int) {
	if percent != h.now {
		h.now = percent
		debug.SetGCPercent(percent)
	}
}
