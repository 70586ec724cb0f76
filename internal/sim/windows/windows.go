// Package windows divides the replay of a cell into windows of requests or of time, and keeps what happened in each as
// the rows of a series. A replay asks a Sampler where the next window ends, and tells it what it has served.
package windows

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/kv"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/traces"
)

// Metrics of series. Those that records also have refer to the requests of a window.
var (
	windowRequests = metric.Metric{Name: series.Requests, Unit: metric.Count, Merge: metric.Sum,
		Doc: "requests in a window of time", Figure: metric.Figure{Axis: "requests in a window"}}
	occupancy = metric.Metric{Name: "occupancy", Unit: metric.Share, Digits: 2, Merge: metric.Apart,
		Doc:    "share of the capacity that is used at the end of a window",
		Figure: metric.Figure{Axis: "share of the capacity that is used"}}
	quota = metric.Metric{Name: "quota", Unit: metric.Share, Digits: 2, Merge: metric.Apart,
		Doc:    "share of the capacity that a tenant has at the end of a window",
		Figure: metric.Figure{Axis: "share of the capacity"}}
	benefit = metric.Metric{Name: "benefit", Unit: metric.PerSecond, Digits: 4, Merge: metric.Apart,
		Doc: "hits per second (per request, without a clock) that a tenant would gain from one more object or 4 MiB, as " +
			"its allocator has estimated last",
		Figure: metric.Figure{Axis: "marginal benefit (hits per second)"}}
)

// begins is the date of the first request, which figures over time show.
var begins = metric.Metric{Name: series.Begins, Unit: metric.Seconds, Digits: 0, Merge: metric.Apart,
	Doc: "time of the first request in seconds since 1970 (UTC), in series with windows of time; absent unless the " +
		"clock of the trace has dates"}

func init() {
	metric.Register("series", begins, windowRequests, occupancy, quota, benefit, kv.QuerySimilarity, kv.QueryCosines)
}

// Sampler divides the replay of a cell into windows and stores what happened in each. Windows restart with each part of
// a trace. If requests come in groups, a window contains whole groups: it ends with the group that reaches its end.
type Sampler struct {
	window   series.Window
	capacity int64
	trace    *traces.Trace // the current part
	cache    cache.Cache
	label    string
	files    int // number of parts that are replayed separately, each through an empty cache; 0: the trace is one sequence
	file     int // the current one, from 1
	offset   int // requests in earlier parts
	begins   int // position at which the current window begins
	ends     int // and at which it ends, if windows are numbers of requests
	start    int64
	warm     time.Duration // from the start to the end of the warm-up
	sized    bool          // the capacity counts bytes
	until    int64         // time since the start at which it ends, if windows are spans of time
	before   cache.Counts
	tenants  []cache.Tenant // at the end of the previous window
	labels   []cache.Counts // so far, of each label of the trace
	labelled []cache.Counts // likewise, at the end of the previous window
	windows  []int          // positions at which the windows of the current part end
	ended    []float64      // and the times of their rows
	rows     []series.Row

	computed bool // hits are computed, and nothing is loaded into the cache
	also     func(add func(name, label string, value float64))
}

// MostTenants limits the rows of a window.
const MostTenants = 100

// New returns nil for a window that is not set. files is the number of parts that are replayed separately, 0 if the
// trace is one sequence. computed says that hits are computed and nothing is loaded; sized, that the capacity counts
// bytes.
func New(w series.Window, files int, computed, sized bool) *Sampler {
	if !w.IsSet() {
		return nil
	}
	return &Sampler{window: w, files: files, computed: computed, sized: sized}
}

// Part starts the next part of the trace, with an empty cache of that capacity and a warm-up of some requests.
func (s *Sampler) Part(t *traces.Trace, c cache.Cache, capacity int64, warmup int) {
	if s == nil {
		return
	}
	if s.trace != nil {
		s.offset += len(s.trace.Objects)
	}
	s.trace, s.cache, s.capacity = t, c, capacity
	s.before, s.tenants, s.begins, s.windows, s.ended = cache.Counts{}, nil, 0, nil, nil
	s.labels, s.labelled = nil, nil
	if s.files > 0 {
		s.file++
		s.label = fmt.Sprintf("file %d of %d", s.file, s.files)
	}
	s.ends = int(min(s.window.Requests, int64(len(t.Objects))))
	if s.window.Span > 0 && len(t.Times) > 0 {
		s.start = t.Times[0]
		s.until = int64(s.window.Span)
		if warmup > 0 {
			s.warm = time.Duration(t.Times[warmup] - s.start)
		}
	}
}

