package recommender

import (
	"math"
	"math/bits"
	"time"

	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// Counts are sums over the requests that came after the warm-up, and over the time since then.
type Counts struct {
	Requests int64
	Score    float64 // of the nodes to which they were routed: see route.Recommender.Route
	Reads
	Refill     int64         // bytes
	Refilled   float64       // seconds from a growth of EMB until it was full again, the most
	Prefetched int64         // bytes
	Peak       float64       // most bytes per second over the link of a GPU between two reports, misses at their starts
	Busy       float64       // seconds of GPUs
	Transfer   float64       // of them, in transfers of embeddings,
	Compute    float64       // and in computation
	Waiting    float64       // seconds that requests waited for a GPU, the sum
	Satisfied  int64         // requests within the objective
	Deciding   time.Duration // of the allocators
	Decisions  int64

	// Of each node in each epoch.
	Windows           int64
	Ended             int64      // windows with a P99: some request ended on some node
	WindowP99, MaxP99 float64    // seconds; the sum, and the largest
	Ratio             float64    // sum
	Moved             float64    // sum of the changes of the ratio, without signs
	Unstable          int64      // at whose end the node had fallen behind
	Bests             hlem.Bests // of the windows whose best ratio is known
}

// Result is what a run measured.
type Result struct {
	Counts
	// Seconds are from the end of the warm-up to the last end of a request.
	Seconds float64
	Nodes   int
	GPUs    int // of a node
	// Latencies are in seconds. Percentiles are by nearest rank, and at most 0.1% too high.
	Mean, P50, P95, P99 float64
	// InOrder is what chance makes of one part of the run and another.
	InOrder InOrder
	Events  int64 // that the model has simulated: reports, arrivals, and what happens on GPUs
}

// InOrder has what was measured after the warm-up in the order of the times.
type InOrder struct {
	Latencies []float64 // of the requests, by their ends; seconds
	P99s      []float64 // of the windows, seconds
	Gaps      []float64 // of the windows whose best ratio is known: between the ratio and the best
}

type counts struct {
	Counts
	inOrder       InOrder
	begins, ended time.Duration
	latency       float64 // seconds, the sum
}

func (c *counts) end(took, objective time.Duration) {
	c.latency += took.Seconds()
	if took <= objective {
		c.Satisfied++
	}
}

// window counts an epoch of a node.
func (c *counts) window(w *hlem.Window, best, moved float64, unstable bool) {
	c.Windows++
	if w.P99 > 0 {
		c.Ended++
		c.inOrder.P99s = append(c.inOrder.P99s, w.P99)
	}
	c.WindowP99 += w.P99
	c.MaxP99 = max(c.MaxP99, w.P99)
	c.Ratio += w.Ratio
	c.Moved += math.Abs(moved)
	if unstable {
		c.Unstable++
	}
	if best >= 0 {
		c.Bests.Add(w.Ratio, best)
		c.inOrder.Gaps = append(c.inOrder.Gaps, math.Abs(w.Ratio-best))
	}
}

// result returns what a run measured.
func (m *model) result() *Result {
	r := &Result{Counts: m.counted.Counts, InOrder: m.counted.inOrder, Nodes: len(m.nodes), GPUs: m.gpus, Events: m.events,
		Seconds: max(0, m.counted.ended-m.counted.begins).Seconds()}
	if r.Requests > 0 {
		r.Mean = m.counted.latency / float64(r.Requests)
		r.P50, r.P95, r.P99 = m.latencies.rank(50), m.latencies.rank(95), m.latencies.rank(99)
	}
	return r
}

// histogram counts times to the nanosecond in buckets that are at most 0.1% wide. The first bits of a time after the
// leading one are its bucket within its power of two. It needs half a megabyte at most.
type histogram struct {
	counts []int64
	n      int64
}

const fine = 10 // bits

func (h *histogram) add(t time.Duration) {
	b := bucket(uint64(max(0, t)))
	for b >= len(h.counts) {
		h.counts = append(h.counts, 0)
	}
	h.counts[b]++
	h.n++
}

// bucket returns the number of the bucket of a time.
func bucket(t uint64) int {
	shift := max(0, bits.Len64(t)-fine-1)
	return shift<<fine + int(t>>shift)
}

// largest returns the largest time in a bucket.
func largest(b int) uint64 {
	shift := max(0, b>>fine-1)
	return (uint64(b-shift<<fine)+1)<<shift - 1
}

// rank returns, in seconds, the least time that the given per cent of the times do not exceed; 0 without any.
func (h *histogram) rank(percent int64) float64 {
	rank := (h.n*percent + 99) / 100
	for b, n := range h.counts {
		if rank -= n; rank <= 0 {
			return time.Duration(largest(b)).Seconds()
		}
	}
	return 0
}
