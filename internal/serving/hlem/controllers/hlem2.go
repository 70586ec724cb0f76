package controllers

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/fluid"
)

var hlem2Entry = entry(allocate.Entry{
	Name: "hlem2",
	Summary: "the ratio with the least P99 of a queue whose hits follow measured curves; it moves when that gains more " +
		"than the way there, and the return of an earlier load, would cost; no training",
	Source: "cachesim, after HLEM, arXiv 2605.04450; curves: Waldspurger et al., FAST 2015",
	Params: hlem2Params,
}, func(c allocate.Config) (decider, allocate.Needs, error) {
	h, needs := newHLEM2(c.Params)
	return h, needs, nil
})

var hlem2Params = []params.Param{
	{Name: "gain", Default: 0.01, Min: 0, Max: 1, Doc: "least gain for which the ratio moves, as a share of the P99"},
	{Name: "keep", Default: 0.9, Min: 0, Max: 0.99, Doc: "what averages keep of their value in each epoch"},
	{Name: "change", Default: 4.0, Min: 0, Max: 1000,
		Doc: "a load has changed, and averages begin again, if its rate or its share of hot users is further from the mean " +
			"than this number of standard deviations"},
	{Name: "tags", Default: 32768, Min: 1, Max: 1 << 24,
		Doc: "most shards, and most users, that a shadow directory follows"},
	{Name: "steps", Default: 200, Min: 10, Max: 65536,
		Doc: "least number of parts of the memory in which hits are counted"},
	stepParam(0.1, "most that the ratio moves in an epoch, unless the load has changed before and moving at once is "+
		"cheaper"),
}

func newHLEM2(v params.Values) (*hlem2, allocate.Needs) {
	h := &hlem2{gain: v.Float("gain"), change: v.Float("change"), step: v.Float("step"),
		keep: v.Float("keep")}
	h.forget()
	curves := &allocate.Sampling{Tags: v.Int("tags"), Steps: v.Int("steps")}
	return h, allocate.Needs{Curves: curves, Forecast: true}
}

// hlem2 forecasts the P99 at other ratios from what the node measures: rates, lengths, what requests cost on its
// hardware, hits, and how hits depend on memory. It knows nothing else of the load.
type hlem2 struct {
	gain, change, step, keep float64

	rate, hot   average
	rate2, hot2 average            // of the squares
	missed      [pools]average     // logarithm of the measured misses over those of the curve, at the current ratio
	ofMisses    average            // share of the missing embeddings that requests need whose KV misses as well
	counted     [pools]float64     // requests that the curves count: as they do, half as much in each further epoch
	costs       [2][ratios]average // logarithms of the P99: with kv for ofMisses, and with ofMisses
	queue       tailQueue

	present load
	past    memory
	holds   contents // of the caches, as far as they have filled
}

// forget begins all averages again that depend on the load.
func (h *hlem2) forget() {
	for _, a := range []*average{&h.rate, &h.hot, &h.rate2, &h.hot2, &h.missed[embeddings], &h.missed[users],
		&h.ofMisses} {
		*a = average{kept: h.keep}
	}
	for i := range ratios {
		h.costs[0][i], h.costs[1][i] = average{kept: h.keep}, average{kept: h.keep}
	}
}

func (h *hlem2) next(s *allocate.State, w *hlem.Window) float64 {
	h.count(s)
	return h.decide(s, w)
}

// count counts the requests of an epoch as the curves do.
func (h *hlem2) count(s *allocate.State) {
	for pool := range h.counted {
		h.counted[pool] = float64(h.counted[pool]/2) + float64(s.Pools[pool].Requests)
	}
}

func (h *hlem2) decide(s *allocate.State, w *hlem.Window) float64 {
	if w.Requests == 0 || len(w.Lengths) == 0 || w.Node.Servers == 0 {
		return w.Ratio
	}
	if h.changed(w) {
		h.past.keep(&h.present, &h.queue, h.step)
		h.present.epochs = 0
		h.forget()
	}
	h.rate.add(w.Rate)
	h.hot.add(w.HotShare)
	h.rate2.add(w.Rate * w.Rate)
	h.hot2.add(w.HotShare * w.HotShare)
	h.calibrate(s, w)
	return h.search(s, w)
}

// changed reports whether the load of an epoch is further from the mean than usual, and than the random arrivals of
// requests and hot users explain.
func (h *hlem2) changed(w *hlem.Window) bool {
	if h.rate.weight == 0 {
		return false
	}
	n, hot := float64(w.Requests), h.hot.value()
	return h.far(w.Rate, &h.rate, &h.rate2, h.rate.value()/math.Sqrt(n)) ||
		h.far(w.HotShare, &h.hot, &h.hot2, math.Sqrt(max(1/n, hot*(1-hot))/n))
}

