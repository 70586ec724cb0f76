// Package storage models the time of jobs that read through a local cache from a remote store, over a link that they
// share. A read requests several objects, the blocks of a file, at once.
//
// A resident object takes the local time. Any other is fetched: the store answers after a delay, and the transfers in
// progress share the bandwidth of the link equally. An object that is requested while it is being fetched waits for
// the rest of that fetch (a delayed hit; Atre, Sherry, Wang and Berger, Caching with Delayed Hits, SIGCOMM 2020).
// Prefetches have the lower priority: they are sent while nothing else is. A limited number is outstanding; the
// others wait in a queue of limited length. A prefetch whose object is requested becomes an ordinary fetch.
//
// A job that runs alone and misses everything takes delay + bytes / bandwidth for each read, and the time that it
// computes after it.
package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// Config are the constants of the model.
type Config struct {
	Local     time.Duration // of a read from the cache
	Delay     time.Duration // of the remote store, until the first byte
	Bandwidth float64       // of the link, in bytes per second
	// Prefetches is how many prefetches may be outstanding, Queue how many more may wait.
	Prefetches, Queue int
	// DropOldest says that a prefetch replaces the oldest of a full queue; otherwise the new one is dropped.
	DropOldest bool
	// Closed says that a job issues a read when its previous one is served and it has computed; otherwise reads are issued
	// at their times.
	Closed bool
	// Unit says that the capacity of the cache counts objects: it charges 1 for each.
	Unit bool
	// Asked receives each request when it has been issued; may be nil.
	Asked func(bytes int64, hit bool)
	// Warmup is the number of requests at the start that do not count. EndWarmup is called when they have been issued.
	Warmup    int
	EndWarmup func()
	Windows   event.Windows[State]
	// Tiers are the tiers of the cache, the first one first, and HitIn returns in which of them the last request hit; nil
	// if it has no tiers.
	Tiers []Tier
	HitIn func() int
}

// Tier is a tier of the cache that objects are read from, one after the other.
type Tier struct {
	Latency   time.Duration // of a read
	Bandwidth float64       // bytes per second; 0: a read takes Config.Local and nothing else
}

// State is how far a run has come.
type State struct {
	Asked            int64         // requests so far
	Ends             time.Duration // of the window: at Now, unless the run has ended before
	Now              time.Duration
	Demand, Prefetch float64 // seconds in which the link has sent what requests wait for, and prefetches
	// Job returns what is known of a job so far.
	Job func(i int32) Job
}

// Reads are what the jobs read.
type Reads struct {
	Objects []uint32 // per request
	// Size returns the bytes of a request.
	Size func(request int) int64
	// Write reports whether a request writes, so that a resident object is charged its size from then on; nil: none does.
	Write func(request int) bool
	// ObjectSizes has the bytes of each object, for prefetches if Config.Unit is set. Further objects, which are not
	// requested, are as large as the largest.
	ObjectSizes []int64
	Start       int64 // nanoseconds of the trace at which the clock starts, for the cache
	// Starts are the requests at which reads begin; a read ends where the next begins.
	Starts []int
	Job    []int32 // per read: its job; nil: all reads are of job 0
	// Times are when reads were issued, since the first, never decreasing within a job; nil: all at 0. In a closed loop a
	// job starts at the time of its first read, and computes between two reads for as long as their times are apart.
	Times []time.Duration
	Stops []time.Duration // per job: when it is stopped; 0: never
}

// Job is what is known about a job so far. Its counts leave out the warm-up.
type Job struct {
	Started, Ended  time.Duration // of its first read, of its last
	Stopped         bool          // it was stopped before its last read was served
	Reads           int           // that it has in the trace
	Requests, Hits  int64
	Bytes, HitBytes int64 // of requests
	Served          int64 // bytes of the reads that have been served, warm-up included
}

// Read is one read that was served.
type Read struct {
	First       int64 // requests that were issued before it
	Asked, Done time.Duration
	Counts      bool // it has a request after the warm-up
}

