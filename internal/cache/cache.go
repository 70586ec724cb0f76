package cache

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// Cache decides what counts as a hit, what can be evicted and how full it is. Exact is one; set-associative,
// prefix-tree and semantic caches are others.
type Cache interface {
	// Serve replays the requests of w in order and adds what happened to c.
	Serve(w Window, c *Counts)
}

// Running is implemented by caches that lock what a group of requests needs while it runs, such as the blocks of a
// prompt. A model of time calls Begin and Finish; Serve calls them itself.
type Running interface {
	// Begin serves a group, counted from 0, locks its objects until Finish, adds to n, and returns how many tokens hit.
	Begin(group int, n *Counts) (hitTokens int64)
	// Finish releases the objects of a group that has begun.
	Finish(group int)
}

// InFlight begins the groups of a trace in their order, and runs so many at the same time.
type InFlight struct {
	AtOnce  int
	started int
}

// Serve begins the groups of a window, and finishes the oldest ones that run where there would be too many.
func (f *InFlight) Serve(of Running, w Window, n *Counts) {
	for range w.Groups {
		if f.started >= f.AtOnce {
			of.Finish(f.started - f.AtOnce)
		}
		of.Begin(f.started, n)
		f.started++
	}
}

// Replica is implemented by caches that several nodes may have.
type Replica interface {
	Running
	Occupied
	Reporting
	// Has reports whether an object is resident on the node, Resident how many are: what is lost with it.
	Has(o policies.Object) bool
	Resident() int64
	// Held returns how many objects running groups lock.
	Held() int64
	// AtOnce returns how many groups run at the same time without a model of time.
	AtOnce() int
}

// Together builds the caches of several nodes that have something in common. It is an interface because package tiers,
// which implements it, imports this package.
type Together interface {
	// New returns the empty cache of a node. Node 0 comes first; a node that was removed may be added again.
	New(node int) (Replica, error)
	// Remove says that a node has been removed and its cache is lost. Groups that run there may still finish.
	Remove(node int)
	// Capacity is that of a node as routers see it, Whole that of one cache with room for all that so many nodes have.
	Capacity() int64
	Whole(nodes int) int64
	// Reporting has the counters of all nodes; their caches have none.
	Reporting
}

// Driven is implemented by caches that a model of time uses directly: it says when each request starts and ends. The
// one that implements it is in internal/serving, which this room does not import.
type Driven interface {
	Warming
	// Counts returns what has happened so far.
	Counts() Counts
	// Warm returns the part of it that does not count: what the warm-up requested, and what came before BeginCounting.
	Warm() Counts
}

// Dropping is implemented by caches from which single objects can be removed between requests.
type Dropping interface {
	// Holds reports whether an object is resident, which changes nothing.
	Holds(o policies.Object) bool
	// Drop removes an object, and reports whether it was resident.
	Drop(o policies.Object) bool
	// LookAll serves requests that load nothing. Those whose object is resident hit as any other request. The policy does
	// not see the others, which only count: for the cache, its tenants, and the streams of files.
	LookAll(w Window, n *Counts)
}

// Looker is a cache that serves requests one by one, also those that load nothing where they miss.
type Looker interface {
	Look(r policies.Request) (hit bool)
	Evictions() int64
	Oversized() int64
}

// LookEach serves the requests of a window, which load nothing, one by one.
func LookEach(c Looker, w Window, n *Counts) { ServeEach(looking{c}, w, n) }

// looking serves requests that load nothing.
type looking struct{ Looker }

func (l looking) Request(r policies.Request) (hit bool) { return l.Look(r) }

// Timekeeper is implemented by caches that expire objects by a clock of their own.
type Timekeeper interface{ KeepsTime() }

// QueryServer is implemented by caches of queries with embeddings.
type QueryServer interface{ ServesQueries() }

// Occupied is implemented by caches that know how full they are.
type Occupied interface {
	// Used returns how much of the capacity is used, in its unit.
	Used() int64
}

// Reporting is implemented by caches with counters, including their policies'.
type Reporting interface {
	Counters() []policies.Counter
}

// Remarking is implemented by caches that may have to say that something else happened than a user asked for.
type Remarking interface {
	Remark() string // "" for nothing
}

// Warming is implemented by caches whose Counters must exclude the warm-up.
type Warming interface {
	// BeginCounting ends the warm-up: nothing that happened before it counts.
	BeginCounting()
}

func CountersOf(p policies.Policy) []policies.Counter {
	if reporter, ok := p.(policies.Reporter); ok {
		return reporter.Counters()
	}
	return nil
}

// RemarkOf returns what a policy has to say after a replay; "" for nothing.
func RemarkOf(p policies.Policy) string {
	if remarker, ok := p.(policies.Remarker); ok {
		return remarker.Remark()
	}
	return ""
}

// Window is a run of consecutive requests of a trace.
type Window struct {
	Objects []policies.Object
	Sizes   []int64 // bytes per request; nil if the capacity counts objects
	Times   []int64 // nanoseconds per request; nil without a clock
	First   int     // position of the first request in the trace
	Writes  bool    // all requests write; otherwise all read
	// Groups are the positions in the trace at which the groups of this window begin; the first one is First. A window of
	// a trace with groups contains whole groups. Nil if requests are not grouped.
	Groups []int
}

func (w *Window) Request(i int) policies.Request {
	r := policies.Request{Object: w.Objects[i], Query: w.Objects[i], Pos: w.First + i, Size: 1, Write: w.Writes}
	if w.Sizes != nil {
		r.Size = w.Sizes[i]
	}
	if w.Times != nil {
		r.Time = w.Times[i]
	}
	return r
}

