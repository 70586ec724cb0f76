package recommender

import (
	"math"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// Reads are what requests that got a GPU found and read.
type Reads struct {
	KVHits     int64 // requests
	Rows       int64
	MissedRows int64
	RemoteRows int64 // of the missed ones
	Missed     int64 // bytes of the missed rows
}

func (r *Reads) add(a Access, bytes int64) {
	if a.KVHit {
		r.KVHits++
	}
	r.Rows += a.Rows
	r.MissedRows += a.MissedRows
	r.RemoteRows += a.RemoteRows
	r.Missed += bytes
}

// tally counts what happens on a node in a window.
type tally struct {
	arrived, hot, turned int // requests
	tokens               int // of them
	started              int64
	Reads                // of those
	ended                int
	violations           int
	latency              time.Duration // sum, of those that have ended; saturates
	refill               int64         // bytes

	// For series only.
	latencies []float64
	ratioTime float64 // the ratio, summed over seconds
	bests     float64 // sum of the best ratios of epochs that ended
	bestCount int
}

func (t *tally) arrive(tokens int32, hot, turned bool) {
	t.arrived++
	t.tokens += int(tokens)
	if hot {
		t.hot++
	}
	if turned {
		t.turned++
	}
}

func (t *tally) start(a Access, bytes int64) {
	t.started++
	t.add(a, bytes)
}

func (t *tally) end(took, objective time.Duration) {
	t.ended++
	t.latency += min(took, math.MaxInt64-t.latency)
	if took > objective {
		t.violations++
	}
}

func (t *tally) seconds() float64 { return t.latency.Seconds() }

func (t *tally) addEpoch(best float64) {
	if best >= 0 {
		t.bests += best
		t.bestCount++
	}
}

func (t *tally) reset() { *t = tally{latencies: t.latencies[:0]} }

// load returns what arrived in a window of some length as a load.
func (t *tally) load(length time.Duration) hlem.Load {
	return hlem.Load{Rate: float64(t.arrived) / length.Seconds(), HotShare: quotient(t.hot, t.arrived),
		MeanTokens: quotient(t.tokens, t.arrived), Turned: 2*t.turned > t.arrived}
}

// merge adds what happened on another node.
func (t *tally) merge(o *tally) {
	t.arrived += o.arrived
	t.hot += o.hot
	t.turned += o.turned
	t.started += o.started
	t.KVHits += o.KVHits
	t.Rows += o.Rows
	t.MissedRows += o.MissedRows
	t.ended += o.ended
	t.violations += o.violations
	t.Missed += o.Missed
	t.refill += o.refill
	t.latencies = append(t.latencies, o.latencies...)
	t.ratioTime += o.ratioTime
	t.bests += o.bests
	t.bestCount += o.bestCount
}

// Measured is what happened on some nodes in a span of time.
type Measured struct {
	Requests  int // that arrived
	Ended     int
	Started   int     // that got a GPU
	Rate      float64 // of arrivals, per second
	HotShare  float64 // of the requests that arrived
	KVHit     float64 // share of the requests that got a GPU
	EMBHit    float64 // share of their rows
	P99       float64 // seconds
	Satisfied float64 // share of the requests that ended within the objective
	Refill    float64 // bytes per second of each GPU's link
	Missed    float64 // the same of misses
	Ratio     float64 // mean over time
	Best      float64 // mean over the epochs that ended; negative if there is none
}

// measured summarises what happened in some seconds on a number of nodes, each with a number of GPUs.
func (t *tally) measured(seconds float64, nodes, gpus int) Measured {
	s := Measured{Requests: t.arrived, Ended: t.ended, Started: int(t.started), HotShare: quotient(t.hot, t.arrived),
		KVHit: quotient(t.KVHits, t.started), EMBHit: quotient(t.Rows-t.MissedRows, t.Rows),
		Satisfied: 1 - quotient(t.violations, t.ended), Best: -1}
	if t.bestCount > 0 {
		s.Best = t.bests / float64(t.bestCount)
	}
	if len(t.latencies) > 0 {
		slices.Sort(t.latencies)
		s.P99 = t.latencies[rank99(len(t.latencies))]
	}
	if seconds > 0 {
		s.Rate = float64(t.arrived) / seconds
		s.Refill = float64(t.refill) / seconds / float64(nodes*gpus)
		s.Missed = float64(t.Missed) / seconds / float64(nodes*gpus)
		s.Ratio = t.ratioTime / seconds / float64(nodes)
	}
	return s
}

// endSpans ends the windows of a series that end by a time, before what happens then; reports at the end of a window
// belong to it.
func (m *model) endSpans(now time.Duration, report bool) error {
	for m.spanEnd > 0 && (m.spanEnd < now || m.spanEnd == now && !report) {
		if err := m.endSpan(m.spanEnd); err != nil {
			return err
		}
		m.spanEnd = event.Sum(m.spanEnd, m.Windows.Span)
	}
	return nil
}

func (m *model) endSpan(ends time.Duration) error {
	s := Span{Arrived: m.next, Ends: ends, Nodes: make([]Measured, len(m.nodes))}
	now := min(ends, max(m.agenda.Now(), m.spanFrom))
	if m.busy > 0 || m.next < len(m.Times) {
		now = ends
	}
	seconds := (now - m.spanFrom).Seconds()
	var all tally
	for i := range m.nodes {
		m.timeRatio(i, now)
		t := &m.series[i]
		all.merge(t)
		s.Nodes[i] = t.measured(seconds, 1, m.gpus)
		t.reset()
	}
	s.All = all.measured(seconds, len(m.nodes), m.gpus)
	m.spanFrom = now
	return m.Windows.End(s)
}

// timeRatio adds the ratio of a node until a time to the series, before it changes.
func (m *model) timeRatio(i int, now time.Duration) {
	if n := &m.nodes[i]; m.series != nil {
		m.series[i].ratioTime += float64(n.ratio * (now - n.ratioFrom).Seconds())
		n.ratioFrom = now
	}
}
