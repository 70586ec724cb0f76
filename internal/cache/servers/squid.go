package servers

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/traces"
)

var squidKind = Kind{
	Name:    "squid",
	Summary: "Squid's memory cache: pages of 4 kB, and one walk of evictions a second",
	Source:  "store/Controller.cc, mem_node.h, repl/heap of Squid 5.7; held against it, without a cache_dir",
	Memory:  "cache_mem", Unit: bytesOf, Look: policies.Look{Color: policies.Magenta, Mark: policies.Diamond},
	Params: []params.Param{
		{Name: "policy", Default: "lru", Choices: []string{"lru", "heap-LFUDA", "heap-GDSF"},
			Doc: "memory_replacement_policy; in memory alone both heaps are LFUDA"},
		{Name: "max_in_memory", Default: "512 KB", Doc: "maximum_object_size_in_memory"},
		{Name: "headers", Default: sentHeaders, Min: 0, Max: 1 << 20, Doc: "bytes of a document beside its body"},
		{Name: "walks", Default: 1.0, Min: 0, Max: 1e6, Doc: "walks of evictions a second; 0: as many as are needed"},
		rateParam,
	},
	Check: func(v params.Values) error {
		_, err := bytesOf(v.Text("max_in_memory"))
		return err
	},
	CheckTrace: func(v params.Values, t *traces.Trace) error {
		return checkClock("squid", "it evicts once a second", v, t)
	},
	New: func(c cache.Config) (program, error) {
		v := c.Params
		largest, err := bytesOf(v.Text("max_in_memory"))
		s := &squid{documents: newDocuments(c, icons), headers: bytesBeside(c), largest: largest,
			byHeap: v.Text("policy") != "lru", walked: -1, walks: v.Float("walks")}
		s.limit = s.limit / memNode * pageBytes
		if s.byHeap {
			s.heap = dense.NewKeyedHeap(c.Trace.NumObjects)
			s.references = make([]uint32, c.Trace.NumObjects)
		}
		return s, err
	},
}

// icons are the bytes that Squid's icons take.
const icons = 54 * pageBytes

const (
	// memNode is what the limit counts for a page: its bytes, and what Squid notes of it.
	memNode = pageBytes + 40
	// readAhead is how much Squid reads of a document before it looks for room (read_ahead_gap).
	readAhead = 16 << 10
)

// squid is the memory cache of Squid. What does not fit after the walk of a second is served and dropped.
type squid struct {
	documents
	headers, largest int64
	walks            float64 // per second
	walked           int64   // when the last walk was, in such parts of a second

	byHeap     bool
	heap       dense.KeyedHeap
	references []uint32 // per object
	age        float64  // the key of what was evicted last
}

func (s *squid) serve(r *request) bool {
	o := r.object
	there := s.fresh(o, r.now)
	if s.changed(r, there) {
		return there
	}
	if there && !r.write {
		s.touch(o, r.now)
		if s.byHeap {
			s.references[o]++
			s.rank(o, r.pos)
		}
		return true
	}
	if s.of[o].stored {
		s.expired++
		s.remove(o)
	}
	bytes := roundUp(r.value+s.headers, pageBytes)
	switch {
	case r.value+s.headers > s.largest:
		s.oversized++
	case !s.makeRoom(bytes, r.now):
		s.refused++
	default:
		s.add(r, bytes)
		if s.byHeap {
			s.references[o] = 1
			s.rank(o, r.pos)
		}
	}
	return there
}

// rank gives a document its place in the heap: that of an older use goes first where keys are equal.
func (s *squid) rank(o policies.Object, pos int) {
	s.heap.Set(o, s.age+float64(s.references[o]), uint64(pos))
}

func (s *squid) remove(o policies.Object) bool {
	if s.byHeap {
		s.heap.Remove(o)
	}
	return s.documents.remove(o)
}

// makeRoom evicts what the first read of the document at hand needs, unless this second had its walk. It reports
// whether all of the document fits.
func (s *squid) makeRoom(bytes, now int64) bool {
	if s.used+bytes <= s.limit {
		return true
	}
	if at := int64(float64(now) / second * s.walks); s.walks == 0 || at != s.walked {
		s.walked = at
		for first := min(bytes, readAhead); s.used+first > s.limit && s.evict(); {
		}
	}
	return s.used+bytes <= s.limit
}

func (s *squid) evict() bool {
	if !s.byHeap {
		return s.evictLast()
	}
	if s.heap.Len() == 0 {
		return false
	}
	o, key := s.heap.Least()
	s.age = key
	s.remove(o)
	s.evicted++
	return true
}
