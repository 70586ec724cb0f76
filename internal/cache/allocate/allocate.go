// Package allocate divides one capacity among the pools of a cache, such as one for each tenant. An allocator sees
// counts and miss curves of the pools, never their objects, and answers with a capacity for each; the cache resizes its
// pools.
//
// To add one, write a file with its Entry and add that to the table in registry.go.
package allocate

import "github.com/cachesim/cachesim/internal/cache/streams"

// State is what an allocator sees when it is called. It is valid during the call only.
type State struct {
	Capacity int64 // to divide, in objects or bytes
	Unit     bool  // it counts objects
	Epoch    int   // number of earlier calls; 0 before the first request
	Requests int64 // to all pools, since the beginning
	Time     int64 // nanoseconds on the clock of the trace; 0 without one
	Elapsed  int64 // nanoseconds since the previous call, or since the first request; 0 without a clock
	Pools    []Pool
}

// Pool is what an allocator sees of one pool. It counts since the previous call.
type Pool struct {
	ID       int   // identifies the pool over its life, in rising order; where pools stay, its number
	Capacity int64 // at present; 0 at the first call
	Used     int64 // charges of the resident objects
	Requests int64
	Hits     int64
	// Footprint is the sum of the charges of all objects requested, each once; only if Needs.Footprint.
	Footprint int64
	// Curve has the hits of LRU at each capacity, for the requests of the allocator's Sampling; only if Needs.Curves.
	Curve Curve

	// What follows is filled in only if Needs.Streams.
	Pattern   streams.Pattern // of the requests; Unknown until there are enough
	Objects   int64           // number of resident objects
	Data      int64           // charges of the whole data set, or an estimate; 0 if it is unknown
	MeanBytes float64         // of an object of the data set; only if Needs.Data
	GhostHits int64           // misses of objects that are among the last Needs.Ghosts that were evicted
	Floor     int64           // what the pool needs at least, if that is more than the least share
}

// Allocator divides a capacity. It may keep state (averages, hysteresis, least shares): there is one for each cache,
// and only one goroutine calls it.
type Allocator interface {
	// Needs says when the allocator is to be called and what it needs. The answer is always the same.
	Needs() Needs
	// Allocate writes the capacity of each pool to capacities, which holds the present ones. None is below 0, and all
	// together are at most s.Capacity.
	Allocate(s *State, capacities []int64)
}

// Pooling is implemented by allocators that let several tenants share a pool, as training does.
type Pooling interface {
	// Pools returns the number of each tenant's pool, and the names of the pools.
	Pools() (of []int, names []string)
}

// Valuing is implemented by allocators that value further capacity, and leave every pool a least share. Only marginal
// does so far; caches ask for the ability, not for the name.
type Valuing interface {
	// Least returns the least share of a pool.
	Least(s *State) int64
	// Worth returns what pool i of the last call would gain from one more unit of capacity, in hits per second: 0 after
	// the first call, which knows nothing.
	Worth(i int) float64
}

// PerBlock converts what a unit of capacity is worth into what an object or, of bytes, a block of 4 MiB is worth.
func PerBlock(worth float64, unit bool) float64 {
	if unit {
		return worth
	}
	return worth * blockBytes
}

// Needs say when an allocator is called and what it gets. Every allocator is called once before the first request.
type Needs struct {
	Every     int64 // requests to all pools between two calls; 0: calls do not depend on their number
	Period    int64 // nanoseconds of the trace's clock between two calls; 0: calls do not depend on the clock
	Unclocked int64 // requests between two calls where Period is set and the trace has no clock; 0: none
	Footprint bool  // Pool.Footprint is filled in
	Data      bool  // Pool.Data and Pool.MeanBytes are filled in, for tenants, before the first request, too
	Streams   bool  // patterns, data sets and hits on evicted objects are filled in
	Ghosts    int   // evicted objects that each pool remembers; only with Streams
	Curves    *Sampling
	Forecast  bool // Serving.Forecast is filled in
	Next      bool // Serving.Next is filled in, which only an entry with Future may ask for
}

// Sampling says how the curve of a pool is measured.
type Sampling struct {
	// Whole measures the whole trace before the first request, every object of it: offline. Otherwise the curve is of the
	// requests since the beginning, and a request counts half as much as one in the next epoch.
	Whole bool
	Tags  int // most objects that the monitor of a pool follows; 0: all
	Steps int // least number of steps of the capacity in which hits are counted; 0: every capacity by itself
}

// Config is what an allocator is built from.
type Config struct {
	Tenants []string // the names of the pools, in their order
	Params  Values
	// Seed is that of a replay. Number tells apart the allocators of a cache with one for each node, for random choices.
	Seed   uint64
	Number int
}