// far reports whether a value is many standard deviations from a mean; chance is the least deviation.
func (h *hlem2) far(x float64, mean, squares *average, chance float64) bool {
	m := mean.value()
	deviation := math.Sqrt(max(0, squares.value()-float64(m*m)))
	return math.Abs(x-m) > h.change*max(deviation, chance)
}

// leastMisses is the least share of misses that is told from none.
const leastMisses = 0.001

// calibrate compares what was measured with what the curves and the queue say of the current ratio.
func (h *hlem2) calibrate(s *allocate.State, w *hlem.Window) {
	for pool, hit := range [pools]float64{embeddings: w.EMBHit, users: w.KVHit} {
		h.missed[pool].add(1 - hit - h.curve(s, w, pool, w.Ratio))
	}
	if w.SlowEMB > 0 && w.SlowKV > 0 {
		// The slowest requests miss KV. Were their embeddings missing as often as those of all, their share would be that
		// of the misses of KV.
		kv := 1 - w.KVHit
		h.queue.fill(w, 1-w.EMBHit, kv, kv)
		transfer, compute := h.queue.slowest()
		h.ofMisses.add(min(1, kv*w.SlowEMB/w.SlowKV*compute/max(1e-9, transfer)))
	}
}

// curve returns the share of misses at a ratio that a shadow directory has counted, or that the model expects if no
// requests are served one by one.
func (h *hlem2) curve(s *allocate.State, w *hlem.Window, pool int, ratio float64) float64 {
	share := ratio
	if pool == users {
		share = 1 - ratio
	}
	if c := s.Pools[pool].Curve; len(c) > 0 && h.counted[pool] > 0 {
		return max(leastMisses, 1-c.At(int64(share*float64(s.Capacity)))/h.counted[pool])
	}
	if w.Forecast == nil {
		return 1
	}
	emb, kv := w.Forecast.Hits(ratio)
	if pool == users {
		emb = kv
	}
	return max(leastMisses, 1-emb)
}

// add adds the logarithms of the P99 at a ratio to the averages.
func (h *hlem2) add(s *allocate.State, w *hlem.Window, at int, ratio float64) {
	emb := min(1, max(leastMisses, h.curve(s, w, embeddings, ratio)+h.missed[embeddings].value()))
	kv := min(1, max(leastMisses, h.curve(s, w, users, ratio)+h.missed[users].value()))
	for i, theirs := range [...]float64{kv, max(kv, h.ofMisses.value())} {
		h.queue.fill(w, emb, kv, theirs)
		h.costs[i][at].add(math.Log(h.queue.p99(h.rate.value())))
	}
	h.present.misses[embeddings][at], h.present.misses[users][at] = emb, kv
}

// ratios is how many ratios are compared, at equal distances from the least to the largest one.
const ratios = 41

// search returns the ratio to which a move pays. In the long run a ratio costs its P99, on average, and, divided by the
// epochs that the load is expected to last, what an earlier load would cost if it came back then. If that is less at
// another ratio by the gain that is worth a move, the way there counts as well: P99 is flat around the best ratio, and
// each move costs transfers and a cold cache. Once the load has changed, it may move at once. What counts is how much
// more a ratio costs than the best one, under whichever of the two assumptions that is more.
func (h *hlem2) search(s *allocate.State, w *hlem.Window) float64 {
	if h.present.w.Requests == 0 {
		h.holds = adapted(w.Ratio)
	}
	h.present.note(w, h.rate.value(), h.ofMisses.value())
	for i := range ratios {
		h.add(s, w, i, h.present.ratio(i))
	}
	h.present.during(&h.holds, w.Ratio)
	horizon := h.past.horizon(h.present.epochs)
	// The last choice is to stay.
	var costs [2][]float64
	stay := h.present.place(w.Ratio)
	for m := range costs {
		var logarithms places
		for i := range ratios {
			logarithms[i] = h.costs[m][i].value()
			costs[m] = append(costs[m], math.Exp(logarithms[i])+float64(h.past.prices[m][i]/horizon))
		}
		costs[m] = append(costs[m], math.Exp(logarithms.at(stay))+float64(h.past.prices[m].at(stay)/horizon))
	}
	if more := worst(costs); more[ratios]-slices.Min(more) < h.gain {
		return w.Ratio
	}
	var faster [ratios]int // assumptions under which a move at once is cheaper than one by steps
	for m := range costs {
		for i := range ratios {
			if costs[0][i] >= costs[0][ratios] && costs[1][i] >= costs[1][ratios] {
				continue // no better than to stay, however short the way
			}
			way := h.present.way(&h.queue, m, h.holds, h.present.ratio(i), h.step, horizon)
			if h.past.loads > 0 {
				if atOnce := h.present.way(&h.queue, m, h.holds, h.present.ratio(i), 1, horizon); atOnce < way {
					way = atOnce
					faster[i]++
				}
			}
			costs[m][i] += float64(way / horizon)
		}
	}
	more := worst(costs)
	at := leastOf(more)
	if more[ratios]-more[at] < h.gain {
		return w.Ratio
	}
	if faster[at] == len(costs) {
		return h.present.ratio(at)
	}
	return towards(h.present.ratio(at), w.Ratio, h.step)
}

