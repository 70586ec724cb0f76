package storage

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// testCache is a fifoCache in the form that the model needs, and what it saw.
type testCache struct {
	*fifoCache
	t       rapid.TB
	misses  []uint32       // objects of the requests that missed
	came    []uint32       // objects of the requests whose object arrived
	waiting map[uint32]int // per object: requests that missed, and whose object has not arrived
	pos     int            // of the next request
	log     []int64
}

func newTestCache(t rapid.TB, c *fifoCache) *testCache {
	return &testCache{fifoCache: c, t: t, waiting: map[uint32]int{}}
}

func (c *testCache) Ask(r requests.Request, at int) bool {
	hit := c.ask(at)
	if c.check(r); hit {
		c.pos++
	} else {
		c.misses = append(c.misses, r.Object)
		c.waiting[r.Object]++
	}
	c.log = append(c.log, int64(at), r.Time)
	return hit
}

// check fails unless a request is the next one in the order in which the cache serves them.
func (c *testCache) check(r requests.Request) {
	if r.Pos != c.pos || r.Query != r.Object || r.Reason != requests.Demand {
		c.t.Fatalf("%+v, want a request with position %d", r, c.pos)
	}
}

func (c *testCache) fetches(all []uint32, to []requests.Fetch) []requests.Fetch {
	for _, o := range all {
		to = append(to, requests.Fetch{Object: o, Size: c.size(o)})
	}
	return to
}

func (c *testCache) Proposals(to []requests.Fetch) []requests.Fetch {
	return c.fetches(c.proposals(), to)
}
func (c *testCache) More(n int, to []requests.Fetch) []requests.Fetch {
	return c.fetches(c.more(n), to)
}
func (c *testCache) Cancelled(uint32) {}
func (c *testCache) Evictions() int64 { return 0 }
func (c *testCache) Oversized() int64 { return 0 }

func (c *testCache) Arrive(r requests.Request) bool {
	if r.Reason == requests.Demand {
		c.arrived(r)
	} else if r.Pos != max(0, c.pos-1) || r.Size != c.size(r.Object) {
		c.t.Fatalf("prefetched: %+v, want position %d and size %d", r, max(0, c.pos-1), c.size(r.Object))
	}
	c.load(r.Object)
	return true
}

func (c *testCache) Waited(r requests.Request) { c.arrived(r) }

func (c *testCache) arrived(r requests.Request) {
	if c.check(r); c.waiting[r.Object] == 0 {
		c.t.Fatalf("a request receives object %d twice, or without waiting for it", r.Object)
	}
	c.pos++
	c.waiting[r.Object]--
	c.came = append(c.came, r.Object)
	c.log = append(c.log, -int64(r.Object), r.Time)
}

// drawn returns reads of some jobs, and a config, from a seed. Times and sizes are such that hardly any two events are
// at the same time.
func drawn(seed uint64, closed bool) (Reads, Config, *fifoCache) {
	rng := rand.New(rand.NewPCG(seed, 1))
	objects, jobs := 2+rng.IntN(25), 1+rng.IntN(4)
	sizes := make([]int64, objects)
	for o := range sizes {
		sizes[o] = 1 + rng.Int64N(2_000_000)
	}
	r := Reads{Job: []int32{}}
	at := time.Duration(0)
	for range 1 + rng.IntN(40) {
		r.Starts = append(r.Starts, len(r.Objects))
		r.Job = append(r.Job, int32(rng.IntN(jobs)))
		r.Times = append(r.Times, at)
		first := rng.IntN(objects)
		for i := range 1 + rng.IntN(3) {
			r.Objects = append(r.Objects, uint32((first+i)%objects))
		}
		at += time.Duration(rng.Int64N(20_000_000))
	}
	objectsOf := r.Objects
	r.Size = func(request int) int64 { return sizes[objectsOf[request]] }
	c := Config{Local: time.Duration(1 + rng.Int64N(3_000_000)), Delay: time.Duration(1 + rng.Int64N(9_000_000)),
		Bandwidth: 1e8 * (0.5 + rng.Float64()), Prefetches: rng.IntN(4), Queue: rng.IntN(4), DropOldest: rng.IntN(2) == 0,
		Closed: closed}
	cache := newFIFOCache(r, rng.IntN(objects+1), rng.IntN(4), rng.IntN(10)*rng.IntN(2), objects)
	cache.bytes, cache.step = 1+rng.Int64N(2_000_000), 123
	return r, c, cache
}

