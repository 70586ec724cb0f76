package libraries

import (
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var quickCacheEntries = []policies.Entry{{
	Name:    "quick-cache",
	Aliases: []string{"quick_cache"},
	Look:    policies.Look{Color: policies.Vermilion, Mark: policies.Arrow},
	Memory:  policies.Memory{PerObject: 10},
	Summary: "a hot and a cold clock, and the ghosts of what left the cold one, as the library quick_cache has it after " +
		"CLOCK-Pro",
	Source: "quick_cache 0.7.0 for Rust; after Jiang, Chen, Zhang, CLOCK-Pro, USENIX ATC 2005",
	Bypass: true,
	Params: []policies.Param{
		{Name: "shards", Default: 1, Min: 1, Max: maxShards, Doc: "parts that divide the capacity and the objects, rounded " +
			"up to a power of two, and then as few as have room for 32 objects each; the library's sync::Cache has 4 for " +
			"each core"},
		{Name: "hot", Default: 0.97, Min: 0, Max: 1, Doc: "share of the capacity for hot objects"},
		{Name: "ghost", Default: 0.5, Min: 0, Max: 16, Doc: "ghosts as a share of the objects that fit"},
		{Name: "items", Default: 0, Min: 0, Max: 1 << 40, Doc: "by bytes, how many objects the cache is expected to hold; " +
			"0: as many as there are when the first must leave"},
	},
	Resolve: func(e *policies.Entry, v policies.Values) { e.Random = v.Int("shards") > 1 },
	Type:    (*quickCache)(nil),
	New:     func(c policies.Config) (policies.Policy, error) { return newQuickCache(c), nil },
}}

// The segments of a shard of quickCache. The ghosts come first: what is above them is resident.
const (
	quickGhost = iota
	quickCold
	quickHot
	quickSegments // how many a shard has
)

const (
	// quickReferences is what an object's counter of requests goes up to.
	quickReferences = 2
	// quickLeast is the number of objects that a shard has room for at least, where there is more than one.
	quickLeast = 32
)

// quickCache is the library. An object that returns from the ghosts is in the cache before others are evicted for it,
// and may be one of them. One request may evict several objects.
type quickCache struct {
	dense.Segments
	dense.Late
	shards []quickShard
	seed   uint64  // of hashes, which the library draws in each process
	freq   []uint8 // per resident object
	hot    float64
	ghost  float64
	items  int64 // 0: see quickShard.most
	loaded bool  // the requested object has been put into its segment
}

// quickShard is the state of a shard beside its segments.
type quickShard struct {
	capacity int64
	ghosts   int
	resident int
	most     int // ghosts; -1: still unknown
}

func newQuickCache(c policies.Config) *quickCache {
	p := &quickCache{
		freq:  make([]uint8, c.Objects),
		seed:  random.Scramble(c.Seed),
		hot:   c.Params.Float("hot"),
		ghost: c.Params.Float("ghost"),
		items: int64(c.Params.Int("items")),
	}
	if c.Unit {
		p.items = c.Capacity
	}
	shards := dense.CeilPowerOfTwo(c.Params.Int("shards"))
	for shards > 1 && (int64(shards) > c.Capacity || p.items > 0 && p.items <= int64((quickLeast-1)*shards)) {
		shards /= 2
	}
	p.shards = make([]quickShard, shards)
	p.Segments = dense.NewSegments(c.Objects, c.Unit, make([]int64, shards*quickSegments)...)
	for i := range p.shards {
		p.shards[i].most = -1
		if p.items > 0 {
			p.shards[i].most = int(float64((p.items+int64(shards)-1)/int64(shards)) * p.ghost)
		}
	}
	p.divide(c.Capacity)
	return p
}

// divide gives each shard its part of a capacity, without a rest. The library rounds up.
func (p *quickCache) divide(capacity int64) {
	for i := range p.shards {
		part := shardCapacity(capacity, len(p.shards), i)
		p.shards[i].capacity = part
		p.Limit[i*quickSegments+quickHot] = max(min(part, 1), int64(float64(part)*p.hot))
	}
}

func (p *quickCache) Resize(capacity int64) {
	before := int64(0)
	for i := range p.shards {
		before += p.shards[i].capacity
	}
	if capacity == before {
		return
	}
	p.divide(capacity)
	for i := range p.shards {
		s := &p.shards[i]
		if s.most >= 0 {
			s.most = int(float64(s.most) * (float64(capacity) / float64(before)))
		}
		p.trim(i)
	}
}

func (p *quickCache) Grow(objects int) {
	p.Segments.Grow(objects)
	p.freq = dense.Grown(p.freq, objects)
}

func (p *quickCache) shardOf(o policies.Object) int { return shardOf(o, p.seed, len(p.shards)) }

func (p *quickCache) Hit(r policies.Request) {
	p.freq[r.Object] = min(p.freq[r.Object]+1, quickReferences)
}

func (p *quickCache) Miss(r policies.Request) {
	p.loaded = false
	if r.Reason != policies.Demand && p.Has(r.Object) { // only a request shows that it should have stayed
		p.forget(r.Object)
	}
}

// Admit refuses what the hot segment has no room for.
func (p *quickCache) Admit(r policies.Request) bool {
	return p.Charged == nil || r.Size <= p.Limit[p.shardOf(r.Object)*quickSegments+quickHot]
}

func (p *quickCache) Victim(r policies.Request) policies.Object {
	if r.Reason != policies.Shrink {
		p.load(r)
		if !p.Has(r.Object) && p.loaded {
			p.Strike(r.Object)
			return r.Object
		}
	}
	if len(p.Late) == 0 {
		p.shrink()
	}
	return p.Next()
}

// shrink evicts from a shard that has too much, or else from the fullest. One is not empty.
func (p *quickCache) shrink() {
	most := -1
	for i := range p.shards {
		if p.used(i) > 0 && (most < 0 || p.used(i)-p.shards[i].capacity > p.used(most)-p.shards[most].capacity) {
			most = i
		}
	}
	for n := len(p.Late); len(p.Late) == n; {
		p.advanceCold(most)
	}
}

func (p *quickCache) Insert(r policies.Request) { p.load(r) }

// load puts the requested object into its shard, once, and evicts what is too much there.
func (p *quickCache) load(r policies.Request) {
	if p.loaded {
		return
	}
	p.loaded = true
	o, i := r.Object, p.shardOf(r.Object)
	s, first := &p.shards[i], i*quickSegments
	p.freq[o] = 0
	if p.Has(o) { // a ghost
		p.forget(o)
		p.Segments.Load(first+quickHot, o, r.Size)
		s.resident++
		p.keepCapacity(i, 0)
		return
	}
	to := first + quickCold
	if p.Used[first+quickHot]+r.Size <= p.Limit[first+quickHot] {
		to = first + quickHot
	}
	p.keepCapacity(i, r.Size)
	p.Segments.Load(to, o, r.Size)
	s.resident++
}

// used is the charge of the objects of a shard.
func (p *quickCache) used(shard int) int64 {
	return p.Used[shard*quickSegments+quickCold] + p.Used[shard*quickSegments+quickHot]
}

// keepCapacity evicts from a shard until a further charge has room.
func (p *quickCache) keepCapacity(shard int, more int64) {
	for p.used(shard)+more > p.shards[shard].capacity && p.shards[shard].resident > 0 {
		p.advanceCold(shard)
	}
}

// advanceCold takes the oldest cold object. It becomes hot if it was requested, and a ghost otherwise.
func (p *quickCache) advanceCold(shard int) {
	s, first := &p.shards[shard], shard*quickSegments
	o, ok := p.Pop(first + quickCold)
	if !ok {
		p.advanceHot(shard)
		return
	}
	if p.freq[o] > 0 {
		p.freq[o]--
		p.Put(first+quickHot, o)
		for p.Used[first+quickHot] > p.Limit[first+quickHot] {
			p.advanceHot(shard)
		}
		return
	}
	if s.most < 0 {
		s.most = int(float64(s.resident) * p.ghost)
	}
	p.Put(first+quickGhost, o)
	s.ghosts++
	p.evicted(s, o)
	p.trim(shard)
}

// advanceHot evicts the first hot object that was not requested again. Each that it passes loses a request.
func (p *quickCache) advanceHot(shard int) {
	hot := shard*quickSegments + quickHot
	for {
		o, _ := p.List.Back(hot)
		if p.freq[o] == 0 {
			p.Take(o)
			p.evicted(&p.shards[shard], o)
			return
		}
		p.freq[o]--
		p.Renew(o)
	}
}

func (p *quickCache) evicted(s *quickShard, o policies.Object) {
	s.resident--
	p.Late = append(p.Late, o)
}

// trim drops the oldest ghosts of a shard that are too many.
func (p *quickCache) trim(shard int) {
	for s := &p.shards[shard]; s.most >= 0 && s.ghosts > s.most; s.ghosts-- {
		p.Pop(shard*quickSegments + quickGhost)
	}
}

// forget drops a ghost.
func (p *quickCache) forget(o policies.Object) {
	p.Take(o)
	p.shards[p.shardOf(o)].ghosts--
}

func (p *quickCache) Remove(o policies.Object) {
	if !p.Strike(o) {
		p.Take(o)
		p.shards[p.shardOf(o)].resident--
	}
}

// Resized implements policies.SizeFollower. What the hot segment has no room for leaves.
func (p *quickCache) Resized(o policies.Object, size int64) {
	if p.Of(o)%quickSegments <= quickGhost { // it is late
		return
	}
	shard := p.shardOf(o)
	p.Segments.Resized(o, size)
	if size > p.Limit[shard*quickSegments+quickHot] {
		p.Take(o)
		p.evicted(&p.shards[shard], o)
		return
	}
	p.keepCapacity(shard, 0)
}