// Cut returns where a run of requests from one position to another must end, so that no window ends inside it.
func (s *Sampler) Cut(from, to int) int {
	switch {
	case s == nil:
		return to
	case s.window.Span == 0:
		return min(to, s.ends)
	}
	for pos := max(from, s.begins+1); pos < to; pos++ {
		if s.trace.Times[pos]-s.start >= s.until {
			return pos
		}
	}
	return to
}

// Served records that the requests before a position of the part have been served, and all counts so far.
func (s *Sampler) Served(to int, total cache.Counts) {
	if s == nil {
		return
	}
	last := to == len(s.trace.Objects)
	if s.window.Span == 0 {
		if to < s.ends && !last {
			return
		}
		s.end(to, float64(s.offset+to), total)
		s.ends = int(windowEnd(int64(to), s.window.Requests))
		return
	}
	if !last && s.trace.Times[to]-s.start < s.until {
		return
	}
	s.end(to, time.Duration(s.until).Seconds(), total)
	if !last { // windows without a request have no rows
		ended := s.until
		s.until = windowEnd(s.trace.Times[to]-s.start, int64(s.window.Span))
		s.addQuiet(ended, s.until)
	}
}

// windowEnd returns the end of the window of the given length that contains a time or a position, limited to the
// largest value.
func windowEnd(at, span int64) int64 {
	begins := at - at%span
	return begins + min(span, math.MaxInt64-begins)
}

func (s *Sampler) end(to int, at float64, total cache.Counts) {
	n := total.Minus(s.before)
	s.before, s.begins = total, to
	s.windows, s.ended = append(s.windows, to), append(s.ended, at)
	if s.window.Span > 0 {
		s.add(at, windowRequests.Name, float64(n.Requests))
	}
	if n.Requests > 0 {
		s.add(at, metric.HitRatio.Name, metric.Divide(float64(n.Hits), float64(n.Requests)))
	}
	if n.Bytes > 0 {
		s.add(at, metric.ByteHitRatio.Name, metric.Divide(float64(n.HitBytes), float64(n.Bytes)))
	}
	if n.Tokens > 0 {
		s.add(at, "token_hit_ratio", metric.Divide(float64(n.HitTokens), float64(n.Tokens)))
	}
	s.addOrigin(at, n.Misses(), n.Bytes-n.HitBytes)
	if s.computed {
		return
	}
	s.add(at, metric.Evictions.Name, float64(n.Evictions))
	if occupied, ok := s.cache.(cache.Occupied); ok {
		s.add(at, occupancy.Name, float64(occupied.Used())/float64(s.capacity))
	}
	if divided, ok := s.cache.(cache.Tenanted); ok {
		s.addTenants(at, divided.Tenants())
	}
	s.addLabels(at)
	if s.also != nil {
		s.also(func(name, label string, value float64) { s.addOf(at, name, cmp.Or(label, s.label), value) })
	}
}

// Also has add called for further values at the end of each window.
func (s *Sampler) Also(values func(add func(name, label string, value float64))) {
	if s != nil {
		s.also = values
	}
}

