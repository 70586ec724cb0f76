// Package allocate divides one capacity among the pools of a cache: those of its tenants, say. An allocator sees
// counts and miss curves of the pools, never their objects, and answers with a capacity for each; the cache resizes
// its pools.
//
// To add one, write a file with its Entry and add that to the table in registry.go.
package allocate

// State is what an allocator sees when it is asked. It is valid during the call only.
type State struct {
	Capacity int64 // to divide, in objects or bytes
	Epoch    int   // how often the allocator was asked before; 0 before the first request
	Requests int64 // to all pools, since the beginning
	Time     int64 // nanoseconds on the clock of the trace; 0 without one
	Pools    []Pool
}

// Pool is what an allocator sees of one pool. Counts are those since it was asked the last time.
type Pool struct {
	Capacity int64 // at present; 0 before it was asked for the first time
	Used     int64 // what is resident is charged so much
	Requests int64
	Hits     int64
	// Footprint is what all objects requested are charged together, each once; only where Needs.Footprint.
	Footprint int64
	// Curve is what LRU would hit at each capacity, of the requests that the allocator's Sampling takes in; only
	// where Needs.Curves.
	Curve Curve
}

// Allocator divides a capacity. It may keep what it has seen (its own averages, hysteresis, least shares): there is
// one for each cache, and it is asked by one goroutine.
type Allocator interface {
	// Needs says when the allocator wants to be asked and what it looks at. The answer is always the same.
	Needs() Needs
	// Allocate writes the capacity of each pool to capacities, which holds the present ones. None is below 0, and all
	// together are at most s.Capacity.
	Allocate(s *State, capacities []int64)
}

// Needs say when an allocator is asked and what it gets to see. Every allocator is asked once before the first
// request.
type Needs struct {
	Every     int64 // requests to all pools between two questions; 0: it is not asked by their number
	Period    int64 // nanoseconds between two questions on the clock of the trace; 0: it is not asked by the clock
	Footprint bool  // Pool.Footprint is filled in
	Curves    *Sampling
}

// Sampling says how the curve of a pool is measured.
type Sampling struct {
	// Whole measures the whole trace before the first request, every object of it: offline. Otherwise the curve is of
	// the requests since the beginning, those of each epoch before the last counted half as much as those of the
	// next.
	Whole bool
	Tags  int // most objects that the monitor of a pool follows; 0: all
	Steps int // into how many steps of the capacity hits are counted at least; 0: every capacity by itself
}

// Config is what an allocator is built from.
type Config struct {
	Tenants []string // the names of the pools, in their order
	Params  Values
}
