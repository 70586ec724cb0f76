package shards

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/traces"
)

// second is a cache behind all nodes. It gets what they miss, in the order of the trace, and all writes. Nodes load
// what they miss, wherever it comes from, so that what it has changes nothing for them.
type second struct {
	cache cache.Cache
	feed  *feed.Feeder
	room  int64   // its capacity
	asked []asked // since the last call of serve
	hits  feed.Tally
	warm  feed.Tally // of hits, in the warm-up
	// requests counts what it got, and those of the warm-up.
	requests, warmRequests int64
}

// asked is a request that the second level gets.
type asked struct {
	pos uint32
	hit bool // on the node: a write
}

// Behind puts a cache of some capacity, of the objects of the whole trace, behind the nodes.
func (c *Cluster) Behind(shared cache.Cache, capacity int64, t *traces.Trace, bytes bool) {
	c.behind = &second{cache: shared, room: capacity, feed: feed.New(t, shared, bytes)}
}

// ask has a node serve its next requests, one by one, and notes what it misses or writes.
func (s *second) ask(n *served, l *Life, requests int) {
	for i := n.done; i < n.done+requests; i++ {
		before := hitsOf(&n.feed.Tally)
		n.feed.Serve(i, i+1)
		hit := hitsOf(&n.feed.Tally) > before
		if !hit || l.Trace.IsWrite(i) {
			s.asked = append(s.asked, asked{l.positions[i], hit})
		}
	}
}

// hitsOf returns the hits of all requests, also of those that do not count.
func hitsOf(t *feed.Tally) int64 { return max(t.Hits, t.Reads.Hits+t.Writes.Hits) }

// serve serves what the nodes have asked for.
func (s *second) serve() {
	slices.SortFunc(s.asked, func(a, b asked) int { return cmp.Compare(a.pos, b.pos) })
	for _, a := range s.asked {
		before := s.feed.Tally
		s.feed.Serve(int(a.pos), int(a.pos)+1)
		s.requests++
		if a.hit {
			continue
		}
		now := s.feed.Tally
		s.hits.Hits += now.Hits - before.Hits
		s.hits.HitBytes += now.HitBytes - before.HitBytes
		s.hits.Reads.Hits += now.Reads.Hits - before.Reads.Hits
		s.hits.Writes.Hits += now.Writes.Hits - before.Writes.Hits
	}
	s.asked = s.asked[:0]
}

// addTo adds what the second level served to what the nodes did.
func (s *second) addTo(sum *feed.Tally) {
	sum.Hits += s.hits.Hits
	sum.HitBytes += s.hits.HitBytes
	sum.Reads.Hits += s.hits.Reads.Hits
	sum.Writes.Hits += s.hits.Writes.Hits
}

func (s *second) beginCounting() {
	s.warm, s.warmRequests = s.hits, s.requests
	if warming, ok := s.cache.(cache.Warming); ok {
		warming.BeginCounting()
	}
}

// counters returns what it served, of so many requests to all nodes.
func (s *second) counters(requests int64) []policies.Counter {
	hits := s.hits.Hits - s.warm.Hits
	all := []policies.Counter{policies.Count(replicas.SharedCapacity, float64(s.room)),
		policies.Count(replicas.SharedRequests, float64(s.requests-s.warmRequests)),
		policies.Count(replicas.SharedHits, float64(hits))}
	if requests > 0 {
		all = append(all, policies.Count(replicas.SharedHitShare, float64(hits)/float64(requests)))
	}
	return all
}