// RowsOf returns the rows of some metrics so far.
func (s *Sampler) RowsOf(names ...string) (rows []series.Row) {
	if s != nil {
		for _, r := range s.rows {
			if slices.Contains(names, r.Name) {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// Labels records the counts so far of each label of the trace. Served comes next.
func (s *Sampler) Labels(counts []cache.Counts) {
	if s != nil {
		s.labels = counts
	}
}

// addLabels adds the hit ratio of each label in the window. The counts of a warm-up begin again after it.
func (s *Sampler) addLabels(at float64) {
	if len(s.labels) == 0 {
		return
	}
	if s.labelled == nil {
		s.labelled = make([]cache.Counts, len(s.labels))
	}
	for i, now := range s.labels {
		n := now
		if now.Requests >= s.labelled[i].Requests {
			n = now.Minus(s.labelled[i])
		}
		if s.labelled[i] = now; n.Requests > 0 {
			s.addOf(at, metric.HitRatio.Name, s.trace.Labels.Names[i], metric.Divide(float64(n.Hits), float64(n.Requests)))
		}
	}
}

// OfModel returns the windows of a series for a model with windows of its own. counts returns all counts so far.
func (s *Sampler) OfModel(counts func() cache.Counts) models.Windows {
	if s == nil {
		return models.Windows{}
	}
	n := 0
	end := func(w models.Window) error {
		if n++; n > series.MaxWindows {
			return fmt.Errorf("series %s: more than %d windows have passed after %s on the model's clock; give longer ones",
				s.window, series.MaxWindows, w.Ends.Round(time.Millisecond))
		}
		s.modelled(w, counts())
		return nil
	}
	return models.Windows{Span: s.window.Span, Requests: s.window.Requests, End: end}
}

// modelled ends a window of a model.
func (s *Sampler) modelled(w models.Window, total cache.Counts) {
	at := float64(w.Asked)
	if s.window.Span > 0 {
		at = w.Ends.Seconds()
	}
	s.end(int(w.Asked), at, total)
	for _, v := range w.Values {
		s.addOf(at, v.Name, v.Label, v.Value)
	}
}

// addTenants adds the counts of each tenant in the window.
func (s *Sampler) addTenants(at float64, now []cache.Tenant) {
	before := make(map[string]cache.Tenant, len(s.tenants)) // streams come and go
	for _, t := range s.tenants {
		before[t.Name] = t
	}
	for _, t := range largestTenants(now) {
		if requests := t.Requests - before[t.Name].Requests; requests > 0 {
			s.addOf(at, metric.HitRatio.Name, t.Name, metric.Divide(float64(t.Hits-before[t.Name].Hits), float64(requests)))
		}
		if t.Quota > 0 {
			s.addOf(at, occupancy.Name, t.Name, float64(t.Used)/float64(s.capacity))
			s.addOf(at, quota.Name, t.Name, float64(t.Quota)/float64(s.capacity))
			if t.Valued {
				s.addOf(at, benefit.Name, t.Name, t.Benefit)
			}
		}
	}
	s.tenants = now
}

// largestTenants returns the tenants with the most requests so far, in their order: as many as a series may have.
func largestTenants(all []cache.Tenant) []cache.Tenant {
	if len(all) <= MostTenants {
		return all
	}
	byRequests := slices.SortedStableFunc(slices.Values(all), func(a, b cache.Tenant) int {
		return cmp.Compare(b.Requests, a.Requests)
	})
	least := byRequests[MostTenants-1].Requests
	chosen := slices.DeleteFunc(slices.Clone(all), func(t cache.Tenant) bool { return t.Requests < least })
	return chosen[:MostTenants]
}

func (s *Sampler) add(at float64, name string, value float64) { s.addOf(at, name, s.label, value) }

func (s *Sampler) addOf(at float64, name, label string, value float64) {
	if !s.window.Wants(name) {
		return
	}
	s.rows = append(s.rows, series.Row{Time: at, Name: name, Label: label, Value: value})
}

// Latencies adds a model's measurements of groups, which begin at these positions, to the windows in which they begin.
func (s *Sampler) Latencies(all []models.Timed) {
	if s == nil {
		return
	}
	for k, end := range s.windows {
		n := 0
		for n < len(all) && all[n].First < end {
			n++
		}
		l := models.Sum(all[:n])
		all = all[n:]
		if n == 0 {
			continue
		}
		at := s.ended[k]
		s.add(at, "latency_mean_ms", l.Mean)
		s.add(at, "latency_p99_ms", l.P99)
	}
}

// SetBegin sets the metric of when a trace with dates begins.
func (s *Sampler) SetBegin(v *metric.Values) {
	if s.window.Span > 0 && s.trace != nil && s.files == 0 && traces.IsDate(s.start) {
		v.Set(begins, float64(s.start)/1e9)
	}
}

// Rows returns the rows of the series so far, of as many windows as are to be kept.
func (s *Sampler) Rows() []series.Row { return s.window.Merged(s.rows) }
