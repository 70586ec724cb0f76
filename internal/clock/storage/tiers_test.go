package storage

import (
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/traces/requests"
)

// tieredCache has every object, in the tier that a list names for each request.
type tieredCache struct {
	requests.Asynchronous
	in []int // per request, in the order in which they are issued
	at int
}

func (c *tieredCache) Ask(requests.Request, int) bool                   { c.at++; return true }
func (c *tieredCache) Proposals(to []requests.Fetch) []requests.Fetch   { return to }
func (c *tieredCache) More(_ int, to []requests.Fetch) []requests.Fetch { return to }
func (c *tieredCache) HitIn() int                                       { return c.in[c.at-1] }
func (c *tieredCache) Evictions() int64                                 { return 0 }
func (c *tieredCache) Oversized() int64                                 { return 0 }

// TestReadsFromTiers: a read of the first tier takes the local time, of the second its latency and its bytes, one after
// another; a read of several objects ends with the last of them.
func TestReadsFromTiers(t *testing.T) {
	const ms = time.Millisecond
	c := plain
	c.Closed = false
	c.Tiers = []Tier{{}, {5 * ms, 1e8}} // 40 ms for 4 MB
	for _, test := range []struct {
		name   string
		in     []int
		starts []int
		times  []time.Duration
		want   []time.Duration // when each read is done
		loaded int64
	}{
		{"one of each", []int{0, 1}, []int{0, 1}, []time.Duration{0, 100 * ms}, []time.Duration{1 * ms, 145 * ms}, 4e6},
		{"two at once", []int{1, 1}, []int{0, 1}, []time.Duration{0, 0}, []time.Duration{45 * ms, 85 * ms}, 8e6},
		{"one of two objects", []int{1, 1}, []int{0}, []time.Duration{0}, []time.Duration{85 * ms}, 8e6},
		{"one of both tiers", []int{0, 1}, []int{0}, []time.Duration{0}, []time.Duration{45 * ms}, 4e6},
	} {
		r := oneJob(len(test.in), 0, 4_000_000)
		r.Starts, r.Times = test.starts, test.times
		cache := &tieredCache{in: test.in}
		c.HitIn = cache.HitIn
		got, err := Run(t.Context(), r, cache, c)
		if err != nil {
			t.Fatal(err)
		}
		for i, read := range got.Reads {
			if read.Done != test.want[i] {
				t.Errorf("%s: read %d is done after %v, want %v", test.name, i, read.Done, test.want[i])
			}
		}
		if got.Loaded[0] != 0 || got.Loaded[1] != test.loaded {
			t.Errorf("%s: loaded %v, want %d from the second tier", test.name, got.Loaded, test.loaded)
		}
	}
}

// TestStopWhileLoading: the load of a job that is stopped ends no read of another one.
func TestStopWhileLoading(t *testing.T) {
	const ms = time.Millisecond
	r := oneJob(2, 0, 4_000_000)
	r.Job, r.Times = []int32{0, 1}, []time.Duration{0, 20 * ms}
	r.Stops = []time.Duration{10 * ms, 0}
	c := plain
	c.Closed = false
	c.Tiers = []Tier{{}, {5 * ms, 1e8}}
	cache := &tieredCache{in: []int{1, 1}}
	c.HitIn = cache.HitIn
	got, err := Run(t.Context(), r, cache, c)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Jobs[0].Stopped || got.Jobs[1].Ended != 85*ms {
		t.Errorf("the first job is stopped: %v; the second ends after %v, want 85ms", got.Jobs[0].Stopped, got.Jobs[1].Ended)
	}
}
