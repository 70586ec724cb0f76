package fluid

import (
	"math"

	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// steps is the number of steps of a distribution of service times.
const steps = 256

// mixture is the distribution of the service time of requests of all lengths and kinds.
type mixture struct {
	width         float64        // of a step, in seconds; all times are below steps*width
	weight        [steps]float64 // share of the requests
	transfer      [steps]float64 // seconds of transfer, times that share
	compute       [steps]float64 // seconds of computation, likewise
	mean, square  float64        // of the service time
	kvHit, embHit float64
	missed        float64 // rows that a request misses, on average
	loads         float64 // shards that it loads, on average
}

// position is a place between the steps of a table.
type position struct {
	at       int
	fraction float64
}

func positionOf(share float64, steps int) position {
	x := float64(max(0, min(1, share)) * float64(steps))
	i := min(int(x), steps-1)
	return position{i, x - float64(i)}
}

// between interpolates between two neighbours.
func (p position) between(a, b float64) float64 { return a + float64(p.fraction*(b-a)) }

// lengths returns the mean sequence length of a load as a multiple of the population's.
func (m *Model) lengths(l hlem.Load) float64 {
	if l.MeanTokens <= 0 {
		return 1
	}
	return l.MeanTokens / m.meanTokens(l.HotShare)
}

func (m *Model) share(b *bin, hotShare float64) float64 {
	return float64(hotShare*b.share[hot]) + float64((1-hotShare)*b.share[cold])
}

func (m *Model) meanTokens(hotShare float64) (mean float64) {
	for i := range m.bins {
		b := &m.bins[i]
		mean += float64(m.share(b, hotShare) * (b.from + b.to) / 2)
	}
	return mean
}

// kvOf returns the requests that are of bin i and hit KV.
func (m *Model) kvOf(i int, size, hotShare position) float64 {
	a, b := &m.kv[size.at], &m.kv[size.at+1]
	h := hotShare.at
	return size.between(hotShare.between(a[h][i], a[h+1][i]), hotShare.between(b[h][i], b[h+1][i]))
}

// embOf returns the requests that are of bin i and whose users EMB has seen.
func (m *Model) embOf(i int, size, hotShare position) recent {
	a, b := &m.emb[size.at], &m.emb[size.at+1]
	h := hotShare.at
	return recent{
		size.between(hotShare.between(a[h][i].requests, a[h+1][i].requests),
			hotShare.between(b[h][i].requests, b[h+1][i].requests)),
		size.between(hotShare.between(a[h][i].untouched, a[h+1][i].untouched),
			hotShare.between(b[h][i].untouched, b[h+1][i].untouched)),
	}
}

// missedAt returns the draws that miss.
func (m *Model) missedAt(size, hotShare position) misses {
	a, b := &m.missed[size.at], &m.missed[size.at+1]
	h := hotShare.at
	return misses{
		size.between(hotShare.between(a[h].own, a[h+1].own), hotShare.between(b[h].own, b[h+1].own)),
		size.between(hotShare.between(a[h].other, a[h+1].other), hotShare.between(b[h].other, b[h+1].other)),
	}
}

// kvHit returns the hit ratio of KV with a share of the memory. If sequences are twice as long, half as many fit.
func (m *Model) kvHit(l hlem.Load, size float64) (hits float64) {
	at, hotShare := positionOf(size/m.lengths(l), sizeSteps), positionOf(l.HotShare, hotSteps)
	for i := range m.bins {
		hits += m.kvOf(i, at, hotShare)
	}
	return min(1, hits)
}

// embHit returns the hit ratio of EMB with a share of the memory.
func (m *Model) embHit(l hlem.Load, size float64) float64 {
	at, hotShare := positionOf(size, sizeSteps), positionOf(l.HotShare, hotSteps)
	missed := m.missedAt(at, hotShare)
	absent, draws := 0.0, 0.0
	for i := range m.bins {
		b := &m.bins[i]
		share := m.share(b, l.HotShare)
		known := m.embOf(i, at, hotShare)
		absent += float64(b.draws * (float64(m.own*missed.own*(share-max(0, min(share, known.requests-known.untouched)))) +
			float64((1-m.own)*missed.other*share)))
		draws += float64(b.draws * share)
	}
	return 1 - absent/draws
}

// mix computes the service times of a load while the caches hold what caches of some sizes hold.
func (m *Model) mix(l hlem.Load, s sizes, x *mixture) {
	longer := m.lengths(l)
	hotShare := positionOf(l.HotShare, hotSteps)
	emb, kv := positionOf(s.emb, sizeSteps), positionOf(s.kv/longer, sizeSteps)
	missed := m.missedAt(emb, hotShare)
	bandwidth := m.costs.PCIe - l.Refill
	last := &m.bins[len(m.bins)-1]
	// The longest service time, with nothing resident, ends in the last step.
	x.width = m.service(last.to*longer, m.drawn(last, last.to)*longer*m.rowsDrawn, false, bandwidth) / (steps - 1)
	for i := range m.bins {
		b := &m.bins[i]
		share := m.share(b, l.HotShare)
		hit := min(share, m.kvOf(i, kv, hotShare))
		known := m.embOf(i, emb, hotShare)
		known.requests = min(share, known.requests)
		both := min(hit, known.requests)
		untouched := 0.0
		if known.requests > 0 {
			untouched = min(1, known.untouched/known.requests)
		}
		k := kind{b: b, longer: longer, bandwidth: bandwidth, missed: missed.other}
		k.absent = missed.own * untouched
		m.add(x, k, both, true)
		m.add(x, k, known.requests-both, false)
		k.absent = missed.own
		m.add(x, k, hit-both, true)
		m.add(x, k, share-hit-known.requests+both, false)
		x.kvHit += hit
	}
	x.embHit = m.embHit(l, s.emb)
}

// kind describes requests that are alike except for their length within a bin, and how many shards are absent by
// chance.
type kind struct {
	b         *bin
	longer    float64 // factor of the length
	bandwidth float64 // bytes per second
	missed    float64 // share of the draws from all shards that miss
	absent    float64 // share of the draws of own shards that miss
}

// drawn returns the shards that a request of some tokens draws.
func (m *Model) drawn(b *bin, tokens float64) float64 {
	return b.draws * tokens / ((b.from + b.to) / 2)
}

// service returns the service time of a request that misses some rows.
func (m *Model) service(tokens, rows float64, hit bool, bandwidth float64) float64 {
	return m.costs.Overhead() + m.costs.Transfer(rows, m.remote*rows, bandwidth) + m.costs.Compute(tokens, hit)
}

// deviations stand for a normal distribution: the three nodes of Gauss-Hermite quadrature.
var deviations = [3]struct{ weight, deviation float64 }{{1.0 / 6, -math.Sqrt(3)}, {2.0 / 3, 0}, {1.0 / 6, math.Sqrt(3)}}

func (m *Model) add(x *mixture, k kind, weight float64, hit bool) {
	if !(weight > 0) {
		return
	}
	draws := float64(k.b.draws * k.longer)
	own := float64(m.own * draws)
	misses := float64(own*k.absent) + float64((draws-own)*k.missed)
	// A share F of the own shards is absent, and each draw of one is among them with probability F.
	spread := math.Sqrt(own*own*k.absent*(1-k.absent)/k.b.ownShards + float64(own*k.absent*(1-k.absent)) +
		float64((draws-own)*k.missed*(1-k.missed)))
	x.missed += float64(weight * misses * m.rowsDrawn)
	touched := math.Exp(k.b.logTouched)
	x.loads += float64(weight * (float64(k.b.ownShards*touched*k.absent) + float64((draws-own)*k.missed)))
	from, to := k.b.from*k.longer, k.b.to*k.longer
	computeFrom, computeTo := m.costs.Compute(from, hit), m.costs.Compute(to, hit)
	for _, d := range deviations {
		drawn := max(0, min(draws, misses+float64(d.deviation*spread))) * m.rowsDrawn / draws // rows per draw
		rowsFrom, rowsTo := drawn*m.drawn(k.b, k.b.from)*k.longer, drawn*m.drawn(k.b, k.b.to)*k.longer
		transferFrom := m.costs.Transfer(rowsFrom, m.remote*rowsFrom, k.bandwidth)
		transferTo := m.costs.Transfer(rowsTo, m.remote*rowsTo, k.bandwidth)
		fixed := m.costs.Overhead()
		x.spread(weight*d.weight, fixed+transferFrom+computeFrom, fixed+transferTo+computeTo,
			(transferFrom+transferTo)/2, (computeFrom+computeTo)/2)
	}
}

// spread adds service times that are spread evenly between two.
func (x *mixture) spread(weight, from, to, transfer, compute float64) {
	x.mean += float64(weight * (from + to) / 2)
	// The second moment of a uniform distribution.
	x.square += weight * (float64(from*from) + float64(from*to) + float64(to*to)) / 3
	low, high := from/x.width, to/x.width
	first, last := int(low), min(int(high), steps-1)
	if first >= last {
		x.put(min(first, steps-1), weight, transfer, compute)
		return
	}
	each := weight / (high - low)
	x.put(first, each*(float64(first+1)-low), transfer, compute)
	for i := first + 1; i < last; i++ {
		x.put(i, each, transfer, compute)
	}
	x.put(last, each*(high-float64(last)), transfer, compute)
}

func (x *mixture) put(i int, weight, transfer, compute float64) {
	x.weight[i] += float64(weight)
	x.transfer[i] += float64(weight * transfer)
	x.compute[i] += float64(weight * compute)
}