func mustRunModel(t rapid.TB, r Reads, cache requests.Asynchronous, c Config) *Result {
	t.Helper()
	return must.Get(Run(context.Background(), r, cache, c))(t)
}

// TestAgainstNaive holds the model to one without queues, heaps and shortcuts. The clock of the model has nanoseconds,
// that of the other does not, so a read issued in the nanosecond in which its object arrives waits for it in the model
// (a delayed hit of no time) and hits in the other: among the first 40 000 seeds, seed 26 060.
func TestAgainstNaive(t *testing.T) {
	late, cancelled, delayed := int64(0), int64(0), int64(0)
	for seed := range uint64(1000) {
		for _, closed := range []bool{false, true} {
			r, c, cache := drawn(seed, closed)
			copied := *cache
			got := mustRunModel(t, r, newTestCache(t, cache), c)
			want := &naive{Config: c, Reads: r, cache: &copied}
			want.run()
			if len(got.Reads) != len(r.Starts) {
				t.Fatalf("seed %d: %d reads were served, want %d", seed, len(got.Reads), len(r.Starts))
			}
			var is, should []float64
			for _, read := range got.Reads {
				is = append(is, read.Done.Seconds())
			}
			for _, at := range want.done {
				should = append(should, at)
			}
			slices.Sort(is)
			slices.Sort(should)
			for i := range is {
				if math.Abs(is[i]-should[i]) > 1e-6 {
					t.Fatalf("seed %d, closed %v: read %d is served at %v s, want %v s", seed, closed, i, is[i], should[i])
				}
			}
			g, w := got.Counts, want.counts
			if g.Delayed != w.Delayed || g.Late != w.Late || g.Cancelled != w.Cancelled {
				t.Fatalf("seed %d, closed %v: %+v, want %+v", seed, closed, g, w)
			}
			if math.Abs(g.LinkSeconds-want.busy) > 1e-5 {
				t.Fatalf("seed %d: the link is busy for %v s, want %v s", seed, g.LinkSeconds, want.busy)
			}
			late, cancelled, delayed = late+g.Late, cancelled+g.Cancelled, delayed+g.Delayed
		}
	}
	if late < 100 || cancelled < 100 || delayed < 100 {
		t.Errorf("only %d late and %d cancelled prefetches, %d delayed hits", late, cancelled, delayed)
	}
}

// TestInvariants: every miss receives its object once, the link carries no more than its bandwidth, and a run repeats.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, closed := rapid.Uint64().Draw(t, "seed"), rapid.Bool().Draw(t, "closed")
		r, c, cache := drawn(seed, closed)
		again := *cache
		sent := 0.0
		c.Windows = event.Windows[State]{Span: 7 * time.Millisecond, End: func(s State) error {
			if s.Demand+s.Prefetch > s.Now.Seconds()+1e-9 || s.Demand+s.Prefetch < sent-1e-12 || s.Ends < s.Now {
				t.Fatalf("at %v the link has been busy for %v s", s.Now, s.Demand+s.Prefetch)
			}
			sent = s.Demand + s.Prefetch
			return nil
		}}
		first := newTestCache(t, cache)
		got := mustRunModel(t, r, first, c)
		slices.Sort(first.came)
		slices.Sort(first.misses)
		if !slices.Equal(first.came, first.misses) {
			t.Fatalf("requests for %v missed, %v arrived", first.misses, first.came)
		}
		if float64(got.Fetched) > got.LinkSeconds*c.Bandwidth+1 {
			t.Fatalf("%d bytes in %v s of the link at %v", got.Fetched, got.LinkSeconds, c.Bandwidth)
		}
		var requests, bytes, served int64
		for _, j := range got.Jobs {
			requests, bytes, served = requests+j.Requests, bytes+j.Bytes, served+j.Served
		}
		if requests != int64(len(r.Objects)) || bytes != served {
			t.Fatalf("%d requests, want %d; %d bytes served of %d", requests, len(r.Objects), served, bytes)
		}
		c.Windows = event.Windows[State]{}
		second := newTestCache(t, &again)
		if repeated := mustRunModel(t, r, second, c); !slices.Equal(first.log, second.log) ||
			!slices.Equal(repeated.Reads, got.Reads) || repeated.Counts != got.Counts {
			t.Fatal("the same reads give different events")
		}
	})
}

