// Package recommender models the time of requests to nodes that serve recommendations from GPUs, after HLEM
// (arXiv 2605.04450). The memory of a node holds two caches, shards of embedding tables (EMB) and the keys and values
// of users' histories (KV).
package recommender

import (
	"time"

	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// Cache is the memory of all nodes. Nodes are numbered from 0, requests are identified by their positions in the trace.
// Package pools implements it; the tests of the model have a simpler one.
type Cache interface {
	Nodes() int
	GPUs() int     // of a node
	Memory() int64 // of a node, in bytes: all its GPUs together
	Hosts() int    // over which the embedding tables are spread: one if each has all of them

	// UseCosts says what the keys and values of a user need; it is called once, before all other methods.
	UseCosts(c hlem.Costs)

	// Start serves a request that gets a GPU. It judges all lookups by the embeddings that are resident now and loads
	// those that are missing, then the user's KV, which stays until Finish.
	Start(node, request int, now time.Duration) Access
	Finish(node, request int)

	// Report publishes what is resident on a node. Holds and Coverage answer from the last report: whether a user's KV
	// is resident, and which share of the user's profile, the shards that the user reads most.
	Report(node int)
	Holds(node int, user uint32) bool
	Coverage(node int, user uint32) float64

	// Forecasts says which of the fields Forecast and Next of a window the allocator needs; the others stay nil.
	Forecasts() (now, next bool)
	// Epoch ends an epoch of a node: the allocator decides from the window, and the border between the caches moves. It
	// returns the ratio from now on. It is called for each node before the first request, too, with a window of no
	// requests. The window is valid during the call only.
	Epoch(node int, w *hlem.Window) float64
	// Decision returns how long the allocator took in the last call of Epoch.
	Decision() time.Duration

	// Missing returns the bytes of embeddings that a node has room for since its EMB grew, and that are to be refilled.
	Missing(node int) int64
	// Refill loads at most the given bytes of them, those that were evicted last first, and returns how many.
	Refill(node int, bytes int64) int64
	// Prefetch loads embeddings of a request that waits on a node: the given share of its shards, those with the most rows
	// first. With less than full accuracy some are others than the request's. It loads at most the given bytes that are
	// not resident, and returns how many.
	Prefetch(node, request int, share, accuracy float64, bytes int64) int64
}

// Access is what a request found.
type Access struct {
	Rows       int64 // of embeddings that it read
	MissedRows int64 // of those, the ones that came from the memory of a host
	RemoteRows int64 // of the missed ones, the rows from the host of another node
	KVHit      bool  // the user's keys and values were resident
}
