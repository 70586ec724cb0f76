// Package servers holds caches that do with their memory what programs such as Redis, memcached, Varnish and nginx do:
// what an item takes, when it is evicted or expires, and what is refused. Their capacity is the program's own setting
// (maxmemory, -m, malloc, max_size), in bytes. Kinds lists them.
package servers

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// Metrics of all servers.
var (
	Items = metric.Metric{Name: "items", Unit: metric.Count, Doc: "items that the server holds at the end",
		Column: metric.Column{At: 82, Weight: 52}}
	ItemBytes = metric.Metric{Name: "bytes_per_item", Title: "bytes per item", Unit: metric.Bytes, Fractions: true,
		Merge: metric.MeanBy(Items), Doc: "bytes of the limited memory that an item takes at the end, in the mean",
		Column: metric.Column{At: 82, Head: "B/item", Weight: 51}}
	ValueShare = metric.Metric{Name: "value_share", Title: "share of values", Unit: metric.Share, Digits: 1,
		Merge: metric.MeanBy(Items), Doc: "share of the limited memory that is values of items at the end",
		Column: metric.Column{At: 82, Head: "values", Weight: 50}}
	OwnMemory = metric.Metric{Name: "server_bytes", Title: "bytes of the server itself", Unit: metric.Bytes,
		Doc: "bytes of the limited memory that the empty server takes"}
	Refused = metric.Metric{Name: "refused", Unit: metric.Count, Better: metric.Lower,
		Doc:    "items that the server did not store for want of memory",
		Column: metric.Column{At: 83, Weight: 55, IfAny: true}}
	ExpiredItems = metric.Metric{Name: "expired", Unit: metric.Count,
		Doc: "items whose time to live had ended when the server removed them"}
)

var metrics = []metric.Metric{Items, ItemBytes, ValueShare, OwnMemory, metric.Taken, Refused, ExpiredItems}

// request is a request as a server sees it.
type request struct {
	object  policies.Object
	value   int64 // bytes
	now     int64 // nanoseconds by the clock of the trace
	end     int64 // when the time to live ends that the log states; 0 for none
	pos     int
	write   bool     // stores, whether the object is there or not
	present bool     // does nothing if the object is missing
	keys    []uint32 // bytes of each object's key: what hits does not need it
}

// key returns the bytes of the key.
func (r *request) key() int64 { return int64(r.keys[r.object]) }

// program is what a server does, without the clock and the counts that all have.
type program interface {
	// serve serves a request, and reports whether the object was there.
	serve(r *request) (hit bool)
	// tick does what is due without a request, up to a time.
	tick(now int64)
	remove(o policies.Object) (was bool)
	has(o policies.Object, now int64) bool
	// state says what is there now, and remark what a user should know of it, "" for nothing.
	state() state
	remark() string
}

// leveled is a program that may have a level below its memory, and counts what comes from where.
type leveled interface {
	beginCounting()
	counters() []policies.Counter
}

// state is what a server holds, and has done.
type state struct {
	items, values int64 // items, and the bytes of their values
	used, own     int64 // bytes of what the setting limits, and those of the empty server among them
	taken         int64 // most bytes so far
	tally
}

// tally counts what a server has done.
type tally struct{ evicted, refused, expired, oversized int64 }

// Server is a cache with a program's memory and clock. It implements cache.Timekeeper.
type Server struct {
	program program
	trace   *traces.Trace
	stated  int64   // bytes of the sizes in the trace that are not values, beside keys
	keyed   bool    // sizes in the trace include keys
	request request // the one at hand: a local variable would be allocated each time
	now     int64
	rate    float64 // requests per second; 0: as the trace has them
	warm    tally   // of the warm-up
}

// newServer returns a server for the trace of a config.
func newServer(c cache.Config, p program) *Server {
	s := &Server{program: p, trace: c.Trace, keyed: c.Trace.KeysInSizes}
	s.request.keys = keyBytes(c.Trace)
	s.rate, _ = c.Params[rateParam.Name].(float64) // servers without a clock have none
	if sizing := c.Trace.Sizing; sizing != nil {
		s.stated = sizing.Overhead
	}
	return s
}

