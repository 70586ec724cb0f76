package billing

import (
	"math"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// every returns the times of n instants that are d apart, each of which so many requests share.
func every(d time.Duration, n, share int) (times []int64) {
	for i := range n {
		for range share {
			times = append(times, int64(i)*int64(d)+7)
		}
	}
	return times
}

// TestRate compares the rate with closed forms: requests that are d apart come 1/d times per second, however many there
// are, and however many come at once.
func TestRate(t *testing.T) {
	second := time.Second
	reversed := every(second, 10, 1)
	reversed[0], reversed[4] = reversed[4], reversed[0] // the clock goes back
	for name, test := range map[string]struct {
		trace traces.Trace
		want  float64
	}{
		"one per second":           {traces.Trace{Times: every(second, 10, 1)}, 1},
		"two requests":             {traces.Trace{Times: every(second, 2, 1)}, 1},
		"a clock of whole seconds": {traces.Trace{Times: every(second, 10, 100)}, 100},
		"two prompts of 512":       {traces.Trace{Times: every(10*second, 2, 512)}, 51.2},
		"a clock that goes back":   {traces.Trace{Times: reversed}, 1},
		"half of a sample":         {traces.Trace{Times: every(2*second, 5, 1), SampledFrom: 10}, 1},
		"one instant":              {traces.Trace{Times: every(second, 1, 5)}, 0},
	} {
		test.trace.Objects = make([]uint32, len(test.trace.Times))
		if got := rateOf(&test.trace).perSecond(); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %v per second, want %v", name, got, test.want)
		}
	}
}

// Writes that fill the cache are no requests, wherever they are; requests without a size are.
func TestWhatIsARequest(t *testing.T) {
	tr := traces.Trace{Times: every(time.Second, 9, 1), Objects: make([]uint32, 9), ObjectSizes: []int64{1},
		Ops:     []stream.Op{stream.OpWrite, 0, stream.OpWrite, 0, stream.OpWrite, 0, stream.OpWrite, 0, stream.OpWrite},
		Written: traces.Written{Mode: stream.WritesFill, Writes: 5}}
	r := rateOf(&tr)
	if got := r.perSecond(); r.requests != 4 || got != 0.5 {
		t.Errorf("%v reads, %v per second; want 4, and every other second one", r.requests, got)
	}
	tr.Ops, tr.RequestSizes = nil, []int64{1, 1, 0, 1, 1, 0, 1, 1, 0}
	f := Flags{cost: "memory=1/GiB-month,miss=1/M"}
	must.Get(f.Check(nil, capacity.Bytes))(t)
	b := must.Get(f.Bill(&tr))(t)
	if b.PerSecond != 1 || math.Abs(b.Sized-2.0/3) > 1e-12 {
		t.Errorf("%v per second, of which %v have a size; want 1, and two thirds", b.PerSecond, b.Sized)
	}
}
