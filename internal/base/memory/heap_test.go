package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestSpareHeap(t *testing.T) {
	h := &heapKeeper{percent: 25}
	for live, want := range map[uint64]int{0: 800, 4 << 20: 800, 64 << 20: 50, 128 << 20: 25, 1 << 40: 25} {
		if got := h.wanted(live); got != want {
			t.Errorf("%d bytes in use: %d%%, want %d%%", live, got, want)
		}
	}
}

// TestKeptHeapIsAdapted collects until the percentage follows what is in use.
func TestKeptHeapIsAdapted(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	read := func() int {
		metrics.Read(percent)
		return int(percent[0].Value.Uint64())
	}
	KeepHeapSmall(25)
	if got := read(); got != 800 {
		t.Errorf("at first %d%%, want 800%%", got)
	}
	held := make([]byte, 256<<20)
	for until := time.Now().Add(time.Minute); read() != 25; {
		if time.Now().After(until) {
			t.Fatalf("%d%% with 256 MiB in use, want 25%%", read())
		}
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run in a goroutine of their own
	}
	runtime.KeepAlive(held)
}
