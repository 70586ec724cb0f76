package recommender

import (
	"cmp"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// endEpoch shows the allocator of each node what was measured, and counts the windows.
func (m *model) endEpoch(now time.Duration) {
	m.sortServed()
	next := m.nextLoad()
	for i := range m.nodes {
		n := &m.nodes[i]
		w := m.window(i, m.Objective.Epoch)
		load := n.epoch.load(m.Objective.Epoch)
		m.forecastFor(&w, load, next)
		was := n.ratio
		m.timeRatio(i, now)
		n.ratio = m.decide(i, &w)
		m.decided()
		best := m.best(load)
		if m.series != nil {
			m.series[i].addEpoch(best)
		}
		if now-m.Objective.Epoch >= m.windowFrom && m.counting && m.inTime(now) {
			m.counted.window(&w, best, n.ratio-was, m.unstable(n, &w))
		}
		n.slow = n.slow[:0]
		n.epoch.reset()
	}
}

// inTime reports whether at least half of the epoch that ends now has passed before the last arrival.
func (m *model) inTime(now time.Duration) bool {
	return m.next < len(m.Times) || m.Times[m.next-1] >= now-m.Objective.Epoch/2
}

// lastWindow counts the epoch that the end of the run cuts off: if at least half of it has passed, or if no other
// counts.
func (m *model) lastWindow() {
	now := m.agenda.Now()
	began := m.epochEnd - m.Objective.Epoch
	seconds := (now - began).Seconds()
	if whole := began >= m.windowFrom && now-began >= m.Objective.Epoch/2 && m.inTime(m.epochEnd); !m.active ||
		!whole && m.counted.Windows > 0 || seconds <= 0 {
		return
	}
	m.sortServed()
	for i := range m.nodes {
		n := &m.nodes[i]
		w := m.window(i, now-began)
		best := m.best(n.epoch.load(now - began))
		if m.series != nil {
			m.series[i].addEpoch(best)
		}
		m.counted.window(&w, best, 0, m.unstable(n, &w))
	}
}

// sortServed sorts what each node has served in the epoch by latency, and all latencies if some node has too few for a
// P99 of its own.
func (m *model) sortServed() {
	few := false
	for i := range m.nodes {
		n := &m.nodes[i]
		// The sort is not stable, and sums depend on the order, so that ties in latency are broken.
		slices.SortFunc(n.slow, func(a, b served) int {
			return cmp.Or(cmp.Compare(a.latency, b.latency), cmp.Compare(a.transfer, b.transfer),
				cmp.Compare(a.compute, b.compute))
		})
		few = few || len(n.slow) < fewest
	}
	m.merged = m.merged[:0]
	if !few || len(m.nodes) == 1 {
		return
	}
	for i := range m.nodes {
		for _, s := range m.nodes[i].slow {
			m.merged = append(m.merged, s.latency)
		}
	}
	slices.Sort(m.merged)
}

// window returns what a node measured in an epoch of some length. What was served is sorted.
func (m *model) window(i int, length time.Duration) hlem.Window {
	n := &m.nodes[i]
	t := &n.epoch
	w := hlem.Window{Requests: len(n.slow), Rate: float64(t.arrived) / length.Seconds(),
		HotShare: quotient(t.hot, t.arrived), KVHit: quotient(t.KVHits, t.started),
		EMBHit: quotient(t.Rows-t.MissedRows, t.Rows), MeanTokens: quotient(t.tokens, t.arrived),
		Violations: quotient(t.violations, t.ended), Mean: t.seconds() / float64(max(1, t.ended)), Ratio: n.ratio,
		Objective: m.Objective}
	switch {
	case len(n.slow) < fewest && len(m.merged) > 0:
		w.P99 = m.merged[rank99(len(m.merged))]
	case len(n.slow) > 0:
		w.P99 = n.slow[rank99(len(n.slow))].latency
	}
	latency := 0.0 // of the slowest 1%, at least one
	for _, s := range n.slow[len(n.slow)-(len(n.slow)+99)/100:] {
		latency += s.latency
		w.SlowEMB += s.transfer
		w.SlowKV += s.compute
	}
	if latency > 0 {
		w.SlowEMB, w.SlowKV = w.SlowEMB/latency, w.SlowKV/latency
	}
	rows, remote := quotient(t.Rows, t.started), quotient(t.RemoteRows, t.MissedRows)
	w.Node = hlem.Node{Costs: m.Costs, Servers: m.gpus, Memory: m.cache.Memory()}
	w.Lengths, w.Remote = m.lengths(), remote
	if w.MeanTokens > 0 {
		w.Rows = rows / w.MeanTokens
	}
	w.SavedEMB = m.Costs.Transfer(rows, float64(rows*remote), m.Costs.PCIe)
	w.SavedKV = m.Costs.Compute(w.MeanTokens, false) - m.Costs.Compute(w.MeanTokens, true)
	return w
}

// Lengths are of so many of the last requests, and so many are told.
const lengthsOf, lengthsTold = 512, 16

// lengths returns the lengths of the last requests, at equal distances in their order. The slice is valid until the
// next call.
func (m *model) lengths() []float64 {
	from := max(0, m.next-lengthsOf)
	m.lengthsBuffer = append(m.lengthsBuffer[:0], m.Tokens[from:m.next]...)
	slices.Sort(m.lengthsBuffer)
	m.told = m.told[:0]
	for i := range lengthsTold {
		if n := len(m.lengthsBuffer); n > 0 {
			m.told = append(m.told, float64(m.lengthsBuffer[(2*i+1)*n/(2*lengthsTold)]))
		}
	}
	return m.told
}

// unstable reports whether a node has fallen behind: more requests wait than a tenth of what it served in the epoch.
func (m *model) unstable(n *node, w *hlem.Window) bool {
	return 10*n.waiting.len() > w.Requests+m.gpus
}

// forecastFor adds the forecasts that the allocator needs to a window.
func (m *model) forecastFor(w *hlem.Window, load, next hlem.Load) {
	if m.Forecast == nil {
		return
	}
	if m.forecast[0] && load.Rate > 0 {
		w.Forecast = m.Forecast(load)
	}
	if m.forecast[1] && next.Rate > 0 {
		w.Next = m.Forecast(next)
	}
}

// nextLoad returns a node's share of the load of the next epoch in which something arrives; none if the allocator does
// not need it.
func (m *model) nextLoad() hlem.Load {
	if !m.forecast[1] {
		return hlem.Load{}
	}
	var t tally
	if m.next < len(m.Times) {
		first := m.Times[m.next]
		end := event.Sum(first-first%m.Objective.Epoch, m.Objective.Epoch)
		for i := m.next; i < len(m.Times) && m.Times[i] < end; i++ {
			t.arrive(m.Tokens[i], m.Hot(i), m.Turned(i))
		}
	}
	l := t.load(m.Objective.Epoch)
	l.Rate /= float64(len(m.nodes))
	return l
}

// decide lets the allocator of a node decide, and returns the ratio from now on. The cache writes the bounds of ratios
// to the window.
func (m *model) decide(i int, w *hlem.Window) float64 {
	ratio := m.cache.Epoch(i, w)
	m.least, m.most = w.Bounds()
	return ratio
}

// best returns the best ratio for a load; negative if it is not computed.
func (m *model) best(l hlem.Load) float64 {
	if m.Best == nil || l.Rate == 0 {
		return -1
	}
	return m.Best(l, m.least, m.most)
}

// decided counts how long the allocator took.
func (m *model) decided() {
	if m.counting {
		m.counted.Decisions++
		m.counted.Deciding += m.cache.Decision()
	}
}

func quotient[N int | int64](part, whole N) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// rank99 returns the index of the 99th percentile of n sorted values by nearest rank.
func rank99(n int) int { return (99*n+99)/100 - 1 }
