package hlem

import "time"

// Objective is the latency that requests are to stay within, and the period in which a node decides on its ratio.
type Objective struct {
	Latency time.Duration // 30 ms on the P99 (section V-A)
	Epoch   time.Duration // 5 s
}

// DefaultObjective returns the paper's.
func DefaultObjective() Objective { return Objective{30 * time.Millisecond, 5 * time.Second} }

// Window is what a node measured in an epoch, and what its allocator decides from. Latencies are in seconds.
type Window struct {
	Requests   int     // that were finished
	Rate       float64 // of arrivals, per second
	HotShare   float64 // of requests from hot users, the 5% with the most requests
	KVHit      float64 // share of requests
	EMBHit     float64 // share of row lookups
	MeanTokens float64 // of the sequences
	Violations float64 // share of requests above the objective
	Mean, P99  float64 // latency, from arrival to answer
	Ratio      float64 // of the memory that belongs to EMB, as set in this epoch
	Objective  Objective
	// Least and Most bound the ratio. Both 0 stand for the ends of the paper's sweep, 0.10 and 0.90: see Bounds.
	Least, Most float64
	// SlowEMB and SlowKV are the shares of transfer and of computation in the latency of the slowest 1% of requests.
	SlowEMB, SlowKV float64
	// SavedEMB is how many seconds a request of mean length saves with all rows resident instead of none; SavedKV is how
	// many a KV hit saves.
	SavedEMB, SavedKV float64
	Node              Node // what serves
	// Lengths are tokens of sequences of the epoch: as many are shorter than the first as longer than the last, and
	// equally many are between two of them. Rows are looked up for a token, in all tables;
	// Remote is the share of the missing ones that other hosts send.
	Lengths      []float64
	Rows, Remote float64
	// Forecast predicts from the load of this epoch, Next from the load of the next one, which only allocators that know
	// the future get. Either is nil if the allocator does not ask for it.
	Forecast, Next Forecast
}

// Node is what a node knows of itself.
type Node struct {
	Costs   Costs
	Servers int   // GPUs
	Memory  int64 // bytes
}

// The bounds of the ratio, and the ratio that a node begins with. The paper's are lost: these are the ends of the
// static ratios that it compares, and the mean optimum that its Table III implies.
const LeastRatio, MostRatio, StartRatio = 0.10, 0.90, 0.40

// Bounds returns the least and the largest ratio that a node may have.
func (w *Window) Bounds() (least, most float64) {
	if w.Least == 0 && w.Most == 0 {
		return LeastRatio, MostRatio
	}
	return w.Least, w.Most
}

// Forecast predicts what happens to a load at any ratio. It is an interface because package fluid, which implements it,
// imports this package.
type Forecast interface {
	// P99 returns the P99 latency in seconds once both caches have adapted to a ratio.
	P99(ratio float64) float64
	// Hits returns the hit ratios then.
	Hits(ratio float64) (emb, kv float64)
	// Best returns the ratio with the least P99 among least, least+step and so on up to most. If the load is too much at
	// each of them, it is the one with the least work. Ties go to the lower ratio.
	Best(least, most, step float64) float64
}

// Features is the number of values in a State, the first PaperFeatures of which the paper has.
const Features, PaperFeatures = 9, 7

// State is what the controllers of the paper observe, each value from 0 to 1 (section IV-A): the share of hot users,
// the hit ratios of KV and EMB, the mean length, the violations, the ratio, and the P99 latency. Two more are not in
// the paper: SavedEMB and SavedKV as shares of the objective. They describe the node: how many tables and layers it
// has, and how fast it is.
type State [Features]float64

// longest is the sequence length in tokens that counts as 1, slowest the P99 as a multiple of the objective, and
// costliest what rows or a KV hit save, likewise.
const longest, slowest, costliest = 16384, 4, 2

func (w *Window) State() State {
	slo := w.Objective.Latency.Seconds()
	s := State{w.HotShare, w.KVHit, w.EMBHit, w.MeanTokens / longest, w.Violations, w.Ratio, w.P99 / (slowest * slo),
		w.SavedEMB / (costliest * slo), w.SavedKV / (costliest * slo)}
	for i := range s {
		s[i] = min(1, max(0, s[i]))
	}
	return s
}

// Reward returns the share of requests within the objective, less a penalty: weight times the relative excess of the
// P99, which is at most 1 (equation 5, described in words only).
func (w *Window) Reward(weight float64) float64 {
	slo := w.Objective.Latency.Seconds()
	return 1 - w.Violations - float64(weight*min(1, max(0, w.P99-slo)/slo))
}
