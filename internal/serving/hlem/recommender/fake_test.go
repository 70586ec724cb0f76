package recommender

import (
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/route"
)

// fake is a cache that answers as a test says, and writes down what it is called with.
type fake struct {
	nodes, gpus int
	access      func(node, request int) Access
	ratio       func(node int, w *hlem.Window) float64 // may be nil
	missing     []int64                                // per node
	grown       int64                                  // bytes to be refilled after each epoch
	shard       int64                                  // bytes
	now, next   bool
	quiet       bool // nothing is written down

	holds, reported map[[2]int]bool // node and user
	user            func(request int) uint32

	starts     []started // in the order of the calls
	running    []int     // per node
	most       int       // requests that ran at once on a node
	windows    []hlem.Window
	windowNode []int
	refills    []int64
	prefetched []int
}

// started is a request that got a GPU.
type started struct {
	request, node int
	at            time.Duration
}

func newFake(nodes, gpus int, access func(node, request int) Access) *fake {
	return &fake{nodes: nodes, gpus: gpus, access: access, missing: make([]int64, nodes), shard: 1,
		running: make([]int, nodes), holds: map[[2]int]bool{}, reported: map[[2]int]bool{},
		user: func(int) uint32 { return 0 }}
}

func (f *fake) Nodes() int              { return f.nodes }
func (f *fake) GPUs() int               { return f.gpus }
func (f *fake) Memory() int64           { return 0 }
func (f *fake) Hosts() int              { return 1 }
func (f *fake) UseCosts(hlem.Costs)     {}
func (f *fake) Missing(node int) int64  { return f.missing[node] }
func (f *fake) Forecasts() (a, b bool)  { return f.now, f.next }
func (f *fake) Decision() time.Duration { return time.Microsecond }

func (f *fake) Start(node, request int, now time.Duration) Access {
	if f.quiet {
		return f.access(node, request)
	}
	f.starts = append(f.starts, started{request, node, now})
	f.running[node]++
	f.most = max(f.most, f.running[node])
	f.holds[[2]int{node, int(f.user(request))}] = true
	return f.access(node, request)
}

func (f *fake) Finish(node, _ int) {
	if !f.quiet {
		f.running[node]--
	}
}

func (f *fake) Report(node int) {
	for at := range f.holds {
		if at[0] == node {
			f.reported[at] = true
		}
	}
}

func (f *fake) Holds(node int, user uint32) bool    { return f.reported[[2]int{node, int(user)}] }
func (f *fake) Coverage(node int, _ uint32) float64 { return float64(node) / 100 }

func (f *fake) Epoch(node int, w *hlem.Window) float64 {
	f.windows = append(f.windows, *w)
	f.windowNode = append(f.windowNode, node)
	f.missing[node] += f.grown
	if f.ratio == nil {
		return 0.4
	}
	return f.ratio(node, w)
}

// Refill loads whole shards only.
func (f *fake) Refill(node int, bytes int64) int64 {
	n := min(bytes, f.missing[node])
	n -= n % f.shard
	f.missing[node] -= n
	f.refills = append(f.refills, n)
	return n
}

func (f *fake) Prefetch(_, request int, share, accuracy float64, bytes int64) int64 {
	f.prefetched = append(f.prefetched, request)
	return bytes / 2
}

// plain are costs by which a request takes as many seconds as it misses rows, and nothing else but some nanoseconds.
func plain() hlem.Costs {
	return hlem.Costs{Layers: 1, Width: 1, FLOPS: 1e30, PCIe: 1000, Remote: 1, RowBytes: 1000, HitShare: 0.1, Scale: 1}
}

// settings returns a config of one kind of router.
func settings(costs hlem.Costs) Config {
	return Config{Costs: costs, Objective: hlem.DefaultObjective(), Refill: hlem.Throttled,
		Route: route.RecommenderConfig{Kind: route.LeastLoaded, Users: 1000,
			Weights: route.Weights{KV: 0.5, Embeddings: 0.3, Load: 0.2}, Bonus: 0.05,
			Overload: 0.85, Capacity: 24}}
}

// requestsAt returns requests of users 0, 1, ... at times in seconds.
func requestsAt(seconds ...float64) Requests {
	r := Requests{Turned: func(int) bool { return false }}
	r.Hot = func(request int) bool { return r.Users[request]%2 == 0 }
	for i, at := range seconds {
		r.Times = append(r.Times, time.Duration(at*1e9+0.5))
		r.Users = append(r.Users, uint32(i%1000))
		r.Tokens = append(r.Tokens, 1)
	}
	return r
}

func mustRun(t testing.TB, r Requests, f *fake, c Config) *Result {
	t.Helper()
	result := must.Get(Run(t.Context(), r, f, c))(t)
	for node, n := range f.running {
		if n != 0 {
			t.Errorf("%d requests still run on node %d", n, node)
		}
	}
	return result
}

// missing returns an access to so many rows, all missing.
func missing(rows int64) Access { return Access{Rows: rows, MissedRows: rows} }
