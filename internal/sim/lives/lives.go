// Package lives measures what happens to the objects of a cache: how old they are when they are evicted, how long they
// have been idle then, which of them are never hit, and which requests miss most. A Watch observes the pools of a cache
// during a replay, and adds its metrics to the values of the replay.
package lives

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// percentiles are those of which metrics have values.
var percentiles = []int{5, 25, 50, 75, 95}

// median is the percentile that tables and series show.
const median = "p50"

// measured is a time of objects that leave the cache, as metrics in seconds and in requests.
type measured struct{ inSeconds, inRequests metric.Metric }

// of returns the metric in the unit of a trace, which is seconds if it has times.
func (m measured) of(seconds bool) metric.Metric {
	if seconds {
		return m.inSeconds
	}
	return m.inRequests
}

func measure(name, title, drawn, doc string, column metric.Column) measured {
	metricIn := func(unit, head string, of metric.Metric) metric.Metric {
		suffix := "_" + head
		of.Name, of.Title, of.Labels, of.Merge = name+suffix, title+" ("+unit+")", "percentile", metric.Apart
		of.Doc = doc + ", in " + unit + ": percentiles, within 0.4%"
		of.Column = column
		of.Figure = metric.Figure{Title: strings.ToUpper(drawn[:1]) + drawn[1:], File: name, Axis: drawn}
		if of.Unit != metric.Seconds {
			of.Figure.Axis += " (" + unit + ")"
		}
		if column.At > 0 {
			of.Column.Labels, of.Column.Head = median, title+" ("+head+")"
		}
		return of
	}
	return measured{metricIn("seconds", "s", metric.Metric{Unit: metric.Seconds, Digits: 2}),
		metricIn("requests", "requests", metric.Metric{Unit: metric.Count, Fractions: true})}
}

var (
	age = measure("evicted_age", "age", "age at eviction", "time from the load of an object to its eviction",
		metric.Column{At: 86, Weight: 44})
	idle = measure("evicted_idle", "idle", "idle time at eviction",
		"time from the last request for an object to its eviction",
		metric.Column{At: 87, Weight: 46})
	stay = measure("time_in_cache", "time in the cache", "time in the cache", "time from the load of an object until "+
		"it leaves for any reason; what the log deletes or expires leaves with the next request", metric.Column{})

	neverHit = metric.Metric{Name: "never_hit", Title: "never hit", Unit: metric.Share, Digits: 2, Better: metric.Lower,
		Merge: metric.Apart, Column: metric.Column{At: 88, Weight: 48}, Figure: metric.Figure{Title: "Never hit"},
		Doc: "share of the objects that leave the cache without a hit since their load"}
	neverHitBytes = metric.Metric{Name: "never_hit_bytes", Title: "never hit bytes", Unit: metric.Share, Digits: 2,
		Better: metric.Lower, Merge: metric.Apart,
		Doc: "share of the bytes that leave the cache without a hit since their load; absent unless sizes count"}
	deadShare = metric.Metric{Name: "dead_share", Title: "dead", Unit: metric.Share, Digits: 2, Better: metric.Lower,
		Merge: metric.Apart, Column: metric.Column{At: 89, Weight: 42, Note: "dead: share of what is in the cache that is " +
			"not hit again before it leaves"},
		Figure: metric.Figure{Title: "Dead room", Axis: "share of the cache that is dead"},
		Doc: "share of the room of objects, over the requests that they stay, after their last hit: what is in the cache " +
			"and not hit again before it leaves"}
)

func init() {
	metric.Register("run --lives", slices.Concat(age.both(), idle.both(), stay.both(),
		[]metric.Metric{neverHit, neverHitBytes, deadShare})...)
}

func (m measured) both() []metric.Metric { return []metric.Metric{m.inSeconds, m.inRequests} }

// Names are the names of the metrics, of which a series may have the median in each window.
func Names() (names []string) {
	for _, m := range []measured{age, idle, stay} {
		names = append(names, m.inSeconds.Name, m.inRequests.Name)
	}
	return append(names, neverHit.Name)
}