// oneJob returns reads of equal size, each of other objects, that are so far apart.
func oneJob(reads int, gap time.Duration, bytes int64) Reads {
	r := Reads{Size: func(int) int64 { return bytes }}
	for i := range reads {
		r.Objects = append(r.Objects, uint32(i))
		r.Starts = append(r.Starts, i)
		r.Times = append(r.Times, time.Duration(i)*gap)
	}
	return r
}

var plain = Config{Local: time.Millisecond, Delay: 150 * time.Millisecond, Bandwidth: 125e6, Closed: true}

// Without a cache a job takes, for each read, the delay and the transfer, and its compute between them.
func TestClosedFormOfMisses(t *testing.T) {
	r := oneJob(10, 20*time.Millisecond, 4_000_000)
	got := mustRunModel(t, r, newTestCache(t, newFIFOCache(r, 0, 0, 0, 10)), plain)
	if want := 10*(150+32)*time.Millisecond + 9*20*time.Millisecond; got.Jobs[0].Duration() != want {
		t.Errorf("the job takes %v, want %v", got.Jobs[0].Duration(), want)
	}
	if want := 0.32 / got.Jobs[0].Duration().Seconds(); math.Abs(got.LinkSeconds/got.Seconds-want) > 1e-12 {
		t.Errorf("the link is used for %v of the time, want %v", got.LinkSeconds/got.Seconds, want)
	}
}

// Where all is resident, a read takes the local time.
func TestClosedFormOfHits(t *testing.T) {
	r := oneJob(10, 20*time.Millisecond, 4_000_000)
	cache := newFIFOCache(r, 10, 0, 0, 10)
	cache.inside = slices.Clone(r.Objects)
	got := mustRunModel(t, r, newTestCache(t, cache), plain)
	if want := 10*time.Millisecond + 9*20*time.Millisecond; got.Jobs[0].Duration() != want || got.Fetched != 0 {
		t.Errorf("the job takes %v and fetches %d bytes, want %v and none", got.Jobs[0].Duration(), got.Fetched, want)
	}
}

// A prefetcher that is one read ahead hides the store if the job computes for long enough.
func TestPrefetchingHidesTheDelay(t *testing.T) {
	r := oneJob(200, 300*time.Millisecond, 4_000_000)
	cache := newFIFOCache(r, 200, 1, 0, 200)
	cache.bytes = 4_000_000
	c := plain
	c.Prefetches, c.Queue = 16, 100
	got := mustRunModel(t, r, newTestCache(t, cache), c)
	if want := 182*time.Millisecond + 199*301*time.Millisecond; got.Jobs[0].Duration() != want {
		t.Errorf("the job takes %v, want %v", got.Jobs[0].Duration(), want)
	}
	if got.Jobs[0].Hits != 199 || got.Useful != got.Prefetched || got.Late != 0 {
		t.Errorf("%d hits, %+v", got.Jobs[0].Hits, got.Counts)
	}
}