// keyBytes returns the bytes of each object's key, as a client writes it.
func keyBytes(t *traces.Trace) []uint32 {
	all := make([]uint32, t.NumObjects)
	for o := range all {
		all[o] = uint32(len(t.Key(o).String()))
	}
	return all
}

// Serve replays requests by the server's clock.
func (s *Server) Serve(w cache.Window, n *cache.Counts) {
	before := s.program.state().tally
	r := &s.request
	r.write = w.Writes
	for i, o := range w.Objects {
		size := w.Sizes[i]
		r.object, r.pos, r.end = o, w.First+i, 0
		r.present = s.trace.Passes(r.pos)
		r.value = size - s.stated
		if s.keyed {
			r.value -= r.key()
		}
		r.value = max(0, r.value)
		s.advance(w.Times, i, r.pos)
		r.now = s.now
		if s.trace.Ends != nil && s.trace.Ends[r.pos] != 0 {
			r.end = s.trace.Ends[r.pos]
			if s.rate > 0 {
				r.end += r.now - w.Times[i]
			}
		}
		s.program.tick(r.now)
		n.Bytes += size
		if s.program.serve(r) {
			n.Hits++
			n.HitBytes += size
		}
	}
	n.Requests += int64(len(w.Objects))
	after := s.program.state().tally
	n.Evictions += after.evicted - before.evicted
	n.Oversized += after.oversized - before.oversized
}

// advance moves the clock to a request. A clock never goes back.
func (s *Server) advance(times []int64, i, pos int) {
	if s.rate > 0 {
		s.now = int64(float64(pos) / s.rate * second)
	} else if times != nil {
		s.now = max(s.now, times[i])
	}
}

const second = 1e9

// KeepsTime says that the server expires objects itself.
func (s *Server) KeepsTime() {}

func (s *Server) Holds(o policies.Object) bool { return s.program.has(o, s.now) }
func (s *Server) Drop(o policies.Object) bool  { return s.program.remove(o) }

// LookAll implements cache.Dropping: the program knows which requests load nothing.
func (s *Server) LookAll(w cache.Window, n *cache.Counts) { s.Serve(w, n) }
func (s *Server) Used() int64                             { return s.program.state().used }

func (s *Server) BeginCounting() {
	s.warm = s.program.state().tally
	if p, ok := s.program.(leveled); ok {
		p.beginCounting()
	}
}

func (s *Server) Remark() string { return s.program.remark() }

func (s *Server) Counters() []policies.Counter {
	at := s.program.state()
	var perItem, share float64
	if at.items > 0 {
		perItem = float64(at.used-at.own) / float64(at.items)
	}
	if at.used > 0 {
		share = float64(at.values) / float64(at.used)
	}
	all := []policies.Counter{
		policies.Count(Items, float64(at.items)),
		policies.Count(ItemBytes, perItem),
		policies.Count(ValueShare, share),
		policies.Count(OwnMemory, float64(at.own)),
		policies.Count(metric.Taken, float64(at.taken)),
		policies.Count(Refused, float64(at.refused-s.warm.refused)),
		policies.Count(ExpiredItems, float64(at.expired-s.warm.expired)),
	}
	if p, ok := s.program.(leveled); ok {
		all = append(all, p.counters()...)
	}
	return all
}

// rateParam is how fast requests come where the trace does not say it.
var rateParam = params.Param{Name: "rate", Default: 0.0, Min: 0, Max: 1e9, Doc: "requests per second by the server's " +
	"clock, whatever the times of the trace; 0: these"}

// checkClock refuses a trace without times where the clock matters and no rate is given.
func checkClock(server, why string, v params.Values, t *traces.Trace) error {
	if t.Times != nil || v.Float(rateParam.Name) > 0 {
		return nil
	}
	return fmt.Errorf("server %s: %s, and the trace has no times: say how fast requests come, such as %s(rate=5000), in "+
		"requests per second, or --rate 5000/s", server, why, server)
}

// never is a time that does not come.
const never = math.MaxInt64