// Watch follows the objects of a cache through a replay. It implements cache.HitObserver and cache.LoadObserver.
//
// Memory: 17 bytes per object, 25 if capacities count bytes, and half a megabyte.
type Watch struct {
	trace    *traces.Trace
	arrivals []int64 // of prompts; nil if they have none
	sizes    bool    // capacities count bytes
	warmup   int
	pos      int // of the current request, or the first of the current group
	end      int // of the current request or group
	hits     int // of these requests, from the first on

	loaded, last []uint32 // per object: the positions of its load and of its last request
	used         []bool   // per object: it was hit since its load
	requests     []uint32 // per object: how often it was requested after the warm-up
	misses       []uint32 // per object: how often it missed then
	missed       []int64  // per object: the bytes of its misses; nil unless capacities count bytes

	sum, window departures
	tiers       *tiersOf // of a cache with tiers; nil for others
}

// departures are the objects that left in some time.
type departures struct {
	ages, idles, stays histogram
	objects, unused    int64
	bytes, unusedBytes int64
	room, dead         float64 // sizes times requests: in the cache, and after the last hit
}

// NewWatch returns a watch of a replay; sized says that capacities count bytes.
func NewWatch(sized bool) *Watch { return &Watch{sizes: sized} }

// Part starts the next part of a trace, with an empty cache and a warm-up of some requests.
func (w *Watch) Part(t *traces.Trace, warmup int) {
	w.trace, w.warmup, w.pos, w.arrivals = t, warmup, 0, nil
	if p := prompts.Of(t.Kind); p != nil {
		w.arrivals = p.Arrivals
	}
	w.grow(t.NumObjects)
	if w.tiers != nil {
		for _, tier := range w.tiers.watches {
			tier.Part(t, warmup)
		}
	}
}

// grow makes room for the objects below a number. Those beyond the trace are prefetched, and never requested.
func (w *Watch) grow(objects int) {
	if more := objects - len(w.loaded); more > 0 {
		w.loaded = append(w.loaded, make([]uint32, more)...)
		w.last = append(w.last, make([]uint32, more)...)
		w.used = append(w.used, make([]bool, more)...)
		w.requests = append(w.requests, make([]uint32, more)...)
		w.misses = append(w.misses, make([]uint32, more)...)
		if w.sizes {
			w.missed = append(w.missed, make([]int64, more)...)
		}
	}
}

// Begin is called before the requests [pos, end), Served after them. These are one request or, where prompts are
// served, those of a group, which hit from the first on.
func (w *Watch) Begin(pos, end int) {
	w.pos, w.end, w.hits = pos, end, 0
	if w.tiers != nil {
		for _, tier := range w.tiers.watches {
			tier.Begin(pos, end)
		}
	}
}

func (w *Watch) Served() {
	w.Moved()
	if w.pos < w.warmup {
		return
	}
	for at := w.pos; at < w.end; at++ {
		o := w.trace.Objects[at]
		w.requests[o]++
		if at-w.pos >= w.hits {
			w.misses[o]++
			if w.sizes {
				w.missed[o] += w.trace.Size(at)
			}
		}
	}
}

func (w *Watch) Hit(o policies.Object) {
	w.hits++
	w.last[o], w.used[o] = uint32(w.pos), true
}

func (w *Watch) Loaded(o policies.Object, _ int64, _ policies.Reason) {
	w.grow(int(o) + 1)
	w.loaded[o], w.last[o], w.used[o] = uint32(w.pos), uint32(w.pos), false
}

