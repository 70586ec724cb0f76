package windows

import (
	"fmt"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/traces"
)

// What the origin behind a cache sees over the time of the trace's clock. On a sample these are estimates for the whole
// trace.
var (
	missesPerSecond = metric.Metric{Name: series.MissesPerSecond, Title: "misses per second", Unit: metric.PerSecond,
		Digits: 2, Better: metric.Lower, Merge: metric.Apart, Doc: "misses per second in a window of time",
		Figure: metric.Figure{Axis: "misses per second"}}
	missedMBPerSecond = metric.Metric{Name: series.MissedBytes, Title: "missed MB/s", Unit: metric.MegabytesPerSecond,
		Digits: 2, Better: metric.Lower, Merge: metric.Apart, Doc: "size of the misses per second in a window of time",
		Figure: metric.Figure{Axis: "size of the misses"}}
)

// load is the metrics of one series over the minutes of a trace.
type load struct{ mean, p99, peak metric.Metric }

var (
	missLoad = loadOf("origin_misses", metric.PerSecond, "misses/s", "misses per second", metric.Column{At: 82, Weight: 88,
		Note: "misses/s and MB/s: mean, 99th percentile and largest of the whole minutes after the warm-up, with those " +
			"without requests"})
	byteLoad = loadOf("origin_mbs", metric.MegabytesPerSecond, "MB/s", "size of the misses per second",
		metric.Column{At: 84, Weight: 84})
)

// loadOf declares the metrics whose names begin with name.
func loadOf(name string, unit metric.Unit, per, what string, column metric.Column) load {
	declared := func(suffix, head, doc string) metric.Metric {
		m := metric.Metric{Name: name + suffix, Unit: unit, Digits: 2, Better: metric.Lower, Merge: metric.Apart,
			Doc: doc, Column: column}
		m.Column.Head = head
		if suffix != "" {
			m.Column.Note = ""
		}
		return m
	}
	const minutes = " of the whole minutes after the warm-up, those without requests included"
	return load{
		declared("", per, what+", the mean"+minutes),
		declared("_p99", "P99 "+per, what+" that 99%"+minutes+" do not exceed"),
		declared("_peak", "peak "+per, what+", the largest"+minutes),
	}
}

func (l load) metrics() []metric.Metric { return []metric.Metric{l.mean, l.p99, l.peak} }

func init() {
	metric.Register("series", missesPerSecond, missedMBPerSecond)
	metric.Register("run --origin", slices.Concat(missLoad.metrics(), byteLoad.metrics())...)
}

// SeesOrigin reports whether a series has what the origin sees.
func SeesOrigin(w series.Window) bool {
	return w.Named(series.MissesPerSecond) || w.Named(series.MissedBytes)
}

// addOrigin adds what the origin sees in a window that ends at a time, in seconds.
func (s *Sampler) addOrigin(at float64, misses, missedBytes int64) {
	perSecond := s.trace.SampleRate * s.window.Span.Seconds()
	if s.window.Named(series.MissesPerSecond) {
		s.add(at, series.MissesPerSecond, float64(misses)/perSecond)
	}
	if s.sized && s.window.Named(series.MissedBytes) {
		s.add(at, series.MissedBytes, float64(missedBytes)/1e6/perSecond)
	}
}

// addQuiet adds the windows without requests between the ends of two windows, in which the origin sees nothing.
func (s *Sampler) addQuiet(from, to int64) {
	if !SeesOrigin(s.window) {
		return
	}
	for span := int64(s.window.Span); to-from > span; {
		from += span
		s.addOrigin(time.Duration(from).Seconds(), 0, 0)
	}
}

// SetOrigin sets the metrics of what the origin sees, if the windows are minutes.
func (s *Sampler) SetOrigin(v *metric.Values) {
	if s.window.Span != time.Minute || !SeesOrigin(s.window) || s.trace == nil {
		return
	}
	s.setLoad(v, missLoad, series.MissesPerSecond)
	s.setLoad(v, byteLoad, series.MissedBytes)
}

// setLoad sets the metrics of one series. The last minute is left out unless it is whole. If it is the only one, its
// misses are spread over the time that it has.
func (s *Sampler) setLoad(v *metric.Values, l load, name string) {
	var minutes []float64
	minute, last := s.window.Span.Seconds(), time.Duration(slices.Max(s.trace.Times)-s.start).Seconds()
	for _, r := range s.rows {
		switch {
		case r.Name != name || r.Time-minute < s.warm.Seconds():
		case r.Time <= last:
			minutes = append(minutes, r.Value)
		case r.Time == minute && last > 0:
			minutes = append(minutes, r.Value*(minute/last))
		}
	}
	if len(minutes) == 0 {
		return
	}
	slices.Sort(minutes)
	v.Set(l.mean, statistics.Mean(minutes))
	v.Set(l.p99, statistics.Quantile(0.99, minutes))
	v.Set(l.peak, minutes[len(minutes)-1])
}

// CheckMinutes rejects more minutes than a series may have, of which --origin makes one.
func CheckMinutes(window series.Window, t *traces.Trace) error {
	if window.Span != time.Minute {
		return nil // whatever is wrong with other windows is said of them
	}
	lasts := time.Duration(slices.Max(t.Times) - t.Times[0])
	if window.CheckSpan(lasts) == nil {
		return nil
	}
	const day = 24 * time.Hour
	return fmt.Errorf("%s lasts %.0f days, but misses per minute are limited to %d days; use --limit, or longer "+
		"windows, such as --series 1h:%s", t.Name, float64(lasts)/float64(day),
		series.MaxWindows*time.Minute/day, window.Names)
}