// A prefetched object that has left the cache when it is requested was prefetched in vain.
func TestPrefetchesInVain(t *testing.T) {
	r := oneJob(3, 5*time.Second, 4_000_000)
	r.Objects = []uint32{0, 7, 1} // 8 replaces 1, which was prefetched after 0
	cache := newFIFOCache(r, 1, 1, 0, 10)
	cache.bytes = 4_000_000
	c := plain
	c.Prefetches = 16
	got := mustRunModel(t, r, newTestCache(t, cache), c)
	if got.Jobs[0].Hits != 0 || got.Useful != 0 || got.Prefetched != 8_000_000 || got.Fetched != 20_000_000 {
		t.Errorf("%d hits, %+v", got.Jobs[0].Hits, got.Counts)
	}
}

// What was prefetched before the warm-up ended is not a prefetch after it.
func TestPrefetchesOfTheWarmup(t *testing.T) {
	r := oneJob(10, 5*time.Second, 4_000_000)
	cache := newFIFOCache(r, 10, 1, 0, 10)
	cache.bytes = 4_000_000
	c := plain
	c.Prefetches, c.Warmup = 16, 4
	got := mustRunModel(t, r, newTestCache(t, cache), c)
	if want := int64(5 * 4_000_000); got.Jobs[0].Hits != 6 || got.Useful != want || got.Prefetched != want {
		t.Errorf("%d hits, %+v, want %d useful", got.Jobs[0].Hits, got.Counts, want)
	}
}

// Two jobs that read at the same time each have half of the link.
func TestJobsShareFairly(t *testing.T) {
	r := oneJob(2, 0, 4_000_000)
	r.Job = []int32{0, 1}
	got := mustRunModel(t, r, newTestCache(t, newFIFOCache(r, 0, 0, 0, 2)), plain)
	for i, j := range got.Jobs {
		if want := (150 + 64) * time.Millisecond; j.Duration() != want {
			t.Errorf("job %d takes %v, want %v", i, j.Duration(), want)
		}
	}
}

// A prefetch delays no fetch that a read waits for, and a late one goes on as a fetch.
func TestPrefetchesComeAfterDemand(t *testing.T) {
	r := oneJob(2, 500*time.Millisecond, 4_000_000)
	r.Objects = []uint32{0, 5} // 1 is prefetched in vain
	cache := newFIFOCache(r, 10, 1, 0, 10)
	cache.bytes = 1 << 40 // it is never done
	c := plain
	c.Prefetches = 1
	got := mustRunModel(t, r, newTestCache(t, cache), c)
	if want := (182 + 500 + 182) * time.Millisecond; got.Jobs[0].Duration() != want {
		t.Errorf("the job takes %v, want %v", got.Jobs[0].Duration(), want)
	}
	// The second read waits for what was prefetched since the first: 482 ms earlier than its own fetch would have begun.
	r.Objects = []uint32{0, 1}
	cache = newFIFOCache(r, 10, 1, 0, 10)
	cache.bytes = 125_000_000
	got = mustRunModel(t, r, newTestCache(t, cache), c)
	if want := (150 + 32 + 1000) * time.Millisecond; got.Jobs[0].Duration() != want || got.Late != 1 || got.Delayed != 1 {
		t.Errorf("the job takes %v, want %v; %+v", got.Jobs[0].Duration(), want, got.Counts)
	}
}

// A stopped job reads no more, and what only it waits for is not sent.
func TestStop(t *testing.T) {
	for _, closed := range []bool{true, false} {
		r := oneJob(4, 0, 125_000_000)
		r.Objects = []uint32{0, 1, 2, 1}
		r.Job = []int32{0, 1, 0, 0}
		r.Times = []time.Duration{0, 0, 3 * time.Second, 9 * time.Second}
		r.Stops = []time.Duration{500 * time.Millisecond, 0}
		c := plain
		c.Closed = closed
		got := mustRunModel(t, r, newTestCache(t, newFIFOCache(r, 0, 0, 0, 3)), c)
		// Until 0.5 s each has 350 ms of half of the link; then job 1 has it alone.
		if a, b := got.Jobs[0], got.Jobs[1]; !a.Stopped || a.Ended != 500*time.Millisecond || b.Stopped ||
			b.Ended != 1325*time.Millisecond || a.Served != 0 {
			t.Errorf("closed %v: job 0 %+v, job 1 %+v", closed, a, b)
		}
		if len(got.Reads) != 1 || got.Fetched != 125_000_000 || got.Served != 125_000_000 {
			t.Errorf("closed %v: reads %v, %d bytes, %d served", closed, got.Reads, got.Fetched, got.Served)
		}
	}
}