// tailQueue is the latency of a node: requests of some lengths that hit KV or not, and wait for one of its GPUs.
type tailQueue struct {
	transfer, compute []float64 // seconds: of each length, those that hit KV first
	weight            []float64
	overhead          float64
	servers           int
	mean, square      float64
}

// fill sets the times of service for shares of misses. Users whose KV misses have been away for longer, and so have
// their embeddings: a share of the missing ones are theirs.
func (q *tailQueue) fill(w *hlem.Window, emb, kv, theirs float64) {
	n := len(w.Lengths)
	c := &w.Node.Costs
	theirs = min(theirs, kv/max(1e-9, emb)) // they cannot miss more than all
	q.transfer, q.compute, q.weight = q.transfer[:0], q.compute[:0], q.weight[:0]
	q.servers, q.mean, q.square, q.overhead = w.Node.Servers, 0, 0, c.Overhead()
	for _, hit := range []bool{true, false} {
		share, part := 1-kv, 1-theirs
		if !hit {
			share, part = kv, theirs
		}
		missing := min(1, emb*part/max(1e-9, share))
		for _, tokens := range w.Lengths {
			rows := tokens * w.Rows * missing
			transfer, compute := c.Transfer(rows, rows*w.Remote, c.PCIe), c.Compute(tokens, hit)
			weight, time := share/float64(n), q.overhead+transfer+compute
			q.transfer, q.compute = append(q.transfer, transfer), append(q.compute, compute)
			q.weight = append(q.weight, weight)
			q.mean += float64(weight * time)
			q.square += float64(weight * time * time)
		}
	}
}

// slowest returns the transfers and the computation of the slowest requests, in the mean.
func (q *tailQueue) slowest() (transfer, compute float64) {
	left := 0.05
	for i := len(q.weight) - 1; i >= 0 && left > 0; i-- { // the longest ones that miss KV
		part := min(left, q.weight[i])
		transfer += float64(part * q.transfer[i])
		compute += float64(part * q.compute[i])
		left -= part
	}
	return transfer, compute
}

// p99 returns the P99 of the latency at a rate. It is that of service plus, with the probability that all GPUs are
// busy, a wait with an exponential tail (M/G/c, as in package fluid). An overload counts as a multiple of its
// utilisation.
func (q *tailQueue) p99(rate float64) float64 {
	utilisation := rate * q.mean / float64(q.servers)
	const most = 0.99
	over := 1.0
	if utilisation > most {
		utilisation, over = most, utilisation/most
	}
	busy := fluid.Erlang(q.servers, utilisation)
	wait := q.square / q.mean / float64(q.servers) / (2 * (1 - utilisation))
	return q.quantile(busy, wait) * over * over
}

// after lets work wait at a node for an epoch of some seconds at a rate, and returns the P99 of the latency.
func (q *tailQueue) after(n *visit, rate, seconds float64) float64 {
	inflow := fluid.NewInflow(q.servers, rate*q.mean/float64(q.servers), q.square/q.mean/float64(q.servers))
	if !n.began {
		n.queue.Begin(inflow)
	}
	n.began = true
	before := n.queue.Delay
	n.queue.Follow(inflow, seconds)
	return max(before, n.queue.Delay) + q.quantile(n.queue.Busy, n.queue.Wait)
}

// quantile returns the P99 of the latency if requests wait with the probability busy, for an exponential time of the
// mean wait.
func (q *tailQueue) quantile(busy, wait float64) float64 {
	low, high := 0.0, 1e3
	for range 40 {
		if x := (low + high) / 2; q.above(x, busy, wait) > 0.01 {
			low = x
		} else {
			high = x
		}
	}
	return high
}

// above returns the share of the requests with a latency above a time.
func (q *tailQueue) above(time, busy, wait float64) (share float64) {
	for i, weight := range q.weight {
		left := time - q.overhead - q.transfer[i] - q.compute[i]
		if left <= 0 {
			share += weight
		} else {
			share += float64(weight * busy * math.Exp(-left/wait))
		}
	}
	return share
}