func (w *Watch) Left(o policies.Object, size int64, why cache.Departure) {
	if w.pos < w.warmup {
		return
	}
	for _, d := range []*departures{&w.sum, &w.window} {
		if why <= cache.Shrunk {
			d.ages.add(w.since(w.loaded[o]))
			d.idles.add(w.since(w.last[o]))
		}
		d.stays.add(w.since(w.loaded[o]))
		d.objects++
		d.bytes += size
		if !w.used[o] {
			d.unused++
			d.unusedBytes += size
		}
		d.room += float64(size) * float64(w.pos-int(w.loaded[o]))
		d.dead += float64(size) * float64(w.pos-int(w.last[o]))
	}
}

// since returns the time since a position, in microseconds of the trace's clock or, without one, in requests.
func (w *Watch) since(pos uint32) int64 {
	if !w.timed() {
		return int64(w.pos - int(pos))
	}
	return max(0, w.time(w.pos)-w.time(int(pos))) / int64(time.Microsecond)
}

// timed reports whether requests, or prompts, have times.
func (w *Watch) timed() bool { return w.trace.Times != nil || w.arrivals != nil }

func (w *Watch) time(pos int) int64 {
	if w.trace.Times != nil {
		return w.trace.Times[pos]
	}
	next, _ := slices.BinarySearch(w.trace.Groups, pos+1)
	return w.arrivals[next-1]
}

// value returns a time of since as the value of a metric.
func (w *Watch) value(x float64) float64 {
	if !w.timed() {
		return x / w.trace.SampleRate // a sample has this share of the requests
	}
	return x / 1e6
}

// AddTo adds the metrics of the whole replay.
func (w *Watch) AddTo(v *metric.Values) {
	w.addTiers(v)
	d := &w.sum
	for _, of := range w.times(d) {
		for _, p := range percentiles {
			if of.in.count > 0 {
				v.SetNamed(of.metric.Of(fmt.Sprintf("p%d", p)), w.value(of.in.quantile(float64(p)/100)))
			}
		}
	}
	if d.objects == 0 {
		return
	}
	v.SetQuotient(neverHit, float64(d.unused), float64(d.objects))
	if w.sizes {
		v.SetQuotient(neverHitBytes, float64(d.unusedBytes), float64(d.bytes))
	}
	if d.room > 0 {
		v.SetQuotient(deadShare, d.dead, d.room)
	}
}

// timed is the times of one metric.
type timed struct {
	metric metric.Metric
	in     *histogram
}

func (w *Watch) times(d *departures) []timed {
	seconds := w.timed()
	return []timed{{age.of(seconds), &d.ages}, {idle.of(seconds), &d.idles}, {stay.of(seconds), &d.stays}}
}

// EndWindow calls add with the median of each metric since the last call, of those that have any.
func (w *Watch) EndWindow(add func(name, label string, value float64)) {
	d := &w.window
	for _, of := range w.times(d) {
		if of.in.count > 0 {
			add(of.metric.Name, median, w.value(of.in.quantile(0.5)))
		}
		of.in.clear()
	}
	if d.objects > 0 {
		add(neverHit.Name, "", float64(d.unused)/float64(d.objects))
	}
	w.window = departures{ages: d.ages, idles: d.idles, stays: d.stays}
}

// Missed is an object with the requests for it that missed, after the warm-up.
type Missed struct {
	Object           policies.Object
	Requests, Misses int64
	Bytes            int64 // of its misses; 0 unless capacities count bytes
}

// Top returns the n objects that missed most often, ties in the order of their numbers.
func (w *Watch) Top(n int) (top []Missed) {
	for o, misses := range w.misses {
		if n == 0 || misses == 0 || len(top) == n && int64(misses) <= top[n-1].Misses {
			continue
		}
		m := Missed{Object: policies.Object(o), Requests: int64(w.requests[o]), Misses: int64(misses)}
		if w.sizes {
			m.Bytes = w.missed[o]
		}
		at, _ := slices.BinarySearchFunc(top, m, func(a, b Missed) int {
			return cmp.Or(cmp.Compare(b.Misses, a.Misses), cmp.Compare(a.Object, b.Object))
		})
		top = slices.Insert(top, at, m)
		top = top[:min(n, len(top))]
	}
	return top
}
