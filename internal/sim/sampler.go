package sim

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
	"github.com/cachesim/cachesim/internal/results/series"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// Metrics of series. Those that records also have refer to the requests of a window.
var (
	windowRequests = metric.Metric{Name: "window_requests", Unit: metric.Count, Merge: metric.Sum,
		Doc: "requests in a window of time"}
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

func init() {
	metric.Register("series", windowRequests, occupancy, quota, benefit, kv.QuerySimilarity, kv.QueryCosines)
}

// sampler divides the replay of a cell into windows and stores what happened in each. Windows restart with each part of
// a trace. If requests come in groups, a window contains whole groups: it ends with the group that reaches its end.
type sampler struct {
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
	windows  []int          // positions at which the windows of the current part end
	ended    []float64      // and the times of their rows
	rows     []series.Row

	computed bool // hits are computed, and nothing is loaded into the cache
}

// mostTenants limits the rows of a window.
const mostTenants = 100

// checkSeries rejects a series that a replay of t cannot have, or that would be too long.
func checkSeries(c Cell, t *traces.Trace) error {
	if !c.Series.Asked() {
		return nil
	}
	if c.Cache.Entry.Attention {
		return checkSeriesOfHeads(c.Series, attention.Of(t.Kind).Shape)
	}
	if c.Allocator != nil && t.Tenants != nil {
		if n := len(t.Tenants.Names); n > mostTenants {
			return fmt.Errorf("series %s: %s has %d tenants, but series have at most %d; remove the series, or give tenants "+
				"by a column or prefix with fewer values", c.Series, t.Name, n, mostTenants)
		}
	}
	if err := checkOrigin(c, t); err != nil {
		return err
	}
	switch {
	case c.Series.Span == 0:
		return c.Series.CheckRequests(int64(len(t.Objects)))
	case hasClock(c.Model): // how long the run takes is known at its end
		return nil
	case c.Model != nil:
		return fmt.Errorf("series %s: the model %s has its own clock; give a number of requests instead", c.Series,
			c.Model.Name())
	case t.Times == nil:
		return fmt.Errorf("series %s: %s has no times; give a number of requests instead", c.Series, t.Name)
	}
	for _, part := range t.Parts() {
		if err := c.Series.CheckSpan(time.Duration(slices.Max(part.Times) - part.Times[0])); err != nil {
			return err
		}
	}
	return nil
}

// newSampler returns nil if the cell has no series.
func newSampler(c Cell, files int) *sampler {
	if !c.Series.Asked() {
		return nil
	}
	return &sampler{window: c.Series, files: files, computed: approximates(c.Model), sized: c.Capacity.Bytes}
}

// part starts the next part of the trace, with an empty cache of that capacity and a warm-up of some requests.
func (s *sampler) part(t *traces.Trace, c cache.Cache, capacity int64, warmup int) {
	if s == nil {
		return
	}
	if s.trace != nil {
		s.offset += len(s.trace.Objects)
	}
	s.trace, s.cache, s.capacity = t, c, capacity
	s.before, s.tenants, s.begins, s.windows, s.ended = cache.Counts{}, nil, 0, nil, nil
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

// cut returns where a run of requests from one position to another must end, so that no window ends inside it.
func (s *sampler) cut(from, to int) int {
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

// served records that the requests before a position of the part have been served, and all counts so far.
func (s *sampler) served(to int, total cache.Counts) {
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

func (s *sampler) end(to int, at float64, total cache.Counts) {
	n := total.Minus(s.before)
	s.before, s.begins = total, to
	s.windows, s.ended = append(s.windows, to), append(s.ended, at)
	if s.window.Span > 0 {
		s.add(at, windowRequests.Name, float64(n.Requests))
	}
	if n.Requests > 0 {
		s.add(at, metric.HitRatio.Name, ratio(n.Hits, n.Requests))
	}
	if n.Bytes > 0 {
		s.add(at, metric.ByteHitRatio.Name, ratio(n.HitBytes, n.Bytes))
	}
	if n.Tokens > 0 {
		s.add(at, "token_hit_ratio", ratio(n.HitTokens, n.Tokens))
	}
	s.addOrigin(at, n.Misses(), n.Bytes-n.HitBytes)
	if s.computed {
		return
	}
	s.add(at, metric.Evictions.Name, float64(n.Evictions))
	if occupied, ok := s.cache.(cache.Occupied); ok {
		s.add(at, occupancy.Name, float64(occupied.Used())/float64(s.capacity))
	}
	if divided, ok := s.cache.(tenanted); ok {
		s.addTenants(at, divided.Tenants())
	}
}

// modelled ends a window of a model with windows of its own.
func (s *sampler) modelled(w models.Window, total cache.Counts) {
	at := float64(w.Asked)
	if s.window.Span > 0 {
		at = w.Ends.Seconds()
	}
	s.end(int(w.Asked), at, total)
	for _, v := range w.Values {
		s.addOf(at, v.Name, v.Label, v.Value)
	}
}

// tenanted is implemented by caches of several tenants, or of streams of accesses, which come and go.
type tenanted interface{ Tenants() []cache.Tenant }

// addTenants adds the counts of each tenant in the window.
func (s *sampler) addTenants(at float64, now []cache.Tenant) {
	before := make(map[string]cache.Tenant, len(s.tenants)) // streams come and go
	for _, t := range s.tenants {
		before[t.Name] = t
	}
	for _, t := range largestTenants(now) {
		if requests := t.Requests - before[t.Name].Requests; requests > 0 {
			s.addOf(at, metric.HitRatio.Name, t.Name, ratio(t.Hits-before[t.Name].Hits, requests))
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
	if len(all) <= mostTenants {
		return all
	}
	byRequests := slices.SortedStableFunc(slices.Values(all), func(a, b cache.Tenant) int {
		return cmp.Compare(b.Requests, a.Requests)
	})
	least := byRequests[mostTenants-1].Requests
	chosen := slices.DeleteFunc(slices.Clone(all), func(t cache.Tenant) bool { return t.Requests < least })
	return chosen[:mostTenants]
}

func (s *sampler) add(at float64, name string, value float64) { s.addOf(at, name, s.label, value) }

func (s *sampler) addOf(at float64, name, label string, value float64) {
	if !s.window.Wants(name) {
		return
	}
	s.rows = append(s.rows, series.Row{Time: at, Name: name, Label: label, Value: value})
}

// latencies adds a model's measurements of groups, which begin at these positions, to the windows in which they begin.
func (s *sampler) latencies(all []models.Timed) {
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
