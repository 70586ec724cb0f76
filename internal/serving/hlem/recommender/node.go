package recommender

import (
	"math"
	"time"

	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

type node struct {
	waiting   queue
	idle      int // GPUs
	ratio     float64
	ratioFrom time.Duration // until when the ratio is in the series

	refill   float64 // bytes per second of each GPU's link
	lacks    bool    // embeddings that are to be refilled,
	lacking  float64 // and for how many seconds already
	owed     float64 // bytes of refill that are due, less than a shard once it has been loaded
	missMean float64 // bytes per second of a GPU, over about the time between two reports
	missed   int64   // bytes since the last report

	epoch tally
	slow  []served // of this epoch
	moved int64    // bytes of refill and prefetches since the last report
}

// served is a request that was served, in seconds.
type served struct{ latency, transfer, compute float64 }

// requests returns how many run and wait on a node.
func (m *model) requests(i int) int { return m.gpus - m.nodes[i].idle + m.nodes[i].waiting.len() }

// report refills the nodes for the time since the last report, ends an epoch that ends now, sets the rates of refill,
// and reports each node to the router.
func (m *model) report(now time.Duration) {
	m.agenda.Advance(now)
	seconds := (now - m.lastTick).Seconds()
	for i := range m.nodes {
		m.refillNode(i, seconds)
		m.nodes[i].averageMisses(seconds, m.gpus)
		m.peak(i, seconds)
	}
	if now == m.epochEnd {
		if m.active {
			m.endEpoch(now)
		}
		m.epochEnd = event.Sum(m.epochEnd, m.Objective.Epoch)
		m.active = false
	}
	for i := range m.nodes {
		m.setRefill(i)
		m.cache.Report(i)
		m.router.Report(i, m.requests(i))
	}
	m.lastTick = now
	m.tick = m.nextTick(now)
}

// nextTick returns the time of the next report. Reports before anything happens are skipped, and so are epochs in which
// nothing happens on any node: that bounds their number by the events of a run.
func (m *model) nextTick(now time.Duration) time.Duration {
	when, ok := m.agenda.Next()
	if m.next < len(m.Times) && (!ok || m.Times[m.next] < when) {
		when, ok = m.Times[m.next], true
	}
	next := event.Sum(now, ReportEvery)
	if !ok || when <= next {
		return next
	}
	last := when - when%ReportEvery
	if m.active {
		return min(last, m.epochEnd)
	}
	m.epochEnd = event.Sum(last-last%m.Objective.Epoch, m.Objective.Epoch)
	return last
}

// refillNode loads embeddings for some seconds at the rate of refill.
func (m *model) refillNode(i int, seconds float64) {
	n := &m.nodes[i]
	if n.lacks {
		n.lacking += seconds
		if m.counting {
			m.counted.Refilled = max(m.counted.Refilled, n.lacking)
		}
	}
	if n.refill == 0 {
		return
	}
	n.owed += float64(n.refill * float64(m.gpus) * seconds)
	bytes := m.cache.Refill(i, int64(min(n.owed, math.MaxInt64/2)))
	n.owed = max(0, n.owed-float64(bytes))
	if m.cache.Missing(i) == 0 {
		n.owed = 0
	}
	n.moved += bytes
	n.epoch.refill += bytes
	if m.series != nil {
		m.series[i].refill += bytes
	}
	if m.counting {
		m.counted.Refill += bytes
	}
}

// averageMisses updates the mean rate of misses, an exponential average whose weight falls by a factor of e in the time
// between two reports.
func (n *node) averageMisses(seconds float64, gpus int) {
	rate := float64(n.missed) / seconds / float64(gpus)
	reports := int(seconds/ReportEvery.Seconds() + 0.5)
	rest := 1.0
	for range min(reports, 64) { // a power by multiplication has the same bits on every machine
		rest *= 1 / math.E
	}
	n.missMean = rate + float64(rest*(n.missMean-rate))
}

// peak records the traffic between the host and the GPUs of a node since the last report.
func (m *model) peak(i int, seconds float64) {
	n := &m.nodes[i]
	if m.counting {
		m.counted.Peak = max(m.counted.Peak, float64(n.missed+n.moved)/seconds/float64(m.gpus))
	}
	n.missed, n.moved = 0, 0
}

// setRefill sets the rate of refill until the next report.
func (m *model) setRefill(i int) {
	n := &m.nodes[i]
	n.refill = 0
	missing := m.cache.Missing(i)
	if n.lacks = missing > 0 && m.Refill != hlem.Off; !n.lacks {
		n.lacking = 0
		return
	}
	n.refill = min(m.Refill.Rate(m.Costs, n.missMean), float64(missing)/ReportEvery.Seconds()/float64(m.gpus))
}

// prefetch loads embeddings of the first waiting request without a prefetch, while a GPU computes: as many as the link
// brings in this time, at the rate that refill leaves unused.
func (m *model) prefetch(j *job) {
	n := &m.nodes[j.node]
	request, ok := n.waiting.unseen()
	if !ok {
		return
	}
	most := max(0, m.Costs.Spare(n.missMean)-n.refill) * j.compute
	bytes := m.cache.Prefetch(int(j.node), int(request), m.Prefetch, m.Accuracy, int64(most))
	n.moved += bytes
	if m.counting {
		m.counted.Prefetched += bytes
	}
}

// queue has the requests that wait, first come first served: 4 bytes for each.
type queue struct {
	ring  []int32
	first int
	n     int
	seen  int // of the first ones, how many unseen has returned
}

func (q *queue) len() int { return q.n }

func (q *queue) push(request int32) {
	if q.n == len(q.ring) {
		larger := make([]int32, max(8, 2*len(q.ring)))
		k := copy(larger, q.ring[q.first:])
		copy(larger[k:], q.ring[:q.first])
		q.ring, q.first = larger, 0
	}
	q.ring[(q.first+q.n)&(len(q.ring)-1)] = request
	q.n++
}

func (q *queue) pop() (request int32, ok bool) {
	if q.n == 0 {
		return 0, false
	}
	request = q.ring[q.first]
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	q.seen = max(0, q.seen-1)
	return request, true
}

// unseen returns the first request that it has not returned yet.
func (q *queue) unseen() (request int32, ok bool) {
	if q.seen == q.n {
		return 0, false
	}
	q.seen++
	return q.ring[(q.first+q.seen-1)&(len(q.ring)-1)], true
}