// Counts are sums over a run, after the warm-up.
type Counts struct {
	Fetched    int64 // bytes that arrived from the remote store
	Prefetched int64 // the part of them that no request waited for when they arrived
	Served     int64 // bytes of the reads that were served and count
	Useful     int64 // the part of Prefetched that was requested while it was resident
	Delayed    int64 // requests that waited for a fetch that had already begun
	Late       int64 // prefetches that were outstanding when their object was requested
	Cancelled  int64 // prefetches that were dropped from the queue
	Events     int64 // that the model has simulated
	// LinkSeconds is how long the link was busy, Seconds how long the run took.
	LinkSeconds, Seconds float64
}

// Result is what a run measured.
type Result struct {
	Counts
	Jobs   []Job
	Loaded []int64 // bytes that were read from each tier; nil without tiers
	Reads  []Read  // in the order in which they were issued, without reads that a stop cut off
}

// Run serves all reads. It stops early when ctx ends or a window returns an error, with that error.
func Run(ctx context.Context, r Reads, cache requests.Asynchronous, c Config) (*Result, error) {
	m := newModel(r, cache, c)
	m.openTiers()
	m.begin()
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	return m.result()
}

// model is a run.
type model struct {
	Config
	Reads
	cache  requests.Asynchronous
	loop   event.Loop
	link   *event.PriorityLink
	loaded []int64      // bytes that were read from each tier
	tiers  []event.Link // nil where only the local time counts
	pos    int          // of the next request in the order in which the cache serves them

	jobs    []job
	running int   // jobs that have not ended
	asked   int64 // requests
	first   int   // the next read to issue, in the order of the trace
	order   []int32
	served  []Read
	open    []open
	free    []int32 // of open

	fetches   []fetch
	freeFetch []int32
	fetching  []int32  // per object: 1 + its fetch, 0 for none
	queue     list     // of fetches that wait
	arriving  []waiter // of the last fetch that has arrived: a buffer
	out       int      // prefetches that are outstanding
	proposals []requests.Fetch
	largest   int64 // of ObjectSizes

	unused    []int64 // per object: the bytes that were prefetched and are still unrequested
	counts    Counts  // since the warm-up, with the times at its end
	counting  bool
	windowEnd time.Duration
	err       error // of a window that ended with a request
}

// job is a job of a run.
type job struct {
	Job
	reads []int32 // in a closed loop: the reads that are left
	left  int     // reads that have not been served
	next  func()  // issues the next read
	timer event.Timer
	stop  event.Timer
	ended bool
}

// open is a read that is being served.
type open struct {
	read   int32
	served int32 // its index in model.served; -1: the slot is free
	left   int   // objects that it waits for
	ready  time.Duration
	end    func()
	timer  event.Timer
}

// newModel returns a run that has not begun.
func newModel(r Reads, cache requests.Asynchronous, c Config) *model {
	m := &model{Config: c, Reads: r, cache: cache, queue: emptyList}
	for _, bytes := range r.ObjectSizes {
		m.largest = max(m.largest, bytes)
	}
	m.link = event.NewPriorityLink(&m.loop, c.Bandwidth, m.arrived)
	jobs := 1
	for _, j := range r.Job {
		jobs = max(jobs, int(j)+1)
	}
	m.jobs = make([]job, jobs)
	m.served = make([]Read, 0, len(r.Starts))
	m.windowEnd = c.Windows.Span
	return m
}

// begin schedules the first reads, and the stops.
func (m *model) begin() {
	m.distribute()
	for i := range m.jobs {
		j := &m.jobs[i]
		if j.left == 0 {
			j.ended = true
			continue
		}
		m.running++
		if m.Closed {
			j.next = func() { m.issueNext(int32(i)) }
			j.timer = m.loop.At(j.Started, j.next)
		}
		if m.Stops != nil && m.Stops[i] > 0 {
			j.stop = m.loop.At(m.Stops[i], func() { m.stop(int32(i)) })
		}
	}
	if !m.Closed {
		m.loop.At(0, m.issueDue)
	}
	if m.Warmup == 0 {
		m.endWarmup()
	}
}

