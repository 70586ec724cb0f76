package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

const (
	// maxIntervals is the number of policies up to which each one's interval is drawn. They differ only in proportion to
	// the policy's misses, so that with more policies the interval of the optimum says enough.
	maxIntervals = 12
	// intervalShift is the distance between the intervals of two policies at one capacity.
	intervalShift = vg.Length(4)
	// mostBands is how many bands a plot may always have. bandRoom is the share of the lines' span that more bands may
	// cover together without hiding each other and the lines.
	mostBands = 3
	bandRoom  = 0.75
	// shiftRoom is how far apart the first and the last interval at a place are, at most.
	shiftRoom = vg.Length(20)
	// intervalRoom is how far confidence intervals may extend the vertical axis beyond the lines on either side, as a
	// share of what the lines span. The wide intervals of two seeds, with t = 12.7, would leave the lines a thin strip.
	intervalRoom = 0.5
)

// interval is a value known to lie between low and high; mostly they are the same.
type interval struct{ low, high float64 }

// boundsOf returns the interval of a record's metric: from its value to the value of the metric UpTo.
func boundsOf(m metric.Metric, r *records.Record) (low, high float64) {
	low, _ = r.Figure(m.Name)
	if high, ok := r.Figure(m.UpTo); ok && m.UpTo != "" {
		return low, high
	}
	return low, low
}

func isInterval(m metric.Metric, r *records.Record) bool {
	low, high := boundsOf(m, r)
	return low != high
}

// known returns the interval in which a point is known to lie. The mean over several seeds has a margin instead.
func (d *drawing) known(p results.Point) interval {
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
func (d *drawing) isInterval(s results.Series) bool {
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
	count  int       // of the lines that would have bars
	crowds bool      // confidence intervals would hide the lines as bands
	pitch  vg.Length // from one line's bars to the next
	shift  vg.Length // of the next bars
}

func (d *drawing) intervalsOf(lines []results.Series) (n intervals) {
	var sampled []results.Series
	for _, s := range lines {
		switch {
		case d.isInterval(s) && !isOptimum(s):
			n.count++
		case isSampled(s) && !d.faded[s.Name]:
			sampled = append(sampled, s)
		}
	}
	if n.crowds = len(sampled) > mostBands && crowded(sampled); n.crowds {
		n.count += len(sampled)
	}
	n.pitch = min(intervalShift, shiftRoom/vg.Length(max(n.count, 1)))
	n.shift = -n.pitch * vg.Length(n.count-1) / 2
	return n
}

// crowded reports whether the confidence intervals at one place are together wider than bandRoom.
func crowded(lines []results.Series) bool {
	low, high := math.Inf(1), math.Inf(-1)
	together := map[string]float64{}
	for _, s := range lines {
		for _, p := range s.Points {
			low, high = min(low, p.Mean), max(high, p.Mean)
			together[p.Place.Text] += 2 * p.Margin
		}
	}
	for _, width := range together {
		if width > bandRoom*(high-low) {
			return true
		}
	}
	return false
}

// isSampled reports whether a series has confidence intervals: its values are means over seeds.
func isSampled(s results.Series) bool {
	return slices.ContainsFunc(s.Points, func(p results.Point) bool { return p.Margin > 0 })
}

func isOptimum(s results.Series) bool { return s.Kind() == records.Offline }

func (n *intervals) give(l *Line, s results.Series) {
	switch {
	case isSampled(s):
		if n.crowds {
			l.Bars, l.Shift = true, n.shift
			n.shift += n.pitch
		}
	case isOptimum(s):
		l.Bars = len(l.X) == 1
	case n.count > maxIntervals:
		l.Low, l.High = nil, nil
	default:
		l.Bars, l.Shift = true, n.shift
		n.shift += n.pitch
	}
}

// limitIntervals keeps the vertical axis close to the lines, however far intervals reach.
func (f *Figure) limitIntervals() {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range f.spots.lines {
		for _, p := range l.points {
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	axis := &f.Plot.Y
	if low >= high {
		return
	}
	room := (high - low) * intervalRoom
	least, most := low-room, high+room
	if _, log := axis.Scale.(plot.LogScale); log {
		room := math.Pow(high/low, intervalRoom)
		least, most = low/room, high*room
	}
	f.lowest, f.highest = axis.Min, axis.Max
	axis.Min, axis.Max = max(axis.Min, least), min(axis.Max, most)
}

// cutsIntervals reports whether intervals reach beyond the vertical axis.
func (f *Figure) cutsIntervals() bool {
	return f.lowest < f.highest && (f.lowest < f.Plot.Y.Min || f.highest > f.Plot.Y.Max)
}
