package pools

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	recommended "github.com/cachesim/cachesim/internal/traces/recommender"
)

// decider calls the allocator of a node.
type decider struct {
	allocator allocate.Allocator // nil: the ratio stays
	serving   bool               // it decides at every epoch
	needs     allocate.Needs
	state     allocate.State
	targets   []int64
	monitors  []*allocate.Monitor // per pool; nil unless the allocator needs curves
	seen      [2][]uint32         // per object: 1 + the last epoch in which it was requested; nil unless footprints count
	called    int64               // requests before the last call
	since     int64               // time of the last call
}

// begin builds the allocator of a node.
func (d *decider) begin(p *Cache, number int) (err error) {
	d.state = allocate.State{Capacity: p.pages * p.page, Pools: make([]allocate.Pool, len(poolNames))}
	spec := p.config.Allocator
	if spec == nil {
		return nil
	}
	if d.allocator, err = allocate.NewNumbered(*spec, poolNames, p.config.Seed, number); err != nil {
		return err
	}
	d.serving, d.needs, d.targets = spec.Entry.Serving, d.allocator.Needs(), make([]int64, len(poolNames))
	if d.needs.Footprint {
		d.seen = [2][]uint32{make([]uint32, p.config.Requests.Shards), make([]uint32, p.config.Count)}
	}
	if s := d.needs.Curves; s != nil {
		for i := range poolNames {
			d.monitors = append(d.monitors, allocate.NewMonitor(*s, d.state.Capacity, random.Scramble(uint64(i))))
		}
	}
	return nil
}

// watches reports whether see does anything for a pool.
func (d *decider) watches(pool int) bool { return d.monitors != nil || d.seen[pool] != nil }

// see shows a request to what the allocator needs.
func (d *decider) see(pool int, o policies.Object, bytes int64) {
	if d.monitors != nil {
		d.monitors[pool].Request(o, bytes, true)
	}
	if seen := d.seen[pool]; seen != nil && seen[o] != uint32(d.state.Epoch)+1 {
		seen[o] = uint32(d.state.Epoch) + 1
		d.state.Pools[pool].Footprint += bytes
	}
}

// due reports whether the allocator decides at the end of this epoch.
func (d *decider) due(served, now int64) bool {
	switch {
	case d.allocator == nil:
		return false
	case d.state.Epoch == 0 || d.serving:
		return true
	}
	return d.needs.Every > 0 && served-d.called >= d.needs.Every || d.needs.Period > 0 && now-d.since >= d.needs.Period
}

// mayDecide reports whether the allocator may decide at the end of this epoch or of a later one.
func (d *decider) mayDecide() bool {
	return d.allocator != nil && (d.state.Epoch == 0 || d.serving || d.needs.Every > 0 || d.needs.Period > 0)
}

// decide returns the share of the memory that EMB is to have.
func (d *decider) decide(p *Cache, n *node, w *hlem.Window) float64 {
	s := &d.state
	s.Requests, s.Time, s.Elapsed = n.requests+n.lookups, n.now, n.now-d.since
	for i, pool := range n.pools {
		at := &s.Pools[i]
		at.ID, at.Capacity, at.Used = i, pool.Capacity()*p.page, pool.Used()*p.page
		at.Objects = int64(pool.Len())
		d.targets[i] = at.Capacity
		if d.monitors != nil {
			at.Curve = d.monitors[i].Curve()
		}
	}
	hlem.Divide(d.allocator, s, w, d.targets)
	d.called, d.since = n.requests+n.lookups, n.now
	for i := range s.Pools {
		s.Pools[i] = allocate.Pool{}
		if d.monitors != nil && s.Epoch > 0 {
			d.monitors[i].Age()
		}
	}
	s.Epoch++
	return float64(d.targets[embeddings]) / float64(s.Capacity)
}

// outside returns what an allocator that was trained says of other nodes.
func (d *decider) outside() (decisions int64, why string, guards bool) {
	if t, ok := d.allocator.(hlem.Trained); ok {
		return t.Outside()
	}
	return 0, "", false
}

func (p *Cache) Forecasts() (now, next bool) {
	needs := p.nodes[0].decider.needs
	return needs.Forecast, needs.Next
}

func (p *Cache) Epoch(at int, w *hlem.Window) float64 {
	n := &p.nodes[at]
	w.Least, w.Most = p.config.Least, p.config.Most
	start := time.Now()
	if n.decider.due(n.requests+n.lookups, n.now) {
		n.target = p.clamp(int64(math.Round(n.decider.decide(p, n, w) * float64(p.pages))))
	}
	p.decision = time.Since(start)
	p.move(n)
	if !n.mayGrow() {
		n.evicted = evicted{}
	}
	return float64(n.pools[embeddings].Capacity()) / float64(p.pages)
}

func (p *Cache) Decision() time.Duration { return p.decision }

