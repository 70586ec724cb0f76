package pools

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving"
	requests "github.com/cachesim/cachesim/internal/traces/recommender"
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
func (d *decider) decide(p *Cache, n *node, w *serving.Window) float64 {
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
	serving.Divide(d.allocator, s, w, d.targets)
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

func (p *Cache) Forecasts() (now, next bool) {
	needs := p.nodes[0].decider.needs
	return needs.Forecast, needs.Next
}

func (p *Cache) Epoch(at int, w *serving.Window) float64 {
	n := &p.nodes[at]
	w.Least, w.Most = p.config.Least, p.config.Most
	start := time.Now()
	if n.decider.due(n.requests+n.lookups, n.now) {
		n.target = p.clamp(int64(math.Round(n.decider.decide(p, n, w) * float64(p.pages))))
	}
	p.decision = time.Since(start)
	p.move(n)
	if p.frequency != nil && !p.mayGrow() {
		p.frequency = nil
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
			n.cursor = 0
			if p.ranking.renew(p.frequency) {
				p.rewind()
			}
		}
	case more < 0:
		emb.Resize(n.target)
		kv.Resize(p.pages - n.target)
		n.queued = max(0, n.queued+more)
	}
	n.moved += max(more, -more)
}

// rewind starts the refills of all nodes at the beginning of a new ranking.
func (p *Cache) rewind() {
	for i := range p.nodes {
		p.nodes[i].cursor = 0
	}
}

// mayGrow reports whether the EMB of a node may ever gain pages, which are then refilled by frequency.
func (p *Cache) mayGrow() bool {
	return slices.ContainsFunc(p.nodes, func(n node) bool { return n.decider.mayDecide() || n.pending() > 0 })
}

// pending returns the pages that EMB could not get yet.
func (n *node) pending() int64 { return n.target - n.pools[embeddings].Capacity() }

// ranking orders shards by their frequency, the most frequent first. It is renewed when a refill begins and the lookups
// have grown by a quarter since the last time, so that it costs little over a run.
type ranking struct {
	lookups int64 // so far
	at      int64 // when it was made
	shards  []uint32
}

// renew makes the ranking, of the shards that have been read, if it is out of date, and reports whether it was. Ties go
// to the lower number.
func (r *ranking) renew(frequency []uint32) bool {
	if r.shards != nil && r.lookups < r.at+r.at/4 {
		return false
	}
	r.at, r.shards = r.lookups, r.shards[:0]
	for shard, n := range frequency {
		if n > 0 {
			r.shards = append(r.shards, uint32(shard))
		}
	}
	slices.SortStableFunc(r.shards, func(a, b uint32) int { return int(frequency[b]) - int(frequency[a]) })
	return true
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
	for ; n.cursor < len(p.ranking.shards); n.cursor++ {
		if !n.pools[embeddings].Has(p.ranking.shards[n.cursor]) {
			return true
		}
	}
	return false
}

func (p *Cache) Refill(at int, bytes int64) (loaded int64) {
	n := &p.nodes[at]
	for loaded+p.page <= bytes && p.Missing(at) > 0 {
		if p.fetch(n, p.ranking.shards[n.cursor]) {
			loaded += p.page
			n.queued--
		}
		n.cursor++
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
	slices.SortStableFunc(p.buffer, func(a, b requests.Lookup) int { return int(b.Rows) - int(a.Rows) })
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
