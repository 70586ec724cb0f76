package plots

import (
	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
)

const (
	// maxIntervals is the number of policies up to which each one's interval is drawn. They differ only in proportion to
	// the policy's misses, so that with more policies the interval of the optimum says enough.
	maxIntervals = 12
	// intervalShift is the distance between the intervals of two policies at one capacity.
	intervalShift = vg.Length(4)
)

// interval is a value known to lie between low and high; mostly they are the same.
type interval struct{ low, high float64 }

// boundsOf returns between which values the metric of a record lies: from its own to that of the metric UpTo.
func boundsOf(m metric.Metric, r *records.Record) (low, high float64) {
	low, _ = r.Figure(m.Name)
	if high, ok := r.Figure(m.UpTo); ok && m.UpTo != "" {
		return low, high
	}
	return low, low
}

// isInterval reports whether what the record says of a metric is an interval.
func isInterval(m metric.Metric, r *records.Record) bool {
	low, high := boundsOf(m, r)
	return low != high
}

// known returns between which values a point is known to lie. The mean over several seeds has a margin instead.
func (d *drawing) known(p records.Point) interval {
	if p.Seeds != 1 {
		return interval{p.Mean, p.Mean}
	}
	m, _ := metric.Lookup(d.Y)
	if low, high := boundsOf(m, p.Record); low == p.Mean {
		return interval{low, high}
	}
	return interval{p.Mean, p.Mean}
}

// isInterval reports whether a point of the series is only known to lie within an interval.
func (d *drawing) isInterval(s records.Series) bool {
	for _, p := range s.Points {
		if known := d.known(p); known.low != known.high {
			return true
		}
	}
	return false
}

// intervals gives the lines of a panel their intervals: a band for the optimum, and bars beside each other for others,
// unless they are too many.
type intervals struct {
	count int       // of the lines that would have bars
	shift vg.Length // of the next bars
}

func (d *drawing) intervalsOf(lines []records.Series) (n intervals) {
	for _, s := range lines {
		if d.isInterval(s) && !isOptimum(s) {
			n.count++
		}
	}
	n.shift = -intervalShift * vg.Length(n.count-1) / 2
	return n
}

func isOptimum(s records.Series) bool { return s.Kind() == policies.Offline.String() }

// give gives a line of the panel its intervals.
func (n *intervals) give(l *Line, s records.Series) {
	switch {
	case isOptimum(s):
		l.Bars = len(l.X) == 1
	case n.count > maxIntervals:
		l.Low, l.High = nil, nil
	default:
		l.Bars, l.Shift = true, n.shift
		n.shift += intervalShift
	}
}