// What another job waits for too is still fetched when a job stops.
func TestStopLeavesWhatOthersWaitFor(t *testing.T) {
	r := oneJob(2, 0, 125_000_000)
	r.Objects, r.Job = []uint32{7, 7}, []int32{0, 1}
	r.Stops = []time.Duration{500 * time.Millisecond, 0}
	cache := newFIFOCache(r, 2, 0, 0, 8)
	got := mustRunModel(t, r, newTestCache(stopped{t}, cache), plain)
	if got.Jobs[1].Ended != 1150*time.Millisecond || !slices.Equal(cache.inside, []uint32{7}) {
		t.Errorf("job 1 %+v, resident %v", got.Jobs[1], cache.inside)
	}
}

type stopped struct{ *testing.T }

// A job with many open reads that stops leaves those of others alone, whatever waits for the same object.
func TestStopWithManyOpenReads(t *testing.T) {
	const reads = 3000
	r := oneJob(reads, 0, 1000)
	for i := range reads {
		r.Job = append(r.Job, int32(i%2))
		r.Objects[i] = uint32(i / 3) // job 0, job 1, and one of the two again
	}
	r.Stops = []time.Duration{100 * time.Millisecond, 0}
	c := plain
	c.Closed = false
	cache := newTestCache(t, newFIFOCache(r, reads, 0, 0, reads))
	got := mustRunModel(t, r, cache, c)
	if len(cache.came) != reads/2 || len(got.Reads) != reads/2 || got.Served != reads/2*1000 ||
		got.Fetched != reads/3*1000 {
		t.Errorf("%d requests and %d reads are served, %d bytes of %d", len(cache.came), len(got.Reads), got.Served,
			got.Fetched)
	}
	want := map[uint32]int{}
	for request, o := range r.Objects {
		if want[o]++; r.Job[request] == 0 {
			want[o]--
		}
	}
	for _, o := range cache.came {
		if want[o]--; want[o] < 0 {
			t.Fatalf("the stopped job receives object %d", o)
		}
	}
}

func TestWarmupAndWindows(t *testing.T) {
	r := oneJob(10, 20*time.Millisecond, 4_000_000)
	c := plain
	c.Warmup = 4
	ended := int64(-1)
	var windows []int64
	cache := newTestCache(t, newFIFOCache(r, 0, 0, 0, 10))
	c.EndWarmup = func() { ended = int64(len(cache.misses)) }
	c.Windows = event.Windows[State]{Requests: 3, End: func(s State) error {
		windows = append(windows, s.Asked)
		return nil
	}}
	got := mustRunModel(t, r, cache, c)
	if ended != 4 || got.Jobs[0].Requests != 6 || got.Served != got.Fetched || got.Fetched != 6*4_000_000 ||
		len(got.Reads) != 10 {
		t.Errorf("warm-up of %d, %+v, %d bytes, %d reads", ended, got.Jobs[0], got.Fetched, len(got.Reads))
	}
	if want := []int64{3, 6, 9, 10}; !slices.Equal(windows, want) {
		t.Errorf("windows end after %v requests, want %v", windows, want)
	}
}

// chargedCache remembers what each load and request is charged, and prefetches two objects once.
type chargedCache struct {
	halfCache
	charged []int64
	times   []int64
}

func (c *chargedCache) Ask(r requests.Request, _ int) bool {
	c.charged, c.times = append(c.charged, r.Size), append(c.times, r.Time)
	return false
}

func (c *chargedCache) Proposals(to []requests.Fetch) []requests.Fetch {
	if len(c.charged) > 1 {
		return to
	}
	return append(to, requests.Fetch{Object: 1, Size: 1}, requests.Fetch{Object: 9, Size: 1})
}