// distribute gives each job its reads.
func (m *model) distribute() {
	for read := range m.Starts {
		j := &m.jobs[m.jobOf(int32(read))]
		if j.left == 0 {
			j.Started = m.time(int32(read))
		}
		j.left++
		j.Reads++
	}
	if !m.Closed {
		return
	}
	m.order = make([]int32, len(m.Starts))
	from := 0
	for i := range m.jobs {
		j := &m.jobs[i]
		// Empty, with exactly the room that the loop below fills.
		j.reads = m.order[from : from : from+j.left]
		from += j.left
	}
	for read := range m.Starts {
		j := &m.jobs[m.jobOf(int32(read))]
		j.reads = append(j.reads, int32(read))
	}
}

func (m *model) jobOf(read int32) int32 {
	if m.Job == nil {
		return 0
	}
	return m.Job[read]
}

// time returns the time of a read in the trace.
func (m *model) time(read int32) time.Duration {
	if m.Times == nil {
		return 0
	}
	return m.Times[read]
}

// span returns the requests of a read.
func (m *model) span(read int32) (from, to int) {
	if int(read)+1 < len(m.Starts) {
		return m.Starts[read], m.Starts[read+1]
	}
	return m.Starts[read], len(m.Objects)
}

// contextEvery is the number of events between two checks of the context.
const contextEvery = 1 << 8

// run runs events until all jobs have ended.
func (m *model) run(ctx context.Context) error {
	for ; m.running > 0; m.counts.Events++ {
		if m.counts.Events%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		next, ok := m.loop.Next()
		if !ok {
			return fmt.Errorf("%d jobs have not ended, but no event is left", m.running)
		}
		// Before the event runs: an event exactly at the end belongs to the next window.
		for m.windowEnd > 0 && next >= m.windowEnd {
			if err := m.endWindow(m.windowEnd, m.windowEnd); err != nil {
				return err
			}
			m.windowEnd = event.Sum(m.windowEnd, m.Windows.Span)
		}
		m.loop.Step()
		if err := m.loop.Ended(); err != nil {
			return err
		}
		if m.err != nil {
			return m.err
		}
	}
	return nil
}

// result ends the run.
func (m *model) result() (*Result, error) {
	if m.Windows.Open(m.asked) {
		if err := m.endWindow(max(m.windowEnd, m.loop.Now()), m.loop.Now()); err != nil {
			return nil, err
		}
	}
	if !m.counting {
		m.endWarmup()
	}
	r := &Result{Counts: m.counts, Jobs: make([]Job, len(m.jobs)), Loaded: m.loaded}
	busy, now := m.times()
	r.LinkSeconds, r.Seconds = busy-r.LinkSeconds, now-r.Seconds
	for i := range m.jobs {
		r.Jobs[i] = m.jobs[i].Job
	}
	for _, read := range m.served {
		if read.Done >= 0 {
			r.Reads = append(r.Reads, read)
		}
	}
	return r, nil
}

// endWindow reports the state at the end of a window.
func (m *model) endWindow(ends, now time.Duration) error {
	s := State{Asked: m.asked, Ends: ends, Now: now, Job: func(i int32) Job { return m.jobs[i].Job }}
	s.Demand, s.Prefetch = m.link.Busy(now)
	return m.Windows.End(s)
}

// times returns for how many seconds the link has been busy, and those of the run.
func (m *model) times() (busy, now float64) {
	urgent, background := m.link.Busy(m.loop.Now())
	return urgent + background, m.loop.Now().Seconds()
}

// endWarmup starts to count. What was prefetched before is not a useful prefetch.
func (m *model) endWarmup() {
	m.counting, m.counts = true, Counts{}
	m.counts.LinkSeconds, m.counts.Seconds = m.times()
	clear(m.unused)
	if m.EndWarmup != nil {
		m.EndWarmup()
	}
}