// WindowOf returns the requests [from, to), which all write or all read. Sizes per object are spread over the requests
// in the buffer.
func WindowOf(t *traces.Trace, from, to int, bytes bool, buffer []int64) Window {
	w := Window{Objects: t.Objects[from:to], First: from, Writes: from < to && t.IsWrite(from)}
	if t.Groups != nil {
		first, _ := slices.BinarySearch(t.Groups, from)
		end, _ := slices.BinarySearch(t.Groups, to)
		w.Groups = t.Groups[first:end]
	}
	if t.Times != nil {
		w.Times = t.Times[from:to]
	}
	if !bytes {
		return w
	}
	if t.RequestSizes != nil {
		w.Sizes = t.RequestSizes[from:to]
		return w
	}
	w.Sizes = buffer[:to-from]
	for i, o := range w.Objects {
		w.Sizes[i] = t.ObjectSizes[o]
	}
	return w
}

// ServeEach serves the requests of a window one by one, and counts what happens.
func ServeEach(c interface {
	Request(r policies.Request) (hit bool)
	Evictions() int64
	Oversized() int64
}, w Window, n *Counts) {
	evictions, oversized := c.Evictions(), c.Oversized()
	for i := range w.Objects {
		r := w.Request(i)
		if w.Sizes != nil {
			n.Bytes += r.Size
		}
		if !c.Request(r) {
			continue
		}
		n.Hits++
		if w.Sizes != nil {
			n.HitBytes += r.Size
		}
	}
	n.Requests += int64(len(w.Objects))
	n.Evictions += c.Evictions() - evictions
	n.Oversized += c.Oversized() - oversized
}

// Counts are the sums over the requests that a cache served.
type Counts struct {
	Requests  int64
	Hits      int64
	Evictions int64
	Oversized int64 // requests for objects larger than the cache: misses that bypass it
	Bytes     int64 // requested bytes; 0 if the capacity counts objects
	HitBytes  int64

	// Of prompts; 0 in caches that do not serve any.
	Prompts   int64
	Tokens    int64 // of all prompts
	HitTokens int64
	// RoundedTokens are in blocks that an earlier prompt has, but not in whole larger blocks; EmptyTokens would fit into
	// the last blocks that miss.
	RoundedTokens, EmptyTokens int64

	// For queries with a label that tells right answers; 0 without labels, and in caches that do not serve queries.
	Labelled     int64 // requests with a label
	LabelledHits int64 // labelled requests that hit an entry with a label
	WrongHits    int64 // labelled requests that hit an entry with a different label
}

func (c Counts) Misses() int64            { return c.Requests - c.Hits }
func (c Counts) Plus(other Counts) Counts { return c.Minus(Counts{}.Minus(other)) }

// Minus returns the counts since an earlier state, as after a warm-up or in a window of time.
func (c Counts) Minus(earlier Counts) Counts {
	return Counts{
		Requests:  c.Requests - earlier.Requests,
		Hits:      c.Hits - earlier.Hits,
		Evictions: c.Evictions - earlier.Evictions,
		Oversized: c.Oversized - earlier.Oversized,
		Bytes:     c.Bytes - earlier.Bytes,
		HitBytes:  c.HitBytes - earlier.HitBytes,
		Prompts:   c.Prompts - earlier.Prompts,
		Tokens:    c.Tokens - earlier.Tokens,
		HitTokens: c.HitTokens - earlier.HitTokens,

		RoundedTokens: c.RoundedTokens - earlier.RoundedTokens,
		EmptyTokens:   c.EmptyTokens - earlier.EmptyTokens,

		Labelled:     c.Labelled - earlier.Labelled,
		LabelledHits: c.LabelledHits - earlier.LabelledHits,
		WrongHits:    c.WrongHits - earlier.WrongHits,
	}
}

// Values returns the counts of a kind of cache as metrics; sizes count if the capacity counts them.
func (c Counts) Values(entry Entry, bytes bool) (v metric.Values) {
	v.SetInt(metric.Requests, c.Requests)
	v.SetInt(metric.Hits, c.Hits)
	v.SetInt(metric.Misses, c.Misses())
	v.SetInt(metric.Evictions, c.Evictions)
	v.SetInt(metric.Oversized, c.Oversized)
	if bytes {
		v.SetInt(metric.RequestedBytes, c.Bytes)
		v.SetInt(metric.HitBytes, c.HitBytes)
		v.Set(metric.ByteHitRatio, metric.Divide(float64(c.HitBytes), float64(c.Bytes)))
	}
	if entry.Measure != nil {
		entry.Measure(c, &v)
	}
	return v
}

// Streaming is implemented by caches that divide their capacity among streams of accesses.
type Streaming interface {
	// Streams returns what the cache knows of each stream now, the one with the most requests first.
	Streams() []StreamState
}

// StreamState is a cache's knowledge of a stream, and its share.
type StreamState struct {
	Path string
	// Stream has the last test; nil without a stream.
	Stream         *streams.Stream
	Share          float64 // least share of steps in a sequential stream
	Requests, Hits int64
	Quota, Used    int64   // in the unit of the capacity
	Data           int64   // charges of all that belongs to it; 0 if that is unknown
	Benefit        float64 // hits per second that one more unit of capacity would bring, averaged over rounds
	Lifetime       float64 // seconds that it is kept after its last access; 0 if it does not expire
	Expired        bool    // it was dropped, and has not been read since
}