func (c *chargedCache) Arrive(r requests.Request) bool {
	c.charged = append(c.charged, r.Size)
	return true
}

// If the capacity counts objects, the cache charges 1 for each, and the link sends their bytes: those of the trace, and
// of an object that it never requests those of the largest.
func TestObjectsAreSentInFull(t *testing.T) {
	r := oneJob(2, 9*time.Second, 30)
	r.Objects, r.ObjectSizes, r.Start = []uint32{0, 2}, []int64{30, 20, 30}, 1000
	c := plain
	c.Unit, c.Prefetches, c.Closed = true, 2, false
	var asked []int64
	c.Asked = func(bytes int64, hit bool) { asked = append(asked, bytes) }
	cache := &chargedCache{}
	got := mustRunModel(t, r, cache, c)
	if got.Fetched != 30+20+30+30 || got.Prefetched != 20+30 || !slices.Equal(asked, []int64{30, 30}) {
		t.Errorf("%+v, asked for %d bytes", got.Counts, asked)
	}
	if !slices.Equal(cache.charged, []int64{1, 1, 1, 1, 1, 1}) || !slices.Equal(cache.times, []int64{1000, 9e9 + 1000}) {
		t.Errorf("charged %d, at %d", cache.charged, cache.times)
	}
}

func TestErrorsEndARun(t *testing.T) {
	r := oneJob(1000, time.Second, 1)
	bad := errors.New("too many")
	for name, w := range map[string]event.Windows[State]{
		"spans": {Span: time.Second}, "requests": {Requests: 2},
	} {
		c, n := plain, 0
		w.End = func(State) error {
			if n++; n == 3 {
				return bad
			}
			return nil
		}
		c.Windows = w
		if _, err := Run(t.Context(), r, newTestCache(t, newFIFOCache(r, 0, 0, 0, 1000)), c); !errors.Is(err, bad) || n != 3 {
			t.Errorf("%s: %v after %d windows", name, err, n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, r, newTestCache(t, newFIFOCache(r, 0, 0, 0, 1000)), plain); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	c := plain
	c.Bandwidth = 1e-300
	if _, err := Run(t.Context(), r, newTestCache(t, newFIFOCache(r, 0, 0, 0, 1000)), c); err == nil {
		t.Error("a transfer of more than 292 years ends")
	}
}

// BenchmarkModel is a closed loop of 18 jobs with a cache that holds half of what they read.
func BenchmarkModel(b *testing.B) {
	const jobs, objects, reads = 18, 20_000, 200_000
	rng := rand.New(rand.NewPCG(1, 2))
	r := Reads{Size: func(int) int64 { return 4 << 20 }}
	for i := range reads {
		r.Objects = append(r.Objects, uint32(rng.IntN(objects)))
		r.Starts = append(r.Starts, i)
		r.Job = append(r.Job, int32(i%jobs))
		r.Times = append(r.Times, time.Duration(i)*time.Millisecond)
	}
	c := plain
	c.Prefetches, c.Queue = 16, 1024
	events := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		cache := &halfCache{}
		result := must.Get(Run(b.Context(), r, cache, c))(b)
		events += result.Events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// halfCache has every other object, and prefetches what comes next.
type halfCache struct{ last uint32 }

func (c *halfCache) Ask(r requests.Request, _ int) bool {
	c.last = r.Object
	return c.last%2 == 0
}
func (c *halfCache) Proposals(to []requests.Fetch) []requests.Fetch {
	return append(to, requests.Fetch{Object: c.last + 1, Size: 4 << 20})
}
func (c *halfCache) More(_ int, to []requests.Fetch) []requests.Fetch { return to }
func (c *halfCache) Arrive(requests.Request) bool                     { return true }
func (c *halfCache) Waited(requests.Request)                          {}
func (c *halfCache) Cancelled(uint32)                                 {}
func (c *halfCache) Evictions() int64                                 { return 0 }
func (c *halfCache) Oversized() int64                                 { return 0 }
