package servers

import (
	"errors"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/traces"
)

var varnishKind = Kind{
	Name:    "varnish",
	Summary: "Varnish with malloc storage: a hit moves a document at most every 2 s; a fetch evicts at most 50 documents",
	Source:  "storage_simple.c, storage_lru.c, cache_expire.c of Varnish 7.1; held against it, but for grace",
	Memory:  "malloc", Unit: bytesOf, Look: policies.Look{Color: policies.Violet, Mark: policies.Diamond},
	Params: []params.Param{
		{Name: "headers", Default: 256, Min: 0, Max: 1 << 20, Doc: "bytes of a document beside its body: 256 with five " +
			"short headers"},
		{Name: "lru_interval", Default: 2.0, Min: 0, Max: 1 << 20, Doc: "seconds in which a document is moved once"},
		{Name: "nuke_limit", Default: 50, Min: 0, Max: 1 << 20, Doc: "documents that a fetch may evict; it fails if they " +
			"do not suffice"},
		{Name: "grace", Default: 10.0, Min: 0, Max: 1 << 30, Doc: "default_grace: seconds in which a stale document is " +
			"served while it is fetched again"},
		{Name: "keep", Default: 0.0, Min: 0, Max: 1 << 30, Doc: "default_keep: further seconds for which its memory is held"},
		{Name: "shortlived", Default: 10.0, Min: 0, Max: 1 << 30, Doc: "documents with less to live are in Transient, " +
			"which has no limit"},
		rateParam,
	},
	CheckTrace: func(v params.Values, t *traces.Trace) error {
		return checkClock("varnish", "lru_interval goes by a clock", v, t)
	},
	CheckMemory: func(_ params.Values, bytes int64) error {
		if bytes < 1<<20 {
			return errors.New("too small, did you forget to specify M or G?")
		}
		return nil
	},
	New: func(c cache.Config) (program, error) {
		v := c.Params
		return &varnish{documents: newDocuments(c, 0), headers: bytesBeside(c), nukes: v.Int("nuke_limit"),
			interval: seconds(v, "lru_interval"), grace: seconds(v, "grace"), keep: seconds(v, "keep"),
			shortlived: seconds(v, "shortlived"), ends: dense.NewKeyedHeap(c.Trace.NumObjects)}, nil
	},
}

func seconds(v params.Values, name string) int64 { return int64(v.Float(name) * second) }

// varnish is Varnish with malloc storage.
type varnish struct {
	documents
	headers                           int64
	nukes                             int
	interval, grace, keep, shortlived int64
	ends                              dense.KeyedHeap // by when their memory is freed
}

// tick frees what has expired.
func (s *varnish) tick(now int64) {
	for s.ends.Len() > 0 {
		o, at := s.ends.Least()
		if at > float64(now) {
			return
		}
		s.ends.Remove(o)
		s.dropStale(o)
	}
}

func (s *varnish) remove(o policies.Object) bool {
	s.ends.Remove(o)
	return s.documents.remove(o)
}

func (s *varnish) has(o policies.Object, now int64) bool {
	d := &s.of[o]
	return d.stored && (d.end == 0 || now < d.end+s.grace)
}

func (s *varnish) serve(r *request) bool {
	o := r.object
	there := s.has(o, r.now)
	if s.changed(r, there) {
		return there
	}
	switch {
	case there && !r.write:
		if d := &s.of[o]; d.end != 0 && r.now >= d.end { // stale: fetched again behind the answer
			s.fetch(r)
		} else if r.now-d.moved >= s.interval {
			s.touch(o, r.now)
		}
	default:
		s.fetch(r)
	}
	return there
}

func (s *varnish) fetch(r *request) {
	s.remove(r.object)
	bytes := r.value + s.headers
	if r.end != 0 && r.end-r.now < s.shortlived {
		s.add(r, 0)
	} else {
		for n := 0; s.used+bytes > s.limit; n++ {
			if n == s.nukes || !s.evict() {
				s.refused++
				return
			}
		}
		s.add(r, bytes)
	}
	if r.end != 0 {
		s.ends.Set(r.object, float64(r.end+s.grace+s.keep), uint64(r.pos))
	}
}

func (s *varnish) evict() bool {
	o, ok := s.order.Back(0)
	if ok {
		s.remove(o)
		s.evicted++
	}
	return ok
}