// move moves the border towards the target. EMB grows into free pages of the users' pool and then, unless strict, into
// pages of users without running requests, whom the policy evicts. If that is not enough, the rest is tried again at
// the next epoch. EMB shrinks at once: nothing of a user moves.
func (p *Cache) move(n *node) {
	emb, kv := n.pools[embeddings], n.pools[users]
	more := n.target - emb.Capacity()
	switch {
	case more > 0:
		room := kv.Capacity() - n.running.pages
		if p.config.Strict {
			room = kv.Capacity() - kv.Used()
		}
		if more = min(more, room); more <= 0 {
			return
		}
		evictions := kv.Evictions()
		kv.Resize(kv.Capacity() - more)
		n.pinned.restore(kv, policies.Request{Pos: int(max(0, n.requests-1)), Time: n.now})
		n.counts.Evictions += kv.Evictions() - evictions
		emb.Resize(emb.Capacity() + more)
		if n.queued += more; n.queued > 0 {
			n.cursor = n.evicted.pushed
		}
	case more < 0:
		emb.Resize(n.target)
		kv.Resize(p.pages - n.target)
		n.queued = max(0, n.queued+more)
	}
	n.moved += max(more, -more)
}

// mayGrow reports whether the EMB of a node may ever gain pages, which are then refilled.
func (n *node) mayGrow() bool { return n.decider.mayDecide() || n.pending() > 0 }

// pending returns the pages that EMB could not get yet.
func (n *node) pending() int64 { return n.target - n.pools[embeddings].Capacity() }

// evicted are the shards that have left the EMB of a node, the latest ones of as many as it may have pages. Refilling
// EMB with them, the last one first, restores what the policy itself would hold with the larger capacity, if it is LRU:
// nothing is loaded that a fixed ratio could not have kept.
type evicted struct {
	shards []uint32 // a ring
	pushed int      // so far
}

func (e *evicted) push(shard uint32) {
	if cap(e.shards) == 0 {
		return
	}
	if len(e.shards) < cap(e.shards) {
		e.shards = append(e.shards, shard)
	} else {
		e.shards[e.pushed%len(e.shards)] = shard
	}
	e.pushed++
}

// before returns the shard that was evicted before a number of evictions had been made; false if it is forgotten.
func (e *evicted) before(number int) (shard uint32, ok bool) {
	if number <= max(0, e.pushed-len(e.shards)) {
		return 0, false
	}
	return e.shards[(number-1)%len(e.shards)], true
}

// Missing implements recommender.Cache: the pages that EMB has gained and that are still free, as far as there are
// shards to load.
func (p *Cache) Missing(at int) int64 {
	n := &p.nodes[at]
	emb := n.pools[embeddings]
	n.queued = min(n.queued, emb.Capacity()-emb.Used())
	if n.queued > 0 && !p.seek(n) {
		n.queued = 0
	}
	return n.queued * p.page
}

// seek moves the cursor of a refill to the next shard that is not resident.
func (p *Cache) seek(n *node) bool {
	for {
		shard, ok := n.evicted.before(n.cursor)
		if !ok {
			return false
		}
		if !n.pools[embeddings].Has(shard) {
			return true
		}
		n.cursor--
	}
}

func (p *Cache) Refill(at int, bytes int64) (loaded int64) {
	n := &p.nodes[at]
	for loaded+p.page <= bytes && p.Missing(at) > 0 {
		shard, _ := n.evicted.before(n.cursor)
		if p.fetch(n, shard) {
			loaded += p.page
			n.queued--
		}
		n.cursor--
	}
	return loaded
}

// fetch loads a shard without a request, and reports whether it is resident now and was not before.
func (p *Cache) fetch(n *node, shard uint32) bool {
	return n.pools[embeddings].Load(policies.Request{Object: shard, Query: shard, Pos: int(max(0, n.lookups-1)), Size: 1,
		Time: n.now, Reason: policies.Prefetch})
}

// Prefetch implements recommender.Cache. A wrong item of the list is any shard.
func (p *Cache) Prefetch(at, request int, share, accuracy float64, bytes int64) (loaded int64) {
	n := &p.nodes[at]
	p.buffer = p.config.Requests.Lookups(request, p.buffer[:0])
	slices.SortStableFunc(p.buffer, func(a, b recommended.Lookup) int { return int(b.Rows) - int(a.Rows) })
	most := int(math.Ceil(share * float64(len(p.buffer))))
	for i, l := range p.buffer[:min(most, len(p.buffer))] {
		if loaded+p.page > bytes {
			break
		}
		shard := l.Shard
		if draw := random.Scramble(uint64(request)<<16 ^ uint64(i)); float64(draw>>11)/(1<<53) >= accuracy {
			high, _ := bits.Mul64(random.Scramble(draw), uint64(p.config.Requests.Shards))
			shard = uint32(high)
		}
		if p.fetch(n, shard) {
			loaded += p.page
		}
	}
	return loaded
}
