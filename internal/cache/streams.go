package cache

import "github.com/cachesim/cachesim/internal/cache/streams"

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
